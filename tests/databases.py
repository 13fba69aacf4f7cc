"""Databases of DuckDB with our macros: a tenth of a second to make, so those that are clean serve again."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import duckdb

import polars_microagg.duckdb as mgd

__all__ = ["registered"]

MADE = """
    SELECT 'VIEW', database_name, schema_name, view_name FROM duckdb_views() WHERE NOT internal
    UNION ALL SELECT 'TABLE', database_name, schema_name, table_name FROM duckdb_tables()
    UNION ALL SELECT 'TYPE', database_name, schema_name, type_name FROM duckdb_types() WHERE NOT internal
    UNION ALL SELECT 'SEQUENCE', database_name, schema_name, sequence_name FROM duckdb_sequences()
"""
PLACES = """
    SELECT current_database(), current_schema(),
        (SELECT list_sort(list(database_name)) FROM duckdb_databases()),
        (SELECT list_sort(list(database_name || '.' || schema_name)) FROM duckdb_schemas())
"""
LEFT = """
    SELECT name FROM duckdb_variables() UNION ALL SELECT name FROM duckdb_secrets()
    UNION ALL SELECT name FROM duckdb_prepared_statements()
"""
SETTINGS = "SELECT name, value FROM duckdb_settings()"
FUNCTIONS = """
    SELECT database_name, schema_name, function_name, macro_definition
    FROM duckdb_functions() WHERE NOT internal ORDER BY ALL
"""


def state(con: duckdb.DuckDBPyConnection, *queries: str) -> list[list[tuple[str, ...]]]:
    return [con.execute(query).fetchall() for query in queries]


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


class Databases:
    """Clean databases that no test uses, and how a clean one looks."""

    def __init__(self) -> None:
        self.free: list[duckdb.DuckDBPyConnection] = []
        self.clean: list[list[tuple[str, ...]]] = []
        self.functions: list[list[tuple[str, ...]]] = []

    def take(self) -> duckdb.DuckDBPyConnection:
        if self.free:
            return self.free.pop()
        con = mgd.register(duckdb.connect())
        if not self.clean:
            self.clean = state(con, MADE, PLACES, SETTINGS, LEFT)
            self.functions = state(con, FUNCTIONS)
        return con

    def give_back(self, con: duckdb.DuckDBPyConnection) -> None:
        """Drop what a test has made; close the database if it is not as it was after that."""
        with suppress(duckdb.Error):
            if self.emptied(con):
                self.free.append(con)
                return
        con.close()

    def emptied(self, con: duckdb.DuckDBPyConnection) -> bool:
        """Drop and reset; ask again only for what there was to drop, since a list takes milliseconds."""
        with suppress(duckdb.TransactionException):
            con.rollback()
        made, settings = state(con, MADE, SETTINGS)
        for kind, *place in made:
            con.execute(f"DROP {kind} {'.'.join(map(quoted, place))}")
        was = dict(self.clean[2])
        changed = [name for name, value in settings if value != was.get(name, value)]
        for name in changed:
            con.execute(f"RESET {name}")
        made = state(con, MADE)[0] if made else made
        settings = state(con, SETTINGS)[0] if changed else settings
        places, left = state(con, PLACES, LEFT)
        return [made, places, settings, left] == self.clean

    def close(self) -> None:
        """Close all; fail if a test has left functions, which take long to list, in one."""
        for con in self.free:
            functions = state(con, FUNCTIONS)
            con.close()
            assert functions == self.functions, "a test left a function or changed a macro"
        self.free.clear()


DATABASES = Databases()


@contextmanager
def registered() -> Iterator[duckdb.DuckDBPyConnection]:
    """Lend a database in memory that has the macros and nothing else."""
    con = DATABASES.take()
    try:
        yield con
    finally:
        DATABASES.give_back(con)
