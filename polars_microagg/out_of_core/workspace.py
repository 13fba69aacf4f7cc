"""A folder beside the target, and the moment when the file made in it becomes the target."""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from polars_microagg import durable
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
    while True:
        folder = target.parent / f".{target.name}.{secrets.token_hex(4)}{ENDING}"
        # It will hold values that are not masked, so only the user may read it.
        folder.mkdir(mode=0o700)
        try:
            lock = _opened(folder)
            if lock is not None:
                with lock:
                    yield folder
                return
        finally:
            _remove(folder)


def _opened(folder: Path) -> IO[str] | None:
    """Lock a new folder; None if another run just takes it for one that was left."""
    try:
        lock = (folder / LOCK).open("x")
    except FileNotFoundError:
        return None
    with suppress(FileNotFoundError):
        if _lock(lock.fileno()) is not False:
            here, there = os.fstat(lock.fileno()), (folder / LOCK).stat()
            if os.path.samestat(here, there):
                return lock
    lock.close()
    return None


def remove_abandoned(folder: Path) -> None:
    """Remove the working folders that killed runs left in a folder."""
    for old in folder.iterdir():
        if not OURS.fullmatch(old.name):
            continue
        with suppress(OSError):
            old.rmdir()  # it is empty if its run was killed before it was locked, or after all was removed
        if durable.WINDOWS:  # there a file that its run has open stays
            with suppress(OSError):
                (old / LOCK).unlink(missing_ok=True)
                _remove(old)
            continue
        # The lock is held until the folder is gone, so that its run, if it just begins, sees that.
        with suppress(OSError), (old / LOCK).open("r+") as lock:
            if _lock(lock.fileno()):
                _remove(old)


def _remove(folder: Path) -> None:
    """Remove a folder with all that is in it.

    The lock goes last: whatever a kill leaves of the folder, the next run removes.
    """
    with suppress(OSError):
        for one in folder.iterdir():
            if one.name == LOCK:
                continue
            if one.is_dir() and not one.is_symlink():
                shutil.rmtree(one, ignore_errors=True)
            else:
                with suppress(OSError):
                    one.unlink()
        if [one.name for one in folder.iterdir()] == [LOCK]:
            (folder / LOCK).unlink()
        folder.rmdir()


def _lock(file: int) -> bool | None:
    """Return whether a lock was taken that ends with the process; None where there are no locks.

    Without locks no folder is removed, save on Windows.
    """
    try:
        import fcntl
    except ImportError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def replace_target(made: Path, target: Path) -> None:
    """Replace the target by a finished file, at once and for good."""
    with made.open("rb+") as file:
        os.fsync(file.fileno())
    # `replace` is atomic within a file system, and the folder is beside the target: a reader sees
    # the old file or the new one, whole.
    put_in_place(made, target)
