"""What a release has to reach before it is published, such as "k=5" or "dld<=10"."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Self

from polars_microagg import registry
from polars_microagg.errors import InvalidParameterError, RequirementError

__all__ = ["COUNTS", "Requirement", "judged", "possible", "requirements"]

COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
    "=": operator.eq,
}
WRITTEN = re.compile(r"\s*(\w+)\s*(<=|>=|==|=|<|>)\s*([^\s<>=]+)\s*")
COUNTS = ("k", "rows")
"""What can be required besides the measures; both are least numbers when written with =."""


@dataclass(frozen=True)
class Requirement:
    """One bound on one measure.

    Examples
    --------
    >>> Requirement.read("dld<=10").met(8.5), Requirement.read("k=5").met(6)
    (True, True)
    """

    name: str
    sign: str
    bound: float

    @classmethod
    def read(cls, text: object) -> Self:
        """Read a requirement as it is written."""
        found = WRITTEN.fullmatch(text) if isinstance(text, str) else None
        need = 'a measure, a sign and a number, as in "k=5" or "dld<=10"'
        if not found:
            raise InvalidParameterError.kind("require", text, need)
        name, sign, number = found.groups()
        known = (*COUNTS, *registry.assessed())
        if name not in known:
            raise InvalidParameterError.choice("measure", name, known)
        try:
            bound = float(number)
        except ValueError:
            bound = math.nan
        if not math.isfinite(bound):
            raise InvalidParameterError.kind("require", text, need)
        sign = ">=" if sign in ("=", "==") and name in COUNTS else sign.replace("==", "=")
        return cls(name, sign, bound)

    def __str__(self) -> str:
        """Write the requirement, so that it reads as the same."""
        short, whole = f"{self.bound:g}", str(self.bound).removesuffix(".0")
        return f"{self.name}{self.sign}{short if float(short) == self.bound else whole}"

    def met(self, value: float | None) -> bool:
        """Tell whether a value meets it; what could not be measured does not."""
        return value is not None and COMPARE[self.sign](value, self.bound)


def requirements(texts: str | Iterable[str]) -> list[Requirement]:
    """Read one or several requirements.

    Parameters
    ----------
    texts : str or iterable of str
        As written.

    Returns
    -------
    list of Requirement
        In that order.
    """
    return [Requirement.read(text) for text in ([texts] if isinstance(texts, str) else texts)]


def possible(required: Iterable[Requirement], k: int | None) -> None:
    """Refuse requirements that no release can meet.

    Parameters
    ----------
    required : iterable of Requirement
        What is required.
    k : int or None
        Smallest group size that is asked for; None for a table that is masked already.

    Raises
    ------
    InvalidParameterError
        Two bounds on a measure leave nothing between them, or more than k is required.

    Examples
    --------
    >>> possible(requirements(["dld<=10", "dld>20"]), 5)
    Traceback (most recent call last):
        ...
    polars_microagg.errors.InvalidParameterError: dld<=10 and dld>20 cannot both be met. ...
    """
    required = list(required)
    for one, other in combinations(required, 2):
        if one.name == other.name and not _both(one, other):
            raise InvalidParameterError(
                f"{one} and {other} cannot both be met. Leave out one of them, or change its bound."
            )
    least = [
        math.floor(r.bound) + 1 if r.sign == ">" else math.ceil(r.bound)
        for r in required
        if r.name == "k" and r.sign in (">=", ">")
    ]
    if k is not None and max(least, default=0) > k:
        raise InvalidParameterError(
            f"k={k} was asked for and k>={max(least)} is required, which groups of {k} do not meet. "
            f"Ask for k={max(least)}, or require k={k}."
        )


def _both(one: Requirement, other: Requirement) -> bool:
    """Whether some number meets two bounds on it."""
    low, high = max(_low(one), _low(other)), min(_high(one), _high(other))
    return low < high or (low == high and one.met(low) and other.met(low))


def _low(bound: Requirement) -> float:
    return -math.inf if bound.sign in ("<=", "<") else bound.bound


def _high(bound: Requirement) -> float:
    return math.inf if bound.sign in (">=", ">") else bound.bound


def judged(
    required: Iterable[Requirement], found: Mapping[str, Any], *, refuse: bool = True
) -> list[dict[str, Any]]:
    """Hold requirements against what was measured.

    Parameters
    ----------
    required : iterable of Requirement
        What is required.
    found : mapping
        Values by name.
    refuse : bool, default True
        Whether to raise if one is not met.

    Returns
    -------
    list of dict
        The requirement as text, the value found, and whether it is met.

    Raises
    ------
    RequirementError
        One is not met, or its measure could not be taken.
    """
    results = [
        {"requirement": str(r), "found": found.get(r.name), "met": r.met(found.get(r.name))}
        for r in required
    ]
    unmet = [
        f"{result['requirement']} (found "
        + ("no value" if result["found"] is None else f"{result['found']:.6g}")
        + ")"
        for result in results
        if not result["met"]
    ]
    if unmet and refuse:
        raise RequirementError.unmet(unmet)
    return results
