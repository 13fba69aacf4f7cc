"""Places of tables: files by their ending, DuckDB tables, a stream."""

from __future__ import annotations

import errno
import hashlib
import hmac
import io
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, Self

import polars as pl

from polars_microagg.errors import InvalidDataError, MicroaggError, OutputError
from polars_microagg.errors.files import (
    compressed_target,
    no_such_file,
    no_table_named,
    unknown_ending,
)
from polars_microagg.leaves.metadata_scrub import empty_table
from polars_microagg.out_of_core.parquet_source import ParquetSource
from polars_microagg.out_of_core.unchanged import FileState, state_of, unchanged
from polars_microagg.publishing.atomic import is_special, of_system, system_message
from polars_microagg.publishing.formats.file_content import (
    opened,
    refuse_foreign,
    refuse_special,
)
from polars_microagg.publishing.formats.register import (
    COMPRESSED,
    Format,
    Made,
    Tables,
    ending_of,
    format_of,
    formats,
)
from polars_microagg.publishing.formats.row_hash import digest_of, rows_digest
from polars_microagg.publishing.formats.scrub import visible

__all__ = [
    "STDIN",
    "STREAM",
    "Location",
    "deliver",
    "digest_of",
    "named_errors",
    "parsed",
    "parsed_batches",
    "rows_digest",
    "write",
]

STREAM = "stream"
"""Format of standard input and output."""

BROKEN: tuple[type[BaseException], ...] = (
    *(pl.exceptions.PolarsError, pl.exceptions.PanicException),
    *(OSError, ValueError, EOFError, UnicodeError),
)
"""Errors of reading a file that is not in the format of its ending."""

STDIN = "standard input"

SEVERAL = "it holds several tables. Name one of them, as in file.ending::table."
"""Why there is nothing that reads or writes the file as a whole."""


@dataclass(frozen=True)
class Location:
    """A file, a table of a DuckDB file, or standard input and output."""

    path: Path
    format: str
    table: str = ""
    separator: str = ""
    state: FileState | None = field(default=None, compare=False)
    """State that the file is to have whenever it is read."""

    @classmethod
    def of(cls, text: str | os.PathLike[str], separator: str = "") -> Self:
        """Read a place as it is written on the command line.

        That is a path whose ending gives the format, ``file.duckdb::table``, or ``-``; `separator`
        is what is between two cells of a CSV file, if they are not commas.

        >>> Location.of("salaries.CSV").format, Location.of("register.duckdb::people").table
        ('csv', 'people')
        """
        text = os.fspath(text)
        if text == "-":
            return cls(Path("-"), STREAM)
        with_tables = [entry for entry in formats().values() if entry.tables]
        for entry in with_tables:
            if match := _table(entry, text):
                # DuckDB's own schema need not be named, and one table has one name.
                table = re.sub(r"^main\.(?=[^.]+$)", "", match["table"])
                return cls(Path(match["file"]), entry.name, table)
        path = Path(text)
        form = format_of(ending_of(path))
        if form is None:
            with suppress(OSError, ValueError):  # a name may be too long to be looked up
                if path.is_dir() or is_special(path):
                    return cls(path, "folder")  # an error of reading or writing reports it
            file = text.removesuffix("::")
            if any(_table(entry, f"{file}::table") for entry in with_tables):
                raise no_table_named(text, file)
            # Parquet goes first, as it holds most.
            listed = sorted(formats().values(), key=lambda entry: entry.name != "parquet")
            endings = [e for entry in listed if not entry.tables for e in entry.endings]
            tables = [f"{entry.endings[0]}::table" for entry in with_tables]
            raise unknown_ending(text, path.suffix, [*endings, *tables])
        return cls(path, form.name, separator=separator)

    @classmethod
    def to(cls, text: str | os.PathLike[str]) -> Self:
        """Read a place that is to be written, as `of` does; a compressed file is refused."""
        place = cls.of(text)
        if not place.table and place.path.suffix.lower() in COMPRESSED:
            raise compressed_target(place, place.path.stem)
        return place

    def __str__(self) -> str:
        """Write the place as on the command line."""
        return f"{self.path}::{self.table}" if self.table else str(self.path)

    @property
    def piped(self) -> bool:
        """Return whether this is standard input or output."""
        return str(self.path) == "-"

    @property
    def record(self) -> Path | None:
        """Return the path of the manifest of this place; a stream has none."""
        if self.piped:
            return None
        name = self.path.name
        if self.table:
            table = self.table.lower()  # DuckDB compares names without case
            plain = re.sub(r"[^\w-]", "_", table)[:60]
            mark = hashlib.sha256(os.fsencode(table)).hexdigest()[:8]
            name += f".{plain}" if plain == table else f".{plain}-{mark}"
        return self.path.parent / f"{name}.manifest.json"

    @property
    def tables(self) -> Tables | None:
        """Return how tables of the file are read and replaced, if it has tables."""
        return formats()[self.format].tables if self.table else None

    def read(self) -> pl.DataFrame:
        """Read the whole table; columns of CSV files are text."""
        if self.tables:
            return self.tables.read(self.path, self.table)
        if self.piped:
            with named_errors(self.path):
                return parsed(io.BytesIO(sys.stdin.buffer.read()), STREAM, STDIN)
        with self.opened() as file:
            return parsed(file, self.format, self.path, self.separator)

    @contextmanager
    def opened(self, folder: Path | None = None) -> Iterator[IO[bytes]]:
        """Open the file; what is compressed is unpacked into memory, or into a folder."""
        with named_errors(self.path):
            refuse_special(self.path)
            if self.path.is_dir():
                raise InvalidDataError.unreadable(self.path, "it is a folder. Name a file in it.")
            with unchanged(self.path, self.state), opened(self.path, self.format, folder) as file:
                yield file

    @property
    def separated(self) -> bool:
        """Return whether its files may have a separator of cells."""
        return self.format == "folder" or formats()[self.format].separated

    def separated_by(self, mark: str | None) -> Self:
        """Return the place with a separator that was noted elsewhere, unless it has one or takes none."""
        return (
            replace(self, separator=mark)
            if mark and self.separated and not self.separator
            else self
        )

    def pinned(self) -> Self:
        """Return the place with the state of its file now: one that changes is not read again."""
        return self if self.table or self.piped else replace(self, state=state_of(self.path))

    def mac(self, key: bytes, rows: pl.DataFrame | Iterable[pl.DataFrame]) -> dict[str, str]:
        """Hash what was read with a key: the bytes of a file, the rows of anything else, also in parts."""
        if self.table or self.piped:
            return {
                "of": "rows",
                "hmac_sha256": digest_of([rows] if isinstance(rows, pl.DataFrame) else rows, key),
            }
        with unchanged(self.path, self.state), self.path.open("rb") as file:
            digest = hmac.new(key, digestmod="sha256")
            while piece := file.read(1 << 20):
                digest.update(piece)
        return {"of": "file", "hmac_sha256": digest.hexdigest()}


@contextmanager
def named_errors(path: Path) -> Iterator[None]:
    """Name the file in an error of the system."""
    try:
        yield
    except InvalidDataError:
        raise
    except FileNotFoundError:
        raise no_such_file(path) from None
    except (OSError, ValueError) as error:
        raise InvalidDataError.unreadable(path, system_message(error)) from None


def _table(entry: Format, text: str) -> re.Match[str] | None:
    """Match a table of a file as it is written on the command line."""
    endings = "|".join(re.escape(ending) for ending in entry.endings)
    pattern = rf"(?P<file>.*(?:{endings}))::(?P<table>.+)"
    return re.fullmatch(pattern, text, re.DOTALL | re.IGNORECASE)


def parsed(file: IO[bytes], form: str, what: object, separator: str = "") -> pl.DataFrame:
    """Read an open file; its parser's own words may hold data, so none of them are passed on."""
    (frame,) = _parts(file, form, what, lambda read, _: iter([read(file, separator)]))
    return frame


def parsed_batches(
    file: IO[bytes],
    form: str,
    what: object,
    separator: str,
    rows: int,
    schema: pl.Schema | None = None,
) -> Iterator[pl.DataFrame]:
    """Read an open file as `parsed` does, at most so many rows at a time."""
    return _parts(
        file,
        form,
        what,
        lambda read, batches: (
            batches(file, separator, rows, schema) if batches else iter([read(file, separator)])
        ),
    )


def _parts(
    file: IO[bytes], form: str, what: object, read: Callable[[Any, Any], Iterator[pl.DataFrame]]
) -> Iterator[pl.DataFrame]:
    """Yield what `read` makes of a file, with the two readers of its format."""
    if not file.seek(0, os.SEEK_END):
        raise InvalidDataError.unreadable(what, "it is empty. Write a table to it first.")
    file.seek(0)
    entry = formats()[form]
    if entry.read is None:
        raise InvalidDataError.unreadable(what, SEVERAL)
    try:
        refuse_foreign(file, form)
        for frame in read(entry.read, entry.read_batches):
            if not frame.width:
                break
            yield frame
        else:
            return
    except InvalidDataError as error:
        raise InvalidDataError.unreadable(what, error.sentence) from None
    except NotImplementedError:
        why = "it has a type that cannot be read in batches, such as whole numbers of 128 bits."
        raise InvalidDataError.unreadable(what, f"{why} Cast it, or leave it out.") from None
    except BROKEN as error:
        # No thread can start, or nothing is left: that says nothing of the file.
        if of_system(error) in (errno.EAGAIN, errno.ENOMEM):
            raise MemoryError from None
        way = (
            "Send it as one"
            if what == STDIN
            else "Write it again, or give it the ending of its format"
        )
        why = f"it is not a whole {entry.title} file. {way}."
        raise InvalidDataError.unreadable(what, why) from None
    raise InvalidDataError.unreadable(what, "it has no columns. Write a table to it first.")


def write(frame: pl.DataFrame, file: IO[bytes], form: str, what: object) -> None:
    """Write a table to an open file; `what` names it in messages."""
    entry = formats()[form]

    def step(write: Callable[[pl.DataFrame, IO[bytes]], object]) -> None:
        # Text has what is seen; columns in binary may still hold what was there before.
        write(frame if entry.typeless else visible(frame), file)

    _written(entry, what, frame.schema, step, file)


def deliver(made: ParquetSource, file: IO[bytes], place: Location, *, batch: int) -> None:
    """Write a finished table to an open file as `write` does, so many rows at a time.

    A format that does not write batches gets the whole table.
    """
    entry, table = formats()[place.format], Made(made, batch)

    def step(write: Callable[[pl.DataFrame, IO[bytes]], object]) -> None:
        if entry.write_batches is None:
            write(pl.concat(table.frames()), file)
        else:
            entry.write_batches(table, file)

    _written(entry, place, pl.DataFrame(empty_table(made.schema)).schema, step, file)


def _written(
    entry: Format, what: object, schema: pl.Schema, step: Callable[[Any], None], file: IO[bytes]
) -> None:
    """Write by `step`, which gets the writer of the format."""
    if entry.write is None:
        raise OutputError.of(what, SEVERAL)
    try:
        step(entry.write)
        file.flush()
    except OSError as error:
        raise OutputError.of(what, system_message(error)) from None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        if of_system(error):
            raise OutputError.of(what, system_message(error)) from None
        types = ", ".join(sorted({str(t.base_type()) for t in schema.values()}))
        why = (
            f"{entry.name} cannot hold all of {types}. Write Parquet, or cast those columns first."
        )
        raise OutputError.of(what, why) from None
    except (MicroaggError, MemoryError):
        raise
    except Exception as error:  # a format may be anybody's, and its own words may hold data
        why = f"what writes {entry.title} failed with {type(error).__name__}. Write another format."
        raise OutputError.of(what, why) from None
