"""Exit codes, by the class of the error."""

from __future__ import annotations

from polars_microagg.errors import (
    GuaranteeError,
    InvalidDataError,
    InvalidParameterError,
    MicroaggError,
    NotAnonymousError,
    NotPublishedError,
    RequirementError,
    TargetExistsError,
    TooFewRecordsError,
    UnreachableError,
    WorkerError,
)

__all__ = ["BUG", "CODES", "INTERRUPTED", "PUBLISHED", "UNREAD", "code_of"]

BUG, INTERRUPTED = 1, 130

PUBLISHED = " is published."
"""End of the note on an error that was raised after the release was in place."""

UNREAD = 141
"""Exit code that a shell reports if the reader of a program's output closed it, as in ``yes |
head``."""

CODES: dict[type[MicroaggError], int] = {
    TooFewRecordsError: 4,
    UnreachableError: 4,
    NotAnonymousError: 4,
    RequirementError: 4,
    GuaranteeError: 4,
    TargetExistsError: 2,
    NotPublishedError: 5,
    WorkerError: 5,
    InvalidDataError: 3,
    InvalidParameterError: 2,
}
"""0 done, 2 wrong usage, 3 wrong input, 4 privacy not reached, 5 no output; most special first."""


def code_of(kind: type[MicroaggError]) -> int:
    """Find the exit code of an error by its class.

    >>> code_of(InvalidDataError), code_of(TooFewRecordsError)
    (3, 4)
    """
    return next((CODES[parent] for parent in kind.__mro__ if parent in CODES), BUG)
