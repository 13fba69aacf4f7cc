"""Raw CSV files that look malformed: they are refused, and nothing is guessed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import polars as pl

from polars_microagg.errors import InvalidDataError, files
from polars_microagg.publishing.formats.csv_errors import line_of
from polars_microagg.publishing.formats.file_content import opened
from polars_microagg.publishing.formats.text_types import READ

__all__ = ["refuse_doubtful", "refuse_text"]

BLOCK = 1 << 24
"""Bytes that are looked at in one go."""

SEPARATORS = {";": "';'", "\t": "tab", "|": "'|'"}
"""Other separators, and how each is typed in a shell."""

WIDE = 1000
"""Separators in a line from which on it reads like a line of any table; patterns have a limit of size."""

MOST = 0.5
"""Share of the cells from which on a column is thought to be of a type."""

SLASHED = r"^\s*[0-9]{1,4}[/.][0-9]{1,2}[/.][0-9]{1,4}\b"


MARKED = r"^[+-]?[0-9]+([,.' ][0-9]+)+\s*%?$"
"""A number with a decimal comma or with marks between thousands."""


def refuse_doubtful(path: Path, frame: pl.DataFrame, separator: str = "") -> None:
    """Refuse a CSV file in which rows may be hidden in a cell, or a record in the header."""
    if frame.width == 1 and not separator:
        _refuse_separator(path, frame.columns[0])
    if not frame.height:
        why = (
            "it has a header and no record behind it. Write the table to it, or a header above it."
        )
        raise InvalidDataError.unreadable(path, why)
    with opened(path, "csv") as file:
        quotes = sum(piece.count(b'"') for piece in iter(lambda: file.read(BLOCK), b""))
    if quotes % 2:
        why = "it has a quote that is never closed, and all rows behind it would be one cell."
        raise InvalidDataError.unreadable(path, f"{why} Close the quote, or double it.")
    between = min(max(1, frame.width - 1), WIDE)
    rows = rf"\n[^\n]*({re.escape(separator or ',')}[^\n]*){{{between}}}\n"
    inside = sum(frame.select(pl.all().str.contains(rows).sum().cast(pl.Int64)).row(0))
    if inside:
        why = f"{inside} cell(s) hold what reads like whole lines of the table."
        way = "Close or double the quotes before them, or take line breaks out of that text."
        raise InvalidDataError.unreadable(path, f"{why} {way}")
    numbers = sum(
        name.replace(".", "", 1).replace("-", "", 1).isdecimal() for name in frame.columns
    )
    if numbers:
        why = f"{numbers} name(s) in its header are numbers, so that may be its first record."
        raise InvalidDataError.unreadable(path, f"{why} Write a line of names above it.")


def _refuse_separator(path: Path, name: str) -> None:
    for mark, typed in SEPARATORS.items():
        if mark in name:
            why = f"it looks separated by {typed}, and would be a single column."
            way = f"Add --separator {typed}, or --separator , if it is one column."
            raise InvalidDataError.unreadable(path, f"{why} {way}")


def refuse_text(path: Path, frame: pl.DataFrame, names: Iterable[str], separator: str) -> None:
    """Refuse masked columns of a CSV file of which most cells, and not all, are of a type.

    Other text has categories.
    """
    for name in names:
        column = frame.get_column(name).alias("text")
        if column.dtype != pl.String or column.null_count() == len(column):
            continue
        if error := _no_type(path, frame.width, name, column, separator):
            raise error


def _no_type(
    path: Path, width: int, name: str, column: pl.Series, separator: str
) -> InvalidDataError | None:
    """Return what is wrong with a column that is nearly of a type; None for plain text."""
    text = column.str.strip_chars()
    filled = len(text) - text.null_count()
    if text.str.contains(SLASHED).sum() > MOST * filled:
        return files.two_readings_of_dates(name)
    kinds = list(READ)[1:]  # whole numbers are numbers as well
    read = {kind: READ[kind](text.to_frame()).to_series() for kind in kinds}
    counts = {kind: filled - read[kind].count() for kind in kinds}
    kind = min(counts, key=lambda kind: counts[kind])
    if counts[kind] > MOST * filled:
        marked = text.str.contains(MARKED).sum() > MOST * filled
        return files.like_numbers(name) if marked else None
    wrong = (read[kind].is_null() & text.is_not_null()).arg_max()
    with opened(path, "csv") as file:
        line = line_of(file, int(wrong or 0) + 1, separator, blank=width == 1)
    return files.wrong_cells(name, counts[kind], kind, line, path)
