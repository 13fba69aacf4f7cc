"""Where a release waits until it is judged: beside its target, in a transaction, or in memory."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from polars_microagg.errors import InvalidDataError, OutputError
from polars_microagg.frames.selection import by_name
from polars_microagg.release.csv import typed
from polars_microagg.release.files import Place, parsed, rows_digest, write
from polars_microagg.release.swap import UNLIKE, Swap, checked, put, said, sha256_of, writable

__all__ = ["TYPELESS", "Staged", "foresee", "stage", "types"]

EXACT = ("parquet", "arrow", "stream")
"""Formats in which every value comes back as it was written."""

TYPELESS = ("csv", "ndjson")
"""Formats that do not tell the types of their columns."""


class Staged:
    """A release that waits: written, read again, and not yet seen by anybody."""

    def __init__(self, place: Place, record: Path | None, held: ExitStack) -> None:
        self._place, self._record = place, record
        self._swap: Any = None
        self._buffer = io.BytesIO()
        if place.piped:
            if record is not None:
                checked(record)
        elif place.table:
            from polars_microagg.release.tables import TableSwap

            self._swap = held.enter_context(TableSwap(place.path, place.table, _required(record)))
        else:
            self._swap = held.enter_context(Swap(place.path, _required(record)))

    @property
    def _file(self) -> Any:
        return self._buffer if self._place.piped else self._swap.file

    def there(self) -> bool:
        """Whether the file has a table or view of that name already."""
        found: bool = self._swap.there()
        return found

    def write(self, frame: pl.DataFrame) -> None:
        """Write the release where nobody looks."""
        if self._place.table:
            self._swap.write(frame)
            return
        write(frame, self._file, self._place.format, self._place)
        if not self._place.piped:
            try:
                os.fsync(self._file.fileno())
            except OSError as error:
                raise OutputError.of(self._place, said(error)) from None

    def reread(self) -> pl.DataFrame:
        """Read the release as whoever gets it will."""
        if self._place.table:
            frame: pl.DataFrame = self._swap.reread()
            return frame
        try:
            if self._place.piped:
                return parsed(self._buffer, self._place.format, self._place)
            with self._swap.path.open("rb") as file:
                return parsed(file, self._place.format, self._place)
        except InvalidDataError:
            why = "what was written cannot be read again. Check the disk."
            raise OutputError.of(self._place, why) from None

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
        alike = frame.columns == reread.columns and frame.height == reread.height
        if self._place.format in EXACT:
            alike = alike and frame.equals(reread)
        elif alike:
            types = {name: frame.schema[name] for name in names}
            read = typed(reread, names)
            reread = read.with_columns(
                by_name(name).cast(dtype, strict=False) for name, dtype in types.items()
            )
            alike = all(
                reread.get_column(n).null_count() == frame.get_column(n).null_count() for n in names
            )
        if not alike:
            raise OutputError.of(self._place, UNLIKE)
        return reread

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
        try:
            sys.stdout.buffer.write(self._buffer.getvalue())
            sys.stdout.buffer.flush()
        except OSError as error:
            raise OutputError.of("standard output", said(error)) from None
        if self._record is not None:
            put(self._record, record)


def types(frame: pl.DataFrame) -> dict[str, str]:
    """Name the type of each column; the categories of an Enum are values, and left out."""
    named = {name: (str(dtype), dtype) for name, dtype in frame.schema.items()}
    return {n: str(d.base_type()) if "Enum(" in text else text for n, (text, d) in named.items()}


def _required(record: Path | None) -> Path:
    if record is None:
        raise OutputError.of("the manifest", "it has no place. Name one.")
    return record


@contextmanager
def stage(place: Place, record: Path | None, overwrite: bool) -> Iterator[Staged]:
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
        The target cannot be written, or is there and may not be replaced.
    """
    record = record or place.record
    with ExitStack() as held:
        staged = Staged(place, record, held)
        _refuse_what_is_there(place, record, overwrite, bool(place.table) and staged.there())
        yield staged


def _refuse_what_is_there(
    place: Place, record: Path | None, overwrite: bool, table: bool = False
) -> None:
    if overwrite:
        return
    paths = [path for path in (_file_of(place), record) if path is not None]
    there: list[object] = [path for path in paths if os.path.lexists(path)]
    if table or there:
        what = place if table else there[0]
        raise OutputError.of(what, "it is there already. Allow it with overwrite=True.")


def _file_of(place: Place) -> Path | None:
    return None if place.piped or place.table else place.path


def foresee(place: Place, record: Path | None, overwrite: bool, frame: pl.DataFrame) -> None:
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
        The target cannot be written, is there and may not be replaced, or cannot hold a column.
    """
    record = record or place.record
    table = False
    for path in (None if place.piped else place.path, record):
        if path is not None:
            writable(path)
    if place.table:
        from polars_microagg.release.tables import foreseen

        if place.path.exists() and not os.access(place.path, os.W_OK):
            raise OutputError.of(place, f"{os.strerror(errno.EACCES)}.")
        table = foreseen(place.path, place.table, frame)
    else:
        write(frame, io.BytesIO(), place.format, place)
    _refuse_what_is_there(place, record, overwrite, table)
