"""The macros of the library in a DuckDB database."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Any

import duckdb

from polars_microagg.duckdb.descriptions import comment
from polars_microagg.duckdb.macros import INTERNALS, identifier, macros
from polars_microagg.duckdb.udfs import FUNCTIONS
from polars_microagg.errors import InvalidParameterError
from polars_microagg.wording import Sentence, Setting

__all__ = ["register"]

OURS = "_microagg_catalog"
"""A macro that marks a catalog as made here."""

_HOW: dict[str, Any] = {"type": "arrow", "null_handling": "special"}
"""Options of our functions in DuckDB; in words, as the module of the constants has moved in DuckDB 1.4.1."""

_one_at_a_time = threading.Lock()


def register(
    con: duckdb.DuckDBPyConnection, *, catalog: str = "microagg"
) -> duckdb.DuckDBPyConnection:
    """Add the macros of the library to a DuckDB database.

    Parameters
    ----------
    con : duckdb.DuckDBPyConnection
        A connection to any database, also a read-only one.
    catalog : str, default 'microagg'
        Name under which the macros are found, as in ``FROM microagg.mdav(...)``.

    Returns
    -------
    duckdb.DuckDBPyConnection
        The same connection.

    Raises
    ------
    InvalidParameterError
        The database has a catalog or schema of that name which is not ours.

    Notes
    -----
    The macros live in an attached catalog in memory: every cursor and connection of this
    process sees them, and nothing of them stays in the database file. A second call writes them
    anew, with the methods registered by then.

    Examples
    --------
    >>> import duckdb
    >>> with register(duckdb.connect()) as con:
    ...     con.execute("CREATE TABLE people AS FROM (VALUES (23), (25), (47), (51)) t(age)")
    ...     con.sql("FROM microagg.mdav('people', 'age', 2)").fetchall()
    <...>
    [(24,), (24,), (49,), (49,)]
    """
    if not isinstance(con, duckdb.DuckDBPyConnection):
        raise InvalidParameterError.kind("con", type(con).__name__, "a connection of duckdb")
    if not isinstance(catalog, str) or not catalog or "\0" in catalog:
        raise InvalidParameterError.kind("catalog", catalog, "a name, as in 'microagg'")
    # A cursor of its own: what is registered inside a transaction that the user rolls back would
    # leave names that can be neither used nor created again.
    with _one_at_a_time, con.cursor() as cursor:
        _attach(cursor, catalog)
        _add_functions(cursor)
        for statement in macros(catalog):
            cursor.execute(statement)
    return con


def _attach(cursor: duckdb.DuckDBPyConnection, catalog: str) -> None:
    """Attach the catalog, unless it is there and ours."""
    names = """
        SELECT database_name FROM duckdb_databases() WHERE lower(database_name) = lower($catalog)
        UNION ALL
        SELECT schema_name FROM duckdb_schemas()
        WHERE lower(schema_name) = lower($catalog)
    """
    taken = cursor.execute(names, {"catalog": catalog}).fetchall()
    if len(taken) == 1 and _is_ours(cursor, catalog):
        return
    if taken:
        what = Sentence(
            "{setting}: the database has a catalog or schema of that name already",
            setting=Setting("catalog", catalog),
        )
        way = "Give another name, as in register(con, catalog='mg')."
        raise InvalidParameterError.cannot("register", what, way)
    # READ_WRITE, because an attached database is otherwise as read-only as the first one.
    cursor.execute(f"ATTACH ':memory:' AS {identifier(catalog)} (READ_WRITE)")
    cursor.execute(f"CREATE SCHEMA {identifier(catalog)}.{INTERNALS}")
    cursor.execute(f"CREATE OR REPLACE MACRO {identifier(catalog)}.{INTERNALS}.{OURS}() AS true")
    said = comment(
        f"{identifier(catalog)}.{INTERNALS}", OURS, "Not for use. Marks the catalog.", False
    )
    cursor.execute(said)


def _is_ours(cursor: duckdb.DuckDBPyConnection, catalog: str) -> bool:
    """Return whether a catalog has the macro that marks ours."""
    try:
        cursor.execute(f"SELECT {identifier(catalog)}.{INTERNALS}.{OURS}()").fetchall()
    except duckdb.Error:
        return False
    return True


def _add_functions(cursor: duckdb.DuckDBPyConnection) -> None:
    """Add the Python functions, once a database instance."""
    # To list the functions of DuckDB takes longer than to try.
    for name, (function, parameters, result) in FUNCTIONS.items():
        with suppress(duckdb.CatalogException):
            cursor.create_function(name, function, list(parameters), result, **_HOW)
