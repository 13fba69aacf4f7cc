"""Intervals of numbers as text, counted in units of one decimal place, so that nothing is rounded."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TypeAlias

import numpy as np

__all__ = ["Span", "digits_of", "exact", "floor_of", "label_of", "span_of"]

Span: TypeAlias = tuple[int, int]
"""Lower end and width of an interval, in units."""

FIGURE = re.compile(r"([+-]?)(\d{0,40})(?:\.(\d{0,40}))?(?:[eE]([+-]?\d{1,2}))?", re.ASCII)
"""A number as text. What is longer would be slow to read, and is no measurement."""

END = r"-?\d{1,200}(?:\.\d{1,200})?"
WHOLE = re.compile(r"(-?\d{1,200})(?:-| to )(-?\d{1,200})", re.ASCII)
HALF_OPEN = re.compile(rf"\[({END}), ({END})\)", re.ASCII)

TINIEST, WIDEST = Fraction(1, 10**30), Fraction(10**30)
"""Between these are the numbers that a taxonomy may be made of."""


def floor_of(text: str, digits: int) -> tuple[int, bool] | None:
    """Return the units of a number, rounded down, and whether that is all of it; None for all else.

    >>> floor_of("37.5", 1), floor_of("-37.5", 0), floor_of("1e2", 0), floor_of("NaN", 0)
    ((375, True), (-38, False), (100, True), None)
    """
    match = FIGURE.fullmatch(text)
    if match is None or not (match[2] or match[3]):
        return None
    if match[4]:
        number = Fraction(text) * 10**digits
        return number.numerator // number.denominator, number.denominator == 1
    after = match[3] or ""
    units, rest = int(f"0{match[2]}{after[:digits]:0<{digits}}"), after[digits:].strip("0")
    return -units - bool(rest) if match[1] == "-" else units, not rest


def span_of(label: str, digits: int, whole: bool) -> Span | None:
    """Return the interval that a label may be of, or None.

    >>> span_of("35-39", 0, True), span_of("[0.5, 1)", 1, False)
    ((35, 5), (5, 5))
    """
    match = (WHOLE if whole else HALF_OPEN).fullmatch(label)
    ends = [floor_of(end, digits) for end in match.groups()] if match else []
    low, high = (end and end[0] for end in ends) if ends else (None, None)
    return None if low is None or high is None else (low, high - low + whole)


def label_of(span: Span, digits: int, whole: bool) -> str:
    """Write the first and the last whole number, or both ends.

    >>> label_of((-5, 5), 0, True), label_of((-5, 5), 0, False), label_of((5, 15), 1, False)
    ('-5 to -1', '[-5, 0)', '[0.5, 2)')
    """
    low, width = span
    if not whole:
        return f"[{_decimal(low, digits)}, {_decimal(low + width, digits)})"
    # A hyphen after a sign would be hard to read.
    return f"{low}{'-' if low >= 0 else ' to '}{low + width - 1}"


def exact(number: object) -> Fraction | None:
    """Return a number as it is written, 0.1 as a tenth, or None for all else.

    >>> exact(0.1), exact(float("inf")), exact("5")
    (Fraction(1, 10), None, None)
    """
    if isinstance(number, bool) or not isinstance(number, int | float | np.integer | np.floating):
        return None
    plain = number.item() if isinstance(number, np.generic) else number
    if plain != plain or abs(plain) > WIDEST:
        return None
    read = Fraction(repr(plain))
    return read if read == 0 or abs(read) >= TINIEST else None


def digits_of(number: Fraction) -> int:
    """Return the decimal places of a number that was written with some.

    >>> digits_of(Fraction(1, 8)), digits_of(Fraction(20))
    (3, 0)
    """
    digits = 0
    while (number * 10**digits).denominator > 1:
        digits += 1
    return digits


def _decimal(units: int, digits: int) -> str:
    """Write units as a number without exponent."""
    if not digits:
        return str(units)
    text = f"{abs(units):0{digits + 1}d}"
    after = text[-digits:].rstrip("0")
    return "-" * (units < 0) + text[:-digits] + f".{after}" * bool(after)
