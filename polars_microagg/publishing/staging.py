"""Where a release waits until it is judged: a file beside its target, a transaction, or memory."""

from __future__ import annotations

import errno
import hashlib
import io
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Self

import polars as pl

from polars_microagg.errors import InvalidDataError, OutputError, TargetExistsError
from polars_microagg.frames.columns import is_number, type_name
from polars_microagg.frames.selection import by_name
from polars_microagg.publishing.atomic import (
    Swap,
    checked,
    free,
    sha256_of,
    system_message,
    waiting,
    writable,
)
from polars_microagg.publishing.formats.column_types import alike, refuse_lost, refuse_types
from polars_microagg.publishing.formats.files import Location, parsed, write
from polars_microagg.publishing.formats.register import Target, formats
from polars_microagg.publishing.formats.standard_output import deliver
from polars_microagg.publishing.formats.text_types import retyped
from polars_microagg.publishing.manifest.model import Output

__all__ = ["UNLIKE", "WAY", "FileTarget", "Staged", "foresee", "require_place", "stage", "types"]

UNLIKE = "what was read back is not what was written"
WAY = "Write Parquet, or check the disk."


class FileTarget(Swap):
    """A release in a file beside its target."""

    def __init__(self, place: Location, record: Path) -> None:
        super().__init__(place.path, record)
        self._place = place

    def exists(self) -> bool:
        """Return whether there is a file of that name."""
        return os.path.lexists(self.target)

    def write(self, frame: pl.DataFrame) -> None:
        """Write the file, and wait until the device has it."""
        write(frame, self.file, self._place.format, self._place)
        try:
            os.fsync(self.file.fileno())
        except OSError as error:
            raise OutputError.of(self._place, system_message(error)) from None

    def reread(self) -> pl.DataFrame:
        """Read the file by its name."""
        with self.path.open("rb") as file:
            return parsed(file, self._place.format, self._place, ",")

    def content(self) -> tuple[str, str, int | None]:
        """Return "file", its hash and its size."""
        return "file", sha256_of(self.path), self.path.stat().st_size


class _Stream:
    """A release in memory, for standard output."""

    def __init__(self, place: Location, record: Path | None) -> None:
        if record is not None:
            checked(record)
        self._place, self._record, self._buffer = place, record, io.BytesIO()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing, as nothing was sent."""

    def exists(self) -> bool:
        """Return False: a stream replaces nothing."""
        return False

    def write(self, frame: pl.DataFrame) -> None:
        """Write it to memory."""
        write(frame, self._buffer, self._place.format, self._place)

    def reread(self) -> pl.DataFrame:
        """Read it from memory."""
        return parsed(self._buffer, self._place.format, self._place, ",")

    def content(self) -> tuple[str, str, int | None]:
        """Return "file", and the hash and the size of what will be sent."""
        content = self._buffer.getvalue()
        return "file", hashlib.sha256(content).hexdigest(), len(content)

    def commit(self, record: bytes) -> None:
        """Send the release, then put its record in place."""
        with ExitStack() as stack:
            # A record describes a release that somebody has, so it waits until the stream was read.
            finish = self._record and stack.enter_context(waiting(self._record, record))
            deliver(self._buffer.getvalue())
            if finish:
                finish()


@dataclass(frozen=True)
class Staged:
    """A release that waits: written, read again, and not visible to anybody."""

    place: Location
    target: Target

    def write(self, frame: pl.DataFrame) -> None:
        """Write the release where nobody looks."""
        refuse_types(frame, self.place.format, self.place)
        try:
            self.target.write(frame)
        except OutputError:
            if self.place.tables:
                self._blame(frame)
            raise

    def reread(self, written: pl.DataFrame) -> pl.DataFrame:
        """Read the release as its readers will."""
        try:
            return self.target.reread()
        except InvalidDataError:
            self._blame(written)
            why = "what was written cannot be read again. Check the disk."
            raise OutputError.of(self.place, why) from None

    def _blame(self, frame: pl.DataFrame) -> None:
        """Refuse the one column that cannot be written, if it is one."""
        refuse_lost(frame, partial(_trial, self.place), self.place.format, self.place)

    def same(self, frame: pl.DataFrame, reread: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
        """Compare what was read again with what was written, and refuse a difference.

        The masked columns, `names`, come back in their types. If the format does not keep values
        exactly, theirs are not compared: the classes are counted on what was read.
        """
        exact = formats()[self.place.format].exact
        fits, lost = frame.columns == reread.columns and frame.height == reread.height, []
        if exact:
            whole = fits and frame.equals(reread)
            if fits and not whole:
                lost = [n for n in frame.columns if not _equal(frame, reread, n)]
            fits = whole
        elif fits:
            # Text has no types: masked columns are cast to those that were written, so that classes
            # and measures are of the same kind of values as for any other format.
            reread = retyped(reread, {name: frame.schema[name] for name in names})
            near = {n for n in names if is_number(frame.schema[n])}
            lost = [n for n in frame.columns if not _kept(frame, reread, n, n in near)]
        if lost or not fits:
            if not exact:
                self._blame(frame)
            where = (
                f", in column {lost[0]!r} of type {type_name(frame.schema[lost[0]])}"
                if lost
                else ""
            )
            raise OutputError.of(self.place, f"{UNLIKE}{where}. {WAY}")
        return reread

    def described(self, frame: pl.DataFrame, reread: pl.DataFrame) -> Output:
        """Describe the release, with its hash; types are those read, if the format has types."""
        typeless = formats()[self.place.format].typeless
        of, sha256, size = self.target.content()
        return {
            "name": self.place.table or self.place.path.name,
            "format": self.place.format,
            "of": of,
            "sha256": sha256,
            "bytes": size,
            "columns": types(frame if typeless else reread),
        }

    def commit(self, record: bytes) -> None:
        """Move the release and its record to their place."""
        self.target.commit(record)


def _kept(before: pl.DataFrame, after: pl.DataFrame, name: str, near: bool) -> bool:
    """Return whether a column survived the round trip; masked numbers are verified separately."""
    one, other = before.get_column(name), after.get_column(name)
    return one.null_count() == other.null_count() if near else alike(one, other)


def _equal(before: pl.DataFrame, after: pl.DataFrame, name: str) -> bool:
    """Return whether a column came back with every value and its type."""
    return before.select(by_name(name)).equals(after.select(by_name(name)))


def types(frame: pl.DataFrame) -> dict[str, str]:
    """Return the name of the type of each column."""
    return {name: type_name(dtype) for name, dtype in frame.schema.items()}


def _target(place: Location, record: Path | None) -> Target:
    """Choose where the release waits, by the kind of its place."""
    if place.piped:
        return _Stream(place, record)
    if record is None:
        raise OutputError.of("the manifest", "it has no place. Name one.")
    if place.tables:
        return place.tables.replace(place.path, place.table, record)
    return FileTarget(place, record)


@contextmanager
def stage(
    place: Location,
    record: Path | None,
    overwrite: bool,
    make: Callable[[Location, Path | None], Target] = _target,
) -> Iterator[Staged]:
    """Open a place for a release; without `commit` nothing of it remains.

    The record goes beside the release by default, and nowhere for a stream. `make` makes the target of a
    place and a record.
    """
    record = record or place.record
    with make(place, record) as target:
        _refuse_existing(place, record, overwrite, target.exists())
        yield Staged(place, target)


def _refuse_existing(place: Location, record: Path | None, overwrite: bool, exists: bool) -> None:
    if exists and not overwrite:
        raise TargetExistsError.of(place)
    free(overwrite, record)


def require_place(place: Location, record: Path | None, overwrite: bool) -> None:
    """Refuse a place where nothing can be put, and write nothing."""
    record = record or place.record
    for path in (None if place.piped else place.path, record):
        if path is not None:
            writable(path)
    if place.tables and place.path.exists() and not os.access(place.path, os.W_OK):
        raise OutputError.of(place, f"{os.strerror(errno.EACCES)}.")
    _refuse_existing(place, record, overwrite, _foreseen(place))


def foresee(place: Location, record: Path | None, overwrite: bool, frame: pl.DataFrame) -> None:
    """Refuse what `stage` and `write` would refuse, and write nothing.

    `frame` has the columns of the release, and some rows.
    """
    require_place(place, record, overwrite)
    refuse_types(frame, place.format, place)
    if not place.tables:
        write(frame, io.BytesIO(), place.format, place)
        return
    try:
        same = _trial(place, frame).columns == frame.columns
    except InvalidDataError:
        same = False
    if not same:
        refuse_lost(frame, partial(_trial, place), place.format, place)
        raise OutputError.of(place, f"{UNLIKE}. {WAY}")


def _foreseen(place: Location) -> bool:
    """Return whether something would be replaced."""
    if place.tables:
        return place.tables.foresee(place.path, place.table)
    return not place.piped and os.path.lexists(place.path)


def _trial(place: Location, frame: pl.DataFrame) -> pl.DataFrame:
    """Write a table into memory in the format of the place, and read it again."""
    if place.tables:
        return place.tables.trial(frame)
    buffer = io.BytesIO()
    write(frame, buffer, place.format, place)
    return parsed(buffer, place.format, place, ",")
