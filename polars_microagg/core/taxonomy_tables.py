"""Tables and files of paths: a value, its parent, and so on up to the root a row."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from polars_microagg.errors import taxonomies

__all__ = ["parents_of", "rows_of", "rows_of_csv", "text_of_file"]

SEPARATORS = ";\t,"
"""ARX writes the first; a comma is in many a name."""


def parents_of(rows: Iterable[Sequence[object]]) -> dict[str, str]:
    """Return the parent of each name; a name that stands twice side by side is one node.

    Errors name rows and no names: a table of records may have been given by mistake.
    """
    parents: dict[str, str] = {}
    ends: dict[str, None] = {}
    for number, row in enumerate(rows, 1):
        names = _names(row, number)
        for name, parent in pairwise(names):
            if name != parent and parents.setdefault(name, parent) != parent:
                raise taxonomies.bad_row(number, "gives a name another parent than a row before it")
        ends.update(dict.fromkeys(names[-1:]))
    roots = [name for name in ends if name not in parents]
    # A row that is a root and no more has no edge to be known by.
    if len(roots) > 1:
        raise taxonomies.several_roots(len(roots))
    if not roots and parents:
        raise taxonomies.circular()
    return parents


def rows_of(table: Any) -> Iterator[Sequence[object]]:
    """Return the rows of a frame of Polars, pandas or Arrow, or of a list."""
    if hasattr(table, "iter_rows"):
        return iter(table.iter_rows())
    if hasattr(table, "itertuples"):
        return iter(table.itertuples(index=False, name=None))
    if hasattr(table, "to_pydict") and hasattr(table, "columns"):
        return zip(*(column.to_pylist() for column in table.columns), strict=True)
    if isinstance(table, Sequence) and not isinstance(table, str | bytes):
        return iter(table)
    need = "a data frame, an Arrow table or a list of rows"
    way = "Collect a lazy frame first; of a file, use Taxonomy.read."
    raise taxonomies.bad_shape("table", table, need, way)


def text_of_file(path: str | Path) -> str:
    """Read a file of UTF-8 text, with or without a byte order mark."""
    try:
        return Path(path).read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise taxonomies.bad_file(path, error.strerror or "it cannot be opened") from None
    except UnicodeDecodeError:
        raise taxonomies.bad_file(path, "it is not UTF-8 text") from None


def rows_of_csv(text: str, path: object) -> list[list[str]]:
    """Read rows by the separator of which all of them have cells and, if that can be, one root."""
    tables = [table for by in SEPARATORS if (table := _cells(text, by)) is not None]
    if not tables:
        raise taxonomies.bad_file(path, "it has a quote that is not closed, or a cell without end")
    cut = [table for table in tables if all(len(row) > 1 for row in table if any(row))]
    if not cut:
        raise taxonomies.bad_file(path, "it has a row without a semicolon, comma or tab")
    return next((table for table in cut if len(_ends(table)) == 1), cut[0])


def _cells(text: str, separator: str) -> list[list[str]] | None:
    """Read rows by one separator; None if quotes do not fit it."""
    try:
        return list(csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True))
    except csv.Error:
        return None


def _ends(table: list[list[str]]) -> set[str]:
    """Return the last name of each row."""
    return {next(cell for cell in reversed(row) if cell) for row in table if any(row)}


def _names(row: object, number: int) -> list[str]:
    """Return the names of a row without empty cells after its last; refuse all other empty ones."""
    if not isinstance(row, Sequence) or isinstance(row, str | bytes):
        raise taxonomies.bad_row(number, f"is of type {type(row).__name__}")
    cells = ["" if _missing(cell) else cell for cell in row]
    for cell in cells:
        if not isinstance(cell, str):
            raise taxonomies.not_text(f"A name in row {number}", type(cell).__name__)
    while cells and not cells[-1]:
        cells.pop()
    if cells and not cells[0]:
        raise taxonomies.bad_row(number, "has no value in its first cell")
    if "" in cells:
        raise taxonomies.bad_row(number, "has an empty cell between two names")
    return cells


def _missing(cell: object) -> bool:
    """Return whether a cell is null, in pandas also NaN or NA."""
    nan = isinstance(cell, float) and cell != cell
    return cell is None or nan or type(cell).__name__ == "NAType"
