"""The metadata of a released table: names and types, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = [
    "empty_table",
    "has_dictionary",
    "recoded",
    "without_metadata",
    "without_notes",
    "without_unused",
]

TYPES = b"ARROW:extension:", b"PARQUET:field_id", b"_PL_"
"""Beginnings of the metadata of a field that belong to its type."""


def empty_table(schema: Any) -> Any:
    """Return a table of Arrow without rows."""
    import pyarrow as pa

    # `schema.empty_table()` loads pandas where it is installed, which takes 50 MB and half a second.
    return pa.Table.from_batches([], schema=schema)


def without_metadata(schema: Any) -> Any:
    """Return a schema without the metadata of the table and its columns, nested ones included.

    Whoever made the table wrote it: ranges and names of a pandas index, bounds of a map, comments.
    No mask can tell what it says of single records.

    >>> import pyarrow as pa
    >>> noted = pa.field("age", pa.int64(), metadata={"about": "the oldest is 103"})
    >>> without_metadata(pa.schema([noted], metadata={"by": "Ada"})).metadata is None
    True
    """
    import pyarrow as pa

    return pa.schema([_field(field) for field in schema])


def _field(field: Any) -> Any:
    """Return a field without metadata that is not of its type."""
    import pyarrow as pa

    notes = {key: note for key, note in (field.metadata or {}).items() if key.startswith(TYPES)}
    return pa.field(field.name, _type(field.type), field.nullable, notes or None)


def _type(dtype: Any) -> Any:
    """Return a type without metadata within it."""
    import pyarrow as pa

    is_a = pa.types
    if is_a.is_struct(dtype):
        return pa.struct([_field(dtype.field(i)) for i in range(dtype.num_fields)])
    if is_a.is_map(dtype):
        return pa.map_(_field(dtype.key_field), _field(dtype.item_field), dtype.keys_sorted)
    if is_a.is_fixed_size_list(dtype):
        return pa.list_(_field(dtype.value_field), dtype.list_size)
    if is_a.is_list(dtype) or is_a.is_large_list(dtype):
        make = pa.large_list if is_a.is_large_list(dtype) else pa.list_
        return make(_field(dtype.value_field))
    return dtype


def without_notes(table: Any) -> Any:
    """Return a table without metadata and unused categories.

    >>> import pyarrow as pa
    >>> noted = pa.table({"age": [30, 41]}).replace_schema_metadata({"by": "Ada"})
    >>> without_notes(noted).schema.metadata is None
    True
    """
    import pyarrow as pa

    columns = [without_unused(column) for column in table.columns]
    return pa.Table.from_arrays(columns, schema=without_metadata(table.schema))


def without_unused(column: Any) -> Any:
    """Return a column without categories that no record has.

    They are of records that were left out before.

    >>> import pyarrow as pa
    >>> codes, kinds = pa.array([2, None, 2]), pa.array(["flu", "rare", "cold"])
    >>> column = pa.chunked_array([pa.DictionaryArray.from_arrays(codes, kinds)])
    >>> without_unused(column).chunk(0).dictionary.to_pylist()
    ['cold']
    """
    import pyarrow as pa

    if not has_dictionary(column.type):
        return column
    return pa.chunked_array([recoded(chunk, _used) for chunk in column.chunks], type=column.type)


def has_dictionary(dtype: Any) -> bool:
    """Return whether a type has categories, itself or further in.

    >>> import pyarrow as pa
    >>> has_dictionary(pa.list_(pa.dictionary(pa.int8(), pa.string())))
    True
    """
    import pyarrow as pa

    inner = (dtype.field(i).type for i in range(dtype.num_fields))
    return bool(pa.types.is_dictionary(dtype)) or any(map(has_dictionary, inner))


def recoded(array: Any, change: Callable[[Any], Any]) -> Any:
    """Return an array with each of its dictionary arrays changed, always visited in one order."""
    import pyarrow as pa
    import pyarrow.compute as pc

    dtype, is_a = array.type, pa.types
    if not has_dictionary(dtype):
        return array
    if is_a.is_dictionary(dtype):
        return change(array)
    mask = array.is_null() if array.null_count else None
    if is_a.is_struct(dtype):
        children = [recoded(child, change) for child in array.flatten()]
        return pa.StructArray.from_arrays(children, fields=list(dtype), mask=mask)
    if is_a.is_fixed_size_list(dtype):
        size = dtype.list_size
        # A slice of lists keeps the values of the whole array; take only its own.
        values = array.values.slice(array.offset * size, len(array) * size)
        return pa.FixedSizeListArray.from_arrays(recoded(values, change), type=dtype, mask=mask)
    if is_a.is_map(dtype):
        first, last = array.offsets[0].as_py(), array.offsets[-1].as_py()
        pairs = [
            recoded(part.slice(first, last - first), change) for part in (array.keys, array.items)
        ]
        starts = pc.subtract(array.offsets, first)
        return pa.MapArray.from_arrays(starts, *pairs, type=dtype, mask=mask)
    lengths = pc.fill_null(pc.list_value_length(array), 0)
    starts = pc.cumulative_sum(pa.concat_arrays([pa.array([0], lengths.type), lengths]))
    kind = pa.LargeListArray if is_a.is_large_list(dtype) else pa.ListArray
    return kind.from_arrays(starts, recoded(array.flatten(), change), type=dtype, mask=mask)


def _used(array: Any) -> Any:
    """Return a dictionary array with only the used values in its dictionary."""
    import pyarrow as pa
    import pyarrow.compute as pc

    used = pc.unique(array.indices.drop_null())
    # In the order of the dictionary, so that the codes tell nothing of the order of records.
    used = used.take(pc.array_sort_indices(used))
    codes = pc.index_in(array.indices, value_set=used).cast(array.type.index_type)
    return pa.DictionaryArray.from_arrays(
        codes, array.dictionary.take(used), ordered=array.type.ordered
    )
