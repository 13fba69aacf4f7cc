"""Raw CSV files that look malformed: they are refused, and nothing is guessed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO

import polars as pl

from polars_microagg.errors import InvalidDataError, files
from polars_microagg.frames.selection import by_name
from polars_microagg.publishing.formats.csv_errors import line_of, refuse_separator
from polars_microagg.publishing.formats.text_types import READ

__all__ = [
    "NearlyTyped",
    "refuse_doubtful",
    "refuse_written_otherwise",
    "written_otherwise",
]

BLOCK = 1 << 24
"""Bytes that are looked at in one go."""

WIDE = 1000
"""Separators in a line from which on it reads like a line of any table; patterns have a limit of size."""

MOST = 0.5
"""Share of the cells from which on a column is thought to be of a type."""

SLASHED = r"^\s*[0-9]{1,4}[/.][0-9]{1,2}[/.][0-9]{1,4}\b"


MARKED = r"^[+-]?[0-9]+([,.' ][0-9]+)+\s*%?$"
"""A number with a decimal comma or with marks between thousands."""


def refuse_doubtful(
    path: Path, file: IO[bytes], frames: Iterable[pl.DataFrame], separator: str = ""
) -> None:
    """Refuse a CSV file in which rows may be hidden in a cell, or a record in the header.

    `frames` are its rows, in at least one part.
    """
    rows, inside, names = 0, 0, list[str]()
    for frame in frames:
        if frame.width == 1 and not separator:
            try:
                refuse_separator(frame.columns[0], frame.columns[0])
            except InvalidDataError as error:
                raise InvalidDataError.unreadable(path, error.sentence) from None
        names, rows = frame.columns, rows + frame.height
        between = min(max(1, frame.width - 1), WIDE)
        lines = rf"\n[^\n]*({re.escape(separator or ',')}[^\n]*){{{between}}}\n"
        inside += sum(frame.select(pl.all().str.contains(lines).sum().cast(pl.Int64)).row(0))
    if not rows:
        why = (
            "it has a header and no record behind it. Write the table to it, or a header above it."
        )
        raise InvalidDataError.unreadable(path, why)
    file.seek(0)
    quotes = sum(piece.count(b'"') for piece in iter(lambda: file.read(BLOCK), b""))
    if quotes % 2:
        why = "it has a quote that is never closed, and all rows behind it would be one cell."
        raise InvalidDataError.unreadable(path, f"{why} Close the quote, or double it.")
    if inside:
        why = f"{inside} cell(s) hold what reads like whole lines of the table."
        way = "Close or double the quotes before them, or take line breaks out of that text."
        raise InvalidDataError.unreadable(path, f"{why} {way}")
    numbers = sum(name.replace(".", "", 1).replace("-", "", 1).isdecimal() for name in names)
    if numbers:
        why = f"{numbers} name(s) in its header are numbers, so that may be its first record."
        raise InvalidDataError.unreadable(path, f"{why} Write a line of names above it.")


KINDS = list(READ)[1:]
"""Whole numbers are numbers as well."""


class NearlyTyped:
    """Masked columns of a CSV file of which most cells, and not all, are of a type.

    Other text has categories. The columns are seen a part at a time, once their types are read.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._cells = {name: _Cells() for name in names}
        self._width = 0

    def see(self, frame: pl.DataFrame) -> None:
        """Count the next rows."""
        self._width = frame.width
        for name, cells in self._cells.items():
            if frame.schema[name] == pl.String:
                cells.see(frame.get_column(name))

    def refuse(
        self,
        again: Callable[[], Iterable[pl.DataFrame]],
        place: Callable[[int], tuple[Path, IO[bytes], int]],
        separator: str,
    ) -> None:
        """Refuse the first such column, and name a line.

        `again` gives all parts once more, and `place` the file that has a record, and which it is there.
        """
        for name, cells in self._cells.items():
            _refuse_written(name, cells.written)
            kind, lost = cells.nearest()
            if cells.filled and lost <= MOST * cells.filled:
                texts = (frame.select(by_name(name).alias("0")) for frame in again())
                path, file, record = place(cells.first_lost(texts, kind))
                line = line_of(file, record + 1, separator, blank=self._width == 1)
                raise files.wrong_cells(name, lost, kind, line, path)


def written_otherwise(column: pl.Series) -> str:
    """Return ``"dates"`` or ``"numbers"`` if most cells of a column are that in a form that is not read.

    >>> written_otherwise(pl.Series(["1,5", "2,25"])), written_otherwise(pl.Series(["31.12.2024"]))
    ('numbers', 'dates')
    """
    cells = _Cells()
    cells.see(column)
    return cells.written


def refuse_written_otherwise(frame: pl.DataFrame, names: Iterable[str]) -> None:
    """Refuse columns of text that `written_otherwise` takes for dates or numbers."""
    for name in names:
        if frame.schema[name] == pl.String:
            _refuse_written(name, written_otherwise(frame.get_column(name)))


def _refuse_written(name: str, written: str) -> None:
    if written == "dates":
        raise files.two_readings_of_dates(name)
    if written:
        raise files.like_numbers(name)


class _Cells:
    """Counts of the cells of one column: with text, and read as each type."""

    def __init__(self) -> None:
        self.filled = self.slashed = self.marked = 0
        self._read: dict[str, dict[pl.DataType, int]] = {kind: {} for kind in KINDS}

    def see(self, column: pl.Series) -> None:
        """Count the next cells."""
        if not (filled := column.count()):
            return
        text = column.str.strip_chars().alias("0")
        self.filled += filled
        self.slashed += int(text.str.contains(SLASHED).sum())
        self.marked += int(text.str.contains(MARKED).sum())
        for kind, counts in self._read.items():
            read = READ[kind](text.to_frame()).to_series()
            counts[read.dtype] = counts.get(read.dtype, 0) + int(read.count())

    @property
    def written(self) -> str:
        """Return what most cells are in a form that is not read: dates, numbers or nothing."""
        most = MOST * self.filled
        if self.slashed > most:
            return "dates"
        return "numbers" if self.marked > most and self.nearest()[1] > most else ""

    def nearest(self) -> tuple[str, int]:
        """Return the type that most cells are of, and how many are not."""
        lost = {kind: self.filled - self._of_one(kind)[1] for kind in KINDS}
        kind = min(KINDS, key=lost.__getitem__)
        return kind, lost[kind]

    def _of_one(self, kind: str) -> tuple[pl.DataType | None, int]:
        """Return the type and the cells of a kind; if not all instants have a zone, none may."""
        counts = self._read[kind]
        plain = [dtype for dtype in counts if not getattr(dtype, "time_zone", None)]
        dtype = next(iter(plain or counts), None)
        return dtype, counts[dtype] if dtype is not None else 0

    def first_lost(self, texts: Iterable[pl.DataFrame], kind: str) -> int:
        """Return the first record that is not of a kind."""
        dtype, records = self._of_one(kind)[0], 0
        for text in texts:
            text = text.select(pl.all().str.strip_chars())
            read = READ[kind](text).to_series()
            lost = text.to_series().is_not_null()
            if read.dtype == dtype:
                lost &= read.is_null()
            if lost.any():
                return records + int(lost.arg_max() or 0)
            records += text.height
        return records
