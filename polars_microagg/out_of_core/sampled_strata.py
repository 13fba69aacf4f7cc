"""The strata of the records of a sample: which masked records are in them, as numbers in a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from polars_microagg.core.partition import Labels
from polars_microagg.frames.attributes import first_rows, strata_of
from polars_microagg.frames.selection import as_frame, by_name
from polars_microagg.out_of_core.parquet_source import ParquetSource

__all__ = ["SampledStrata"]


@dataclass(frozen=True, eq=False)
class SampledStrata:
    """The number of the stratum of each record of a sample, and of each of all records, in a file.

    -1 stands for strata without a record of the sample.
    """

    path: Path
    own: Labels

    @classmethod
    def made(
        cls, path: Path, released: ParquetSource, names: Sequence[str], rows: Labels, size: int
    ) -> SampledStrata:
        """Number the strata of these `rows`, ascending, of a release, and write those of all rows."""

        def batches() -> Iterator[pl.DataFrame]:
            return (
                as_frame(b).select(map(by_name, names)) for b in released.batches(size, [*names])
            )

        parts, start = [released.empty.select(map(by_name, names))], 0
        for batch in batches():
            low, high = np.searchsorted(rows, [start, start + batch.height])
            parts.append(batch[rows[low:high] - start])
            start += batch.height
        drawn = pl.concat(parts)
        own = strata_of(drawn, names)
        _, first = np.unique(own, return_index=True)
        keys = drawn[first]
        with path.open("wb") as file:
            for batch in batches():
                both = pl.concat([keys, batch])
                found = first_rows([both.get_column(name) for name in names])[keys.height :]
                np.where(found < keys.height, found, -1).astype(np.int32).tofile(file)
        return cls(path, own)

    def read(self, start: int, stop: int) -> npt.NDArray[np.int32]:
        """Return the numbers of some rows."""
        return np.fromfile(self.path, np.int32, stop - start, offset=4 * start)
