"""The register of formats: one file of this room describes one format, and every door reads it."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any, Protocol, Self, TypeAlias

import polars as pl

from polars_microagg.leaves.metadata_scrub import empty_table, without_notes
from polars_microagg.out_of_core.parquet_source import ParquetSource

__all__ = [
    "COMPRESSED",
    "Format",
    "Made",
    "Nearly",
    "Tables",
    "Target",
    "ending_of",
    "format_of",
    "formats",
    "frame_of",
    "register",
    "types_inside",
]

COMPRESSED = (".gz", ".zst", ".bz2")
"""Endings of compressed files."""


class Target(Protocol):
    """A release that waits: written beside what it replaces, and put in its place by `commit`."""

    def __enter__(self) -> Self:
        """Open it."""
        ...

    def __exit__(self, *error: object) -> None:
        """Undo what was not committed."""
        ...

    def exists(self) -> bool:
        """Return whether something would be replaced."""
        ...

    def write(self, frame: pl.DataFrame) -> None:
        """Write the release where nobody looks."""
        ...

    def reread(self) -> pl.DataFrame:
        """Read the release as its readers will."""
        ...

    def content(self) -> tuple[str, str, int | None]:
        """Return whether the file or the rows are hashed, the hash, and the size of the file."""
        ...

    def commit(self, record: bytes) -> None:
        """Move the release and its record to their place."""
        ...


Batches: TypeAlias = "Callable[[IO[bytes], str, int, pl.Schema | None], Iterator[pl.DataFrame]]"
"""From an open file, the separator, the most rows, and the schema if it is known.

It is known where `merged` gave it, and where the file was read before.
"""


def frame_of(table: Any) -> pl.DataFrame:
    """Return a table of Arrow as a frame; Polars itself would name a column that has no name.

    >>> import pyarrow as pa
    >>> frame_of(pa.table({"": [31], "age": [47]})).columns
    ['', 'age']
    """
    frame = pl.DataFrame(table)
    frame.columns = table.schema.names
    return frame


@dataclass(frozen=True)
class Made:
    """A finished table that is written in batches of so many rows, as often as it is asked for."""

    source: ParquetSource
    rows: int

    def tables(self, columns: Sequence[str] | None = None) -> Iterator[Any]:
        """Yield tables of Arrow, without notes and categories that no row has."""
        for table in self.source.batches(self.rows, columns):
            yield without_notes(table)

    def frames(self) -> Iterator[pl.DataFrame]:
        """Yield frames; an empty one if there are no rows."""
        none = True
        for table in self.tables():
            none = False
            yield frame_of(table)
        if none:
            yield frame_of(empty_table(self.source.schema))


class Nearly(Protocol):
    """Text that is nearly of a type, counted a part at a time."""

    def see(self, frame: pl.DataFrame) -> None:
        """Count the next rows."""
        ...

    def refuse(
        self,
        again: Callable[[], Iterable[pl.DataFrame]],
        place: Callable[[int], tuple[Path, IO[bytes], int]],
        separator: str,
    ) -> None:
        """Refuse a column, and name the first wrong line.

        `again` gives all rows once more, and `place` the file that has a record, and which it is there.
        """
        ...


@dataclass(frozen=True)
class Tables:
    """Functions of a format with several tables in one file, which read and replace one of them."""

    read: Callable[[Path, str], pl.DataFrame]
    read_batches: Callable[[Path, str, int], Iterator[pl.DataFrame]]
    """Like `read`, at most so many rows at a time, of the table as it was at one instant."""
    replace: Callable[[Path, str, Path], Target]
    """From file, table and record."""
    foresee: Callable[[Path, str], bool]
    """Refuse what `replace` would refuse; whether there is such a table."""
    trial: Callable[[pl.DataFrame], pl.DataFrame]
    """Write a table into memory and read it again."""


@dataclass(frozen=True)
class Format:
    """One format of files: how it is read and written, and what it can hold.

    A format of text (`typeless`) does not keep the types of its columns. What `exact` formats give
    back is compared value by value and type by type with what was written.
    """

    name: str
    title: str
    """Its name in messages, as in "it is not a whole Parquet file"."""
    endings: tuple[str, ...]
    """In lower case; the first is the usual one."""
    read: Callable[[IO[bytes], str], pl.DataFrame] | None = None
    """From an open file and the separator of its cells, which is empty if none was named.

    None, as `write`, if a file of the format holds several tables; `tables` is given then.
    """
    write: Callable[[pl.DataFrame, IO[bytes]], object] | None = None
    read_batches: Batches | None = None
    """Like `read`, at most so many rows at a time; the first frame has none.

    A format without it, or `write_batches`, is read, or written, as a whole.
    """
    merged: Callable[[Sequence[pl.Schema]], pl.Schema] | None = None
    """The schema in which files are read together; they must be of one by default."""
    write_batches: Callable[[Made, IO[bytes]], object] | None = None
    holds: Callable[[pl.DataType], bool] = lambda dtype: not isinstance(dtype, pl.Object)
    """Test whether columns of a type can be written; asked of the types inside a type, too."""
    cannot: str = ""
    """Said of a type it does not hold; "TITLE cannot hold" by default."""
    refuse_names: Callable[[Sequence[str]], str] = lambda _: ""
    """Returns what is wrong with the names of columns, or an empty text."""
    exact: bool = False
    typeless: bool = False
    compressed: bool = False
    """True if it is also read when compressed."""
    separated: bool = False
    """True if the user may name the separator of two cells."""
    begins: bytes = b""
    """Pattern of the first bytes, by which files with a wrong ending are recognised."""
    described: str = ""
    """Such a file, as in "it is an Arrow IPC file"; "a TITLE file" by default."""
    tables: Tables | None = None
    """Given where a file holds several tables, written ``file.ending::table``."""
    suspect: Callable[[Path, IO[bytes], Iterable[pl.DataFrame], str], None] | None = None
    """Refuse a raw file that is not what it seems, by its bytes and by its rows in parts."""
    typed: Callable[[Path, pl.DataFrame, Sequence[str], str], pl.DataFrame] | None = None
    """Read types from the text of some columns of a raw file, or say which cell has none."""
    nearly: Callable[[Sequence[str]], Nearly] | None = None
    """The same refusal for a file that is read in batches: from the columns that are typed."""


_FORMATS: dict[str, Format] = {}


def register(entry: Format) -> Format:
    """Add a format to the register, and return it."""
    _FORMATS[entry.name] = entry
    return entry


@cache
def _discover() -> None:
    """Import every module of this room once."""
    room = __name__.rpartition(".")[0]
    for module in pkgutil.iter_modules(importlib.import_module(room).__path__):
        importlib.import_module(f"{room}.{module.name}")


def formats() -> Mapping[str, Format]:
    """Return all formats by name."""
    _discover()
    return _FORMATS


def format_of(ending: str) -> Format | None:
    """Return the format of files with an ending.

    >>> format_of(".CSV").name, format_of(".docx")
    ('csv', None)
    """
    known = (f for f in formats().values() if not f.tables and ending.lower() in f.endings)
    return next(known, None)


def ending_of(path: Path) -> str:
    """Return the ending that gives the format; a compressed file has one more after it.

    >>> ending_of(Path("people.csv.gz")), ending_of(Path("people.parquet.gz"))
    ('.csv', '.gz')
    """
    ending, inner = path.suffix.lower(), Path(path.stem).suffix.lower()
    entry = format_of(inner)
    return inner if ending in COMPRESSED and entry and entry.compressed else ending


def types_inside(dtype: pl.DataType) -> list[pl.DataType]:
    """Return a type and all types inside it."""
    inner = [field.dtype for field in getattr(dtype, "fields", ())]
    for name in ("inner", "key", "value"):
        if isinstance(part := getattr(dtype, name, None), pl.DataType):
            inner.append(part)
    if isinstance(dtype, pl.BaseExtension):
        inner.append(dtype.ext_storage())
    return [dtype, *(part for one in inner for part in types_inside(one))]
