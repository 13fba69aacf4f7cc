"""Rows of a relation as they are now, kept in memory, and beside others."""

from __future__ import annotations

import secrets
from collections.abc import Callable

from duckdb import DuckDBPyConnection, DuckDBPyRelation

__all__ = ["beside", "materialized"]


def materialized(
    con: DuckDBPyConnection, __mg_rows: DuckDBPyRelation
) -> tuple[DuckDBPyRelation, Callable[[], object]]:
    """Return the rows, and a function that lets go of them when nothing is made of them any more.

    DuckDB before 2.0 keeps them in a temporary table, until then or until the connection is closed.
    """
    if hasattr(__mg_rows, "materialize"):
        return __mg_rows.materialize(), lambda: None
    name = f"__mg_held_{secrets.token_hex(8)}"
    # DuckDB finds the relation among the Python variables of this function.
    con.execute(f"CREATE TEMP TABLE {name} AS FROM __mg_rows")
    return con.table(f"temp.{name}"), lambda: con.execute(f"DROP TABLE temp.{name}")


def beside(
    one: DuckDBPyRelation, other: DuckDBPyRelation, numbers: str
) -> tuple[DuckDBPyRelation, bool]:
    """Join row i to row i, and return whether the order is kept; before DuckDB 2 by their numbers."""
    try:
        return one.join(other, how="positional"), True
    except TypeError:
        return one.join(other, numbers), False
