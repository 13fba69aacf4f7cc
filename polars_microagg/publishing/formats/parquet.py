"""Parquet files."""

from __future__ import annotations

import polars as pl

from polars_microagg.publishing.formats.register import Format, register

__all__ = ["PARQUET"]


def _holds(dtype: pl.DataType) -> bool:
    return not isinstance(dtype, pl.Object) and not (
        isinstance(dtype, pl.Struct) and not dtype.fields
    )


PARQUET = register(
    Format(
        "parquet",
        "Parquet",
        (".parquet", ".pq"),
        read=lambda file, _: pl.read_parquet(file, glob=False, hive_partitioning=False),
        write=lambda frame, file: frame.write_parquet(file),
        holds=_holds,
        exact=True,
        begins=rb"PAR1\x15",
    )
)
