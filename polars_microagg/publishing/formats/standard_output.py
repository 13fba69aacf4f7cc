"""A release written to standard output, and whether somebody read it."""

from __future__ import annotations

import array
import errno
import importlib
import os
import select
import shutil
import stat
import sys
import time
from typing import IO

from polars_microagg.errors import OutputError
from polars_microagg.publishing.atomic import system_message

__all__ = ["deliver", "lost"]

PATIENCE = 10.0
"""Seconds for which a reader may take nothing before it is left alone with a full pipe."""

PIECE = 1 << 20
"""Bytes of a file that are written at a time."""

EVERY = 0.005
"""Seconds between two looks at the pipe."""


def deliver(content: bytes | IO[bytes]) -> None:
    """Write all of a release, or a file from its beginning, to standard output.

    A pipe takes some 64 kB from us before anybody reads them, so it is also waited until the
    reader has them, or has closed its end with some of them in it.
    """
    try:
        if isinstance(content, bytes):
            sys.stdout.buffer.write(content)
        else:
            content.seek(0)
            shutil.copyfileobj(content, sys.stdout.buffer, PIECE)
        sys.stdout.buffer.flush()
        taken = _taken()
    except OSError as error:
        raise lost(error) from None
    if not taken:
        raise lost(BrokenPipeError(errno.EPIPE, ""))


def lost(error: OSError) -> OutputError:
    """Return the error for a standard output that could not be written.

    >>> print(lost(BrokenPipeError(errno.EPIPE, "")))
    'standard output' cannot be written: its reader went away. Nothing was published.
    """
    why = {errno.EPIPE: "its reader went away.", errno.EBADF: "it is closed."}
    return OutputError.of("standard output", why.get(error.errno or 0) or system_message(error))


def _taken() -> bool:
    """Wait for the reader of a pipe; return False if it left some of it."""
    try:
        descriptor = sys.stdout.fileno()
    except ValueError:  # what stands for standard output has no file
        return True
    if not stat.S_ISFIFO(os.fstat(descriptor).st_mode) or not hasattr(select, "poll"):
        return True
    ends = select.poll()
    ends.register(descriptor, 0)
    waiting, since = _unread(descriptor), time.monotonic()
    while waiting and time.monotonic() - since < PATIENCE:
        if ends.poll(EVERY * 1000):
            return not _unread(descriptor)
        before, waiting = waiting, _unread(descriptor)
        if waiting != before:
            since = time.monotonic()
    return True


def _unread(descriptor: int) -> int:
    """Return the bytes left in a pipe; 0 if the system does not say."""
    unread = array.array("i", [0])
    try:
        system, terminal = map(importlib.import_module, ("fcntl", "termios"))
        system.ioctl(descriptor, terminal.FIONREAD, unread)
    except (ImportError, OSError):
        return 0
    return unread[0]
