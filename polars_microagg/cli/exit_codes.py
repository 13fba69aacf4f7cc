"""Exit codes, by the class of the error."""

from __future__ import annotations

from polars_microagg import errors

__all__ = ["BUG", "CODES", "INTERRUPTED", "PUBLISHED", "UNREAD", "code_of"]

BUG, INTERRUPTED = 1, 130

PUBLISHED = " is published."
"""How a note on an error ends that came when its release was in place already."""

UNREAD = 141
"""What a shell sees of any program whose reader had enough, such as ``yes | head``."""

CODES = {
    "TooFewRecordsError": 4,
    "NotAnonymousError": 4,
    "RequirementError": 4,
    "BrokenPromiseError": 4,
    "TargetExistsError": 2,
    "NotPublishedError": 5,
    "InvalidDataError": 3,
    "InvalidParameterError": 2,
}
"""0 done, 2 wrong usage, 3 wrong input, 4 privacy not reached, 5 no output; most special first."""


def code_of(name: str) -> int:
    """Find the exit code of an error by its name.

    Examples
    --------
    >>> code_of("MissingValuesError"), code_of("TooFewRecordsError")
    (3, 4)
    """
    for parent in getattr(errors, name).__mro__:
        if parent.__name__ in CODES:
            return CODES[parent.__name__]
    return BUG
