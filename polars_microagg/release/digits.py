"""How many digits of a measure are published: all of them would give values of small tables away."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from polars_microagg.requirement import Requirement

__all__ = ["agree", "may_meet", "rounded", "unit"]

DIGITS = 4
"""Significant digits of a measure in a manifest."""

NOTHING = 1e-9
"""What another machine may have for nothing, and relative to a measure that is not rounded."""


def rounded(values: Mapping[str, Any]) -> dict[str, Any]:
    """Round real numbers to the digits that are published; counts are whole numbers and stay.

    Examples
    --------
    >>> rounded({"sse": 41297.3381, "loss": 9.99996, "k_min": 12345, "pld": None})
    {'sse': 41300.0, 'loss': 10.0, 'k_min': 12345, 'pld': None}
    """
    return {
        name: float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value
        for name, value in values.items()
    }


def unit(value: Any) -> float:
    """One in the last digit of a number that was rounded; a count has none.

    Examples
    --------
    >>> unit(0.25), unit(12), unit(0.0)
    (0.0001, 0.0, 0.0)
    """
    if not isinstance(value, float) or not value or not math.isfinite(value):
        return 0.0
    return float(f"1e{math.floor(math.log10(abs(value))) - DIGITS + 1}")


def agree(told: Any, found: Any, slack: float = 0.0) -> bool:
    """Tell whether two measures are one within one in the last digit, and some slack.

    Examples
    --------
    >>> agree(12.34, 12.3512), agree(12.34, 12.3561)
    (True, False)
    """
    if told is None or found is None:
        return told is None and (found is None or not math.isfinite(found))
    if isinstance(told, int) and isinstance(found, int):
        return told == found
    one, other = rounded({"told": float(told), "found": float(found)}).values()
    step = min(unit(one), unit(other))
    return bool(abs(one - other) <= 1.01 * step + slack + NOTHING)


def may_meet(required: Requirement, told: Any, exact: Any = None) -> bool:
    """Tell whether a number met a bound before it was rounded.

    Parameters
    ----------
    required : Requirement
        The bound.
    told : number or None
        As it was published.
    exact : number, optional
        The number before it was rounded, if it could be taken again.

    Examples
    --------
    >>> below = Requirement("dld", "<", 10.0)
    >>> may_meet(below, 10.0), may_meet(below, 10.01), may_meet(below, 10.0, 10.001)
    (True, False, False)
    """
    value = told if exact is None else exact
    if value is None or not math.isfinite(value):
        return False
    slack = unit(told) / 2 if exact is None else 0.0
    slack += NOTHING * abs(value) if isinstance(value, float) else 0.0
    low, high = value - slack, value + slack
    return any(map(required.met, (low, min(max(required.bound, low), high), high)))
