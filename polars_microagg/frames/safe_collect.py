"""The one place where a table of the user is read, whose errors may hold values of its records."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from typing import TypeVar

import polars as pl

from polars_microagg.errors import InvalidDataError, MicroaggError

__all__ = ["collected", "quietly", "schema_of"]

T = TypeVar("T")
MISSING = re.compile(r"[\w ]+ \(os error (\d+)\)(?:: ([^\n]+))?")
"""How Polars says an error of the system; the path is one of its plan."""


def collected(frame: pl.DataFrame | pl.LazyFrame, what: str = "frame") -> pl.DataFrame:
    """Run the plan of a LazyFrame.

    Parameters
    ----------
    frame : polars.DataFrame or polars.LazyFrame
        A DataFrame comes back as it is.
    what : str, default 'frame'
        The name of the parameter, for messages.

    Returns
    -------
    polars.DataFrame
        The table.

    Raises
    ------
    InvalidDataError
        The plan failed.
    OSError
        A file of the plan could not be read; another try may do.

    Examples
    --------
    >>> collected(pl.LazyFrame({"age": ["x"]}).cast(pl.Int64))
    Traceback (most recent call last):
        ...
    polars_microagg.errors.InvalidDataError: 'frame' cannot be read: it failed with InvalidOperation...
    """
    if isinstance(frame, pl.DataFrame):
        return frame
    return quietly(frame.collect, what, lambda: frame.collect_schema().names())


def schema_of(frame: pl.DataFrame | pl.LazyFrame, what: str = "frame") -> pl.Schema:
    """Look up the columns of a table; parameters and errors as for `collected`."""
    return quietly(frame.collect_schema, what)


def quietly(step: Callable[[], T], what: str, names: Callable[[], Iterable[str]] = list) -> T:
    """Take a step, and if it fails say so without the words of its error.

    Parameters
    ----------
    step : callable
        Reads a table.
    what : str
        The name of the parameter it came by.
    names : callable, optional
        Returns names of columns that may be said.

    Returns
    -------
    object
        What `step` returns.
    """
    try:
        return step()
    except MemoryError:
        raise
    except (Exception, pl.exceptions.PanicException) as error:
        failed = _said(error, what, names)
    # Raised out here, as an error keeps the one that it was raised from, with all its words.
    raise failed


def _said(error: BaseException, what: str, names: Callable[[], Iterable[str]]) -> Exception:
    text = str(error)
    if isinstance(error, MicroaggError):  # one of our nodes in the plan, and where that is
        where_too = error.sentence != text.partition("\n\n")[0]
        return type(error)(text.partition("\n\n")[0] if where_too else error.sentence)
    if found := MISSING.match(text):
        number, path = int(found[1]), found[2]
        return OSError(number, os.strerror(number), *([path] if path else []))
    if isinstance(error, OSError) and error.errno:
        return OSError(error.errno, f"{os.strerror(error.errno)}, while {what!r} was read")
    return InvalidDataError.unreadable(
        what,
        f"it failed with {type(error).__name__}{_where(text, names)}. The text of that error may "
        "hold values of records and is not shown; collect the table on its own to see it.",
    )


def _where(text: str, names: Callable[[], Iterable[str]]) -> str:
    """Name the column that an error names; other words after column may be values."""
    try:
        known = list(names()) if "column" in text else []
    except (Exception, pl.exceptions.PanicException):
        known = []
    found = [n for n in known if re.search(rf"column ['\"]?{re.escape(n)}(?!\w)", text)]
    return f" at column {max(found, key=len)!r}" if found else ""
