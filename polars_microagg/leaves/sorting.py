"""An order of records by many keys, of which the first ones mostly decide."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import polars as pl

from polars_microagg.core.partition import Labels

__all__ = ["sorted_by"]

LONG = 64
"""Runs of more records than this on average are sorted one by one."""


def sorted_by(runs: Labels, keys: Iterable[pl.Series]) -> Labels:
    """Return the order of records by their run, then by one key after the other; nulls come last.

    Records that are equal in all keys stay in their order.

    >>> sorted_by(np.array([1, 0, 0]), [pl.Series([3, 2, 2]), pl.Series(["x", "y", "a"])])
    array([2, 1, 0])
    """
    # The first numbers that are not the least possible sort by radix, in linear time.
    small = runs.astype(np.uint16) if runs.max(initial=0) < 2**16 else runs
    order = np.argsort(small, kind="stable")
    begins = np.diff(runs[order], prepend=-1) != 0
    for key in keys:
        # Only records that all keys before have left equal are looked at.
        tied = np.flatnonzero(~begins | ~np.append(begins[1:], True))
        if not tied.size:
            break
        rows = order[tied]
        values, run = _comparable(key, rows), np.cumsum(begins[tied]) - 1
        apart = run[1:] != run[:-1]
        if (apart | (values[1:] == values[:-1])).all():
            continue
        by = _within(run, values)
        values = values[by]
        order[tied] = rows[by]
        begins[tied[1:]] |= values[1:] != values[:-1]
    return order


def _comparable(key: pl.Series, rows: Labels) -> npt.NDArray[np.generic]:
    """Return the values of some rows as numbers in the order of the values."""
    column = key.alias("").gather(rows)
    dtype = column.dtype
    plain = dtype.is_float() or dtype.is_integer() or dtype.is_temporal() or dtype == pl.Boolean
    if plain and not column.null_count() and dtype not in (pl.Int128, pl.UInt128):
        values = column.to_physical().to_numpy()
        if not dtype.is_float() or not np.isnan(values).any():
            return values
    # Ranks of texts and decimals; the codes behind categories depend on what was read before.
    if isinstance(dtype, pl.Categorical):
        column = column.cast(pl.String)
    return column.rank("dense").cast(pl.Int64).fill_null(2**62).to_numpy()


def _within(run: Labels, values: npt.NDArray[np.generic]) -> Labels:
    """Return the order by values within ascending runs."""
    starts = np.flatnonzero(np.diff(run, prepend=-1))
    if len(starts) * LONG > len(run):
        return np.lexsort((values, run))
    # Long runs are sorted each on its own, which takes less than to sort all of them twice.
    order = np.empty(len(run), dtype=np.intp)
    for start, stop in zip(starts.tolist(), [*starts[1:].tolist(), len(run)], strict=True):
        order[start:stop] = start + np.argsort(values[start:stop], kind="stable")
    return order
