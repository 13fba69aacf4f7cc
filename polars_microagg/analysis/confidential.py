"""Disclosure of a confidential column by classes of equal records: l-diversity, t-closeness."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from polars_microagg.core.partition import Labels, Vector
from polars_microagg.frames.columns import can_mask

__all__ = ["distinct_values", "farthest", "ordered_distances", "variational_distances"]


def distinct_values(classes: pl.Series, values: pl.Series) -> int | None:
    """Return the least number of distinct values in a class: distinct l-diversity.

    A null is not counted: in a class with one disease and a null, the intruder reads that disease
    and no other. A class without values has 1; no records at all, None.

    >>> distinct_values(pl.Series([0, 0, 1, 1]), pl.Series(["u", "v", "u", "u"]))
    1
    """
    frame = pl.DataFrame({"class": classes, "value": values})
    kinds = pl.col("value").drop_nulls().n_unique()
    least = frame.group_by("class").agg(kinds)["value"].min()
    return None if least is None else max(1, int(least))  # type: ignore[arg-type]


def farthest(classes: pl.Series, values: pl.Series) -> float | None:
    """Return the greatest distance of a class from all records in its values: t-closeness.

    It is the earth mover's distance, from 0 to 1; None without records. Numbers, decimals, dates
    and times are ordered, other types are not; null is a value, the first in order.

    >>> farthest(pl.Series([0, 0, 1, 1]), pl.Series([1, 2, 2, 3]))
    0.25
    """
    if not len(values):
        return None
    ordered = can_mask(values.dtype)
    code = values.rank("dense") if ordered else _appearance(values)
    coded = code.cast(pl.Int64).fill_null(0).to_numpy()
    codes = np.unique(coded, return_inverse=True)[1]
    distances = ordered_distances if ordered else variational_distances
    return float(distances(classes.to_numpy().astype(np.intp), codes).max())


def _appearance(values: pl.Series) -> pl.Series:
    """Number each value by the first row that has it."""
    numbered = values.to_frame("v").with_row_index("row")
    return numbered.select(pl.col("row").min().over("v")).to_series()


def _shares(codes: Labels) -> Vector:
    """Return the share of each value among all records."""
    counts: npt.NDArray[np.float64] = np.bincount(codes) / len(codes)
    return counts


def variational_distances(classes: Labels, codes: Labels) -> Vector:
    """Return half the sum of absolute differences of shares, one distance a class.

    `classes` (n,) and `codes` (n,) number the classes and the values, both from 0 without gaps.

    >>> variational_distances(np.array([0, 0, 1, 1]), np.array([0, 0, 0, 1]))
    array([0.25, 0.25])
    """
    overall = _shares(codes)
    sizes = np.bincount(classes)
    pairs, counts = np.unique(classes * len(overall) + codes, return_counts=True)
    owner, value = np.divmod(pairs, len(overall))
    # Equal distance of N. Li, T. Li and S. Venkatasubramanian (2007). Only values that occur in a
    # class are compared; those that it lacks add their shares, which are 1 less the shares of those
    # it has.
    share = overall[value]
    there = np.bincount(owner, np.abs(counts / sizes[owner] - share))
    distances: Vector = (there + 1.0 - np.bincount(owner, share)) / 2
    return np.maximum(distances, 0.0)


def ordered_distances(classes: Labels, codes: Labels) -> Vector:
    """Return the mean absolute difference of the distribution functions, one distance a class.

    `classes` (n,) numbers the classes, `codes` (n,) are ranks among the m distinct values, both
    from 0 without gaps. The mean is over all values but the last.

    >>> ordered_distances(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 2]))
    array([0.25, 0.25])
    """
    overall = np.cumsum(_shares(codes))
    m = len(overall)
    sizes = np.bincount(classes)
    if m < 2:
        return np.zeros(len(sizes))
    # Ordered distance of N. Li, T. Li and S. Venkatasubramanian (2007): the i-th and the j-th value
    # are |i - j| / (m - 1) apart. Between two of its values the function of a class is flat and the
    # overall one grows, so they cross at most once: running sums of the overall function and that
    # place give the area between them. The time grows with n log n, not with classes times values.
    sums = np.r_[0.0, np.cumsum(overall)]
    order = np.lexsort((codes, classes))
    owner, ranked = classes[order], codes[order]
    starts = np.cumsum(sizes) - sizes
    # A step after each record up to the next of its class, and one before the first.
    after = np.arange(1, len(owner) + 1) - starts[owner]
    stop = np.r_[ranked[1:], m - 1]
    stop[starts + sizes - 1] = m - 1
    groups = np.r_[owner, np.arange(len(sizes))]
    low = np.r_[ranked, np.zeros(len(sizes), dtype=np.intp)]
    high = np.r_[stop, ranked[starts]]
    level = np.r_[after / sizes[owner], np.zeros(len(sizes))]
    cross = np.clip(np.searchsorted(overall, level), low, high)
    below = level * (cross - low) - (sums[cross] - sums[low])
    above = (sums[high] - sums[cross]) - level * (high - cross)
    distances: Vector = np.bincount(groups, below + above) / (m - 1)
    return distances
