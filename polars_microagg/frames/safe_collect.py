"""The one place where a user's table is read, whose errors may hold values of records."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

import polars as pl

from polars_microagg.errors import InvalidDataError, MicroaggError
from polars_microagg.wording import shown_path

__all__ = ["collected", "quietly", "schema_of", "sunk"]

T = TypeVar("T")
MISSING = re.compile(r"[\w ]+ \(os error (\d+)\)(?:: ([^\n]+))?")
"""Pattern of an error of the system as Polars reports it; the path is one of the plan."""


def collected(frame: pl.DataFrame | pl.LazyFrame, what: str = "frame") -> pl.DataFrame:
    """Run the plan of a LazyFrame; a DataFrame comes back as it is.

    A failed plan raises InvalidDataError without the words of the engine; a file that could not be
    read, OSError, as another try may succeed. `what` names the parameter in messages.

    >>> collected(pl.LazyFrame({"age": ["x"]}).cast(pl.Int64))
    Traceback (most recent call last):
        ...
    polars_microagg.errors.InvalidDataError: 'frame' cannot be read: it failed with InvalidOperation...
    """
    if isinstance(frame, pl.DataFrame):
        return frame
    return quietly(frame.collect, what, lambda: frame.collect_schema().names())


def sunk(frame: pl.LazyFrame, file: Path, rows: int, what: str = "frame") -> None:
    """Run the plan of a LazyFrame into a Parquet file, in groups of so many rows, in their order.

    What is in memory at a time is what Polars needs for the plan. Errors are those of `collected`.
    """
    quietly(
        lambda: frame.sink_parquet(
            file, compression="zstd", compression_level=1, row_group_size=rows, maintain_order=True
        ),
        what,
        lambda: frame.collect_schema().names(),
    )


def schema_of(frame: pl.DataFrame | pl.LazyFrame, what: str = "frame") -> pl.Schema:
    """Return the schema of a table; parameters and errors as for `collected`."""
    return quietly(frame.collect_schema, what)


def quietly(step: Callable[[], T], what: str, names: Callable[[], Iterable[str]] = list) -> T:
    """Run `step`, which reads a table, and raise what fails without the original message.

    `what` is the name of the parameter, `names` returns names of columns that may be said.
    """
    try:
        return step()
    # Lack of memory is not a matter of the data, and its message has none.
    except MemoryError:
        raise
    except (Exception, pl.exceptions.PanicException) as error:
        failed = _said(error, what, names)
    # Raised outside of the except clause: inside it Python would keep the original error, with its
    # message, as the context of this one.
    raise failed


def _said(error: BaseException, what: str, names: Callable[[], Iterable[str]]) -> Exception:
    """Return an error with nothing in it but type, number, path and names of columns."""
    text = str(error)
    if isinstance(error, MicroaggError):  # raised by our node; Polars adds its plan
        where_too = error.sentence != text.partition("\n\n")[0]
        return type(error)(text.partition("\n\n")[0] if where_too else error.sentence)
    # A file that cannot be read is a matter of the system; its path comes from the plan, not from a
    # record.
    if match := MISSING.match(text):
        number, path = int(match[1]), match[2]
        return OSError(number, os.strerror(number), *([shown_path(path)] if path else []))
    if isinstance(error, OSError) and error.errno:
        return OSError(error.errno, f"{os.strerror(error.errno)}, while {what!r} was read")
    return InvalidDataError.unreadable(
        what,
        f"it failed with {type(error).__name__}{_where(text, names)}. The text of that error may "
        "hold values of records and is not shown; collect the table on its own to see it.",
    )


def _where(text: str, names: Callable[[], Iterable[str]]) -> str:
    """Name the column that an error names; other words that follow "column" may be values."""
    try:
        known = list(names()) if "column" in text else []
    except (Exception, pl.exceptions.PanicException):
        known = []
    named = [n for n in known if re.search(rf"column ['\"]?{re.escape(n)}(?!\w)", text)]
    return f" at column {max(named, key=len)!r}" if named else ""
