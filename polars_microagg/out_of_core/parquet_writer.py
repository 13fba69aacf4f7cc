"""A writer of Parquet files of numbers that mostly differ."""

from __future__ import annotations

from pathlib import Path
from typing import IO, Any

__all__ = ["parquet_writer"]


def parquet_writer(file: Path | IO[bytes], schema: Any, *, level: int | None = None) -> Any:
    """Return a writer of a table of this schema, with the level of compression.

    >>> import io
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> file, table = io.BytesIO(), pa.table({"age": [30.5, 41.0], "sex": ["f", "m"]})
    >>> with parquet_writer(file, table.schema) as writer:
    ...     writer.write_table(table)
    >>> group = pq.ParquetFile(file).metadata.row_group(0)
    >>> [group.column(j).has_dictionary_page for j in range(2)]
    [False, True]
    """
    import pyarrow.parquet as pq

    # A dictionary of numbers is given up when it has grown too large, after all of them were looked up
    # in it: three times the work, and a larger file.
    coded = [field.name for field in schema if not _many_valued(field.type)]
    return pq.ParquetWriter(
        file, schema, compression="zstd", compression_level=level, use_dictionary=coded
    )


def _many_valued(dtype: Any) -> bool:
    """Return whether the values of a type are numbers of 64 bits or more, or are nested."""
    import pyarrow as pa

    of_64_bits = pa.types.is_primitive(dtype) and dtype.bit_width >= 64
    return bool(of_64_bits or pa.types.is_nested(dtype) or pa.types.is_decimal(dtype))
