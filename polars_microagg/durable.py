"""Renames that survive a power cut, for all that puts files in place."""

from __future__ import annotations

import errno
import os
from pathlib import Path

__all__ = ["WINDOWS", "put_in_place", "settle"]

WINDOWS = os.name == "nt"
"""True where an open file can be neither renamed nor removed, and a folder not be opened."""

UNSYNCED = (errno.EINVAL, errno.EBADF, errno.ENOTSUP)
"""Errors of file systems that cannot sync a folder."""


def settle(folder: Path) -> None:
    """Write the names in a folder to the device."""
    if WINDOWS:
        return
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except PermissionError:  # a folder may be writable and not readable
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in UNSYNCED:
            raise
    finally:
        os.close(descriptor)


def put_in_place(made: Path, target: Path) -> None:
    """Replace a file by another whose content is on the device, at once and for good."""
    made.replace(target)
    settle(target.parent)
