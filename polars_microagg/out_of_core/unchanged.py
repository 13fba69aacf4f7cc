"""Files that have to stay as they are while a run reads them, some of them more than once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeAlias

from polars_microagg.errors import MicroaggError
from polars_microagg.errors.files import changed_while_read

__all__ = ["FileState", "state_of", "unchanged"]

FileState: TypeAlias = "tuple[int, int, int, int]"
"""Device, number, size and last change of a file: a file that replaces another has another number."""


def state_of(path: Path) -> FileState | None:
    """Return the state of a file, or None if it cannot be looked up."""
    with suppress(OSError, ValueError):
        found = path.stat()
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
    return None


@contextmanager
def unchanged(path: Path, state: FileState | None = None) -> Iterator[None]:
    """Refuse a file that is replaced or written to while it is read, or since it had a state.

    What reading it fails with is then a consequence of that, and is not reported.
    """
    before = state_of(path) if state is None else state

    def check() -> None:
        if state_of(path) != before:
            raise changed_while_read(path) from None

    check()
    try:
        yield
    except (MicroaggError, OSError, ValueError):
        check()
        raise
    check()
