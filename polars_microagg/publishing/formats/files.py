"""Where tables are read from and written to: files by their ending, DuckDB tables, a stream."""

from __future__ import annotations

import hashlib
import hmac
import io
import json
import os
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Self

import polars as pl
import polars.selectors as cs

from polars_microagg.errors import InvalidDataError, OutputError
from polars_microagg.errors.files import compressed_target, no_table_named, unknown_ending
from polars_microagg.publishing.atomic import is_special, of_system, said
from polars_microagg.publishing.formats.csv import read_csv
from polars_microagg.publishing.formats.file_content import (
    PACKED,
    TEXT,
    opened,
    refuse_foreign,
    refuse_special,
)
from polars_microagg.publishing.formats.scrub import visible

__all__ = ["FORMATS", "Location", "parsed", "rows_digest", "serialised", "write"]

FORMATS = {
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    ".csv": "csv",
    **dict.fromkeys((".arrow", ".ipc", ".feather"), "arrow"),
    ".arrows": "stream",
    **dict.fromkeys((".ndjson", ".jsonl"), "ndjson"),
}
"""Formats by the ending of a file."""

TABLE = re.compile(r"(?P<file>.*\.(?:duckdb|ddb|db))::(?P<table>.+)", re.DOTALL | re.IGNORECASE)

READERS: dict[str, Callable[[Any], pl.DataFrame]] = {
    "parquet": lambda file: pl.read_parquet(file, glob=False, hive_partitioning=False),
    "arrow": pl.read_ipc,
    "stream": pl.read_ipc_stream,
    "ndjson": lambda file: _read_ndjson(file),
}

BROKEN: tuple[type[BaseException], ...] = (
    *(pl.exceptions.PolarsError, pl.exceptions.PanicException),
    *(OSError, ValueError, EOFError, UnicodeError),
)
"""What a file raises that is not in the format of its ending."""


@dataclass(frozen=True)
class Location:
    """A file, a table of a DuckDB file, or standard input and output."""

    path: Path
    format: str
    table: str = ""
    separator: str = ""

    @classmethod
    def of(cls, text: str | os.PathLike[str], separator: str = "") -> Self:
        """Read a place as it is written on the command line.

        Parameters
        ----------
        text : str or path
            A path whose ending tells the format, ``file.duckdb::table``, or ``-``.
        separator : str, optional
            What is between two cells, if it is a CSV file and they are not commas.

        Returns
        -------
        Place
            Not opened yet.

        Raises
        ------
        InvalidParameterError
            The ending is of no known format.

        Examples
        --------
        >>> Place.of("salaries.CSV").format, Place.of("register.duckdb::people").table
        ('csv', 'people')
        """
        text = os.fspath(text)
        if text == "-":
            return cls(Path("-"), "stream")
        if found := TABLE.fullmatch(text):
            # DuckDB's own schema need not be named, and one table has one name.
            table = re.sub(r"^main\.(?=[^.]+$)", "", found["table"])
            return cls(Path(found["file"]), "duckdb", table)
        path = Path(text)
        form = FORMATS.get(_ending(path))
        if form is None:
            with suppress(OSError, ValueError):  # a name may be too long to be looked up
                if path.is_dir() or is_special(path):
                    return cls(path, "folder")  # whoever reads from it or writes to it says so
            file = text.removesuffix("::")
            if TABLE.fullmatch(f"{file}::table"):
                raise no_table_named(text, file)
            raise unknown_ending(text, path.suffix, [*FORMATS, ".duckdb::table"])
        return cls(path, form, separator=separator)

    @classmethod
    def to(cls, text: str | os.PathLike[str]) -> Self:
        """Read a place that is to be written, as `of` does; a compressed file is none."""
        place = cls.of(text)
        if not place.table and place.path.suffix.lower() in PACKED:
            raise compressed_target(place, place.path.stem)
        return place

    def __str__(self) -> str:
        """Write the place as on the command line."""
        return f"{self.path}::{self.table}" if self.table else str(self.path)

    @property
    def piped(self) -> bool:
        """Whether this is standard input or output."""
        return str(self.path) == "-"

    @property
    def record(self) -> Path | None:
        """Where the manifest of this place is; a stream has none of its own."""
        if self.piped:
            return None
        name = self.path.name
        if self.table:
            table = self.table.lower()  # DuckDB does not tell the case of names apart
            plain = re.sub(r"[^\w-]", "_", table)[:60]
            mark = hashlib.sha256(os.fsencode(table)).hexdigest()[:8]
            name += f".{plain}" if plain == table else f".{plain}-{mark}"
        return self.path.parent / f"{name}.manifest.json"

    def read(self) -> pl.DataFrame:
        """Read the whole table.

        Returns
        -------
        polars.DataFrame
            Columns of CSV files are text; `csv.typed` reads numbers and dates from them.

        Raises
        ------
        InvalidDataError
            It is missing, broken or empty.
        """
        if self.table:
            from polars_microagg.publishing.formats.duckdb_read import read_table

            return read_table(self.path, self.table)
        try:
            if self.piped:
                return parsed(io.BytesIO(sys.stdin.buffer.read()), "stream", "standard input")
            refuse_special(self.path)
            if self.path.is_dir():
                raise InvalidDataError.unreadable(self.path, "it is a folder. Name a file in it.")
            with opened(self.path, self.format) as file:
                return parsed(file, self.format, self.path, self.separator)
        except InvalidDataError:
            raise
        except FileNotFoundError:
            why = "there is no such file. Check the name and the folder."
            raise InvalidDataError.unreadable(self.path, why) from None
        except (OSError, ValueError) as error:
            raise InvalidDataError.unreadable(self.path, said(error)) from None

    def mac(self, key: bytes, rows: pl.DataFrame) -> dict[str, str]:
        """Hash what was read with a key: the bytes of a file, the rows of anything else."""
        if self.table or self.piped:
            return {"of": "rows", "hmac_sha256": hmac.digest(key, serialised(rows), "sha256").hex()}
        with self.path.open("rb") as file:
            found = hmac.new(key, digestmod="sha256")
            while piece := file.read(1 << 20):
                found.update(piece)
        return {"of": "file", "hmac_sha256": found.hexdigest()}


def _ending(path: Path) -> str:
    """The ending that tells the format; text may have one of a compressed file behind it."""
    ending = path.suffix.lower()
    inner = Path(path.stem).suffix.lower()
    return inner if ending in PACKED and FORMATS.get(inner) in TEXT else ending


def parsed(file: IO[bytes], form: str, what: object, separator: str = "") -> pl.DataFrame:
    """Read an open file; its parser's own words may hold data, so none of them are passed on."""
    if not file.seek(0, os.SEEK_END):
        raise InvalidDataError.unreadable(what, "it is empty. Write a table to it first.")
    file.seek(0)
    try:
        refuse_foreign(file, form)
        frame = read_csv(file, separator or ",") if form == "csv" else READERS[form](file)
    except InvalidDataError as error:
        raise InvalidDataError.unreadable(what, error.sentence) from None
    except BROKEN:
        name = {"arrow": "Arrow IPC", "stream": "Arrow IPC stream"}.get(form, form.capitalize())
        why = f"it is not a whole {name} file. Write it again, or give it the ending of its format."
        raise InvalidDataError.unreadable(what, why) from None
    if not frame.width:
        raise InvalidDataError.unreadable(what, "it has no columns. Write a table to it first.")
    return frame


def _read_ndjson(file: IO[bytes]) -> pl.DataFrame:
    """Read it with its columns in the order of its lines, which Polars loses above 32 of them."""
    frame = pl.read_ndjson(file, infer_schema_length=None)
    file.seek(0)
    first = json.loads(file.readline())
    there = set(frame.columns)
    names = [name for name in first if name in there]
    return frame.select(cs.by_name(*names), ~cs.by_name(*names)) if names else frame


def write(frame: pl.DataFrame, file: IO[bytes], form: str, what: object) -> None:
    """Write a table to an open file.

    Parameters
    ----------
    frame : polars.DataFrame
        The table.
    file : binary file
        Where.
    form : str
        One of the values of `FORMATS`.
    what : object
        Name of the file for messages.

    Raises
    ------
    OutputError
        The format cannot hold a column, or the device is full.
    """
    try:
        if form in ("parquet", "arrow", "stream"):
            frame = visible(frame)
        if form == "parquet":
            frame.write_parquet(file)
        elif form == "csv":
            frame.write_csv(file)
        elif form == "arrow":
            frame.write_ipc(file, compression="zstd")
        elif form == "stream":
            frame.write_ipc_stream(file)
        else:
            frame.write_ndjson(file)
        file.flush()
    except OSError as error:
        raise OutputError.of(what, said(error)) from None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        if of_system(error):
            raise OutputError.of(what, said(error)) from None
        types = ", ".join(sorted({str(t.base_type()) for t in frame.schema.values()}))
        why = f"{form} cannot hold all of {types}. Write Parquet, or cast those columns first."
        raise OutputError.of(what, why) from None


def serialised(frame: pl.DataFrame) -> bytes:
    """Rows as one uncompressed Arrow stream, the same for the same values.

    Two equal columns of Arrow may differ where nobody looks: in what lies under a null, and in the
    order in which texts are stored. Both are settled.
    """
    buffer = io.BytesIO()
    frame = frame.select(
        _settled(cs.by_name(name).as_expr(), dtype) for name, dtype in frame.schema.items()
    )
    level = pl.CompatLevel.oldest()
    frame.rechunk().write_ipc_stream(buffer, compression="uncompressed", compat_level=level)
    return buffer.getvalue()


def _settled(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """The same values, with the same nothing under every null."""
    if dtype.is_nested():
        return pl.struct(column).struct.json_encode().name.keep()
    if dtype in (pl.Categorical, pl.Enum):
        column, dtype = column.cast(pl.String), pl.String()
    if dtype.is_numeric() or dtype.is_temporal():
        nothing = pl.lit(0).cast(dtype)
    elif dtype in (pl.String, pl.Binary, pl.Boolean):
        nothing = pl.lit(False if dtype == pl.Boolean else "").cast(dtype)
    else:
        return column
    return pl.when(column.is_not_null()).then(column.fill_null(nothing)).name.keep()


def rows_digest(frame: pl.DataFrame) -> str:
    """Hash the rows of a table."""
    return hashlib.sha256(serialised(frame)).hexdigest()
