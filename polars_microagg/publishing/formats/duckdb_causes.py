"""Reasons why DuckDB failed, without its words, which may hold values of records."""

from __future__ import annotations

import errno
import os
import re

from polars_microagg.errors import InvalidDataError, MicroaggError, NotPublishedError, OutputError

__all__ = ["unreadable", "unwritable"]

SYSTEM = (
    *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.EACCES, errno.EPERM),
    *(errno.EISDIR, errno.ENOENT, errno.EMFILE, errno.ENFILE, errno.ENAMETOOLONG),
)
"""Errors of the system that DuckDB says in the words of the system."""

OWN = ("IOException", "CatalogException", "ConnectionException", "TransactionException", "Error")
"""Errors of DuckDB whose words are its own; those of the others may be values."""

IN_USE = r"Could not set lock|different configuration|write-write conflict"
"""Messages of DuckDB about a state that ends with another process."""

CAUSES = (
    (
        "Could not set lock",
        "another process has the file open. Close it there, or try again later.",
    ),
    ("different configuration", "this process has the file open. Close that connection first."),
    ("write-write conflict", "another connection changed it at the same time. Try again."),
    ("not a valid DuckDB|extensions is disabled", "it is no DuckDB file. Name another file."),
    ("newer version of DuckDB\\.", "a newer version of DuckDB wrote it. Update duckdb."),
    (
        "storage version number",
        "an old version of DuckDB wrote it. Read it there, and save its tables as Parquet.",
    ),
    (
        "Corrupt database|Could not read enough|deserialize",
        "the file is damaged. Restore it, or write it again.",
    ),
    ("encrypt|crypto", "the file is encrypted. Copy the table to one that is not."),
    (
        "main key table|depend",
        "another table refers to this one. Name another table, or drop the one that refers to it.",
    ),
)
"""Words of DuckDB, and ours."""


def _why(error: BaseException, way: str) -> str:
    name, text = type(error).__name__, str(error)
    if isinstance(error, MemoryError) or name == "OutOfMemoryException":
        raise MemoryError from None
    if number := getattr(error, "errno", None):
        return f"{os.strerror(number)}."
    if name in OWN:
        for words, why in CAUSES:
            if re.search(words, text):
                return why
        for number in SYSTEM:
            if os.strerror(number) in text:
                return f"{os.strerror(number)}."
    return f"it failed with {name}. The text of that error may hold values and is not shown; {way}"


def unreadable(what: object, error: BaseException, *, view: bool = False) -> MicroaggError:
    """Return the error for a table of a DuckDB file that cannot be read.

    >>> class ConversionException(Exception): ...
    >>> "Zelda" in str(unreadable("a.duckdb::t", ConversionException("'Zelda' is no number")))
    False
    """
    name = type(error).__name__
    if view and name in ("CatalogException", "BinderException"):
        why = "it is a view, and what it reads is not there. Mend the view, or name a table."
    elif name == "PermissionException":
        why = "it reads another file, and only this one is opened. Make a table of it first."
    else:
        why = _why(error, "read the table in DuckDB to see it.")
    if name in OWN and re.search(IN_USE, str(error)):
        return NotPublishedError.unreadable(what, why)
    return InvalidDataError.unreadable(what, why)


def unwritable(what: object, error: BaseException) -> OutputError:
    """Return the error for a table that cannot be written; parameters as for `unreadable`."""
    return OutputError.of(what, _why(error, "write the table in DuckDB to see it."))
