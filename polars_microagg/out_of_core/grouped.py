"""Rows added up by their keys, however many there are: what does not fit waits in files by hash."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from polars_microagg.frames.selection import as_frame
from polars_microagg.out_of_core.spill import Spill, batches_of, read

__all__ = ["MOST", "Grouped", "comparable", "summed"]

MOST = "most"
"""Column of which the largest number of a group is kept, not the sum."""

FILES = 256
"""Most files that rows are divided into."""

OPEN = 16
"""Files of these that stay open: several tables may be added up side by side."""

ROOM = 1 << 19
"""Rows that are added up together where memory has room for more: with larger tables it takes longer."""

DEPTH = 8
"""Times that rows are divided anew, before they are taken as they are."""

NARROW = 8
"""Bytes of a cell that a number of rows is thought to have."""


class Grouped:
    """Sums by key of rows that come in batches: equal keys come out once, and in one frame with those near.

    `keys` are the columns whose values are equal in a group, the others are added up. Rows that have
    `near` in common (by default all keys) come out in one frame. No more than about `most` rows are in
    memory, unless so many have `near` in common; `expected` are all that may come.
    """

    def __init__(
        self,
        folder: Path,
        name: str,
        keys: Sequence[str],
        most: int,
        expected: int = 0,
        near: Sequence[str] | None = None,
        depth: int = 0,
    ) -> None:
        self.folder, self.name, self.keys = folder, name, list(keys)
        self.most = max(1, min(most, max(ROOM, -(-2 * expected // FILES))))
        self.near, self.depth = list(self.keys if near is None else near), depth
        self.files = int(np.clip(-(-2 * expected // self.most), 4, FILES))
        self.waiting: list[pl.DataFrame] = []
        self.rows = self.cells = self.width = 0
        self.spill: Spill | None = None
        self.written = np.zeros(self.files, dtype=np.int64)
        # Adding up takes longer than writing, and is left for the end where it leaves most rows of a batch.
        self.apart = False

    def add(self, frame: pl.DataFrame) -> None:
        """Add rows: keys, and numbers to add up."""
        if not frame.height:
            return
        if not self.apart:
            rows, frame = frame.height, summed(frame, self.keys)
            self.apart = 2 * frame.height > rows
        self.waiting.append(frame)
        self.width = frame.width
        self.rows += frame.height
        self.cells += int(frame.estimated_size()) // NARROW
        if self._full(self.rows, self.cells):
            last = self.depth > DEPTH
            if last or not self.apart:
                self._settle()
            # Half of the room is left for what comes, or every batch would be added up anew.
            if not last and self._full(2 * self.rows, 2 * self.cells):
                self._write()

    def _full(self, rows: int, cells: int) -> bool:
        # Texts are wider than numbers.
        return rows > self.most or cells > self.most * (self.width + 3)

    def _settle(self) -> None:
        """Add up what waits."""
        whole = summed(pl.concat(self.waiting), self.keys)
        self.waiting, self.rows = [whole], whole.height
        self.cells = int(whole.estimated_size()) // NARROW

    def _write(self) -> None:
        """Write what waits into the files of their hashes."""
        if self.spill is None:
            self.spill = Spill(self.folder, self.name, self.files, OPEN)
        frame = pl.concat(self.waiting)
        hashes = frame.select(self.near).hash_rows(seed=self.depth).to_numpy()
        numbers = (hashes % np.uint64(self.files)).astype(np.intp)
        self.spill.write(frame, numbers)
        self.written += np.bincount(numbers, minlength=self.files)
        self.waiting, self.rows, self.cells = [], 0, 0

    def results(self) -> Iterator[pl.DataFrame]:
        """Yield each key once, with its sums; then nothing can be added."""
        import pyarrow as pa

        if self.spill is None:
            if self.waiting:
                self._settle()
                yield self.waiting.pop()
            return
        if self.waiting:
            self._write()
        self.spill.close()
        for number in np.flatnonzero(self.written).tolist():
            rows, path = int(self.written[number]), self.spill.path(number)
            if not self._full(rows, path.stat().st_size // NARROW):
                frame = read([path])
                path.unlink()
                yield summed(frame, self.keys)
                continue
            # Rows that no hash parts are not divided again.
            depth = (
                self.depth + 1 if 2 * rows < self.written.sum() or rows < self.most else DEPTH + 1
            )
            name = f"{self.name}-{number}"
            part = Grouped(self.folder, name, self.keys, self.most, rows, self.near, depth)
            for batch in batches_of(path):
                part.add(as_frame(pa.Table.from_batches([batch])))
            path.unlink()
            yield from part.results()


def comparable(frame: pl.DataFrame) -> pl.DataFrame:
    """Return values that are equal, and have equal hashes, whatever was read before."""
    made = []
    for column in frame.get_columns():
        kind = column.dtype
        if isinstance(kind, pl.Enum):
            column = column.to_physical()
        elif isinstance(kind, pl.Categorical):
            column = column.cast(pl.String)
        made.append(column)
    return pl.DataFrame(made)


def summed(frame: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Add up the other columns by keys, and keep the largest `MOST`.

    >>> summed(pl.DataFrame({"a": [7, 7], "n": [1, 2], "most": [1, 2]}), ["a"]).row(0)
    (7, 3, 2)
    """
    largest = [pl.col(MOST).max()] if MOST in frame.columns else []
    added = pl.all().exclude(MOST).sum()
    return frame.group_by(keys).agg(added, *largest).select(frame.columns)
