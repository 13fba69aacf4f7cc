"""A writer of Parquet files that does without dictionaries where values mostly differ."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from polars_microagg.leaves.metadata_scrub import empty_table

__all__ = ["TableWriter"]

LOOKED_AT = 10_000
"""Records of the first table that tell which columns have many values."""

MANY = 0.5
"""A column with more different values than this share of its records has no dictionary."""


class TableWriter:
    """Writes tables of one schema into a Parquet file, one below the other.

    >>> import io
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> file, table = io.BytesIO(), pa.table({"cost": [30.5, 41.0, 7.25], "sex": ["f", "m", "f"]})
    >>> with TableWriter(file, table.schema) as writer:
    ...     writer.write_table(table.slice(0, 2))
    ...     writer.write_table(table.slice(2))
    >>> pq.read_table(file).equals(table)
    True
    """

    def __init__(self, file: Path | IO[bytes], schema: Any, *, level: int | None = None) -> None:
        self.file, self.schema, self.level = file, schema, level
        self._writer: Any = None

    def write_table(self, table: Any, **options: Any) -> None:
        """Write the records of a table."""
        if self._writer is None:
            self._begin(table)
        self._writer.write_table(table, **options)

    def close(self) -> None:
        """Write the end of the file."""
        if self._writer is None:
            self._begin(empty_table(self.schema))
        self._writer.close()

    def _begin(self, table: Any) -> None:
        """Begin the file, with dictionaries of the columns that have few values in the first table."""
        import pyarrow.parquet as pq

        # A dictionary that grows too large is given up, after all values were looked up in it: four times
        # the work, and a larger file.
        some = table.slice(0, LOOKED_AT)
        coded = [name for name in table.column_names if not _many_valued(some.column(name))]
        self._writer = pq.ParquetWriter(
            self.file,
            self.schema,
            compression="zstd",
            compression_level=self.level,
            use_dictionary=coded,
        )

    def __enter__(self) -> Self:
        """Return the writer."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Write the end of the file."""
        self.close()


def _many_valued(column: Any) -> bool:
    """Return whether a column has numbers, dates or times, most of which differ."""
    import pyarrow as pa
    import pyarrow.compute as pc

    counted = pa.types.is_primitive(column.type) or pa.types.is_decimal(column.type)
    return bool(counted and pc.count_distinct(column).as_py() > MANY * len(column))
