"""Atomic replacement of a file together with its record: no instant shows a pair that disagrees."""

from __future__ import annotations

import errno
import hashlib
import importlib
import json
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Self

from polars_microagg import durable
from polars_microagg.durable import put_in_place, settle
from polars_microagg.errors import OutputError, TargetExistsError

__all__ = [
    "Swap",
    "checked",
    "free",
    "is_special",
    "of_system",
    "put",
    "sha256_of",
    "system_message",
    "waiting",
    "writable",
]

# Windows has no locks on folders, so two writers of one target are not kept apart there.
_fcntl: Any = importlib.import_module("fcntl") if os.name == "posix" else None


def system_message(error: BaseException) -> str:
    """Return the words for an error of the system, without the path and without data."""
    number = of_system(error)
    return f"{os.strerror(number)}." if number else "it is not a valid path or file."


def of_system(error: BaseException) -> int | None:
    """Return the number of an error of the system, which polars keeps in the text of its own."""
    number: int | None = getattr(error, "errno", None)
    if number:
        return number
    match = re.search(r"(?:os error|Os \{ code:) (\d+)", str(error))
    return int(match[1]) if match else None


def sha256_of(path: Path) -> str:
    """Hash a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_special(path: Path) -> bool:
    """Return whether a path is a pipe or a device, or a name of one of the streams of this process."""
    # /dev/stdout may lead to a file, and would be replaced itself.
    folder = Path(os.path.realpath(path.parent))
    named = folder == Path("/dev") or Path("/proc") in (folder, *folder.parents)
    with suppress(OSError):  # a name may be too long to be looked up
        return named or (path.exists() and not path.is_file() and not path.is_dir())
    return False


def checked(path: Path) -> None:
    """Refuse a target that cannot be replaced by a file."""
    try:
        mode = path.lstat().st_mode
        folder = path.is_dir()
    except FileNotFoundError:
        mode, folder = stat.S_IFREG, False
    except (OSError, ValueError) as error:
        raise OutputError.of(path, system_message(error)) from None
    if folder:
        raise OutputError.of(path, "it is a folder. Name a file in it.")
    if (not stat.S_ISREG(mode) and not stat.S_ISLNK(mode)) or is_special(path):
        raise OutputError.of(path, "it is a device or a pipe. Name a file, or - for the output.")
    if not path.parent.is_dir():
        raise OutputError.of(path, "its folder does not exist. Make the folder first.")


def writable(path: Path) -> None:
    """Refuse a target in whose folder nothing can be written, and write nothing."""
    checked(path)
    if not os.access(path.parent, os.W_OK | os.X_OK):
        fixed = not durable.WINDOWS and os.statvfs(path.parent).f_flag & os.ST_RDONLY
        raise OutputError.of(path, f"{os.strerror(errno.EROFS if fixed else errno.EACCES)}.")


def free(overwrite: bool, *paths: Path | None) -> None:
    """Refuse to replace an existing file, unless that is allowed."""
    for path in paths:
        if path is not None and os.path.lexists(path) and not overwrite:
            raise TargetExistsError.of(path)


class _Folder:
    """A folder that is locked while it is open; it is closed when it is garbage-collected.

    An interrupt between two instructions may bypass every `finally`, and a process that goes on
    after it must not wait for a lock of its own.
    """

    _descriptor = -1

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDONLY)

    def lock(self) -> None:
        """Wait until no other writer has it."""
        with suppress(OSError):
            _fcntl.flock(self._descriptor, _fcntl.LOCK_EX)

    def close(self) -> None:
        """Release the lock first, as closing may be interrupted, then close the folder."""
        if self._descriptor >= 0:
            with suppress(OSError):
                _fcntl.flock(self._descriptor, _fcntl.LOCK_UN)
            descriptor, self._descriptor = self._descriptor, -1
            os.close(descriptor)

    __del__ = close


@contextmanager
def _locked(*folders: Path) -> Iterator[None]:
    """Acquire a lock under which one writer at a time changes names in these folders."""
    opened: list[_Folder] = []
    try:
        for folder in sorted({folder.resolve() for folder in folders}) if _fcntl else ():
            opened.append(_Folder(folder))
            opened[-1].lock()
        yield
    finally:
        for locked in opened:
            locked.close()


WAITING = re.compile(r"\.microagg-[0-9a-f]{16}\.part")
"""Names of files that wait to be put in place without a record."""


def _swept(folder: Path, names: re.Pattern[str]) -> None:
    """Remove temporary files that no running writer holds."""
    for path in folder.iterdir():
        if names.fullmatch(path.name):
            with suppress(OSError), ExitStack() as stack:
                if not durable.WINDOWS:  # there a file that its writer has open stays
                    _hold(stack.enter_context(path.open("rb")))
                path.unlink()


def _hold(file: Any) -> None:
    """Lock a file, if the system has locks; an error if another writer has it."""
    if _fcntl:
        _fcntl.flock(file, _fcntl.LOCK_EX | _fcntl.LOCK_NB)


class Swap:
    """A temporary file that replaces a target, together with the target's record.

    A record says what its target holds, so an old record beside a new target, or the reverse, would
    be false. The old record is set aside first, then the target is replaced, then the new record is
    put in place: between the steps, and after a crash, there is a target without a record. The next
    writer finds the records that were set aside, and puts back the one that fits.
    """

    def __init__(self, target: Path, record: Path) -> None:
        self.target, self.record = target, record
        mark = hashlib.sha256(os.fsencode(target.name)).hexdigest()[:12]
        self._stem = f".microagg-{mark}"
        self._next = record.parent / f"{self._stem}.next"
        self._last = record.parent / f"{self._stem}.last"
        self._done = False

    def __enter__(self) -> Self:
        """Make the temporary file, and clear away what a killed writer left."""
        checked(self.target)
        checked(self.record)
        self.path = self.target.parent / f"{self._stem}-{secrets.token_hex(4)}.part"
        try:
            # The lock on the file says that its writer lives: `_sweep` of another writer deletes
            # only files whose lock it gets. It is taken while the folders are locked, so nobody
            # sees the file unlocked.
            with _locked(self.target.parent, self.record.parent):
                self.recover(lambda: sha256_of(self.target))
                self._sweep()
                opened = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
                self.file: IO[bytes] = os.fdopen(opened, "w+b")
                with suppress(OSError):
                    _hold(opened)
        except OSError as error:
            raise OutputError.of(self.target, system_message(error)) from None
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the temporary file unless it has become the target."""
        with suppress(OSError):
            self.file.close()
        if not self._done:
            self._remove()

    def adopt(self, made: Path) -> None:
        """Use a file that was made on the same device in place of the temporary one."""
        try:
            if durable.WINDOWS:
                self.file.close()
                made.replace(self.path)
                self.file = self.path.open("r+b")
                return
            opened = made.open("r+b")
            with suppress(OSError):
                _hold(opened)
            self.file.close()
            self.file = opened
            made.replace(self.path)
        except OSError as error:
            raise OutputError.of(self.target, system_message(error)) from None

    def _remove(self) -> None:
        with suppress(OSError):
            self.path.unlink()

    def recover(self, digest: Callable[[], str]) -> None:
        """Restore the record that was set aside and fits the target, and remove the others."""
        aside = [path for path in (self._next, self._last) if path.is_file()]
        if not aside:
            return
        # Killed before the rename, the target is old and the last record fits it; killed after it,
        # the next one fits. The hash decides, not the state of the folder.
        if not self.record.exists():
            with suppress(FileNotFoundError):
                current = digest()
                fits = [path for path in aside if _recorded(path) == current]
                if fits:
                    fits[0].replace(self.record)
        for path in aside:
            path.unlink(missing_ok=True)
        settle(self.record.parent)

    def _sweep(self) -> None:
        """Remove temporary files of this target, and those without a record, that are not held."""
        _swept(self.target.parent, re.compile(rf"{self._stem}-.*\.part"))
        if _fcntl:
            _swept(self.target.parent, WAITING)

    def commit(self, record: bytes) -> None:
        """Move the temporary file and its record to their place, or keep the old ones."""
        try:
            # The content is on the device before the target's name points to it: a rename may
            # survive a power cut that the content did not.
            self.file.flush()
            os.fsync(self.file.fileno())
            with suppress(FileNotFoundError):
                self.path.chmod(stat.S_IMODE(self.target.stat().st_mode))
            with _locked(self.target.parent, self.record.parent):
                self.put(record, self._rename, lambda: sha256_of(self.target))
        except OSError as error:
            raise OutputError.of(self.target, system_message(error)) from None

    def _rename(self) -> None:
        self.file.close()  # Windows renames no open file; the lock on the folder still holds
        self.path.replace(self.target)
        self._done = True
        settle(self.target.parent)

    def put(self, record: bytes, replace: Callable[[], None], digest: Callable[[], str]) -> None:
        """Set the old record aside, replace the target, and put the new record in place."""
        try:
            # First the new record in full under a name that nobody reads, then the old one is set
            # aside. From here until the end there is no record in its place. Each rename is made
            # durable before the next step begins, so a power cut cannot reorder them.
            with self._next.open("wb") as file:
                file.write(record)
                file.flush()
                os.fsync(file.fileno())
            with suppress(FileNotFoundError):
                self.record.replace(self._last)
            settle(self.record.parent)
            replace()
            # Target and record agree again: the release is visible from this rename on.
            self._next.replace(self.record)
            self._last.unlink(missing_ok=True)
            settle(self.record.parent)
        except BaseException:
            self.recover(digest)
            raise


def _recorded(record: Path) -> object:
    """Return the hash of the target that a record has; None if the record is incomplete."""
    try:
        return json.loads(record.read_bytes())["output"]["sha256"]
    except (ValueError, LookupError, TypeError):
        return None


def put(path: Path, content: bytes) -> None:
    """Replace one file without a record, whole or not at all."""
    with waiting(path, content) as finish:
        finish()


@contextmanager
def _sweeping(folder: Path) -> Iterator[None]:
    """Remove what killed runs left in a folder, and keep others from that in the block.

    Nothing is removed without locks, nor where the folder may be written and not read.
    """
    if not _fcntl or not os.access(folder, os.R_OK):
        yield
        return
    with _locked(folder):
        _swept(folder, WAITING)
        yield


@contextmanager
def waiting(path: Path, content: bytes) -> Iterator[Callable[[], None]]:
    """Write a file that takes its place when the yielded function is called.

    Those that killed runs left in the folder are removed first.
    """
    checked(path)
    part = path.parent / f".microagg-{secrets.token_hex(8)}.part"
    try:
        with ExitStack() as stack:
            with _sweeping(path.parent):
                file = stack.enter_context(part.open("xb"))
                with suppress(OSError):
                    _hold(file)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            if not _fcntl:  # Windows renames no open file
                stack.close()
            yield lambda: put_in_place(part, path)
    except OSError as error:
        raise OutputError.of(path, system_message(error)) from None
    finally:
        with suppress(OSError):
            part.unlink()
