"""Tables rebuilt from what can be read in them, without values under nulls or of rows left out."""

from __future__ import annotations

import io
from collections.abc import Sequence

import polars as pl

from polars_microagg.publishing.formats.column_batches import batches

__all__ = ["visible"]


def visible(frame: pl.DataFrame) -> pl.DataFrame:
    """Build a table again from the values that can be read in it.

    Columns of Arrow share their memory with those that they were made from: values stay under
    nulls, and texts of rows that were filtered or cut stay beside those that are left. Parquet
    stores neither, so columns go through it, in memory. Nested ones go twice: the first time their
    dictionary of texts still has those of rows that are gone.

    >>> given = pl.DataFrame({"cause": ["an illness to be left out", "an accident at work"]})
    >>> visible(given.slice(1)).equals(given.slice(1))
    True
    """
    columns = [column.alias(str(i)) for i, column in enumerate(frame.get_columns())]
    rebuilt = dict[str, pl.Series]()
    for batch in batches(columns, frame.height):
        rebuilt |= _again(batch)
    for batch in batches([c for c in columns if c.dtype.is_nested()], frame.height):
        rebuilt |= _again([rebuilt[column.name] for column in batch])
    # By a dict: in a list, a column of the name "" would be named anew.
    return pl.DataFrame({n: rebuilt[c.name] for n, c in zip(frame.columns, columns, strict=True)})


def _again(columns: Sequence[pl.Series]) -> dict[str, pl.Series]:
    """Build columns again, by their names; if they cannot all be at once, each alone."""
    rebuilt = _through_parquet(columns)
    if rebuilt is None and len(columns) > 1:
        return {name: new for one in columns for name, new in _again([one]).items()}
    rebuilt_by_name = (
        dict.fromkeys(c.name for c in columns) if rebuilt is None else rebuilt.to_dict()
    )
    return {c.name: _of_its_type(c, rebuilt_by_name[c.name]) for c in columns}


def _of_its_type(column: pl.Series, rebuilt: pl.Series | None) -> pl.Series:
    if rebuilt is None or rebuilt.dtype != column.dtype:
        counted = _counted(column.dtype)
        rebuilt = pl.Series(column.cast(counted).to_list(), dtype=counted).cast(column.dtype)
    return rebuilt.alias(column.name)


def _counted(dtype: pl.DataType) -> pl.DataType:
    """Return the same type with integers for dates and times, which Python cuts to microseconds."""
    if isinstance(dtype, pl.Struct):
        return pl.Struct({field.name: _counted(field.dtype) for field in dtype.fields})  # type: ignore[arg-type]
    if isinstance(dtype, pl.List):
        return pl.List(_counted(dtype.inner))  # type: ignore[arg-type]
    if isinstance(dtype, pl.Array):
        return pl.Array(_counted(dtype.inner), dtype.shape[0])  # type: ignore[arg-type]
    return pl.Int64() if dtype.is_temporal() else dtype


def _through_parquet(columns: Sequence[pl.Series]) -> pl.DataFrame | None:
    """Write them to memory and read them again; None if Parquet does not have their types."""
    memory = io.BytesIO()
    try:
        pl.DataFrame(columns).write_parquet(memory, compression="uncompressed", statistics=False)
        memory.seek(0)
        return pl.read_parquet(memory, glob=False, hive_partitioning=False)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, NotImplementedError):
        return None
