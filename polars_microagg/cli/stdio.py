"""Standard input, output and error: open, and without text of other libraries."""

from __future__ import annotations

import os
import sys
import warnings
from contextlib import suppress

__all__ = ["prepare", "unheard"]


def prepare() -> None:
    """Open closed streams, and keep standard error for sentences of this program."""
    _reopen()
    _hush()
    if not sys.warnoptions:  # those of numpy show lines of the source
        warnings.simplefilter("ignore")
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _reopen() -> None:
    """Replace closed streams, since the next file that is opened would become one of them."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            # Standard output can be read only, so that whatever is written to it fails.
            os.open(os.devnull, os.O_WRONLY if descriptor == 2 else os.O_RDONLY)
    sys.stdin = sys.stdin or os.fdopen(0, closefd=False)
    for name, descriptor in (("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(descriptor, "w", encoding="utf-8", closefd=False))


def _hush() -> None:
    """Redirect native code, which would write traces of broken files to standard error."""
    try:
        sys.stderr = os.fdopen(os.dup(2), "w", buffering=1, encoding=sys.stderr.encoding)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    except (OSError, AttributeError):
        return


def unheard() -> None:
    """Drop output that nobody reads; Python would try again when it ends, and complain."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
