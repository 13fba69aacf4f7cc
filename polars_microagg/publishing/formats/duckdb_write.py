"""Tables of DuckDB files, replaced in one transaction."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import polars as pl

from polars_microagg import durable
from polars_microagg.errors import InvalidDataError, OutputError
from polars_microagg.leaves.metadata_scrub import empty_table, without_metadata
from polars_microagg.publishing.atomic import Swap, checked
from polars_microagg.publishing.formats.duckdb_causes import unreadable, unwritable
from polars_microagg.publishing.formats.duckdb_read import (
    CLOSED,
    FAILED,
    connected,
    failed,
    limit_memory,
    located,
    parts,
    quoted,
    relation_kind,
    row_batches,
    rows,
)
from polars_microagg.publishing.formats.files import digest_of
from polars_microagg.publishing.formats.register import Made
from polars_microagg.publishing.formats.scrub import visible

__all__ = ["TableSwap", "foreseen", "refuse_view", "through"]

ROWS = 1 << 16
"""Rows that are read at a time to be hashed."""

HEADERS = 3 * 4096
"""Bytes of the smallest file of DuckDB; a shorter one was not made to its end."""


class TableSwap(Swap):
    """A table that replaces another in one transaction, together with its record.

    A committed transaction may be in the log beside the file only, as on a full device. The log is
    empty when the transaction begins, so what did not reach the file is undone by deleting the log
    while nobody else can open the file.
    """

    def __init__(self, path: Path, table: str, record: Path) -> None:
        super().__init__(record, record)
        self._path, self._table = path, table
        self._con: Any = None
        self._log = path.with_name(f"{path.name}.wal")
        self._made = self._settled = False
        token = secrets.token_hex(8)
        self._new, self._given = f"__microagg_{token}_new", f"__microagg_{token}_given"

    def __enter__(self) -> Self:
        """Open the file, and put back a record that a killed writer set aside."""
        import duckdb

        checked(self._path)
        checked(self.record)
        self._failed: tuple[type[Exception], ...] = (duckdb.Error, OSError)
        try:
            self._attempt(self._open)
            self._schema, self._name = parts(self._con, self._path, self._table)
            self._beside = f"{quoted(self._schema)}.{self._new}"
            refuse_view(self._con, self._path, self._table)
        except BaseException:
            self.__exit__()
            raise
        return self

    def _open(self) -> None:
        new = not self._path.exists()
        try:
            self._con = connected(self._path, write=True)
        except self._failed:
            with suppress(OSError):
                if new and self._path.stat().st_size < HEADERS:
                    self._path.unlink()
            raise
        # Closing must not move the log of a commit that failed into the file.
        self._con.execute("PRAGMA disable_checkpoint_on_shutdown")
        self._con.execute("CHECKPOINT")
        self._settled = True
        self._made = new and not self._con.sql("FROM duckdb_tables()").fetchall()
        self._at = located(self._con, self._table)
        self.recover(lambda: self._digest(self._con))
        self._con.execute("BEGIN")

    @property
    def _what(self) -> str:
        return f"{self._path}::{self._table}"

    def _attempt(self, step: Callable[[], object]) -> None:
        try:
            step()
            return
        except self._failed as error:
            problem = unwritable(self._what, error)
        raise problem  # outside of the except clause, without DuckDB's error as its context

    def __exit__(self, *_: object) -> None:
        """Undo what was not committed, and remove a file that was made in vain."""
        if self._con is not None:
            with suppress(*self._failed):
                self._close()

    def _close(self) -> None:
        """Close the file without what reached only its log, and remove it if it was made here."""
        steps: list[Callable[[], object]] = [self._con.close]
        if self._settled:
            steps.append(lambda: self._log.unlink(missing_ok=True))
        if self._made and not self._done:
            steps.append(lambda: self._path.unlink(missing_ok=True))
        # The log goes before the file is closed, while nobody else can open it. Windows does not
        # remove open files, so the order is reversed there.
        for step in steps if durable.WINDOWS else reversed(steps):
            step()

    def _digest(self, con: Any) -> str:
        try:
            return digest_of(row_batches(con, self._at, ROWS))
        except self._failed:
            raise FileNotFoundError from None

    def _undone(self) -> str:
        """Return the hash of what is in the file after a commit that failed."""
        self._close()
        try:
            with connected(self._path, write=False) as con:
                return self._digest(con)
        except self._failed:
            raise FileNotFoundError from None

    def exists(self) -> bool:
        """Return whether there is a table of that name."""
        return bool(relation_kind(self._con, self._schema, self._name))

    def write(self, frame: pl.DataFrame) -> None:
        """Write the new rows into a table of a temporary name."""
        self._attempt(lambda: self._create(frame, lambda: visible(frame).to_arrow()))

    def fill(self, made: Made) -> None:
        """Write a finished table as `write` does, in batches."""
        import pyarrow as pa

        empty = pl.DataFrame(empty_table(made.source.schema))
        schema = without_metadata(made.source.schema)
        batches = (batch for table in made.tables() for batch in table.to_batches())
        given = pa.RecordBatchReader.from_batches(schema, batches)
        self._attempt(lambda: limit_memory(self._con, empty.width))
        self._attempt(lambda: self._create(empty, lambda: given))

    def _create(self, frame: pl.DataFrame, given: Callable[[], Any]) -> None:
        try:
            self._con.register(self._given, given())
        except FAILED:
            why = "a column is of a type that Arrow does not have. Cast it first, or write Parquet."
            raise OutputError.of(self._what, why) from None
        self._con.execute(f"CREATE TABLE {self._beside} AS {_query(frame, self._given)}")

    def reread(self) -> pl.DataFrame:
        """Read the new rows."""
        (frame,) = self._read(lambda: iter([rows(self._con, self._beside)]))
        return frame

    def batches(self, most: int) -> Iterator[pl.DataFrame]:
        """Read the new rows, at most so many at a time."""
        return self._read(lambda: row_batches(self._con, self._beside, most))

    def _read(self, read: Callable[[], Iterator[pl.DataFrame]]) -> Iterator[pl.DataFrame]:
        fails = failed()
        try:
            yield from read()
        except fails as error:
            unreadable(self._what, error)  # raises if DuckDB lacks memory
            raise InvalidDataError.unreadable(self._what, "its new rows are foreign.") from None

    def content(self) -> tuple[str, str, int | None]:
        """Return "rows" and the hash of the new rows."""
        return "rows", digest_of(self.batches(ROWS)), None

    def commit(self, record: bytes) -> None:
        """Replace the old rows and their record by the new ones.

        Refused if the new rows do not reach the file, or if a view that reads the table would fail;
        the old rows and their record are then still there.
        """
        self._attempt(self._replace)
        self._attempt(lambda: self.put(record, self._commit, self._undone))

    def _commit(self) -> None:
        """Commit, and move the log into the file."""
        self._con.execute("COMMIT")
        self._con.execute("CHECKPOINT")
        if self._log.exists() and self._log.stat().st_size:
            raise OutputError.of(self._what, "the new rows did not reach the file.")
        self._done = True

    def _replace(self) -> None:
        """Replace the table within the transaction, which nobody sees yet."""
        # A failing statement ends its transaction, so views that fail already are found by another.
        with self._con.cursor() as aside:
            worked = [view for view in _views(aside) if _works(aside, view)]
        self._con.execute(f"DROP TABLE IF EXISTS {self._at}")
        self._con.execute(f"ALTER TABLE {self._beside} RENAME TO {quoted(self._name)}")
        broken = next((view for view in worked if not _works(self._con, view)), None)
        if broken:
            why = (
                f"the view {'.'.join(broken)!r} reads it, and would no longer work with its new "
                "columns. Release the columns that it needs, or drop the view first."
            )
            raise OutputError.of(self._what, why)


def refuse_view(con: Any, path: Path, table: str) -> bool:
    """Refuse a target that is a view; return whether there is a table of that name."""
    what = relation_kind(con, *parts(con, path, table))
    if what == "VIEW":
        why = "it is a view, and a release is a table. Name a table, or drop the view first."
        raise OutputError.of(f"{path}::{table}", why)
    return what is not None


def foreseen(path: Path, table: str) -> bool:
    """Refuse what would be refused later, and return whether a table would be replaced.

    Write nothing.
    """
    import duckdb

    what = f"{path}::{table}"
    try:
        with (
            connected(path, write=False)
            if path.exists()
            else duckdb.connect(":memory:", config=CLOSED)
        ) as con:
            return refuse_view(con, path, table)
    except (duckdb.Error, OSError) as error:
        problem = unwritable(what, error)
    raise problem


def through(frame: pl.DataFrame) -> pl.DataFrame:
    """Write a table to a DuckDB in memory and read it again."""
    import duckdb

    fails = failed()
    try:
        with duckdb.connect(":memory:", config=CLOSED) as con:
            con.register("given", frame.to_arrow())
            con.execute(f"CREATE TABLE made AS {_query(frame, 'given')}")
            return rows(con, "main.made")
    except fails:
        raise InvalidDataError.unreadable("DuckDB", "a type is foreign to it.") from None


def _query(frame: pl.DataFrame, given: str) -> str:
    """Return the query of what was registered as `given`, with ENUMs, which Arrow brings as VARCHAR.

    >>> print(_query(pl.DataFrame({"stage": ["I"]}, schema={"stage": pl.Enum(["I", "II"])}), "given"))
    FROM given SELECT * REPLACE (CAST("stage" AS ENUM('I', 'II')) AS "stage")
    """
    casts = []
    for name, dtype in frame.schema.items():
        # DuckDB has no ENUM of no value, and no literal with a null character.
        if (
            isinstance(dtype, pl.Enum)
            and len(dtype.categories)
            and "\0" not in "".join(dtype.categories)
        ):
            values = ", ".join("'" + value.replace("'", "''") + "'" for value in dtype.categories)
            casts.append(f"CAST({quoted(name)} AS ENUM({values})) AS {quoted(name)}")
    return f"FROM {given}" + (f" SELECT * REPLACE ({', '.join(casts)})" if casts else "")


def _views(con: Any) -> list[tuple[str, str]]:
    """Return schema and name of every view."""
    query = "SELECT schema_name, view_name FROM duckdb_views() WHERE NOT internal ORDER BY ALL"
    views: list[tuple[str, str]] = con.execute(query).fetchall()
    return views


def _works(con: Any, view: tuple[str, str]) -> bool:
    """Return whether a view finds what it reads, without running it."""
    import duckdb

    try:
        con.execute(f"DESCRIBE FROM {'.'.join(map(quoted, view))}")
    except duckdb.Error:
        return False
    return True
