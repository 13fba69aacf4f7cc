"""What is required of a release, as it is written: "k=5", "dld<=10", "loss < 15 %"."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from polars_microagg.errors import InvalidParameterError

__all__ = ["COUNTS", "SHARES", "Requirement", "measure_of", "read"]

COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
    "=": operator.eq,
}
NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
WRITTEN = re.compile(rf"\s*(\w+)\s*(<=|>=|==|=|<|>)\s*({NUMBER})\s*(%?)\s*", re.ASCII)
COUNTS = ("k", "rows")
"""Least numbers when written with =, and never a percentage."""

SHARES = ("suppressed",)
"""Per cent of the rows that came in; no measure of `assess`, but known where rows are emptied."""


@dataclass(frozen=True)
class Requirement:
    """One bound on one measure.

    Examples
    --------
    >>> Requirement("dld", "<=", 10.0).met(8.5), str(Requirement("k", ">=", 5.0))
    (True, 'k>=5')
    """

    name: str
    sign: str
    bound: float

    def __str__(self) -> str:
        """Write it in full, so that whoever reads it again gets the same bound."""
        return f"{self.name}{self.sign}{repr(self.bound).removesuffix('.0')}"

    def met(self, value: float | None) -> bool:
        """Tell whether a value meets it; what could not be measured does not."""
        return value is not None and COMPARE[self.sign](value, self.bound)


def read(given: object, known: Iterable[str]) -> list[Requirement]:
    """Read one or several requirements.

    Parameters
    ----------
    given : str or list of str
        A measure, one of <= < >= > = and a number each; a % after the number means nothing.
    known : iterable of str
        Names of the measures there are.

    Returns
    -------
    list of Requirement
        In that order.

    Raises
    ------
    InvalidParameterError
        One cannot be read, or names another measure.

    Examples
    --------
    >>> [str(requirement) for requirement in read(["k=5", "dld <= 10 %"], ["k", "dld"])]
    ['k>=5', 'dld<=10']
    """
    listed = [given] if isinstance(given, str) else given
    if not isinstance(listed, Sequence) or isinstance(listed, bytes):
        raise InvalidParameterError.kind("require", given, 'a text such as "dld<=10", or a list')
    known = list(known)
    return [_one(text, known) for text in listed]


def measure_of(text: object) -> str | None:
    """Name of the measure that a requirement is on; None of what is no requirement.

    Examples
    --------
    >>> measure_of("dld <= 10 %"), measure_of("dld")
    ('dld', None)
    """
    found = WRITTEN.fullmatch(text) if isinstance(text, str) else None
    return found[1] if found else None


def _one(text: object, known: Sequence[str]) -> Requirement:
    found = WRITTEN.fullmatch(text) if isinstance(text, str) else None
    need = 'a measure, a sign and a number, as in "k=5" or "dld<=10"'
    if not found:
        raise InvalidParameterError.kind("require", text, need)
    name, sign, number, percent = found.groups()
    if name not in known:
        raise InvalidParameterError.measure(name, known)
    bound = float(number)
    if not math.isfinite(bound) or (percent and name in COUNTS):
        raise InvalidParameterError.kind("require", text, need)
    sign = ">=" if sign in ("=", "==") and name in COUNTS else sign.replace("==", "=")
    return Requirement(name, sign, bound)
