"""How the doors reach a table of DuckDB, whose errors may hold values of its records."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import duckdb
from duckdb import DuckDBPyConnection, DuckDBPyRelation

from polars_microagg import errors
from polars_microagg.duckdb.arrow_lists import in_order
from polars_microagg.duckdb.identifiers import ROW
from polars_microagg.errors import InvalidDataError, tables
from polars_microagg.frames.safe_collect import quietly

__all__ = ["WHOLE", "by_number", "connection", "in_its_order", "ordered", "read", "relation_of"]

T = TypeVar("T")

WHOLE = 2**31 - 1
"""Rows of a batch: one for a table of any size, which polars then need not join."""

NO_RECORD = (
    duckdb.BinderException,
    duckdb.CatalogException,
    duckdb.ConnectionException,
    duckdb.IOException,
    duckdb.ParserException,
    duckdb.PermissionException,
    duckdb.ResourceInUseException,
    duckdb.TransactionException,
)
"""Errors about names, files and the connection: they hold no value of a record."""

RAISED = re.compile(r"occurred while executing the UDF: (\w+): ([^\n]+)")
"""How DuckDB says what one of our functions raised."""


NO_MEMORY = (
    "DuckDB ran out of memory, and nothing was released. Give it more with SET memory_limit, let it "
    "write to disk with SET temp_directory, or name fewer rows or columns."
)


class _AsItIsError(BaseException):
    """Carries an error of DuckDB past `quietly`."""


def read(step: Callable[[], T], what: str, names: Sequence[str] = ()) -> T:
    """Take a step that reads a table, and if it fails say so without values of its records.

    Parameters
    ----------
    step : callable
        Reads a table.
    what : str
        The name of the parameter it came by.
    names : sequence of str
        Names of columns that may be said.

    Returns
    -------
    object
        What `step` returns.

    Raises
    ------
    InvalidDataError
        The table cannot be read, or DuckDB has too little memory for it.
    """
    try:
        return quietly(lambda: _sifted(step, what), what, lambda: names)
    except _AsItIsError as error:
        failed: BaseException = error.args[0]
    # Raised out here, so that nothing says that it came from an error of ours.
    raise failed


def _sifted(step: Callable[[], T], what: str) -> T:
    """Take a step; errors without a value of a record go on as they are, or as ours."""
    try:
        return step()
    except duckdb.OutOfMemoryException:
        failed: BaseException = InvalidDataError.unreadable(what, NO_MEMORY)
    except (duckdb.InterruptException, *NO_RECORD) as error:
        failed = _AsItIsError(error)
    except duckdb.InvalidInputException as error:
        found = RAISED.search(str(error))
        ours = found and getattr(errors, found[1], None)
        if not found or not ours:
            raise
        failed = ours(found[2])
    raise failed


def connection(con: Any) -> DuckDBPyConnection:
    """Return a connection, or refuse what is none."""
    if not isinstance(con, DuckDBPyConnection):
        raise tables.not_a_connection(con)
    return con


def relation_of(
    __mg_con: DuckDBPyConnection, __mg_source: Any, __mg_what: str = "source"
) -> DuckDBPyRelation:
    """Take a table by its name, as a relation, or as a frame."""
    # DuckDB looks for a table of any name among the Python variables here.
    if isinstance(__mg_source, DuckDBPyRelation):
        return __mg_source
    if isinstance(__mg_source, str):
        return __mg_con.table_function("query_table", [__mg_source])
    if hasattr(__mg_source, "__arrow_c_stream__"):
        return __mg_con.from_arrow(__mg_source)
    raise tables.not_a_table(__mg_what, __mg_source)


def ordered(con: DuckDBPyConnection) -> bool:
    """Whether DuckDB reads and writes tables in their order; large ones need less memory if not."""
    query = "SELECT current_setting('preserve_insertion_order')"
    return bool(con.cursor().execute(query).fetchall()[0][0])


def in_its_order(
    con: DuckDBPyConnection, relation: DuckDBPyRelation, columns: Sequence[Any]
) -> Any:
    """Read columns of a table into Arrow in the order of the table, which DuckDB may not keep."""
    if ordered(con):
        return relation.select(*columns).to_arrow_table(WHOLE)
    number = duckdb.SQLExpression("row_number() OVER () - 1").alias(ROW)
    return by_number(relation.select(*columns, number))


def by_number(rows: DuckDBPyRelation) -> Any:
    """Read rows into Arrow, put them in the order of their numbers, and leave the numbers out."""
    arrow = rows.to_arrow_table(WHOLE)
    order = in_order(arrow.column(ROW).to_numpy())
    arrow = arrow.drop_columns(ROW)
    return arrow if order is None else arrow.take(order)
