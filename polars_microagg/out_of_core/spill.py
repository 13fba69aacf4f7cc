"""Records written to files by number, and read again one file at a time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from polars_microagg.core.partition import Labels

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Ranges", "Spill", "read", "write_ranges"]


class Spill:
    """Files of a folder that are written side by side, each record into the one of its number."""

    def __init__(self, folder: Path, name: str, count: int) -> None:
        self.folder, self.name = folder, name
        self.writers: list[Any] = [None] * count

    def close(self) -> None:
        """Close the files."""
        for writer in self.writers:
            if writer is not None:
                writer.close()
        self.writers.clear()  # the file of a writer is closed with the last reference to it

    def path(self, number: int) -> Path:
        """Return the file of a number; it does not exist if no record came."""
        return self.folder / f"{self.name}-{number}.arrows"

    def write(self, frame: pl.DataFrame, numbers: Labels) -> None:
        """Write each record of a frame to the file of its number (n,)."""
        import pyarrow as pa

        table = frame[np.argsort(numbers, kind="stable")].to_arrow()
        counts = np.bincount(numbers, minlength=len(self.writers))
        ends = np.cumsum(counts)
        for number in np.flatnonzero(counts).tolist():
            if self.writers[number] is None:
                self.writers[number] = pa.ipc.new_stream(str(self.path(number)), table.schema)
            part = table.slice(ends[number] - counts[number], counts[number])
            self.writers[number].write_table(part)


def read(paths: Iterable[Path], columns: Sequence[str] | None = None) -> pl.DataFrame:
    """Return the records of these files, one below the other, by default with all columns."""
    import pyarrow as pa

    tables = []
    for path in paths:
        with pa.OSFile(str(path)) as file:
            table = pa.ipc.open_stream(file).read_all()
            tables.append(table if columns is None else table.select(columns))
    return pl.DataFrame(pa.concat_tables(tables)).rechunk()


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

        self.files = [pa.OSFile(str(path)) for path in paths]
        self.readers = [pa.ipc.open_file(file) for file in self.files]

    def close(self) -> None:
        """Close the files."""
        for file in self.files:
            file.close()

    def frame(self, number: int) -> pl.DataFrame:
        """Return the records of a range, in the order of their rows."""
        import pyarrow as pa

        batches = [reader.get_batch(number) for reader in self.readers]
        table = pa.Table.from_batches([batch for batch in batches if batch.num_rows])
        return pl.DataFrame(table).sort("row")
