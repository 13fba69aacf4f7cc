"""Records written to files by number, and read again one file at a time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from polars_microagg.core.partition import Labels

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["OPEN", "Ranges", "Spill", "batches_of", "read", "write_ranges"]


OPEN = 64
"""Most files of a spill, or of ranges, that stay open: systems allow a process 256 in all, or more."""


class Spill:
    """Files of a folder that are written side by side, each record into the one of its number.

    No more than `most` of them stay open, and the others are opened again for each batch.
    """

    def __init__(self, folder: Path, name: str, count: int, most: int = OPEN) -> None:
        self.folder, self.name, self.count, self.most = folder, name, count, max(most, 1)
        self.writers: dict[int, Any] = {}

    def close(self) -> None:
        """Close the files."""
        for writer in self.writers.values():
            writer.close()
        self.writers.clear()  # the file of a writer is closed with the last reference to it

    def path(self, number: int) -> Path:
        """Return the file of a number; it does not exist if no record came."""
        return self.folder / f"{self.name}-{number}.arrows"

    def write(self, frame: pl.DataFrame, numbers: Labels) -> None:
        """Write each record of a frame to the file of its number (n,)."""
        table = frame[np.argsort(numbers, kind="stable")].to_arrow()
        counts = np.bincount(numbers, minlength=self.count)
        ends = np.cumsum(counts)
        for number in np.flatnonzero(counts).tolist():
            part = table.slice(ends[number] - counts[number], counts[number])
            if number not in self.writers and len(self.writers) >= self.most:
                with self._begun(number, table.schema) as writer:
                    writer.write_table(part)
                continue
            if number not in self.writers:
                self.writers[number] = self._begun(number, table.schema)
            self.writers[number].write_table(part)

    def _begun(self, number: int, schema: Any) -> Any:
        """Begin a stream of batches below those that the file of a number holds."""
        import pyarrow as pa

        return pa.ipc.new_stream(pa.OSFile(str(self.path(number)), "ab"), schema)


def batches_of(path: Path) -> Iterator[Any]:
    """Yield the batches of a file that was spilled."""
    import pyarrow as pa

    with pa.OSFile(str(path)) as file:
        while file.tell() < file.size():
            yield from pa.ipc.open_stream(file)


def read(paths: Iterable[Path], columns: Sequence[str] | None = None) -> pl.DataFrame:
    """Return the records of these files, one below the other, by default with all columns."""
    import pyarrow as pa

    batches = [
        batch if columns is None else batch.select(columns)
        for path in paths
        for batch in batches_of(path)
    ]
    return pl.DataFrame(pa.Table.from_batches(batches)).rechunk()


def write_ranges(frame: pl.DataFrame, path: Path, size: int, count: int) -> None:
    """Write records sorted by "row", so that each range of `size` rows can be read alone."""
    import pyarrow as pa

    frame = frame.sort("row")
    table = frame.to_arrow().combine_chunks()
    # Arrow files have one dictionary a column, in empty batches as well.
    empty = pa.RecordBatch.from_arrays(
        [column.combine_chunks().slice(0, 0) for column in table.columns], schema=table.schema
    )
    ends = np.searchsorted(frame["row"].to_numpy(), np.arange(1, count + 1) * size)
    start = 0
    with pa.ipc.new_file(str(path), table.schema) as writer:
        for end in ends.tolist():
            batches = table.slice(start, end - start).to_batches()
            writer.write_batch(batches[0] if batches else empty)
            start = end


class Ranges:
    """Files of `write_ranges`, read range by range."""

    def __init__(self, paths: Iterable[Path]) -> None:
        import pyarrow as pa

        self.paths = [str(path) for path in paths]
        self.files = [pa.OSFile(path) for path in self.paths[:OPEN]]
        self.readers = [pa.ipc.open_file(file) for file in self.files]

    def close(self) -> None:
        """Close the files."""
        for file in self.files:
            file.close()

    def frame(self, number: int) -> pl.DataFrame:
        """Return the records of a range, in the order of their rows."""
        import pyarrow as pa

        batches = [reader.get_batch(number) for reader in self.readers]
        for path in self.paths[len(self.files) :]:
            with pa.OSFile(path) as file:
                batches.append(pa.ipc.open_file(file).get_batch(number))
        table = pa.Table.from_batches([batch for batch in batches if batch.num_rows])
        return pl.DataFrame(table).sort("row")
