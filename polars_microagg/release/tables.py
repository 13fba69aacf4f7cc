"""Tables of DuckDB files, read and replaced in one transaction."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import polars as pl

from polars_microagg.errors import InvalidDataError, OutputError
from polars_microagg.release.files import rows_digest
from polars_microagg.release.swap import UNLIKE, Swap, checked

__all__ = ["TableSwap", "foreseen", "read_table", "refuse_view"]

CLOSED: dict[str, Any] = {"enable_external_access": "false"}
"""No statement on the file may read or write another."""


def _quoted(name: str) -> str:
    """Write any name as an identifier."""
    return '"' + name.replace('"', '""') + '"'


def _rows(con: Any, name: str) -> pl.DataFrame:
    frame: pl.DataFrame = con.sql(f"FROM main.{_quoted(name)}").pl()
    return frame


def read_table(path: Path, table: str) -> pl.DataFrame:
    """Read a table of a DuckDB file.

    Parameters
    ----------
    path : Path
        The file.
    table : str
        Name of a table or view of its schema main.

    Returns
    -------
    polars.DataFrame
        All rows.

    Raises
    ------
    InvalidDataError
        The file or the table cannot be read.
    """
    import duckdb

    what = f"{path}::{table}"
    if not path.is_file():
        raise InvalidDataError.unreadable(what, "there is no such file. Check the name.")
    try:
        with duckdb.connect(str(path), read_only=True, config=CLOSED) as con:
            return _rows(con, table)
    except duckdb.CatalogException:
        why = "the file has no such table. List its tables with SHOW TABLES in DuckDB."
        raise InvalidDataError.unreadable(what, why) from None
    except duckdb.Error:
        why = (
            "it is no DuckDB file, it is open in another process, or a type has no equal in Arrow."
        )
        raise InvalidDataError.unreadable(what, f"{why} Write the table to Parquet.") from None


REFUSED = (
    "DuckDB refused; is the file open elsewhere or read-only, is its device full, or does another "
    "table refer to this one?"
)


class TableSwap(Swap):
    """A table that takes the place of another in one transaction, together with its record."""

    def __init__(self, path: Path, table: str, record: Path) -> None:
        super().__init__(record, record)
        self._path, self._table = path, table
        self._con: Any = None
        self._fresh = False
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
            refuse_view(self._con, self._path, self._table)
        except BaseException:
            self.__exit__()
            raise
        return self

    def _open(self) -> None:
        import duckdb

        self._fresh = not self._path.exists()
        self._con = duckdb.connect(str(self._path), config=CLOSED)
        self.recover(self._digest)
        self._con.execute("BEGIN")

    def _attempt(self, step: Callable[[], object]) -> None:
        try:
            step()
        except self._failed:
            raise OutputError.of(f"{self._path}::{self._table}", REFUSED) from None

    def __exit__(self, *_: object) -> None:
        """Undo what was not committed, and the file if it was made for it."""
        if self._con is not None:
            with suppress(*self._failed):
                self._con.close()
        if self._fresh:
            with suppress(OSError):
                self._path.unlink()

    def _digest(self) -> str:
        with suppress(*self._failed):
            self._con.execute("ROLLBACK")
        try:
            return rows_digest(_rows(self._con, self._table))
        except self._failed:
            raise FileNotFoundError from None

    def there(self) -> bool:
        """Whether there is a table of that name."""
        return bool(_kind(self._con, self._table))

    def write(self, frame: pl.DataFrame) -> None:
        """Write the new rows beside the old ones."""
        self._con.register(self._given, frame.to_arrow())
        self._attempt(lambda: self._con.execute(f"CREATE TABLE {self._new} AS FROM {self._given}"))

    def reread(self) -> pl.DataFrame:
        """Read the new rows."""
        return _rows(self._con, self._new)

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

        def settle() -> None:
            # An interrupt must not take away a file that holds a release.
            fresh, self._fresh = self._fresh, False
            try:
                self._con.execute("COMMIT")
            except self._failed:
                self._fresh = fresh
                raise

        self._attempt(lambda: self.put(record, settle, self._digest))

    def _replace(self) -> None:
        """Replace the table within the transaction, which nobody sees yet."""
        # What fails ends its transaction, so views that fail already are told by another.
        with self._con.cursor() as aside:
            worked = [view for view in _views(aside) if _works(aside, view)]
        self._con.execute(f"DROP TABLE IF EXISTS main.{_quoted(self._table)}")
        self._con.execute(f"ALTER TABLE {self._new} RENAME TO {_quoted(self._table)}")
        broken = next((view for view in worked if not _works(self._con, view)), None)
        if broken:
            why = (
                f"the view {'.'.join(broken)!r} reads it, and would no longer work with its new "
                "columns. Release the columns that it needs, or drop the view first."
            )
            raise OutputError.of(f"{self._path}::{self._table}", why)


def _kind(con: Any, table: str) -> str | None:
    """Kind of a table or view of that name, which DuckDB compares without case; None if none is."""
    found = con.execute(
        "SELECT table_type FROM information_schema.tables "
        "WHERE table_schema = 'main' AND lower(table_name) = lower(?)",
        [table],
    ).fetchall()
    return str(found[0][0]) if found else None


def refuse_view(con: Any, path: Path, table: str) -> bool:
    """Refuse a target that is a view; whether there is a table of that name."""
    kind = _kind(con, table)
    if kind == "VIEW":
        why = "it is a view, and a release is a table. Name a table, or drop the view first."
        raise OutputError.of(f"{path}::{table}", why)
    return kind is not None


def foreseen(path: Path, table: str, frame: pl.DataFrame) -> bool:
    """Refuse what a table would be refused for, and write nothing.

    Parameters
    ----------
    path : Path
        The file; it is read where it is there.
    table : str
        Name of the table.
    frame : polars.DataFrame
        Rows like those of the release.

    Returns
    -------
    bool
        Whether a table would be replaced.

    Raises
    ------
    OutputError
        The file is none of DuckDB, the target is a view, or DuckDB has no such columns.
    """
    import duckdb

    what = f"{path}::{table}"
    there = False
    try:
        if path.exists():
            with duckdb.connect(str(path), read_only=True, config=CLOSED) as con:
                there = refuse_view(con, path, table)
        with duckdb.connect(config=CLOSED) as con:
            con.register("given", frame.to_arrow())
            con.execute("CREATE TABLE kept AS FROM given")
            same = _rows(con, "kept").columns == frame.columns
    except (duckdb.Error, OSError):
        raise OutputError.of(what, REFUSED) from None
    if not same:
        raise OutputError.of(what, UNLIKE)
    return there


def _views(con: Any) -> list[tuple[str, str]]:
    """Schema and name of every view."""
    query = "SELECT schema_name, view_name FROM duckdb_views() WHERE NOT internal ORDER BY ALL"
    found: list[tuple[str, str]] = con.execute(query).fetchall()
    return found


def _works(con: Any, view: tuple[str, str]) -> bool:
    """Whether a view finds what it reads; it is not run."""
    import duckdb

    try:
        con.execute(f"DESCRIBE FROM {'.'.join(map(_quoted, view))}")
    except duckdb.Error:
        return False
    return True
