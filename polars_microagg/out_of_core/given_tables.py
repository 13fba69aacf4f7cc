"""Tables that a call is given, as Parquet files that are read in batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from polars_microagg.errors import InvalidParameterError
from polars_microagg.frames.safe_collect import quietly, schema_of
from polars_microagg.frames.selection import as_frame
from polars_microagg.leaves.memory_budget import MemoryBudget, bytes_of
from polars_microagg.out_of_core.counts import own_folder
from polars_microagg.out_of_core.parquet_source import ParquetSource

__all__ = ["budget_of", "empty_of", "refuse_files", "tables_of"]


def refuse_files(memory: object, **tables: Any) -> None:
    """Refuse names of files where it is not said how much memory they may take."""
    for what, table in tables.items():
        if memory is None and isinstance(table, str | Path):
            need = "a table; of files say how much memory they may take, such as memory='2GB'"
            raise InvalidParameterError.kind(what, type(table).__name__, need)


@contextmanager
def tables_of(memory: object, **tables: Any) -> Iterator[tuple[list[ParquetSource], int]]:
    """Yield tables as Parquet files, and the bytes of memory; a LazyFrame is set down first."""
    limit = bytes_of(memory)
    with own_folder(None) as folder:
        yield [_set_down(what, table, folder) for what, table in tables.items()], limit


def _set_down(what: str, table: Any, folder: Path) -> ParquetSource:
    """Return a table as Parquet files."""
    if isinstance(table, str | Path | list | tuple):
        return ParquetSource.of(table)
    lazy, path = as_frame(table, what).lazy(), folder / f"{what}.parquet"
    quietly(partial(lazy.sink_parquet, path), what, lambda: schema_of(lazy).names())
    return ParquetSource.of(path)


def empty_of(table: ParquetSource) -> pl.DataFrame:
    """Return a table without records."""
    empty: pl.DataFrame = table.empty
    return empty


def budget_of(
    memory: int, columns: Sequence[Sequence[str]], *tables: ParquetSource
) -> MemoryBudget:
    """Return the records that fit, of which these columns are read."""
    wide = sum(table.wide for table in tables)
    return MemoryBudget.of(memory, 1, sum(map(len, columns)), wide)
