"""Forms of a taxonomy: parents of names, prefixes of texts, intervals of numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from polars_microagg.core.partition import Vector
from polars_microagg.core.taxonomy_intervals import digits_of, exact, floor_of, label_of, span_of
from polars_microagg.core.taxonomy_parents import VERSION, Parents
from polars_microagg.errors import InvalidDataError, InvalidParameterError, taxonomies

__all__ = ["Form", "Intervals", "Prefixes", "form_of", "loaded", "nodes_of", "path_of"]

ROOT = "*"
"""The root of prefixes and intervals, as in the files of ARX."""


class Form(Protocol):
    """Form of a taxonomy. Two that are equal have an equal `key`."""

    @property
    def root(self) -> str:
        """The name of the root."""

    @property
    def depth(self) -> int:
        """The length of the longest path, in edges."""

    @property
    def key(self) -> Any:
        """Content of the form, hashable."""

    @property
    def short(self) -> str:
        """Summary of the form, for a repr."""

    def path(self, name: str) -> tuple[str, ...] | None:
        """Return the names from one to the root, or None if there is no such name."""

    def length(self, name: str) -> float:
        """Return the length of the edge above a name."""

    def to_dict(self) -> dict[str, Any]:
        """Return what the form is, of lists, texts and numbers."""


class Prefixes:
    """Texts of one length, of which fewer and fewer characters are kept: zip codes."""

    def __init__(self, length: int, kept: Sequence[int]) -> None:
        size = _whole(length)
        if size is None or size < 2:
            need, way = "a whole number of at least 2", "Give the number of characters of a value."
            raise taxonomies.bad_shape("length", length, need, way)
        listed = [_whole(each) for each in kept] if _listed(kept) else []
        each = [number for number in listed if number is not None]
        falls = all(wide < narrow for narrow, wide in pairwise([size, *each, 0]))
        if not listed or len(each) < len(listed) or not falls:
            need = f"falling whole numbers below {size} and above 0"
            way = "Name how many characters each class keeps, as in [3, 2] of zip codes of five."
            raise taxonomies.bad_shape("kept", kept, need, way)
        self.root, self.depth, self.short = ROOT, len(each) + 1, "prefixes"
        self.size, self.kept = size, tuple(each)
        self.key = ("prefix", size, self.kept)

    def path(self, name: str) -> tuple[str, ...] | None:
        """Cut a value, or one that is cut already: stars stand at the end or nowhere."""
        if name == ROOT:
            return (name,)
        stem = name.rstrip("*")
        if len(name) != self.size or "*" in stem or len(stem) not in (self.size, *self.kept):
            return None
        cut = (stem[:n] + "*" * (self.size - n) for n in self.kept if n < len(stem))
        return (name, *cut, ROOT)

    def length(self, name: str) -> float:  # noqa: ARG002
        """Return 1."""
        return 1.0

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters."""
        return {
            "version": VERSION,
            "taxonomy": "prefix",
            "length": self.size,
            "kept": list(self.kept),
        }


class Intervals:
    """Texts of numbers, in wider and wider intervals."""

    def __init__(
        self, widths: Sequence[float], start: float = 0, whole: bool | None = None
    ) -> None:
        each = [exact(width) for width in widths] if _listed(widths) else []
        sizes = [size for size in each if size is not None and size > 0]
        nested = all(
            wide > size and (wide / size).denominator == 1 for size, wide in pairwise(sizes)
        )
        if not each or len(sizes) < len(each) or not nested:
            need = "numbers above 0, each a multiple of the one before and wider"
            raise taxonomies.bad_shape("widths", widths, need, "Give them as in [5, 10, 20].")
        begin = exact(start)
        if begin is None:
            way = "Give the lower end of any of the widest intervals, for example 0."
            raise taxonomies.bad_shape("start", start, "a number", way)
        if whole is not None and not isinstance(whole, bool):
            raise InvalidParameterError.switch("whole", whole)
        fits = all(number.denominator == 1 for number in (*sizes, begin))
        self.whole = fits if whole is None else whole
        if self.whole and not fits:
            way = "Leave whole out, or round widths and start."
            need = "left out where widths or start are not whole"
            raise taxonomies.bad_shape("whole", whole, need, way)
        if self.whole and sizes[0] < 2:
            need = "2 or more for whole numbers, of which an interval of width 1 holds one"
            raise taxonomies.bad_shape("widths", widths, need, "Leave out the first.")
        self.root, self.depth, self.short = ROOT, len(sizes) + 1, "intervals"
        self.widths, self.start = tuple(sizes), begin
        self.digits = max(map(digits_of, (*sizes, begin)))
        # Widths and start in units of the last decimal place.
        self.units = [int(size * 10**self.digits) for size in sizes]
        self.origin = int(begin * 10**self.digits)
        self.key = ("intervals", self.widths, self.start, self.whole)

    def path(self, name: str) -> tuple[str, ...] | None:
        """Find the intervals around a number, or around an interval."""
        if name == ROOT:
            return (name,)
        number = floor_of(name, self.digits)
        if number is not None:
            low, width = number[0], 0
            right = number[1] or not self.whole
        else:
            low, width = span_of(name, self.digits, self.whole) or (0, 0)
            right = width in self.units and self._around(low, width) == name
        wider = (self._around(low, size) for size in self.units if size > width)
        return (name, *wider, ROOT) if right else None

    def length(self, name: str) -> float:  # noqa: ARG002
        """Return 1."""
        return 1.0

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters."""
        widths = [_plain(width) for width in self.widths]
        start = _plain(self.start)
        return {
            "version": VERSION,
            "taxonomy": "intervals",
            "widths": widths,
            "start": start,
            "whole": self.whole,
        }

    def _around(self, number: int, width: int) -> str:
        """Name the interval of a width that holds a number."""
        low = self.origin + (number - self.origin) // width * width
        return label_of((low, width), self.digits, self.whole)


def path_of(form: Form, name: object) -> tuple[str, ...] | None:
    """Return the path of a name; None if it is not in the taxonomy, as all that is not text."""
    return form.path(name) if isinstance(name, str) else None


def nodes_of(form: Form, values: Sequence[str]) -> tuple[list[str], npt.NDArray[np.intp], Vector]:
    """Return names, paths and lengths for `Taxonomy.nodes`."""
    paths = {value: path_of(form, value) for value in dict.fromkeys(values)}
    if missing := sum(path is None for path in paths.values()):
        raise InvalidDataError.not_in_taxonomy(None, missing)
    # From the top down, without the root.
    down = {value: path[-2::-1] for value, path in paths.items() if path is not None}
    levels = {name: level for path in down.values() for level, name in enumerate(path)}
    names = sorted(levels, key=lambda name: (levels[name], name))
    places = {name: place for place, name in enumerate(names)}
    # One row for each distinct value, which repeated values share.
    order = {value: row for row, value in enumerate(down)}
    rows = np.full((len(down), form.depth), -1, dtype=np.intp)
    for path, row in zip(down.values(), rows, strict=True):
        row[: len(path)] = [places[name] for name in path]
    lengths = np.array([form.length(name) for name in names], dtype=np.float64)
    repeated = np.array([order[value] for value in values], dtype=np.intp)
    return names, rows[repeated], lengths


FORMS: dict[object, tuple[type[Parents | Prefixes | Intervals], set[str], set[str]]] = {
    "parents": (Parents, {"parents"}, {"lengths"}),
    "prefix": (Prefixes, {"length", "kept"}, set()),
    "intervals": (Intervals, {"widths", "start", "whole"}, set()),
}
"""Each form with the parameters that it needs, and those that it may have."""


def form_of(written: object) -> Form:
    """Return the form that `to_dict` wrote, and refuse all else."""
    rest = dict(written) if isinstance(written, Mapping) else {}
    version, name = rest.pop("version", None), rest.pop("taxonomy", None)
    made = FORMS.get(name) if isinstance(name, str) and version == VERSION else None
    if made is None or not made[1] <= rest.keys() <= made[1] | made[2]:
        need, way = "what Taxonomy.to_json or to_dict wrote", "Write the taxonomy again."
        raise taxonomies.bad_shape("text", "something else", need, way)
    return made[0](**rest)


def loaded(text: str | bytes) -> object:
    """Return what JSON holds, or None; refuse a name that is listed twice."""
    try:
        return json.loads(text, object_pairs_hook=_once)
    except InvalidParameterError:
        raise
    except (TypeError, ValueError, RecursionError):
        return None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs of an object of JSON, each name once."""
    read: dict[str, Any] = {}
    for name, value in pairs:
        if name in read and isinstance(read[name], str) and isinstance(value, str):
            raise taxonomies.two_parents(name, read[name], value)
        if name in read:
            raise ValueError
        read[name] = value
    return read


def _listed(numbers: object) -> bool:
    """Return whether this is a sequence of numbers, or of what is refused one by one."""
    return isinstance(numbers, Sequence | np.ndarray) and not isinstance(numbers, str | bytes)


def _whole(number: object) -> int | None:
    """Return a whole number, or None for all else."""
    right = isinstance(number, int | np.integer) and not isinstance(number, bool)
    return int(number) if right else None  # type: ignore[call-overload]


def _plain(number: Fraction) -> int | float:
    """Return a whole number, or the float that was read exactly."""
    return int(number) if number.denominator == 1 else float(number)
