"""Output of the command line: sentences to standard error, tables and JSON to standard output."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import IO, Any

from polars_microagg.publishing.formats.standard_output import lost
from polars_microagg.publishing.manifest.record import dumped

__all__ = ["plain", "sent", "show", "show_json", "table", "tell"]


def plain(text: object) -> str:
    """Write any text so that a terminal only shows it."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in str(text))


def tell(text: str) -> None:
    """Write a sentence to standard error."""
    try:
        sys.stderr.write(plain(text) + "\n")
        sys.stderr.flush()
    except OSError:
        return


def show(text: str, file: IO[str] | None = None) -> None:
    """Write a line of the result."""
    if file is None:
        _write(f"{text}\n")
    else:
        with suppress(OSError):
            file.write(f"{text}\n")


def _write(text: str) -> None:
    try:
        sys.stdout.write(text)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise lost(error) from None


def sent() -> None:
    """Flush standard output; raises BrokenPipeError if its reader closed it, else OutputError."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise lost(error) from None


def show_json(value: Mapping[str, Any] | Sequence[Any]) -> None:
    """Write the result as JSON."""
    if isinstance(value, Mapping):
        _write(dumped(value).decode())
    else:
        _write(json.dumps(value, indent=2) + "\n")


def table(rows: Iterable[Sequence[object]], head: Sequence[str] = ()) -> str:
    """Align rows in columns; numbers to the right.

    >>> print(table([("age", 12), ("income", 7)], head=("column", "distinct")))
    column  distinct
    age           12
    income         7
    """
    listed = [list(row) for row in rows]
    cells = [[_cell(item) for item in row] for row in ([list(head)] if head else []) + listed]
    if not cells:
        return ""
    right = [all(isinstance(row[j], int | float) for row in listed) for j in range(len(cells[0]))]
    widths = [max(len(row[j]) for row in cells) for j in range(len(cells[0]))]
    lines = [
        "  ".join(
            cell.rjust(width) if number else cell.ljust(width)
            for cell, width, number in zip(row, widths, right, strict=True)
        )
        for row in cells
    ]
    return "\n".join(line.rstrip() for line in lines)


def _cell(item: object) -> str:
    if item is None:
        return "-"
    if isinstance(item, bool):
        return "yes" if item else "no"
    return f"{item:.4g}" if isinstance(item, float) else plain(item)
