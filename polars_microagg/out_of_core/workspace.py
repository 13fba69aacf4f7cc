"""A folder beside the target, and the moment when the file made in it becomes the target."""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from polars_microagg.durable import put_in_place

__all__ = ["remove_abandoned", "replace_target", "working_folder"]

LOCK = "in-use"
ENDING = ".microagg"
OURS = re.compile(r"\..+\.[0-9a-f]{8}" + re.escape(ENDING), re.DOTALL)
"""Names of folders that are made by this module."""


@contextmanager
def working_folder(target: Path) -> Iterator[Path]:
    """Yield an empty folder beside the target, and remove it in the end with all that is in it.

    Folders that killed runs left in the same place are removed first; those of runs that go on
    stay.
    """
    remove_abandoned(target.parent)
    # It will hold values that are not masked, so only the user may read it. Until it is locked its
    # name does not match, so that no other run removes it as an old one.
    folder = target.parent / f".{target.name}.{secrets.token_hex(4)}"
    folder.mkdir(mode=0o700)
    try:
        with (folder / LOCK).open("w") as lock:
            if _lock(lock.fileno()):
                folder = folder.rename(f"{folder}{ENDING}")
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_abandoned(folder: Path) -> None:
    """Remove the working folders that killed runs left in a folder."""
    for old in folder.iterdir():
        if OURS.fullmatch(old.name) and not _in_use(old):
            shutil.rmtree(old, ignore_errors=True)


def _lock(file: int) -> bool:
    """Return whether a lock was taken that ends with the process.

    Without locks no folder is removed.
    """
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
    """Return whether a run still holds the lock of a folder."""
    try:
        with (folder / LOCK).open("r+") as lock:
            return not _lock(lock.fileno())
    except OSError:
        return True


def replace_target(made: Path, target: Path) -> None:
    """Put a finished file in the place of the target, at once and for good."""
    with made.open("rb+") as file:
        os.fsync(file.fileno())
    # `replace` is atomic within a file system, and the folder is beside the target: a reader sees
    # the old file or the new one, whole.
    put_in_place(made, target)
