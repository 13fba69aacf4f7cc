"""What older versions of Polars and DuckDB do otherwise; docs/versions.md says the same to users."""

import duckdb
import polars as pl
import pytest

__all__ = ["DUCKDB_2", "POLARS_2", "needs_duckdb_2", "needs_polars_2", "planned"]

POLARS_2 = hasattr(pl.Expr, "pipe_with_dtype")
DUCKDB_2 = hasattr(duckdb.DuckDBPyRelation, "materialize")
needs_polars_2 = pytest.mark.skipif(not POLARS_2, reason="docs/versions.md: from Polars 2")
needs_duckdb_2 = pytest.mark.skipif(not DUCKDB_2, reason="docs/versions.md: from DuckDB 2")


def planned(lazy):
    """Make a plan, by which expressions that are wrong are refused; Polars 1 refuses as it runs."""
    return lazy.collect_schema() if POLARS_2 else lazy.collect()
