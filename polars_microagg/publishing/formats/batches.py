"""Tables of any size: set down once as Parquet, batch by batch, as `Location.read` reads them whole."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, TypeAlias

import polars as pl

from polars_microagg.errors import InvalidDataError, MicroaggError
from polars_microagg.errors.files import changed_while_read, other_schema
from polars_microagg.frames.columns import type_name
from polars_microagg.frames.safe_collect import schema_of, sunk
from polars_microagg.frames.selection import by_name
from polars_microagg.leaves.metadata_scrub import empty_table, without_notes
from polars_microagg.out_of_core.parquet_source import ParquetSource
from polars_microagg.out_of_core.parquet_writer import TableWriter
from polars_microagg.publishing.formats.column_batches import even
from polars_microagg.publishing.formats.files import (
    STDIN,
    Location,
    deliver,
    named_errors,
    parsed_batches,
)
from polars_microagg.publishing.formats.register import Format, formats, frame_of
from polars_microagg.publishing.formats.source_files import SourceFile, key_columns, source_files
from polars_microagg.publishing.formats.text_types import TypesSeen, read_as, retyped

__all__ = [
    "BATCH",
    "Asked",
    "Typed",
    "deliver",
    "frames_of",
    "set_down",
    "set_down_frame",
    "set_down_frames",
]

NAME = "source.parquet"
"""The file that a table is set down as."""

BATCH = 1 << 16
"""Rows that are read at a time from a table larger than memory."""


@dataclass(frozen=True)
class Typed:
    """Columns of a format without types that are read as numbers, dates and times.

    Of `names` one that is nearly of a type is refused; of `quantities` those that have codes such
    as 007 stay text. `types` are known, of a release that is read again.
    """

    names: Sequence[str] = ()
    quantities: Sequence[str] = ()
    types: dict[str, pl.DataType] = field(default_factory=dict)


Asked: TypeAlias = "Typed | Callable[[list[str]], Typed]"
"""Columns to be typed, or how they follow from the names of all columns."""

NONE = Typed()


def set_down(
    places: Location | Sequence[Location],
    folder: Path,
    *,
    batch: int,
    columns: Sequence[str] | None = None,
    typed: Asked = NONE,
    raw: bool = False,
    name: str = NAME,
) -> ParquetSource:
    """Return a table as Parquet: files of Parquet as they are, any other written to a folder.

    A place may be a pattern or a folder. `batch` is the most rows in memory. The result has the
    rows, values and types of `Location.read`, and of the columns of text those of `typed`; all
    columns, or `columns`. A `raw` file that looks malformed is refused.
    """
    rows = _Rows(source_files(places), folder, batch)
    if rows.entry.name == "parquet" and not rows.files[0].keys:
        for file in rows.files:
            next(_frames(file.place, folder, batch))  # refuses a file of another format
        return ParquetSource.of([file.place.path for file in rows.files])
    with ExitStack() as stack:
        stack.enter_context(rows.opened())
        frames = stack.enter_context(closing(rows.frames()))
        first = next(frames)
        asked = NONE
        wrong: MicroaggError | None = None
        try:
            asked = typed(first.columns) if callable(typed) else typed
        except MicroaggError as error:
            wrong = error
        seen = TypesSeen(asked.names, asked.quantities)
        again = rows.look(seen, raw=raw)
        if wrong is not None:  # a column that is not there may be that of a doubtful file
            raise wrong

        def read(frames: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
            for frame in frames:
                found = read_as(frame, seen.types)
                # Types were found in another pass, and read every value that was there then.
                if _nulls(found, seen.types) > _nulls(frame, seen.types):
                    raise changed_while_read(rows.reading)
                yield retyped(found, asked.types) if asked.types else found

        nearly = rows.entry.nearly(asked.names) if rows.entry.nearly and asked.names else None

        def written(frames: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
            for frame in read(frames):
                if nearly is not None:
                    nearly.see(frame)
                yield frame if columns is None else frame.select(map(by_name, columns))

        rest = stack.enter_context(closing(rows.frames())) if again else chain([first], frames)
        source = set_down_frames(written(rest), folder, rows.what, batch=batch, name=name)
        if nearly is not None:
            nearly.refuse(
                lambda: read(rows.frames()),
                lambda record: rows.place(record, stack),
                rows.separator,
            )
    return source


def set_down_frame(
    frame: pl.LazyFrame, folder: Path, *, batch: int = BATCH, name: str = NAME
) -> ParquetSource:
    """Run the plan of a LazyFrame into a Parquet file; a failure is told without the words of the plan.

    >>> import tempfile
    >>> set_down_frame(pl.LazyFrame({"age": [31, 47]}), Path(tempfile.mkdtemp())).rows
    2
    """
    _refuse_types(schema_of(frame).to_frame(), "frame")
    path = _unused(folder, name)
    sunk(frame, path, batch)
    return ParquetSource.of(path)


def set_down_frames(
    frames: Iterable[pl.DataFrame], folder: Path, what: object, *, batch: int, name: str = NAME
) -> ParquetSource:
    """Write frames of one schema, at least one, to a Parquet file; `what` names them in messages.

    >>> import tempfile
    >>> parts = [pl.DataFrame({"age": [31]}), pl.DataFrame({"age": [47]})]
    >>> set_down_frames(parts, Path(tempfile.mkdtemp()), "a table", batch=9).rows
    2
    """
    path = _unused(folder, name)
    _write(even(frames, lambda _: batch), path, what)
    return ParquetSource.of(path)


def _unused(folder: Path, name: str) -> Path:
    """Return a path of this name, or of a longer one: a source that is still read stays as it is."""
    while (folder / name).exists():
        name = f"next-{name}"
    return folder / name


def frames_of(source: ParquetSource, batch: int) -> Iterator[pl.DataFrame]:
    """Yield the rows of a source as frames, the first without any."""
    yield frame_of(empty_table(source.schema))
    for table in source.batches(batch):
        yield frame_of(table)


class _Rows:
    """The rows of the files of a source, which may be read more than once."""

    def __init__(self, files: list[SourceFile], folder: Path, batch: int) -> None:
        self.files, self._folder, self._batch = files, folder, batch
        self.reading = first = files[0].place
        self.entry: Format = formats()["parquet" if first.format == "folder" else first.format]
        self.what: object = STDIN if first.piped else first
        self.separator = first.separator or ","
        self._keys = key_columns(files)
        self._stdin: IO[bytes] | None = None
        self._schema: pl.Schema | None = None
        self._known: dict[int, pl.Schema] = {}

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Copy standard input, which is there once, to a file until the table is read."""
        if not self.files[0].place.piped:
            yield
            return
        with TemporaryFile(dir=self._folder) as self._stdin:
            with named_errors(self.files[0].place.path):
                shutil.copyfileobj(sys.stdin.buffer, self._stdin, 1 << 20)
                self._stdin.flush()
            yield

    def frames(self) -> Generator[pl.DataFrame]:
        """Yield all rows, with the keys of their folders; names and types are the same in all files."""
        for number in range(len(self.files)):
            yield from self._of(number)

    def _of(self, number: int) -> Iterator[pl.DataFrame]:
        """Yield the rows of one file."""
        self.reading = place = self.files[number].place
        if self.entry.merged and len(self.files) > 1 and not self._known:
            self._known = dict.fromkeys(range(len(self.files)), self._merged(self.entry.merged))
        known = self._known.get(number)
        for frame in _frames(place, self._folder, self._batch, self._stdin, known):
            self._known[number] = frame.schema
            keyed = frame
            for key in self._keys[number].get_columns():
                if key.name not in frame.columns:
                    keyed = keyed.with_columns(key.new_from_index(0, frame.height))
            self._schema = self._schema or keyed.schema
            if list(keyed.schema.items()) != list(self._schema.items()):
                raise other_schema(place, self.files[0].place.path.name)
            yield keyed

    def _merged(self, merged: Callable[[Sequence[pl.Schema]], pl.Schema]) -> pl.Schema:
        """Return the schema in which all files are read."""
        parts = [_frames(file.place, self._folder, self._batch) for file in self.files]
        try:
            return merged([next(frames).schema for frames in parts])
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
            raise other_schema(self.files[-1].place, self.files[0].place.path.name) from None

    def look(self, seen: TypesSeen, *, raw: bool) -> bool:
        """Infer types from the text of all rows, and check raw files for what is doubtful.

        Return whether there was a reason to read the rows.
        """
        doubt = self.entry.suspect if raw else None
        if not doubt and not (self.entry.typed and seen.asked):
            return False
        for number, file in enumerate(self.files):
            frames, place = self._seen(seen, number), file.place
            if doubt is None:
                for _ in frames:
                    continue
            else:
                # Keys of folders are no part of the file.
                own = [key.name for key in self._keys[number].get_columns()]
                rows = (frame.drop(own, strict=False) for frame in frames)
                with place.opened(self._folder) as opened:
                    doubt(place.path, opened, rows, place.separator)
        return True

    def _seen(self, seen: TypesSeen, number: int) -> Iterator[pl.DataFrame]:
        for frame in self._of(number):
            seen.see(frame)
            yield frame

    def place(self, record: int, stack: ExitStack) -> tuple[Path, IO[bytes], int]:
        """Return the file that has a record, and which it is in this file."""
        number = 0
        while record >= (rows := sum(frame.height for frame in self._of(number))):
            record, number = record - rows, number + 1
        place = self.files[number].place
        return place.path, stack.enter_context(place.opened(self._folder)), record


def _frames(
    place: Location,
    folder: Path,
    batch: int,
    stdin: IO[bytes] | None = None,
    schema: pl.Schema | None = None,
) -> Iterator[pl.DataFrame]:
    """Yield the rows of one place."""
    if place.tables:
        yield from place.tables.read_batches(place.path, place.table, batch)
    elif stdin is not None:
        yield from parsed_batches(stdin, place.format, STDIN, "", batch)
    else:
        with place.opened(folder) as file:
            yield from parsed_batches(
                file, place.format, place.path, place.separator, batch, schema
            )
        if place.format == "parquet":
            yield from frames_of(ParquetSource.of(place.path), batch)


def _nulls(frame: pl.DataFrame, names: Iterable[str]) -> int:
    return sum(frame.get_column(name).null_count() for name in names)


def _write(frames: Iterable[pl.DataFrame], path: Path, what: object) -> None:
    """Write frames as one Parquet file, each as a group of rows."""
    frames = iter(frames)
    first = next(frames)
    _refuse_types(first.clear(), what)
    schema = _table(first.clear()).schema
    with TableWriter(path, schema, level=1) as writer:
        for frame in chain([first], frames):
            writer.write_table(_table(frame), row_group_size=max(1, frame.height))


def _table(frame: pl.DataFrame) -> Any:
    """Return a frame in the types of Arrow that Parquet has."""
    return without_notes(frame.to_arrow(compat_level=pl.CompatLevel.oldest()))


def _refuse_types(empty: pl.DataFrame, what: object) -> None:
    """Refuse a column that cannot be read in batches."""
    import io

    import pyarrow as pa
    import pyarrow.parquet as pq

    for column in empty.get_columns():
        try:
            table, file = _table(column.to_frame()), io.BytesIO()
            pq.write_table(table, file)
            fits = pl.DataFrame(pq.read_table(file)).dtypes == [column.dtype]
        except (pa.ArrowException, pl.exceptions.PolarsError, pl.exceptions.PanicException):
            fits = False
        if not fits:
            shown = f"column {column.name!r} is of type {type_name(column.dtype)}"
            why = f"{shown}, which cannot be read in batches. Cast it, or leave it out."
            raise InvalidDataError.unreadable(what, why)
