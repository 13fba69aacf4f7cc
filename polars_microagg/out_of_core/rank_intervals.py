"""Original values inside an interval of ranks around their masked values, of a column in a file."""

from __future__ import annotations

import numpy as np

from polars_microagg.core.partition import Vector
from polars_microagg.out_of_core.coordinate_files import CoordinateFiles

__all__ = ["inside_by_rank"]

WIDTHS = np.arange(1.0, 11.0)
"""Widths of the intervals, in per cent of the records."""

SLACK = 1e-9
"""Widths are taken so much wider, as by the measure of a table that is there whole."""


def inside_by_rank(files: CoordinateFiles, j: int, size: int) -> float | None:
    """Return the share of values inside, over all widths; None without values.

    The masked values of the column are in memory, in their order.
    """
    ranked = _sorted(files, j, size)
    n = len(ranked)
    if not n:
        return None
    half = (WIDTHS * (1 + SLACK) / 200 * n)[:, None]
    inside = 0
    for x, y in files.pieces(size, [j]):
        present = ~(np.isnan(x[:, 0]) | np.isnan(y[:, 0]))
        column, masked = x[present, 0], y[present, 0]
        values, place = np.unique(masked, return_inverse=True)
        starts = np.searchsorted(ranked, values)
        ends = np.searchsorted(ranked, values, "right")
        middle = (starts + ends - 1) / 2
        low = np.maximum(np.ceil(middle - half), 0).astype(np.intp)
        high = np.minimum(np.floor(middle + half), n - 1).astype(np.intp)
        for first, last in zip(low, high, strict=True):
            # Of values between two ranks the interval holds at least the masked value itself.
            within = column >= np.minimum(ranked[first], values)[place]
            within &= column <= np.maximum(ranked[last], values)[place]
            inside += int(np.count_nonzero(within))
    return inside / (n * len(WIDTHS))


def _sorted(files: CoordinateFiles, j: int, size: int) -> Vector:
    """Return the masked values of records with a value before and after, ascending."""
    ranked, filled = np.empty(files.rows), 0
    for x, y in files.pieces(size, [j]):
        held = y[~(np.isnan(x[:, 0]) | np.isnan(y[:, 0])), 0]
        ranked[filled : filled + len(held)] = held
        filled += len(held)
    ranked = ranked[:filled]
    ranked.sort()
    return ranked
