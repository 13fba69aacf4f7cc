"""Where a large release waits: a file on the device of its target, a transaction, or a file to be sent."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from polars_microagg.errors import InvalidDataError, OutputError
from polars_microagg.out_of_core.aligned import aligned
from polars_microagg.out_of_core.parquet_source import ParquetSource
from polars_microagg.publishing.atomic import checked, sha256_of, system_message, waiting
from polars_microagg.publishing.formats.batches import (
    deliver,
    set_down,
    set_down_frames,
)
from polars_microagg.publishing.formats.files import Location
from polars_microagg.publishing.formats.register import Made, formats
from polars_microagg.publishing.formats.standard_output import deliver as send
from polars_microagg.publishing.manifest.model import Output
from polars_microagg.publishing.staging import UNLIKE, WAY, FileTarget, Staged, stage

__all__ = ["LargeStaged", "stage_large"]

PARQUET = "parquet"
"""The format that is read as it is."""

AGAIN, RESTORED = "again.parquet", "restored.parquet"
"""Files into which another format is read again, without and with the types that it lost."""


class _Sent:
    """A release in a file, which is sent to standard output."""

    def __init__(self, place: Location, record: Path | None, folder: Path) -> None:
        if record is not None:
            checked(record)
        self._place, self._record, self.path = place, record, folder / "sent"

    def __enter__(self) -> Self:
        self.file = self.path.open("w+b")
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the file to its folder, as nothing was sent."""
        self.file.close()

    def exists(self) -> bool:
        """Return False: a stream replaces nothing."""
        return False

    def content(self) -> tuple[str, str, int | None]:
        """Return "file", and the hash and the size of what will be sent."""
        return "file", sha256_of(self.path), self.path.stat().st_size

    def commit(self, record: bytes) -> None:
        """Send the release, then put its record in place."""
        with ExitStack() as stack:
            # A record describes a release that somebody has, so it waits until the stream was read.
            finish = self._record and stack.enter_context(waiting(self._record, record))
            send(self.file)
            if finish:
                finish()


@dataclass(frozen=True)
class LargeStaged:
    """A large release that waits: written, read again, and not visible to anybody.

    No more than about `batch` of its rows are in memory.
    """

    staged: Staged
    folder: Path
    batch: int

    @property
    def _place(self) -> Location:
        return self.staged.place

    @property
    def _target(self) -> Any:
        return self.staged.target

    def write(self, made: ParquetSource) -> None:
        """Write the release where nobody looks; a file of Parquet is the release itself."""
        target = self._target
        if self._place.tables:
            target.fill(Made(made, self.batch))
        elif self._place.format == PARQUET and isinstance(target, FileTarget):
            target.adopt(made.paths[0])
        else:
            deliver(made, target.file, self._place, batch=self.batch)
        if not self._place.tables:
            try:
                target.file.flush()
                os.fsync(target.file.fileno())
            except OSError as error:
                raise OutputError.of(self._place, system_message(error)) from None

    def reread(self) -> ParquetSource:
        """Read the release as its readers will."""
        if self._place.format == PARQUET:
            return ParquetSource.of(self._target.path)
        try:
            if self._place.tables:
                again = self._target.batches(self.batch), self.folder, self._place
                return set_down_frames(*again, batch=self.batch, name=AGAIN)
            waits = Location(self._target.path, self._place.format).separated_by(",")
            return set_down(waits, self.folder, batch=self.batch, name=AGAIN)
        except InvalidDataError:
            why = f"what was written cannot be read again. {WAY}"
            raise OutputError.of(self._place, why) from None

    def same(self, made: ParquetSource, reread: ParquetSource, names: list[str]) -> ParquetSource:
        """Compare what was read again with what was written, and refuse a difference.

        The masked columns, `names`, come back in their types.
        """
        if self._place.format == PARQUET:
            return reread
        columns = list(made.schema.names)
        if columns != list(reread.schema.names) or made.rows != reread.rows:
            raise OutputError.of(self._place, f"{UNLIKE}. {WAY}")
        typeless = formats()[self._place.format].typeless
        both = aligned(made, reread, self.batch, (columns, columns))
        restored = (self.staged.same(before, after, names) for before, after in both)
        if typeless:
            where = self.folder, self._place
            return set_down_frames(restored, *where, batch=self.batch, name=RESTORED)
        for _ in restored:
            continue
        return reread

    def described(self, made: ParquetSource, reread: ParquetSource) -> Output:
        """Describe the release, with its hash."""
        empty = [source.empty for source in (made, reread)]
        return self.staged.described(*empty)

    def commit(self, record: bytes) -> None:
        """Move the release and its record to their place."""
        self.staged.commit(record)


@contextmanager
def stage_large(
    place: Location, record: Path | None, overwrite: bool, folder: Path, batch: int
) -> Iterator[LargeStaged]:
    """Open a place for a large release; without `commit` nothing of it remains.

    `folder` is a working folder on the device of the target.
    """

    def sent(place: Location, record: Path | None) -> Any:
        return _Sent(place, record, folder)

    ways = {"make": sent} if place.piped else {}
    with stage(place, record, overwrite, **ways) as staged:
        yield LargeStaged(staged, folder, batch)
