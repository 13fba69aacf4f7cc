"""Where a release waits until it is judged: beside its target, in a transaction, or in memory."""

from __future__ import annotations

import errno
import hashlib
import io
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from polars_microagg.errors import InvalidDataError, OutputError, TargetExistsError
from polars_microagg.frames.columns import type_name
from polars_microagg.frames.selection import by_name
from polars_microagg.publishing.atomic import (
    Swap,
    checked,
    free,
    said,
    sha256_of,
    waiting,
    writable,
)
from polars_microagg.publishing.formats.column_types import alike, refuse_lost, refuse_types
from polars_microagg.publishing.formats.csv import typed
from polars_microagg.publishing.formats.files import Location, parsed, rows_digest, write
from polars_microagg.publishing.formats.standard_output import deliver

__all__ = ["TYPELESS", "Staged", "foresee", "stage", "types"]

EXACT = ("parquet", "arrow", "stream")
"""Formats in which every value comes back as it was written."""

TYPELESS = ("csv", "ndjson")
"""Formats that do not tell the types of their columns."""

UNLIKE = "what was read back is not what was written"
WAY = "Write Parquet, or check the disk."


class Staged:
    """A release that waits: written, read again, and not yet seen by anybody."""

    def __init__(self, place: Location, record: Path | None, swap: Any) -> None:
        self._place, self._record, self._swap = place, record, swap
        self._buffer = io.BytesIO()

    @property
    def _file(self) -> Any:
        return self._buffer if self._place.piped else self._swap.file

    def there(self) -> bool:
        """Whether the file has a table or view of that name already."""
        found: bool = self._swap.there()
        return found

    def write(self, frame: pl.DataFrame) -> None:
        """Write the release where nobody looks."""
        refuse_types(frame, self._place.format, self._place)
        self._written = frame
        if self._place.table:
            try:
                self._swap.write(frame)
            except OutputError:
                self._blame()
                raise
            return
        write(frame, self._file, self._place.format, self._place)
        if not self._place.piped:
            try:
                os.fsync(self._file.fileno())
            except OSError as error:
                raise OutputError.of(self._place, said(error)) from None

    def reread(self) -> pl.DataFrame:
        """Read the release as whoever gets it will."""
        try:
            if self._place.table:
                frame: pl.DataFrame = self._swap.reread()
                return frame
            if self._place.piped:
                return parsed(self._buffer, self._place.format, self._place)
            with self._swap.path.open("rb") as file:
                return parsed(file, self._place.format, self._place)
        except InvalidDataError:
            self._blame()
            why = "what was written cannot be read again. Check the disk."
            raise OutputError.of(self._place, why) from None

    def _blame(self) -> None:
        """Refuse the one column that cannot be written, if it is one."""
        refuse_lost(self._written, partial(_trial, self._place), self._place.format, self._place)

    def same(self, frame: pl.DataFrame, reread: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
        """Hold what was read again against what was written.

        Parameters
        ----------
        frame, reread : polars.DataFrame
            Before and after the file.
        names : sequence of str
            The masked columns.

        Returns
        -------
        polars.DataFrame
            What was read, with the masked columns in their types.

        Raises
        ------
        OutputError
            They differ.
        """
        exact = self._place.format in EXACT
        fits, lost = frame.columns == reread.columns and frame.height == reread.height, []
        if exact:
            fits = fits and frame.equals(reread)
        elif fits:
            read = typed(reread, names)
            reread = read.with_columns(
                by_name(name).cast(frame.schema[name], strict=False) for name in names
            )
            lost = [n for n in frame.columns if not self._kept(frame, reread, n, n in names)]
        if lost or not fits:
            if not exact:
                self._blame()
            where = (
                f", in column {lost[0]!r} of type {type_name(frame.schema[lost[0]])}"
                if lost
                else ""
            )
            raise OutputError.of(self._place, f"{UNLIKE}{where}. {WAY}")
        return reread

    @staticmethod
    def _kept(before: pl.DataFrame, after: pl.DataFrame, name: str, masked: bool) -> bool:
        """Tell whether a column came back; of masked ones the classes are counted anyway."""
        one, other = before.get_column(name), after.get_column(name)
        return one.null_count() == other.null_count() if masked else alike(one, other)

    def described(self, frame: pl.DataFrame, reread: pl.DataFrame) -> dict[str, Any]:
        """Say what the release is, with its hash; the types as they are read, if the format has any."""
        typeless = self._place.format in TYPELESS
        if self._place.table:
            told: dict[str, Any] = {
                "of": "rows",
                "sha256": rows_digest(self._swap.reread()),
                "bytes": None,
            }
        elif self._place.piped:
            content = self._buffer.getvalue()
            digest = hashlib.sha256(content).hexdigest()
            told = {"of": "file", "sha256": digest, "bytes": len(content)}
        else:
            path = self._swap.path
            told = {"of": "file", "sha256": sha256_of(path), "bytes": path.stat().st_size}
        return {
            "name": self._place.table or self._place.path.name,
            "format": self._place.format,
            **told,
            "columns": types(frame if typeless else reread),
        }

    def commit(self, record: bytes) -> None:
        """Put the release and its record in place."""
        if self._swap is not None:
            self._swap.commit(record)
            return
        with ExitStack() as held:
            # A record is of a release that somebody has, so it waits until the stream was taken.
            named = self._record and held.enter_context(waiting(self._record, record))
            deliver(self._buffer.getvalue())
            if named:
                named()


def types(frame: pl.DataFrame) -> dict[str, str]:
    """Name the type of each column."""
    return {name: type_name(dtype) for name, dtype in frame.schema.items()}


def _swap(place: Location, record: Path | None) -> Any:
    """What takes the place of a file or table; nothing takes that of a stream."""
    if place.piped:
        if record is not None:
            checked(record)
        return nullcontext()
    if place.table:
        from polars_microagg.publishing.formats.duckdb_write import TableSwap

        return TableSwap(place.path, place.table, _required(record))
    return Swap(place.path, _required(record))


def _required(record: Path | None) -> Path:
    if record is None:
        raise OutputError.of("the manifest", "it has no place. Name one.")
    return record


@contextmanager
def stage(place: Location, record: Path | None, overwrite: bool) -> Iterator[Staged]:
    """Open a place for a release; without `commit` nothing of it remains.

    Parameters
    ----------
    place : Place
        Where the release goes.
    record : Path or None
        Where its manifest goes; beside it by default, and nowhere for a stream.
    overwrite : bool
        Whether a file that is there may be replaced.

    Yields
    ------
    Staged
        To write to, read from, and commit.

    Raises
    ------
    OutputError
        The target cannot be written.
    TargetExistsError
        It is there and may not be replaced.
    """
    record = record or place.record
    with _swap(place, record) as swap:
        staged = Staged(place, record, swap)
        _refuse_what_is_there(place, record, overwrite, bool(place.table) and staged.there())
        yield staged


def _refuse_what_is_there(
    place: Location, record: Path | None, overwrite: bool, table: bool = False
) -> None:
    if table and not overwrite:
        raise TargetExistsError.of(place)
    free(overwrite, None if place.piped or place.table else place.path, record)


def foresee(place: Location, record: Path | None, overwrite: bool, frame: pl.DataFrame) -> None:
    """Refuse what `stage` and `write` would refuse, and write nothing.

    Parameters
    ----------
    place, record, overwrite
        As for `stage`.
    frame : polars.DataFrame
        Some rows with the columns of the release.

    Raises
    ------
    OutputError
        The target cannot be written, or cannot hold a column.
    TargetExistsError
        It is there and may not be replaced.
    """
    record = record or place.record
    table = False
    for path in (None if place.piped else place.path, record):
        if path is not None:
            writable(path)
    if place.table:
        from polars_microagg.publishing.formats.duckdb_write import foreseen

        if place.path.exists() and not os.access(place.path, os.W_OK):
            raise OutputError.of(place, f"{os.strerror(errno.EACCES)}.")
        table = foreseen(place.path, place.table)
    _refuse_what_is_there(place, record, overwrite, table)
    refuse_types(frame, place.format, place)
    if not place.table:
        write(frame, io.BytesIO(), place.format, place)
        return
    try:
        same = _trial(place, frame).columns == frame.columns
    except InvalidDataError:
        same = False
    if not same:
        refuse_lost(frame, partial(_trial, place), place.format, place)
        raise OutputError.of(place, f"{UNLIKE}. {WAY}")


def _trial(place: Location, frame: pl.DataFrame) -> pl.DataFrame:
    """Write a table as the place would have it, into memory, and read it again."""
    if place.table:
        from polars_microagg.publishing.formats.duckdb_write import through

        return through(frame)
    buffer = io.BytesIO()
    write(frame, buffer, place.format, place)
    return parsed(buffer, place.format, place)
