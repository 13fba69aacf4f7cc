"""Parquet files."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import IO

import polars as pl

from polars_microagg.leaves.metadata_scrub import empty_table, without_metadata
from polars_microagg.out_of_core.parquet_writer import TableWriter
from polars_microagg.publishing.formats.register import Format, Made, register

__all__ = ["PARQUET"]


def _holds(dtype: pl.DataType) -> bool:
    return not isinstance(dtype, pl.Object) and not (
        isinstance(dtype, pl.Struct) and not dtype.fields
    )


def _batches(file: IO[bytes], _: str, __: int, ___: object) -> Iterator[pl.DataFrame]:
    """Read what the end of the file says of it; `ParquetSource` reads its rows."""
    import pyarrow.parquet as pq

    yield pl.DataFrame(empty_table(pq.ParquetFile(file).schema_arrow))


def _write(made: Made, file: IO[bytes]) -> None:
    """Copy the file if it is one and has no notes, or write it again."""
    import pyarrow.parquet as pq

    schema, paths = without_metadata(made.source.schema), made.source.paths
    notes = set(pq.read_metadata(paths[0]).metadata or ()) - {b"ARROW:schema"}
    if len(paths) == 1 and not notes and schema.equals(made.source.schema, check_metadata=True):
        with paths[0].open("rb") as source:
            shutil.copyfileobj(source, file, 1 << 20)
        return
    with TableWriter(file, schema) as writer:
        for table in made.tables():
            writer.write_table(table)


PARQUET = register(
    Format(
        "parquet",
        "Parquet",
        (".parquet", ".pq"),
        read=lambda file, _: pl.read_parquet(file, glob=False, hive_partitioning=False),
        read_batches=_batches,
        write=lambda frame, file: frame.write_parquet(file),
        write_batches=_write,
        holds=_holds,
        exact=True,
        begins=rb"PAR1\x15",
    )
)
