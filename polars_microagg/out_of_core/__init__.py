"""Parquet files larger than memory, masked leaf by leaf."""

from polars_microagg.out_of_core.parquet import protect_parquet

__all__ = ["protect_parquet"]
