"""A taxonomy as a list of names, each with its parent."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from polars_microagg.errors import InvalidParameterError, taxonomies

__all__ = ["VERSION", "Parents"]

VERSION = 1
"""Of what is written."""

WAY = "Name the parent of each value, as in {'cat': 'animal'}."


class Parents:
    """A list of names, each with its parent."""

    def __init__(
        self, parents: Mapping[str, str], lengths: Mapping[str, float] | None = None
    ) -> None:
        if not isinstance(parents, Mapping):
            raise taxonomies.bad_shape("parents", parents, "a mapping of names to parents", WAY)
        self.parents = dict(parents)
        _refuse_other_than_text(self.parents)
        levels = _levels(self.parents)
        self.root = next(iter(levels))
        self.depth = max(levels.values())
        self.values = len(self.parents.keys() - self.parents.values())
        self.lengths = _lengths({} if lengths is None else lengths, self.parents)
        self.key = (frozenset(self.parents.items()), frozenset(self.lengths.items()))
        self.short = f"{self.values} value{'s' * (self.values != 1)}"

    def path(self, name: str) -> tuple[str, ...] | None:
        """Walk up from a name."""
        if name not in self.parents:
            return (name,) if name == self.root else None
        names = [name]
        while (parent := self.parents.get(names[-1])) is not None:
            names.append(parent)
        return tuple(names)

    def length(self, name: str) -> float:
        """Return the length that was given, or 1."""
        return self.lengths.get(name, 1.0)

    def to_dict(self) -> dict[str, Any]:
        """Return parents and lengths, sorted."""
        lengths = {"lengths": dict(sorted(self.lengths.items()))} if self.lengths else {}
        return {
            "version": VERSION,
            "taxonomy": "parents",
            "parents": dict(sorted(self.parents.items())),
            **lengths,
        }


def _refuse_other_than_text(parents: Mapping[Any, Any]) -> None:
    for name, parent in parents.items():
        if not isinstance(name, str):
            raise taxonomies.not_text("A name", type(name).__name__)
        if not isinstance(parent, str):
            raise taxonomies.not_text(f"The parent of {name!r}", type(parent).__name__)


def _levels(parents: Mapping[str, str]) -> dict[str, int]:
    """Return how deep each name is, from the root down; refuse what is no tree."""
    if not parents:
        raise taxonomies.no_value()
    children: dict[str, list[str]] = {}
    for name, parent in parents.items():
        children.setdefault(parent, []).append(name)
    roots = sorted(children.keys() - parents.keys())
    if len(roots) > 1:
        raise taxonomies.several_roots(roots)
    levels: dict[str, int] = {}
    row, level = roots, 0
    while row:
        levels.update(dict.fromkeys(row, level))
        row, level = [child for name in row for child in children.get(name, ())], level + 1
    # Each name has one parent, so what the root does not reach is a cycle or below one.
    if apart := parents.keys() - levels.keys():
        raise taxonomies.circular(_cycle(min(apart), parents))
    return levels


def _cycle(name: str, parents: Mapping[str, str]) -> list[str]:
    """Return the names of the cycle that a walk up from a name ends in."""
    walked: dict[str, None] = {}
    while name not in walked:
        walked[name] = None
        name = parents[name]
    names = list(walked)
    return names[names.index(name) :]


def _lengths(lengths: Mapping[str, float], parents: Mapping[str, str]) -> dict[str, float]:
    """Return the lengths of edges that are not 1."""
    if not isinstance(lengths, Mapping):
        raise InvalidParameterError.kind("lengths", lengths, "a mapping of names to numbers")
    for name, length in lengths.items():
        if name not in parents:
            raise InvalidParameterError.key("lengths", name, sorted(parents))
        number = isinstance(length, int | float | np.integer | np.floating)
        if not number or isinstance(length, bool) or not _positive(length):
            raise InvalidParameterError.kind("lengths", length, "a finite number above 0", name)
    return {name: float(length) for name, length in lengths.items() if length != 1}


def _positive(length: float) -> bool:
    try:
        return 0 < float(length) < math.inf
    except OverflowError:
        return False
