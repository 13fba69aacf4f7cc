"""A table that holds what is seen of it in its columns, and nothing of what was there before."""

from __future__ import annotations

import io

import polars as pl

from polars_microagg.frames.selection import by_name

__all__ = ["visible"]


def visible(frame: pl.DataFrame) -> pl.DataFrame:
    """Build a table again from the values that can be read in it.

    Columns of Arrow share their memory with those that they were made from: values stay under
    nulls, and texts of rows that were filtered or cut stay beside those that are left. Parquet
    stores neither, so each column goes through it, in memory. Nested ones go twice: the first time
    its dictionary of texts still has those of rows that are gone.

    Parameters
    ----------
    frame : polars.DataFrame
        A table that may have been filtered, sliced or nulled.

    Returns
    -------
    polars.DataFrame
        The same values, names and types.

    Examples
    --------
    >>> given = pl.DataFrame({"cause": ["an illness to be left out", "an accident at work"]})
    >>> visible(given.slice(1)).equals(given.slice(1))
    True
    """
    return frame.with_columns(
        _again(frame.select(by_name(name)).to_series()) for name in frame.columns
    )


def _again(column: pl.Series) -> pl.Series:
    found = _through_parquet(column)
    if found is not None and column.dtype.is_nested():
        found = _through_parquet(found)
    if found is None or found.dtype != column.dtype:
        counted = _counted(column.dtype)
        found = pl.Series(column.cast(counted).to_list(), dtype=counted).cast(column.dtype)
    return found.alias(column.name)


def _counted(dtype: pl.DataType) -> pl.DataType:
    """The same type with whole numbers for dates and times, which Python cuts to microseconds."""
    if isinstance(dtype, pl.Struct):
        return pl.Struct({field.name: _counted(field.dtype) for field in dtype.fields})  # type: ignore[arg-type]
    if isinstance(dtype, pl.List):
        return pl.List(_counted(dtype.inner))  # type: ignore[arg-type]
    if isinstance(dtype, pl.Array):
        return pl.Array(_counted(dtype.inner), dtype.shape[0])  # type: ignore[arg-type]
    return pl.Int64() if dtype.is_temporal() else dtype


def _through_parquet(column: pl.Series) -> pl.Series | None:
    """Write it to memory and read it again; None if Parquet does not have its type."""
    memory = io.BytesIO()
    try:
        frame = pl.DataFrame([column.alias("x")])
        frame.write_parquet(memory, compression="uncompressed", statistics=False)
        memory.seek(0)
        return pl.read_parquet(memory, glob=False, hive_partitioning=False).to_series()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, NotImplementedError):
        return None
