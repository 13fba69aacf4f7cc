"""A writer of Parquet files that does without dictionaries where values mostly differ."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from polars_microagg.leaves.metadata_scrub import empty_table

__all__ = ["TableWriter"]

GROUP = 1 << 20
"""Records of a row group, for each of which there is a dictionary."""

MANY = 0.4
"""Share of different values from which on a dictionary takes more room than it saves."""


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
        """Begin the file; columns whose values mostly differ in the first table have no dictionary."""
        import pyarrow.parquet as pq

        # A dictionary that grows too large is given up, after all values were looked up in it: four times
        # the work, and a larger file.
        some = table.slice(0, GROUP)
        without = {name for name in table.column_names if _many_valued(some.column(name))}
        self._writer = pq.ParquetWriter(
            self.file,
            self.schema,
            compression="zstd",
            compression_level=self.level,
            # Those that have one are named, and nested columns by what is in them.
            use_dictionary=[path for path in _paths(self.schema) if path not in without],
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
    """Return whether a column has so many different numbers, dates or times that a dictionary costs more."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not (pa.types.is_primitive(column.type) or pa.types.is_decimal(column.type)):
        return False
    return bool(pc.count_distinct(column).as_py() > MANY * len(column))


def _paths(schema: Any) -> list[str]:
    """Return the names that Parquet has for columns, and for what is in nested ones.

    >>> import pyarrow as pa
    >>> _paths(pa.schema({"a": pa.int64(), "b": pa.struct({"c": pa.int8(), "d": pa.string()})}))
    ['a', 'b.c', 'b.d']
    """
    import io

    import pyarrow.parquet as pq

    file = io.BytesIO()
    pq.ParquetWriter(file, schema).close()
    names = pq.ParquetFile(file).schema
    return [names.column(j).path for j in range(len(names))]
