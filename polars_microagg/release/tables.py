"""Tables of DuckDB files, replaced in one transaction."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import polars as pl

from polars_microagg.errors import InvalidDataError, OutputError
from polars_microagg.release.causes import unreadable, unwritable
from polars_microagg.release.files import rows_digest
from polars_microagg.release.located import (
    CLOSED,
    FAILED,
    failed,
    kind,
    located,
    parts,
    quoted,
    rows,
)
from polars_microagg.release.swap import Swap, checked
from polars_microagg.release.visible import visible

__all__ = ["TableSwap", "foreseen", "refuse_view", "through"]


class TableSwap(Swap):
    """A table that takes the place of another in one transaction, together with its record."""

    def __init__(self, path: Path, table: str, record: Path) -> None:
        super().__init__(record, record)
        self._path, self._table = path, table
        self._con: Any = None
        self._made = False
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
        import duckdb

        self._made = not self._path.exists()
        self._con = duckdb.connect(str(self._path), config=CLOSED)
        self._at = located(self._con, self._table)
        self.recover(self._digest)
        self._con.execute("BEGIN")

    def _attempt(self, step: Callable[[], object]) -> None:
        try:
            step()
            return
        except self._failed as error:
            problem = unwritable(f"{self._path}::{self._table}", error)
        raise problem  # out here, as an error keeps the one that it was raised from

    def __exit__(self, *_: object) -> None:
        """Undo what was not committed; a file that was made for nothing goes."""
        if self._con is None:
            return
        with suppress(*self._failed):
            self._con.close()
            if self._made and self._empty():
                self._path.unlink()

    def _empty(self) -> bool:
        """Whether there is no table in the file, which another writer may have by now."""
        import duckdb

        with duckdb.connect(str(self._path), read_only=True, config=CLOSED) as con:
            found = con.execute("SELECT count(*) FROM duckdb_tables()").fetchone()
        return found == (0,)

    def _digest(self) -> str:
        with suppress(*self._failed):
            self._con.execute("ROLLBACK")
        try:
            return rows_digest(rows(self._con, self._at))
        except self._failed:
            raise FileNotFoundError from None

    def there(self) -> bool:
        """Whether there is a table of that name."""
        return bool(kind(self._con, self._schema, self._name))

    def write(self, frame: pl.DataFrame) -> None:
        """Write the new rows beside the old ones."""
        self._attempt(lambda: self._create(frame))

    def _create(self, frame: pl.DataFrame) -> None:
        try:
            self._con.register(self._given, visible(frame).to_arrow())
        except FAILED:
            why = "a column is of a type that Arrow does not have. Cast it first, or write Parquet."
            raise OutputError.of(f"{self._path}::{self._table}", why) from None
        self._con.execute(f"CREATE TABLE {self._beside} AS FROM {self._given}")

    def reread(self) -> pl.DataFrame:
        """Read the new rows."""
        fails, what = failed(), f"{self._path}::{self._table}"
        try:
            return rows(self._con, self._beside)
        except fails as error:
            unreadable(what, error)  # memory that is lacking is another matter
            raise InvalidDataError.unreadable(what, "its new rows are foreign.") from None

    def commit(self, record: bytes) -> None:
        """Put the new rows and their record in place of the old ones.

        Parameters
        ----------
        record : bytes
            What the new record says.

        Raises
        ------
        OutputError
            DuckDB refuses, or a view that reads the table would no longer work; the old rows and
            their record are still there.
        """
        self._attempt(self._replace)
        self._attempt(lambda: self.put(record, self._commit, self._digest))

    def _commit(self) -> None:
        self._con.execute("COMMIT")

    def _replace(self) -> None:
        """Replace the table within the transaction, which nobody sees yet."""
        # What fails ends its transaction, so views that fail already are told by another.
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
            raise OutputError.of(f"{self._path}::{self._table}", why)


def refuse_view(con: Any, path: Path, table: str) -> bool:
    """Refuse a target that is a view; whether there is a table of that name."""
    found = kind(con, *parts(con, path, table))
    if found == "VIEW":
        why = "it is a view, and a release is a table. Name a table, or drop the view first."
        raise OutputError.of(f"{path}::{table}", why)
    return found is not None


def foreseen(path: Path, table: str) -> bool:
    """Refuse what a table would be refused for, and write nothing.

    Parameters
    ----------
    path : Path
        The file; it is read where it is there.
    table : str
        Name of the table.

    Returns
    -------
    bool
        Whether a table would be replaced.

    Raises
    ------
    OutputError
        The file is none of DuckDB or has no such schema, or the target is a view.
    """
    import duckdb

    there = path.exists()
    try:
        with duckdb.connect(
            str(path) if there else ":memory:", read_only=there, config=CLOSED
        ) as con:
            return refuse_view(con, path, table)
    except (duckdb.Error, OSError) as error:
        problem = unwritable(f"{path}::{table}", error)
    raise problem


def through(frame: pl.DataFrame) -> pl.DataFrame:
    """Write a table to a DuckDB in memory and read it again.

    Raises
    ------
    InvalidDataError
        It does not go in, or not come back.
    """
    import duckdb

    fails = failed()
    try:
        with duckdb.connect(":memory:", config=CLOSED) as con:
            con.register("given", frame.to_arrow())
            con.execute("CREATE TABLE made AS FROM given")
            return rows(con, "main.made")
    except fails:
        raise InvalidDataError.unreadable("DuckDB", "a type is foreign to it.") from None


def _views(con: Any) -> list[tuple[str, str]]:
    """Schema and name of every view."""
    query = "SELECT schema_name, view_name FROM duckdb_views() WHERE NOT internal ORDER BY ALL"
    found: list[tuple[str, str]] = con.execute(query).fetchall()
    return found


def _works(con: Any, view: tuple[str, str]) -> bool:
    """Whether a view finds what it reads; it is not run."""
    import duckdb

    try:
        con.execute(f"DESCRIBE FROM {'.'.join(map(quoted, view))}")
    except duckdb.Error:
        return False
    return True
