"""Histograms of a column before and after masking that show no single original value."""

from __future__ import annotations

import itertools
import math

import numpy as np
import polars as pl

from polars_microagg.core.partition import Labels, Vector
from polars_microagg.frames.columns import numbers, unit

__all__ = ["histogram"]

BINS = 16
"""Bins between the 2nd and the 98th hundredth of the values, before small ones are merged."""
SPANS = (("day", 86_400.0), ("h", 3_600.0), ("min", 60.0), ("s", 1.0))
"""Units of durations and of times of day, in seconds."""
CALENDAR = (
    *(("1s", 1), ("5s", 5), ("15s", 15), ("1m", 60), ("5m", 300), ("15m", 900), ("1h", 3_600)),
    *(("6h", 21_600), ("1d", 86_400), ("1w", 604_800), ("1mo", 2_629_746), ("1q", 7_889_238)),
    *(("1y", 31_556_952), ("5y", 157_784_760), ("20y", 631_139_040), ("100y", 3_155_695_200)),
)
"""Steps of dates, in seconds."""
SECOND = {"ms": 1e3, "us": 1e6, "ns": 1e9}
"""Units of a datetime in a second."""


def histogram(original: pl.Series, masked: pl.Series, k: int) -> pl.DataFrame:
    """Return the records before and after in bins that each hold at least k original records.

    A row a bin has low and high (where it is drawn), label, tick (the label of `low`, null for the
    first), before and after. It is empty if fewer than k records have a value. Edges are round
    numbers, whatever the values are, and the first and the last bin are open to their side, so the
    smallest and the largest value are not shown.

    >>> ages = pl.Series([23, 25, 31, 47, 52, 58])
    >>> histogram(ages, ages, 3).select("label", "before").rows()
    [('below 35', 3), ('35 or more', 3)]
    """
    before, after = (_plain(column, original.dtype) for column in (original, masked))
    if len(before) < k or not len(after):
        return _table(np.empty(0), [], *(np.zeros(0, dtype=np.intp) for _ in range(2)))
    # What is released may be known to all, so the axis follows the masked values.
    low, high = np.quantile(after, [0.02, 0.98])
    if low == high:
        low, high = after.min(), after.max()
    edges, labels = _edges(original.dtype, float(low), float(high))
    inner = edges[1:-1]
    counts = [
        np.bincount(np.searchsorted(inner, v, "right"), minlength=len(inner) + 1)
        for v in (before, after)
    ]
    starts = _merged(counts[0], k)
    both = [np.add.reduceat(count, starts) for count in counts]
    kept = [*starts.tolist(), len(edges) - 1]
    return _table(edges[kept], [labels[i] for i in kept], *both)


def _plain(column: pl.Series, dtype: pl.DataType) -> Vector:
    """Return values as float64 in units of the type, without the absent ones."""
    column = column.drop_nulls()
    if column.dtype.is_temporal():
        column = column.cast(dtype)
    values = numbers(column, None) * unit(column.dtype)
    return values[np.isfinite(values)]


def _edges(dtype: pl.DataType, low: float, high: float) -> tuple[Vector, list[str]]:
    """Return round edges around a range, and how each is written."""
    if isinstance(dtype, pl.Date | pl.Datetime):
        return _dates(dtype, low, high)
    if isinstance(dtype, pl.Duration | pl.Time):
        second = SECOND[getattr(dtype, "time_unit", "ns")]
        wide = (high - low) / second
        name, seconds = next((s for s in SPANS if wide >= 4 * s[1]), SPANS[-1])
        edges, labels = _round(low / second / seconds, high / second / seconds, whole=False)
        return edges * second * seconds, [f"{label} {name}" for label in labels]
    return _round(low, high, whole=dtype.is_integer())


def _round(low: float, high: float, *, whole: bool) -> tuple[Vector, list[str]]:
    """Return multiples of 1, 2 or 5 times a power of ten around a range, and their labels."""
    wide = high / BINS - low / BINS or abs(high) or 1.0
    if not 1e-300 < wide < 1e300 or max(abs(low), abs(high)) > wide * 1e12:
        # One bin without a label may be drawn anywhere, and a share of so narrow a one is infinite.
        return np.array([0.0, 1.0]), ["", ""]
    power = math.floor(math.log10(wide))
    step = float(next(f"{m}e{power}" for m in (1, 2, 5, 10) if m * 10.0**power >= wide * 0.999999))
    step = max(step, 1.0) if whole else step
    whole_steps = np.arange(math.floor(low / step), math.floor(high / step) + 2)
    edges: Vector = whole_steps.astype(np.float64) * step
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    if abs(edges).max() >= 1e12 or digits > 6:
        return edges, [f"{edge:.12g}" for edge in edges]
    return edges, [f"{edge + 0.0:,.{digits}f}" for edge in edges]


def _dates(dtype: pl.DataType, low: float, high: float) -> tuple[Vector, list[str]]:
    """Return starts of days, months or years around a range, and their labels."""
    second = SECOND[dtype.time_unit or "us"] if isinstance(dtype, pl.Datetime) else 1 / 86_400
    wide = (high - low) / second / BINS
    steps = CALENDAR[8:] if isinstance(dtype, pl.Date) else CALENDAR
    name, seconds = next((s for s in steps if s[1] >= wide), steps[-1])
    naive = pl.Datetime(dtype.time_unit if isinstance(dtype, pl.Datetime) else "us")
    ends = pl.Series([math.floor(low), math.ceil(high)]).cast(pl.Int64)
    ends = ends.cast(pl.Date if isinstance(dtype, pl.Date) else naive).cast(naive)
    first = ends.dt.truncate(name)
    edges = pl.select(
        pl.datetime_range(first[0], ends.dt.offset_by(name)[1], name, time_unit=naive.time_unit)
    ).to_series()
    written = "%Y" if seconds >= 3e7 else "%Y-%m" if seconds >= 2e6 else "%Y-%m-%d"
    if seconds < 86_400:
        written += " %H:%M" if seconds >= 60 else " %H:%M:%S"
    labels = edges.dt.to_string(written).to_list()
    plain = edges.cast(dtype if isinstance(dtype, pl.Date) else naive).to_physical()
    return plain.cast(pl.Float64).to_numpy(), labels


def _merged(counts: Labels, k: int) -> Labels:
    """Return the first bin of each run of bins that together hold at least k records."""
    starts, held = [0], 0
    for i, count in enumerate(counts.tolist()):
        if held >= k:
            starts.append(i)
            held = 0
        held += count
    # A last run below k is merged with the one before it.
    return np.array(starts if held >= k or len(starts) == 1 else starts[:-1])


def _table(edges: Vector, labels: list[str], before: Labels, after: Labels) -> pl.DataFrame:
    """Return the table of a histogram."""
    words = [f"{a} to {b}" for a, b in itertools.pairwise(labels)]
    if words:
        words[0], words[-1] = f"below {labels[1]}", f"{labels[-2]} or more"
    # A bin that is open to a side has no edge there.
    words, ticks = words if len(words) != 1 else ["all values"], [None, *labels[1:-1]]
    return pl.DataFrame(
        {
            "low": pl.Series(edges[:-1], dtype=pl.Float64),
            "high": pl.Series(edges[1:], dtype=pl.Float64),
            "label": pl.Series(words, dtype=pl.String),
            "tick": pl.Series(ticks[: len(words)], dtype=pl.String),
            "before": pl.Series(before, dtype=pl.Int64),
            "after": pl.Series(after, dtype=pl.Int64),
        }
    )
