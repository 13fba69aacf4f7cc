"""Precision of published measures: few records, few digits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from polars_microagg.core.registry import metrics
from polars_microagg.wording import Counted, Sentence

__all__ = [
    "CHARTS",
    "FEWEST",
    "FIRST",
    "LADDER",
    "OF_RELEASE",
    "RARE",
    "coarse",
    "coarse_count",
    "coarse_sentence",
    "digits_of",
    "drawable",
    "names_told",
    "published",
    "rare_digits",
    "rare_told",
    "step",
    "whole_of",
]

LADDER = ((10_000, 4), (1_000, 3), (100, 2))
"""Digits of each measure from a number of records on; none is published of a smaller table."""

FEWEST = LADDER[-1][0]
"""Records below which what is published is a function of the release alone."""

FIRST = ("loss", "dld", "dld_entity")
"""Measures that are published with two digits, where the others are not."""

OF_RELEASE = ("k_min", "k_prime")
"""Measures of the release alone, which disclose nothing that it does not."""

TWICE = ("sse", "sst")
"""Measures that are not published, as their ratio is `loss` and would have more digits."""

SPREAD = "spread"
"""Column of a report's charts, in per cent; it is not a metric."""

RARE = "rare"
"""Share of the cells that lost a rare category, in per cent; it is not a metric."""

MOST = 1_000
"""Wholes above which a measure is published as that many."""

CHARTS = 2
"""Digits of numbers in charts and tables of a report."""

SHARE = 0.25
"""Bits that the charts of a report may disclose for each value of the original."""

BINS_BITS = 77
"""Bits of a histogram: 15 edges that may be merged, and 15 rising shares in whole per cent."""


def digits_of(records: int) -> int:
    """Count the digits of a measure that are published of so many records.

    >>> digits_of(99), digits_of(100), digits_of(200_000)
    (0, 2, 4)
    """
    return next((digits for least, digits in LADDER if records >= least), 0)


def coarse(name: str, value: float, digits: int) -> float:
    """Round a measure to some digits of its whole; none is closer to nothing than the others.

    Two digits of 100 per cent are whole per cents; above its whole a measure has that many
    significant digits, up to a thousand wholes. Significant digits of small numbers would tell more
    the smaller they are, and of a measure of 0 everything.

    >>> coarse("loss", 12.34, 2), coarse("loss", 0.0123, 2), coarse("il1", 0.1234, 2)
    (12.0, 0.0, 0.12)
    """
    if not math.isfinite(value):
        return value
    whole = whole_of(name)
    value = min(max(value, -MOST * whole), MOST * whole)
    if abs(value) >= whole:
        return float(f"{value:.{digits}g}")
    return round(value, digits - _power(whole)) + 0.0


def coarse_count(count: int, of: int, digits: int) -> tuple[int, float]:
    """Round a count to some digits of its share in so many; return both, and never none for some.

    The count follows from the share, so that it discloses no more.

    >>> coarse_count(1_230, 10_000, 3), coarse_count(1, 9_000, 3)
    ((1230, 12.3), (9, 0.1))
    """
    share = coarse(RARE, 100.0 * count / max(of, 1), digits)
    share = share or (step(RARE, 0.0, digits) if count else 0.0)
    return round(share * of / 100), share


def coarse_sentence(sentence: str) -> str:
    """Round the counts of a warning that only the original shows, as any count of it.

    >>> made = Sentence("{few} of {all} groups.", few=Counted(321, 4_000), all=4_000)
    >>> made, coarse_sentence(made)
    ('321 of 4000 groups.', 'About 320 of 4000 groups.')
    """
    if not isinstance(sentence, Sentence):
        return sentence
    fields = dict(sentence.fields)
    for name, part in fields.items():
        if isinstance(part, Counted):
            digits = digits_of(part.of)
            count = coarse_count(part.count, part.of, digits)[0] if digits else 0
            words = f"about {count}" if count else "some"
            first = sentence.template.startswith(f"{{{name}}}")
            fields[name] = words.capitalize() if first else words
        elif isinstance(part, Sentence):
            fields[name] = coarse_sentence(part)
    return Sentence(sentence.template, **fields)


def rare_digits(cells: int) -> int:
    """Count the digits of the share of so many cells that lost a rare category; 0 if it is not told.

    It counts the cells of the original alone, so that it is told also where none of them is left.

    >>> rare_digits(999), rare_digits(1000)
    (0, 3)
    """
    digits = digits_of(cells)
    return digits if digits > LADDER[-1][1] else 0


def rare_told(share: float, cells: int) -> float | None:
    """Round the share of so many cells that lost a rare category; None if it is not told."""
    digits = rare_digits(cells)
    return coarse(RARE, share, digits) if digits else None


def step(name: str, value: float | None, digits: int) -> float:
    """Return the size of the last digit of a measure that was rounded.

    >>> step("loss", 12.0, 2), step("il1", 0.12, 2), step("loss", 1200.0, 2)
    (1.0, 0.01, 100.0)
    """
    if value is None or not math.isfinite(value) or not digits:
        return 0.0
    whole = whole_of(name)
    if abs(value) >= MOST * whole:
        return math.inf
    power = math.floor(math.log10(abs(value))) + 1 if abs(value) >= whole else _power(whole)
    return float(f"1e{power - digits}")


def whole_of(name: str) -> int:
    """Return the value from which digits are counted: 100 for per cent and points, else 1."""
    entry = metrics().get(name)
    return 100 if name in (SPREAD, RARE) or (entry is not None and entry.unit) else 1


def _power(whole: int) -> int:
    return 2 if whole == 100 else 0


def names_told(measures: Iterable[str], digits: int) -> list[str]:
    """Return the names of the measures that are published, in this order.

    >>> names_told(["sse", "loss", "il", "k_min"], 2), names_told(["sse", "loss", "il", "k_min"], 3)
    (['loss', 'k_min'], ['loss', 'il', 'k_min'])
    """
    if digits > LADDER[-1][1]:
        return [name for name in measures if name not in TWICE]
    names = {*OF_RELEASE, *(FIRST if digits else ())}
    return [name for name in measures if name in names]


def published(measures: Mapping[str, Any], digits: int) -> dict[str, Any]:
    """Leave out the measures that are not published, and round the others.

    >>> published({"loss": 12.34, "il1": 0.1234, "k_min": 5}, digits_of(6))
    {'k_min': 5}
    >>> published({"loss": 12.34, "il1": 0.1234, "k_min": 5}, digits_of(240))
    {'loss': 12.0, 'k_min': 5}
    """
    rounded = {name: measures[name] for name in names_told(measures, digits)}
    for name, value in rounded.items():
        if name in OF_RELEASE:
            rounded[name] = float(f"{value:.4g}") if isinstance(value, float) else value
        elif value is not None:
            # A count of cells or records of the original is rounded like any other measure of it.
            rounded[name] = coarse(name, value, digits)
    return rounded


def drawable(values: int, columns: int, numbers: int) -> bool:
    """Return whether the charts of a report disclose little of the values that they are made of.

    >>> drawable(720, 3, 20), drawable(3_000, 3, 20)
    (False, True)
    """
    bits = columns * BINS_BITS + numbers * (CHARTS + 1) * math.log2(10)
    return bits <= SHARE * values
