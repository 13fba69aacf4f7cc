"""CSV: read strictly as text; types are read from it where they are needed."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import IO, Any

import polars as pl

from polars_microagg.errors.files import bad_header, bad_names
from polars_microagg.leaves.metadata_scrub import empty_table
from polars_microagg.publishing.formats.csv_errors import (
    ragged_line,
    refuse_encoding,
    refuse_separator,
)
from polars_microagg.publishing.formats.csv_suspicions import NearlyTyped, refuse_doubtful
from polars_microagg.publishing.formats.file_content import opened
from polars_microagg.publishing.formats.register import Format, register
from polars_microagg.publishing.formats.text_types import typed

__all__ = ["CSV", "read_csv"]

BLOCK = 1 << 24
"""Bytes that are parsed at a time; a line must fit."""

SMALL = 1 << 20
"""Bytes that are parsed at a time where a file is read in batches."""

CELLS = 1 << 14
"""Bytes for each column in such a block at least."""

STRADDLES = "straddles two block boundaries"
"""Arrow's message for a line that does not fit."""


def read_csv(file: IO[bytes], separator: str = "") -> pl.DataFrame:
    """Read every column as text, so that what is kept is written as it was read.

    An empty cell that is not quoted is null. Ragged lines, a header that names a column twice, and
    bytes that are not UTF-8 are refused. Without a `separator`, cells are separated by commas, and a file
    that looks separated otherwise is refused.
    """
    from pyarrow import csv as arrow

    names, options = _options(file, separator)
    with _ragged(file, len(names), separator or ","), _lent(file) as content:
        return _named(arrow.read_csv(content, **options), names)


def _batches(
    file: IO[bytes], separator: str, rows: int, known: pl.Schema | None
) -> Iterator[pl.DataFrame]:
    """Read it as `read_csv` does, at most so many rows at a time."""
    import pyarrow as pa

    done, small = 0, True
    while True:
        passed = 0
        try:
            for frame in _blocks(file, separator, known, small=small):
                rest = frame.slice(max(0, done - passed))
                passed += frame.height
                yield from rest.iter_slices(rows) if frame.height else [frame]
            return
        except pa.ArrowInvalid as error:
            if not small or STRADDLES not in str(error):
                raise
        # A line is longer than such blocks, which are smaller so that all is read in less memory.
        done, small = passed, False


def _blocks(
    file: IO[bytes], separator: str, known: pl.Schema | None, *, small: bool
) -> Iterator[pl.DataFrame]:
    """Read it block by block, the header first."""
    from pyarrow import csv as arrow

    names, options = _options(file, separator, checked=known is not None)
    if small:
        options["read_options"].block_size = min(BLOCK, max(SMALL, len(names) * CELLS))
        options["read_options"].use_threads = False
    with _ragged(file, len(names), separator or ","), _lent(file) as content:
        reader = arrow.open_csv(content, **options)
        yield _named(empty_table(reader.schema), names)
        for batch in reader:
            yield _named(batch, names)


class _Lent(io.RawIOBase):
    """A file as long as it is lent."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.lock, self.over = file, Lock(), False

    def readable(self) -> bool:
        """Return True, which Arrow asks for."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Read from the file until it is given back, and nothing from then on."""
        with self.lock:
            return b"" if self.over else self.file.read(size)


@contextmanager
def _lent(file: IO[bytes]) -> Iterator[_Lent]:
    """Lend a file to Arrow, whose threads may read ahead after it has failed.

    Without an end they would move the place from which the file is read next, and rows be lost.
    """
    lent = _Lent(file)
    try:
        yield lent
    finally:
        with lent.lock:
            lent.over = True


def _options(
    file: IO[bytes], separator: str, *, checked: bool = False
) -> tuple[list[str], dict[str, Any]]:
    """Return the names of the columns, and how Arrow is to read them."""
    import pyarrow as pa
    from pyarrow import csv as arrow

    if not checked:
        refuse_encoding(file)
    file.seek(0)
    names = _header(file, separator or ",")
    if len(names) == 1 and not separator:
        refuse_separator(names[0], _second_line(file))
    places = [str(i) for i in range(len(names))]
    options: dict[str, Any] = {
        "read_options": arrow.ReadOptions(
            column_names=places, skip_rows_after_names=1, block_size=BLOCK
        ),
        "parse_options": arrow.ParseOptions(
            delimiter=separator or ",", newlines_in_values=True, ignore_empty_lines=len(names) > 1
        ),
        "convert_options": arrow.ConvertOptions(
            column_types=dict.fromkeys(places, pa.large_string()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    }
    return names, options


@contextmanager
def _ragged(file: IO[bytes], width: int, separator: str) -> Iterator[None]:
    """Name the line that has another number of cells."""
    import pyarrow as pa

    try:
        yield
    except pa.ArrowInvalid as error:
        if "Expected" not in str(error):
            raise
        raise ragged_line(file, width, separator) from None


def _named(table: Any, names: Sequence[str]) -> pl.DataFrame:
    """Return a frame of text; columns are named by their places until here."""
    places = [str(i) for i in range(len(names))]
    frame = pl.DataFrame({i: pl.Series(i, table.column(i), dtype=pl.String) for i in places})
    return frame.rename(dict(zip(places, names, strict=True)))


def _write(frames: Iterable[pl.DataFrame], file: IO[bytes]) -> None:
    """Write frames one below the other, under one header."""
    for number, frame in enumerate(frames):
        frame.write_csv(file, include_header=not number)


def _header(file: IO[bytes], separator: str) -> list[str]:
    text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
    try:
        names = next(csv.reader(text, delimiter=separator), [])
    except csv.Error:
        raise bad_header() from None
    finally:
        text.detach()
    file.seek(0)
    if len(names) != len(set(names)) or not names:
        raise bad_names()
    return names


def _second_line(file: IO[bytes]) -> str:
    """Return the line behind the header, and leave the file at its beginning."""
    file.readline()
    line = file.readline(BLOCK).decode("utf-8", "replace")
    file.seek(0)
    return line


UNHELD = (
    *(pl.Object, pl.Binary, pl.Duration, pl.List, pl.Array, pl.Struct, pl.BaseExtension),
    *((pl.Map,) if hasattr(pl, "Map") else ()),
)


def _typed(path: Path, frame: pl.DataFrame, names: Sequence[str], separator: str) -> pl.DataFrame:
    """Read types from the text of some columns; a column in which none is read is refused."""
    read = typed(frame, names)
    nearly = NearlyTyped(names)
    nearly.see(read)
    with opened(path, "csv") as file:
        nearly.refuse(lambda: [read], lambda record: (path, file, record), separator or ",")
    return read


def _refuse_names(names: Sequence[str]) -> str:
    if null := [name for name in names if "\0" in name]:
        return f"the name of column {null[0]!r} has a null character in it. Rename the column."
    return ""


CSV = register(
    Format(
        "csv",
        "CSV",
        (".csv",),
        read=read_csv,
        read_batches=_batches,
        write_batches=lambda made, file: _write(made.frames(), file),
        write=lambda frame, file: _write([frame], file),
        holds=lambda dtype: not isinstance(dtype, UNHELD),
        refuse_names=_refuse_names,
        typeless=True,
        compressed=True,
        separated=True,
        suspect=refuse_doubtful,
        typed=_typed,
        nearly=NearlyTyped,
    )
)
