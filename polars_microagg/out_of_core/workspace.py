"""A folder beside the target, and the moment when what was made in it becomes the target."""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["put_in_place", "workplace"]

LOCK = "in-use"
ENDING = ".microagg"
OURS = re.compile(r"\..+\.[0-9a-f]{8}" + re.escape(ENDING), re.DOTALL)
"""Names of folders that are made here."""


@contextmanager
def workplace(target: Path) -> Iterator[Path]:
    """Make a folder beside the target, and remove it in the end with all that is in it.

    Folders that runs left in the same place when they were killed are removed first, whatever
    they were to make; those of runs that go on are let alone.

    Parameters
    ----------
    target : pathlib.Path
        What is to be made.

    Yields
    ------
    pathlib.Path
        An empty folder on the same file system.
    """
    for old in target.parent.iterdir():
        if OURS.fullmatch(old.name) and not _in_use(old):
            shutil.rmtree(old, ignore_errors=True)
    # It will hold values that are not masked. Nobody takes it for an old one before it is locked.
    folder = target.parent / f".{target.name}.{secrets.token_hex(4)}"
    folder.mkdir(mode=0o700)
    try:
        with (folder / LOCK).open("w") as lock:
            if _lock(lock.fileno()):
                folder = folder.rename(f"{folder}{ENDING}")
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _lock(file: int) -> bool:
    """Take a lock that ends with the process; without locks nobody's folder is removed."""
    try:
        import fcntl
    except ImportError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _in_use(folder: Path) -> bool:
    try:
        with (folder / LOCK).open("r+") as lock:
            return not _lock(lock.fileno())
    except OSError:
        return True


def put_in_place(made: Path, target: Path) -> None:
    """Put a finished file in the place of the target, at once and for good."""
    with made.open("rb+") as file:
        os.fsync(file.fileno())
    made.replace(target)
    # Where folders cannot be opened, as on Windows, they need not be.
    with suppress(OSError):
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
