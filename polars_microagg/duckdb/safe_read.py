"""Reading tables of DuckDB, whose errors may hold values of their records."""

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
from polars_microagg.frames.selection import refuse_index

__all__ = [
    "WHOLE",
    "by_number",
    "connection",
    "in_its_order",
    "ordered",
    "read_safely",
    "relation_of",
]

T = TypeVar("T")

WHOLE = 2**31 - 1 if int(duckdb.__version__.partition(".")[0]) > 1 else 10**6
"""Rows of an Arrow batch: larger than any table, so that Polars need not join batches.

DuckDB before 2.0 takes the memory of so many rows beforehand, and ends the process where it cannot.
"""

NO_RECORD = (
    duckdb.BinderException,
    duckdb.CatalogException,
    duckdb.ConnectionException,
    duckdb.IOException,
    duckdb.ParserException,
    duckdb.PermissionException,
    getattr(duckdb, "ResourceInUseException", duckdb.IOException),  # there from DuckDB 2.0
    duckdb.TransactionException,
)
"""Errors about names, files and the connection: they hold no value of a record."""

RAISED = re.compile(r"occurred while executing the UDF: (\w+): ([^\n]+)")
"""Pattern with which DuckDB reports an error that one of our functions raised."""


NO_MEMORY = (
    "DuckDB ran out of memory, and nothing was released. Give it more with SET memory_limit, let it "
    "write to disk with SET temp_directory, or name fewer rows or columns."
)


class _AsItIsError(BaseException):
    """An error of DuckDB that `quietly` must not change."""


def read_safely(step: Callable[[], T], what: str, names: Sequence[str] = ()) -> T:
    """Run `step`, which reads a table, and raise what fails without values of its records.

    `what` is the name of the parameter, `names` are names of columns that may be said. Lack of
    memory in DuckDB becomes InvalidDataError, too.
    """
    try:
        return quietly(lambda: _sifted(step, what), what, lambda: names)
    except _AsItIsError as error:
        failed: BaseException = error.args[0]
    # Raised outside of the except clause, so that the wrapper is not its context.
    raise failed


def _sifted(step: Callable[[], T], what: str) -> T:
    """Run a step; errors without values of records pass as they are, or as ours."""
    try:
        return step()
    except duckdb.OutOfMemoryException:
        failed: BaseException = InvalidDataError.unreadable(what, NO_MEMORY)
    except (duckdb.InterruptException, *NO_RECORD) as error:
        failed = _AsItIsError(error)
    except duckdb.InvalidInputException as error:
        reported = RAISED.search(str(error))
        ours = reported and getattr(errors, reported[1], None)
        if not reported or not ours:
            raise
        failed = ours(reported[2])
    raise failed


def connection(con: Any) -> DuckDBPyConnection:
    """Return a connection, or refuse what is not one."""
    if not isinstance(con, DuckDBPyConnection):
        raise tables.not_a_connection(con)
    return con


def relation_of(
    __mg_con: DuckDBPyConnection, __mg_source: Any, __mg_what: str = "source"
) -> DuckDBPyRelation:
    """Return a table given by its name, as a relation, or as a frame."""
    # DuckDB also looks for a table of that name among the Python variables of this function, hence
    # names that no table has.
    if isinstance(__mg_source, DuckDBPyRelation):
        return __mg_source
    if isinstance(__mg_source, str):
        return __mg_con.table_function("query_table", [__mg_source])
    if hasattr(__mg_source, "__arrow_c_stream__"):
        refuse_index(__mg_source, __mg_what)
        return __mg_con.from_arrow(__mg_source)
    raise tables.not_a_table(__mg_what, __mg_source)


def ordered(con: DuckDBPyConnection) -> bool:
    """Return whether DuckDB keeps tables in order; without that, large ones need less memory."""
    query = "SELECT current_setting('preserve_insertion_order')"
    return bool(con.cursor().execute(query).fetchall()[0][0])


def in_its_order(
    con: DuckDBPyConnection, relation: DuckDBPyRelation, columns: Sequence[Any]
) -> Any:
    """Read columns of a table into Arrow in the order of the table, which DuckDB may not keep."""
    if ordered(con):
        return relation.select(*columns).to_arrow_table(WHOLE)
    # Threads may write the result in any order; row_number() counts in the order of the table.
    number = duckdb.SQLExpression("row_number() OVER () - 1").alias(ROW)
    return by_number(relation.select(*columns, number))


def by_number(rows: DuckDBPyRelation) -> Any:
    """Read rows into Arrow, sort them by their numbers, and leave the numbers out."""
    arrow = rows.to_arrow_table(WHOLE)
    order = in_order(arrow.column(ROW).to_numpy())
    arrow = arrow.drop_columns(ROW)
    return arrow if order is None else arrow.take(order)
