"""The DuckDB door: `register` adds the SQL macros, `mask` is the Arrow path for large data."""

from polars_microagg.duckdb.register import register
from polars_microagg.duckdb.relation import mask

__all__ = ["mask", "register"]
