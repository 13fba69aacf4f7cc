"""Two tables read side by side, batch by batch: the rows of a release, and those that they came from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from polars_microagg.errors import originals
from polars_microagg.frames.selection import as_frame
from polars_microagg.out_of_core.parquet_source import ParquetSource

__all__ = ["aligned", "require_aligned"]

Kept = npt.NDArray[np.bool_] | None


def require_aligned(original: ParquetSource, released: ParquetSource, kept_rows: Kept) -> None:
    """Refuse tables of which the rows cannot be those of each other."""
    rows = original.rows if kept_rows is None else int(np.count_nonzero(kept_rows))
    if rows != released.rows or (kept_rows is not None and len(kept_rows) != original.rows):
        raise originals.other_rows(rows, released.rows)


def aligned(
    original: ParquetSource,
    released: ParquetSource,
    size: int,
    columns: tuple[Sequence[str], Sequence[str]],
    kept_rows: Kept = None,
) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    """Yield as many rows of both, at most `size`, with these columns of each.

    `kept_rows` says which rows of the original are in the release; all by default.
    """
    sides = (
        _kept(original.batches(size, list(columns[0])), kept_rows),
        _kept(released.batches(size, list(columns[1])), None),
    )
    waiting: list[pl.DataFrame | None] = [None, None]
    while True:
        for place, side in enumerate(sides):
            if waiting[place] is None:
                waiting[place] = next(side, None)
        one, other = waiting
        if one is None or other is None:
            return
        rows = min(one.height, other.height)
        yield one[:rows], other[:rows]
        waiting = [part[rows:] if part.height > rows else None for part in (one, other)]


def _kept(batches: Iterator[object], kept_rows: Kept) -> Iterator[pl.DataFrame]:
    """Yield batches with records, of the rows that are kept."""
    start = 0
    for batch in batches:
        frame: pl.DataFrame = as_frame(batch)
        if kept_rows is not None:
            stop = start + frame.height
            frame, start = frame.filter(pl.Series(kept_rows[start:stop])), stop
        if frame.height:
            yield frame
