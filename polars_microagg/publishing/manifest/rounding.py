"""Rounding of numbers in a manifest, and whether they agree with numbers computed again."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from polars_microagg.core.requirements import Requirement

__all__ = ["DIGITS", "agree", "may_meet", "rounded"]

DIGITS = 4
"""Significant digits of a number of the release alone."""

NOTHING = 1e-9
"""Largest number that another machine may compute instead of 0, and relative error of unrounded
numbers."""


def rounded(values: Mapping[str, Any]) -> dict[str, Any]:
    """Round real numbers of the release; counts are whole numbers and stay.

    >>> rounded({"k_prime": 3.14159, "suppressed": 99.99996, "k_min": 12345, "found": None})
    {'k_prime': 3.142, 'suppressed': 100.0, 'k_min': 12345, 'found': None}
    """
    return {
        name: float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value
        for name, value in values.items()
    }


def agree(published: Any, again: Any, step: float) -> bool:
    """Return whether two measures, both rounded, are one within one in the last digit.

    >>> agree(12.0, 13.0, 1.0), agree(12.0, 14.0, 1.0), agree(None, math.nan, 1.0)
    (True, False, True)
    """
    if published is None or again is None:
        return all(value is None or not math.isfinite(value) for value in (published, again))
    if isinstance(published, int) and isinstance(again, int):
        return published == again
    return bool(published == again or abs(published - again) <= 1.01 * step + NOTHING)


def may_meet(required: Requirement, value: Any, step: float = 0.0) -> bool:
    """Return whether a number met a bound before it was rounded.

    >>> below = Requirement("dld", "<", 10.0)
    >>> may_meet(below, 10.0, 1.0), may_meet(below, 10.6, 1.0), may_meet(below, 10.001)
    (True, False, False)
    """
    if value is None or not math.isfinite(value):
        return False
    slack = step / 2 + (NOTHING * abs(value) if isinstance(value, float) else 0.0)
    low, high = value - slack, value + slack
    return any(map(required.met, (low, min(max(required.bound, low), high), high)))
