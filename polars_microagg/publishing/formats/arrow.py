"""Arrow IPC: files, and the stream that standard input and output carry."""

from __future__ import annotations

import itertools
import mmap
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import IO, Any

import polars as pl

from polars_microagg.leaves.metadata_scrub import has_dictionary, recoded, without_metadata
from polars_microagg.publishing.formats.register import Format, Made, frame_of, register

__all__ = ["ARROW", "STREAM"]


def _holds(dtype: pl.DataType) -> bool:
    # An array of no width has no place in Arrow's buffers.
    return not isinstance(dtype, pl.Object) and not (
        isinstance(dtype, pl.Array) and 0 in dtype.shape
    )


def _file(source: Any) -> tuple[Any, Iterator[Any]]:
    import pyarrow as pa

    reader = pa.ipc.open_file(source)
    return reader.schema, map(reader.get_batch, range(reader.num_record_batches))


def _stream(source: Any) -> tuple[Any, Iterator[Any]]:
    import pyarrow as pa

    reader = pa.ipc.open_stream(source)
    return reader.schema, reader


def _batches(
    opens: Callable[[Any], tuple[Any, Iterable[Any]]],
    file: IO[bytes],
    _: str,
    rows: int,
    __: object,
) -> Iterator[pl.DataFrame]:
    """Read a file that is mapped, so that of a batch that is not compressed only a part is in memory."""
    import pyarrow as pa

    mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    schema, batches = opens(pa.BufferReader(pa.py_buffer(mapped)))
    yield pl.DataFrame(pa.RecordBatchReader.from_batches(schema, iter(())))
    for batch in batches:
        for start in range(0, batch.num_rows, rows):
            yield frame_of(pa.Table.from_batches([batch.slice(start, rows)]))
            if hasattr(mapped, "madvise"):  # what was read need not stay in memory
                mapped.madvise(mmap.MADV_DONTNEED)


def _write(
    opens: Callable[[Any, Any, Any], Any], compression: str | None, made: Made, file: IO[bytes]
) -> None:
    """Write a table in batches that share their categories, as a file must."""
    import pyarrow as pa

    options = pa.ipc.IpcWriteOptions(compression=compression)
    columns = [field.name for field in made.source.schema if has_dictionary(field.type)]
    kinds: dict[tuple[str, int], Any] = {}
    for table in made.tables(columns) if columns else ():
        _recoded(table, columns, partial(_collected, kinds))
    with opens(file, without_metadata(made.source.schema), options) as writer:
        for table in made.tables():
            writer.write_table(_recoded(table, columns, partial(_shared, kinds)))


def _recoded(table: Any, columns: Iterable[str], change: Callable[[Any, Any], Any]) -> Any:
    """Change every dictionary of some columns; `change` gets the column and which of its it is."""
    import pyarrow as pa

    for name in columns:
        at = table.schema.get_field_index(name)
        chunks = []
        for chunk in table.column(at).chunks:
            number = itertools.count()
            visit = lambda array, number=number, name=name: change((name, next(number)), array)  # noqa: E731
            chunks.append(recoded(chunk, visit))
        field = table.schema.field(at)
        table = table.set_column(at, field, pa.chunked_array(chunks, type=field.type))
    return table


def _collected(kinds: dict[Any, Any], key: Any, array: Any) -> Any:
    """Add the categories of a batch to those that were seen."""
    import pyarrow as pa
    import pyarrow.compute as pc

    seen = [kinds[key]] if key in kinds else []
    kinds[key] = pc.unique(pa.concat_arrays([*seen, array.dictionary]))
    return array


def _shared(kinds: dict[Any, Any], key: Any, array: Any) -> Any:
    """Write a batch by the categories of all."""
    import pyarrow as pa
    import pyarrow.compute as pc

    codes = pc.index_in(array.dictionary, value_set=kinds[key]).take(array.indices)
    codes = codes.cast(array.type.index_type)
    return pa.DictionaryArray.from_arrays(codes, kinds[key], ordered=array.type.ordered)


def _new(name: str) -> Callable[[Any, Any, Any], Any]:
    def opened(file: Any, schema: Any, options: Any) -> Any:
        import pyarrow as pa

        return getattr(pa.ipc, name)(file, schema, options=options)

    return opened


ARROW = register(
    Format(
        "arrow",
        "Arrow IPC",
        (".arrow", ".ipc", ".feather"),
        read=lambda file, _: pl.read_ipc(file),
        read_batches=partial(_batches, _file),
        write=lambda frame, file: frame.write_ipc(file, compression="zstd"),
        write_batches=partial(_write, _new("new_file"), "zstd"),
        holds=_holds,
        exact=True,
        begins=rb"ARROW1\0\0",
        described="an Arrow IPC file",
    )
)

STREAM = register(
    Format(
        "stream",
        "Arrow IPC stream",
        (".arrows",),
        read=lambda file, _: pl.read_ipc_stream(file),
        read_batches=partial(_batches, _stream),
        write=lambda frame, file: frame.write_ipc_stream(file),
        write_batches=partial(_write, _new("new_stream"), None),
        holds=_holds,
        cannot="an Arrow IPC stream cannot hold",
        exact=True,
        begins=rb"\xff{4}.{3}\0",
        described="an Arrow IPC stream",
    )
)
