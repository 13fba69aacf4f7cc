"""Requirements on a release as users write them: "k=5", "dld<=10", "loss < 15 %"."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from polars_microagg.errors import InvalidParameterError

__all__ = ["COUNTS", "SHARES", "Requirement", "measure_of", "read_requirements"]

COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
    "=": operator.eq,
}
NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
WRITTEN = re.compile(rf"\s*(\w+)\s*(<=|>=|==|=|<|>)\s*({NUMBER})\s*(%?)\s*", re.ASCII)
COUNTS = ("k", "k_entities", "alike_min", "rows")
"""Measures for which = means at least, and that are never percentages."""

SHARES = ("suppressed",)
"""Per cent of the rows that came in; not a measure of `assess`, but known where rows are emptied."""


@dataclass(frozen=True)
class Requirement:
    """One bound on one measure.

    >>> Requirement("dld", "<=", 10.0).met(8.5), str(Requirement("k", ">=", 5.0))
    (True, 'k>=5')
    """

    name: str
    sign: str
    bound: float

    def __str__(self) -> str:
        """Write the bound in full, so that reading it gives the same bound."""
        return f"{self.name}{self.sign}{repr(self.bound).removesuffix('.0')}"

    def met(self, value: float | None) -> bool:
        """Return whether a value meets the bound; a value that could not be measured does not."""
        return value is not None and COMPARE[self.sign](value, self.bound)


def read_requirements(
    written: object,
    known: Iterable[str],
    *,
    counts: Collection[str] = COUNTS,
    shares: Collection[str] = (),
) -> list[Requirement]:
    """Read one requirement or several: a measure, one of <= < >= > = and a number.

    A % after the number has no meaning; after that of `counts`, and of `shares` from 0 to 1, it is
    refused. `known` names the measures there are; a requirement on another measure, or one that
    cannot be read, raises InvalidParameterError.

    >>> [str(requirement) for requirement in read_requirements(["k=5", "dld <= 10 %"], ["k", "dld"])]
    ['k>=5', 'dld<=10']
    """
    listed = [written] if isinstance(written, str) else written
    if not isinstance(listed, Sequence) or isinstance(listed, bytes):
        raise InvalidParameterError.kind("require", written, 'a text such as "dld<=10", or a list')
    known = list(known)
    return [_one(text, known, counts, shares) for text in listed]


def measure_of(text: object) -> str | None:
    """Return the measure that a requirement is on, or None if the text is not a requirement.

    >>> measure_of("dld <= 10 %"), measure_of("dld")
    ('dld', None)
    """
    match = WRITTEN.fullmatch(text) if isinstance(text, str) else None
    return match[1] if match else None


def _one(
    text: object, known: Sequence[str], counts: Collection[str], shares: Collection[str]
) -> Requirement:
    match = WRITTEN.fullmatch(text) if isinstance(text, str) else None
    need = 'a measure, a sign and a number, as in "k=5" or "dld<=10"'
    if not match:
        raise InvalidParameterError.kind("require", text, need)
    name, sign, number, percent = match.groups()
    if name not in known:
        raise InvalidParameterError.measure(name, known)
    bound = float(number)
    if not math.isfinite(bound) or (percent and (name in counts or name in shares)):
        raise InvalidParameterError.kind("require", text, need)
    sign = ">=" if sign in ("=", "==") and name in counts else sign.replace("==", "=")
    return Requirement(name, sign, bound)
