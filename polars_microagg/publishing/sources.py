"""Sources of a release, and their sizes as far as these are known without reading them whole."""

from __future__ import annotations

import glob
import io
import os
import re
import shutil
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self

import polars as pl

from polars_microagg.errors import MicroaggError
from polars_microagg.frames.safe_collect import quietly, schema_of
from polars_microagg.frames.selection import as_frame
from polars_microagg.out_of_core.parquet_source import ParquetSource
from polars_microagg.publishing.formats.batches import (
    Typed,
    frames_of,
    set_down,
    set_down_frame,
)
from polars_microagg.publishing.formats.duckdb_read import connected, failed, located
from polars_microagg.publishing.formats.file_content import PACKERS
from polars_microagg.publishing.formats.files import (
    STDIN,
    STREAM,
    Location,
    named_errors,
    parsed,
    parsed_batches,
)
from polars_microagg.publishing.formats.register import formats
from polars_microagg.publishing.formats.source_files import there
from polars_microagg.publishing.memory import width_of

__all__ = [
    "FrameSource",
    "PlaceSource",
    "PlacesSource",
    "Size",
    "Source",
    "StreamSource",
    "places_of",
    "size_of_parquet",
]

PACKED = 10
"""Times that a compressed file is larger when it is read."""

SHORT, CELL = 40, 4
"""Bytes of a short line, and of one of its cells."""

LINES = 1 << 16
"""Bytes of a file of text from which the length of its lines is told."""

SCAN = re.compile(r"^\s*\w+ SCAN \[(.*?)(?:, \.\.\. (\d+) other sources)?\]\s*$", re.MULTILINE)
ROWS = re.compile(r"^\s*ESTIMATED ROWS: (\d+)\s*$", re.MULTILINE)
"""Of the plan of a LazyFrame: the files that it reads, and how many rows they are thought to have."""


@dataclass(frozen=True)
class Size:
    """The rows of a table, the bytes of one in memory, and how many of its columns may be masked.

    The rows of an `exact` size were counted, and not told from the length of a file; `persons` says
    whether k counts persons.
    """

    rows: int
    width: float
    masked: int
    exact: bool = True
    persons: bool = False


class Source(Protocol):
    """A table that is read whole, or set down as Parquet."""

    def size(self) -> Size | None:
        """Return the size as far as it is known without reading; None if it is not."""
        ...

    def set_down(
        self, folder: Path, batch: int, texts: Callable[[list[str]], Typed]
    ) -> ParquetSource:
        """Make it a source of Parquet; `texts` are the columns of which text is read as numbers."""
        ...


def size_of_parquet(
    table: ParquetSource, masked: int | None = None, *, persons: bool = False
) -> Size:
    """Return the size of a table of Parquet, from its notes.

    Values of one width are as wide in memory, whatever they take in the file.
    """
    types = table.empty.dtypes
    text = table.wide / max(1, len(types))
    wide = sum(width_of(dtype, text) for dtype in types)
    return Size(table.rows, wide, len(types) if masked is None else masked, persons=persons)


PART, MOST = 16, 1 << 28
"""The share of the memory, and the bytes, up to which a stream is read into memory."""

NOTHING = Size(0, 0.0, 0)


@dataclass(frozen=True)
class FrameSource:
    """A table of polars: in memory, or a plan."""

    frame: pl.DataFrame | pl.LazyFrame
    masked: int | None = None
    """Columns that are masked; all by default."""

    def size(self) -> Size | None:
        """Return the size of a table, or that of what a plan reads, if its plan tells."""
        frame = self.frame
        if isinstance(frame, pl.DataFrame):
            wide = frame.estimated_size() / max(1, frame.height)
            return Size(frame.height, wide, self.masked or frame.width)
        types = schema_of(frame).dtypes()
        # The words of a plan may hold values, and are not shown.
        plan = quietly(lambda: frame.explain(optimized=False), "frame")
        scans, rows = list(SCAN.finditer(plan)), 0
        ends = [*(scan.start() for scan in scans[1:]), len(plan)]
        for scan, end in zip(scans, ends, strict=False):
            told = ROWS.search(plan, scan.end(), end)
            read = int(told[1]) if told else _rows_of_scan(scan[1], int(scan[2] or 0) + 1)
            if read is None:
                return None
            rows += read
        wide = sum(map(width_of, types))
        return Size(rows, wide, self.masked or len(types), exact=False)

    def set_down(
        self, folder: Path, batch: int, texts: Callable[[list[str]], Typed]
    ) -> ParquetSource:
        """Write the table, or what the plan yields, to a file of Parquet."""
        del texts
        return set_down_frame(self.frame.lazy(), folder, batch=batch)


@dataclass(frozen=True)
class PlaceSource:
    """A file, a table of DuckDB, standard input, or several files of one schema."""

    place: Location

    def size(self) -> Size | None:
        """Estimate the size from notes and lengths; None of several files and of a stream."""
        place, path = self.place, self.place.path
        several = there(path.is_dir) or (glob.has_magic(str(path)) and not there(path.exists))
        # A stream has a name as well, such as /dev/stdin, and may lead to a file of any format.
        if place.piped or place.format == "folder" or (several and not place.tables):
            return None
        with suppress(MicroaggError, OSError, ValueError, NotImplementedError):
            # A pipe would be waited for.
            if path.is_file():
                return self._looked_at() or NOTHING
        # Whoever reads it says what is wrong with it.
        return NOTHING

    def _looked_at(self) -> Size | None:
        if self.place.tables:
            return _size_of_table(self.place)
        if self.place.format == "parquet":
            return size_of_parquet(ParquetSource.of(self.place.path))
        return _size_of_file(self.place)

    def first(self, folder: Path, rows: int) -> pl.DataFrame:
        """Read the first rows as they are; what is compressed is unpacked into a folder."""
        place = self.place
        with ExitStack() as stack:
            if place.tables:
                frames = place.tables.read_batches(place.path, place.table, rows)
            elif place.format == "parquet":
                frames = frames_of(ParquetSource.of(place.path), rows)
            else:
                file = stack.enter_context(place.opened(folder))
                frames = parsed_batches(file, place.format, place.path, place.separator, rows)
            parts = [next(frames)]
            while sum(part.height for part in parts) < rows:
                if (part := next(frames, None)) is None:
                    break
                parts.append(part)
            return pl.concat(parts).head(rows)

    def set_down(
        self, folder: Path, batch: int, texts: Callable[[list[str]], Typed]
    ) -> ParquetSource:
        """Set the table down in batches; Parquet is read where it is."""
        return set_down(self.place, folder, batch=batch, typed=texts, raw=True)


@dataclass(frozen=True)
class PlacesSource:
    """Several files of one schema, in order."""

    places: tuple[Location, ...]

    def size(self) -> Size | None:
        """Return None: they are set down first."""
        return None

    def set_down(
        self, folder: Path, batch: int, texts: Callable[[list[str]], Typed]
    ) -> ParquetSource:
        """Set the files down as one table; those of Parquet are read where they are."""
        return set_down(self.places, folder, batch=batch, typed=texts, raw=True)


@dataclass(frozen=True)
class StreamSource:
    """Standard input, of which the first bytes are in memory; `frame` if those are all of it."""

    start: bytes
    frame: pl.DataFrame | None

    @classmethod
    def of(cls, memory: int) -> Self:
        """Read as much as a part of the memory holds."""
        most = min(MOST, memory // PART)
        with named_errors(Path("-")):
            start = sys.stdin.buffer.read(most)
        if len(start) < most:
            return cls(b"", parsed(io.BytesIO(start), STREAM, STDIN))
        return cls(start, None)

    def size(self) -> Size | None:
        """Return the size of what is in memory, if that is all."""
        return None if self.frame is None else FrameSource(self.frame).size()

    def set_down(
        self, folder: Path, batch: int, texts: Callable[[list[str]], Typed]
    ) -> ParquetSource:
        """Set the stream down: what was read of it, and the rest."""
        del texts
        if self.frame is not None:
            return set_down_frame(self.frame.lazy(), folder, batch=batch)
        rest = folder / "standard input"
        with rest.open("wb") as file, named_errors(Path("-")):
            file.write(self.start)
            shutil.copyfileobj(sys.stdin.buffer, file, 1 << 20)
        try:
            return set_down(Location(rest, STREAM), folder, batch=batch)
        finally:
            rest.unlink()


def _rows_of_scan(path: str, files: int) -> int | None:
    """Estimate the rows of files from the first of them; None if it is no file on this machine."""
    with suppress(MicroaggError, OSError, ValueError):
        size = PlaceSource(Location.of(path)).size()
        return None if size is None else files * size.rows
    return None


def places_of(source: object) -> list[Location]:
    """Return the places that are named as a source, one or a list of them; none of a table of polars.

    >>> [place.format for place in places_of(["a.csv", "b.csv"])]
    ['csv', 'csv']
    """
    listed: list[Any] = list(source) if isinstance(source, list | tuple) else [source]
    named = bool(listed) and all(isinstance(one, str | os.PathLike) for one in listed)
    return [Location.of(one) for one in listed] if named else []


def _size_of_table(place: Location) -> Size | None:
    """Count the rows of a table of DuckDB; None if that fails."""
    with suppress(*failed()), connected(place.path, write=False) as con:
        at = located(con, place.table)
        ((rows,),) = con.sql(f"FROM {at} SELECT count(*)").fetchall()
        types = as_frame(con.sql(f"FROM {at} LIMIT 0").to_arrow_table()).dtypes
        return Size(rows, sum(map(width_of, types)), len(types))
    return None


def _size_of_file(place: Location) -> Size:
    """Estimate the rows of a file from its length, and from its first lines or its first batch."""
    length = place.path.stat().st_size
    if not formats()[place.format].typeless:
        return _size_of_arrow(place.path, length)
    with place.path.open("rb") as file:
        start = file.read(LINES)
    if any(re.match(begin, start) for _, begin in PACKERS):
        # Its lines cannot be seen; they are thought to be short ones, of which there are most.
        return Size(PACKED * length // SHORT, float(SHORT), SHORT // CELL, exact=False)
    lines, head = max(1, start.count(b"\n")), start.partition(b"\n")[0]
    mark = (place.separator or ",").encode() if place.format == "csv" else b'":'
    columns = max(1, head.count(mark) + (place.format == "csv"))
    line = max(1.0, len(start) / lines)
    wide = columns * width_of(pl.String()) + line
    return Size(int(length / line), wide, columns, exact=False)


def _size_of_arrow(path: Path, length: int) -> Size:
    """Estimate the rows of a file of Arrow from its first batch."""
    import pyarrow as pa

    with pa.OSFile(str(path)) as file:
        try:
            batches = pa.ipc.open_file(file)
            share = batches.num_record_batches
            first = batches.get_batch(0) if share else None
        except pa.ArrowInvalid:
            file.seek(0)
            batches = pa.ipc.open_stream(file)
            first = next(iter(batches), None)
            share = length / max(1, file.tell())
        columns = len(batches.schema)
    if first is None or not first.num_rows:
        return Size(0, 0.0, columns)
    rows = int(first.num_rows * share)
    return Size(rows, first.nbytes / first.num_rows, columns, exact=False)
