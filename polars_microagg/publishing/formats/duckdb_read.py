"""Reading tables of DuckDB files: how they are named, opened and turned into frames."""

from __future__ import annotations

import errno
import os
import re
import secrets
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import polars as pl

from polars_microagg.errors import InvalidDataError, MicroaggError, OutputError
from polars_microagg.publishing.atomic import system_message
from polars_microagg.publishing.formats.duckdb_causes import unreadable
from polars_microagg.publishing.formats.file_content import refuse_foreign, refuse_special

__all__ = [
    "CLOSED",
    "FAILED",
    "connected",
    "failed",
    "limit_memory",
    "located",
    "parts",
    "quoted",
    "read_batches",
    "read_table",
    "relation_kind",
    "row_batches",
    "rows",
]

CLOSED: dict[str, Any] = {"enable_external_access": "false"}
"""No statement on the file may read or write another."""

WAIT = 60.0
"""Seconds that a file is waited for while another process or thread has it open."""

PAUSE = 0.05
"""Seconds between two attempts."""

MEMORY = 128
"""Megabytes that DuckDB may take where a table of up to 64 columns is read or written in batches."""

GRACE = 1.0
"""Seconds without one of `OPEN`, after which the caller is assumed to have the file open."""

LOCKED = "Could not set lock"
"""DuckDB's message if another process has the file open."""

SHARED = ("different configuration", "already attached")
"""DuckDB's message if this process has the file open."""

OPEN: WeakKeyDictionary[Any, Path] = WeakKeyDictionary()
"""Connections that were made here, and calls that wait for one, with the paths of their files."""

ZONED = re.compile(r"\bTIME WITH TIME ZONE(?=$|[^\w\"'])")
"""A time with a zone, also inside of another type."""

LIMIT = "100000000000000000000000000000000000000"
"""The first number of more than 38 digits."""

SCHEMA = re.compile(r"(\w+)\.(\w+)")
"""A table of another schema, also where the file has no such schema."""

FAILED: tuple[type[BaseException], ...] = (
    *(pl.exceptions.PolarsError, pl.exceptions.PanicException),
    *(ValueError, NotImplementedError),
)
"""Errors for a type that one of Polars, Arrow and DuckDB does not have."""


def failed() -> tuple[type[BaseException], ...]:
    """Return `FAILED`, and what DuckDB raises."""
    import duckdb

    return (*FAILED, duckdb.Error)


def connected(path: Path, *, write: bool) -> Any:
    """Open a file of DuckDB, and wait while another process or another release has it.

    To write, the connection is shared with nothing else in this process.
    """
    import duckdb

    begun = seen = time.monotonic()
    turn = _Turn()
    OPEN[turn] = path.resolve()
    config = CLOSED
    if write:
        # DuckDB opens a file once in a process, and refuses a second configuration of it.
        config = CLOSED | {"custom_user_agent": f"polars_microagg/{secrets.token_hex(8)}"}
    while True:
        late = time.monotonic() - begun > WAIT
        try:
            con = duckdb.connect(str(path), read_only=not write, config=config)
            OPEN[con] = path.resolve()
            if path.exists():
                return con
            con.close()  # its maker removed it after it was opened here
            if late:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        except duckdb.Error as error:
            said = str(error)
            shared = any(words in said for words in SHARED)
            if shared and _ours(path, turn):
                seen = time.monotonic()
            if (
                late
                or (LOCKED not in said and not shared)
                or (shared and time.monotonic() - seen > GRACE)
            ):
                raise
        time.sleep(PAUSE)


class _Turn:
    """One call that opens a file or waits for it."""


def _ours(path: Path, turn: _Turn) -> bool:
    """Return whether another call of this library has the file open, or is about to."""
    try:
        return any(file == path.resolve() and by is not turn for by, file in OPEN.items())
    except RuntimeError:  # another thread adds one while we look
        return True


def quoted(name: str) -> str:
    """Write any name as an identifier."""
    return '"' + name.replace('"', '""') + '"'


def relation_kind(con: Any, schema: str, table: str) -> str | None:
    """Return the kind of a table or view, compared without case as DuckDB does.

    None if there is none.
    """
    kinds = con.execute(
        "SELECT table_type FROM information_schema.tables "
        "WHERE lower(table_schema) = lower(?) AND lower(table_name) = lower(?)",
        [schema, table],
    ).fetchall()
    return str(kinds[0][0]) if kinds else None


def located(con: Any, table: str) -> str:
    """Write a table, or one of another schema as ``schema.table``, as DuckDB reads it."""
    return ".".join(map(quoted, _split(con, table)))


def _split(con: Any, table: str) -> tuple[str, str]:
    """Return schema and name of a table, also with dots in them.

    A table of the schema main whose own name has the dot goes first, then one that is there, then
    a schema that is there.
    """
    if relation_kind(con, "main", table):
        return "main", table
    dots = [at for at, letter in enumerate(table) if letter == "."]
    pairs = [(table[:at], table[at + 1 :]) for at in dots if table[at + 1 :]]
    existing = [pair for pair in pairs if relation_kind(con, *pair)]
    made = [pair for pair in pairs if _has_schema(con, pair[0])]
    meant = pairs if SCHEMA.fullmatch(table) else []
    return next(iter((*existing, *made, *meant)), ("main", table))


def _has_schema(con: Any, schema: str) -> bool:
    known = con.execute(
        "SELECT 1 FROM information_schema.schemata WHERE lower(schema_name) = lower(?)",
        [schema],
    )
    return bool(known.fetchall())


def parts(con: Any, path: Path, table: str) -> tuple[str, str]:
    """Return the schema and the name of a target; the schema must exist."""
    schema, name = _split(con, table)
    if _has_schema(con, schema):
        return schema, name
    why = f"the file has no schema {schema!r}. Make it with CREATE SCHEMA, or name a table only."
    raise OutputError.of(f"{path}::{table}", why)


def rows(con: Any, place: str) -> pl.DataFrame:
    """Read a table that `located` has written, an ENUM with its values in their order."""
    relation = con.sql(f"FROM {place}")
    return _ordered(relation.pl(), _orders(relation))


def row_batches(con: Any, place: str, most: int) -> Iterator[pl.DataFrame]:
    """Read a table as `rows` does, at most so many rows at a time; the first frame has none."""
    import pyarrow as pa

    yield rows(con, f"{place} LIMIT 0")
    relation = con.sql(f"FROM {place}")
    orders = _orders(relation)
    # The method has another name before DuckDB 1.5.
    reader = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader
    for batch in reader(most):
        yield _ordered(pl.DataFrame(pa.Table.from_batches([batch])), orders)


def limit_memory(con: Any, columns: int) -> None:
    """Limit what DuckDB holds in memory of what it reads and writes: else it takes all there is."""
    con.execute(f"SET memory_limit = '{max(MEMORY, MEMORY // 64 * columns)}MB'")
    con.execute("SET threads = 1")


def _orders(relation: Any) -> dict[str, pl.Enum]:
    return {
        name: pl.Enum(dict(dtype.children)["values"])
        for name, dtype in zip(relation.columns, relation.types, strict=True)
        if dtype.id == "enum"
    }


def _ordered(frame: pl.DataFrame, orders: dict[str, pl.Enum]) -> pl.DataFrame:
    return frame.with_columns(frame.get_column(n).cast(dtype) for n, dtype in orders.items())


def _refuse_types(con: Any, place: str, what: str) -> None:
    """Name the column whose type Polars does not have."""
    fails = failed()
    try:
        columns = con.sql(f"DESCRIBE {place}").fetchall()
    except fails:
        return
    for column, dtype, *_ in columns:
        try:
            con.sql(f"FROM {place} SELECT {quoted(column)} LIMIT 1").pl()
        except fails:
            # The values of an ENUM are in its type.
            why = f"column {column!r} is of type {dtype.partition('(')[0]}, which Polars does not have."
            way = "Cast it in a view, or leave it out there."
            raise InvalidDataError.unreadable(what, f"{why} {way}") from None


def _refuse_lossy(con: Any, place: str, what: str) -> None:
    """Refuse values that would be others: times without their zone, numbers past 38 digits."""
    for column, dtype, *_ in con.sql(f"DESCRIBE {place}").fetchall():
        # The values of an ENUM and the names of fields are in its type.
        shown = f"column {column!r} of type {dtype.partition('(')[0]}"
        why = ""
        if ZONED.search(dtype):
            why = "has times with a zone, which Polars does not have."
        elif dtype in ("HUGEINT", "UHUGEINT"):
            name = quoted(column)
            query = (
                f"FROM {place} SELECT max({name}) >= {LIMIT} OR min({name}) <= -{LIMIT}::HUGEINT"
            )
            ((beyond,),) = con.sql(query).fetchall()
            why = "has numbers past 38 digits, which Polars does not have." if beyond else ""
        if why:
            raise InvalidDataError.unreadable(what, f"{shown} {why} Cast it in a view.")


def read_table(path: Path, table: str) -> pl.DataFrame:
    """Read a table of a DuckDB file, or one of another schema, written ``schema.table``."""
    (frame,) = _parts(path, table, lambda con, place: iter([rows(con, place)]))
    return frame


def read_batches(path: Path, table: str, most: int) -> Iterator[pl.DataFrame]:
    """Read a table as `read_table` does, at most so many rows at a time, as it was at one instant."""

    def read(con: Any, place: str) -> Iterator[pl.DataFrame]:
        limit_memory(con, len(con.sql(f"FROM {place}").columns))
        return row_batches(con, place, most)

    return _parts(path, table, read)


def _parts(
    path: Path, table: str, read: Callable[[Any, str], Iterator[pl.DataFrame]]
) -> Iterator[pl.DataFrame]:
    """Yield what `read` does of a table."""
    what = f"{path}::{table}"
    try:
        refuse_special(path)
        exists = path.is_file()
    except (OSError, ValueError) as error:
        if isinstance(error, MicroaggError):
            raise
        raise InvalidDataError.unreadable(what, system_message(error)) from None
    if not exists:
        raise InvalidDataError.unreadable(what, "there is no such file. Check the name.")
    fails: tuple[type[BaseException], ...] = (*failed(), OSError)
    view = False
    try:
        _refuse_content(path, what)
        with connected(path, write=False) as con:
            table_type = relation_kind(con, *_split(con, table))
            if table_type is None:
                why = "the file has no such table. List its tables with SHOW ALL TABLES in DuckDB."
                raise InvalidDataError.unreadable(what, why)
            con.execute("BEGIN")  # all that is read and checked is of one instant
            view, place = table_type == "VIEW", located(con, table)
            _refuse_lossy(con, place, what)
            try:
                yield from read(con, place)
                return
            except FAILED:
                _refuse_types(con, place, what)
                raise
    except MicroaggError:
        raise
    except fails as error:
        problem = unreadable(what, error, view=view)
    # Raised out here, as an error keeps the one that it was raised from, with all its words.
    raise problem


def _refuse_content(path: Path, what: str) -> None:
    """Refuse a file that is empty, or of another format."""
    with path.open("rb") as file:
        try:
            refuse_foreign(file, "duckdb")
        except InvalidDataError as error:
            raise InvalidDataError.unreadable(what, str(error)) from None
    if not path.stat().st_size:
        raise InvalidDataError.unreadable(what, "it is empty. Write a table to it first.")
