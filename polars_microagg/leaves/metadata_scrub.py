"""What a released table says beside its records: its names and types, and nothing else."""

from __future__ import annotations

from typing import Any

__all__ = ["bare", "has_dictionary", "without_notes", "without_unused"]

TYPES = b"ARROW:extension:", b"PARQUET:field_id", b"_PL_"
"""Beginnings of the metadata of a field that belong to its type."""


def bare(schema: Any) -> Any:
    """Leave out all notes of a table and of its columns, also those within nested columns.

    Notes are written by whoever made the table: ranges and names of a pandas index, bounds of a
    map, comments. No mask can tell what they say of single records.

    Parameters
    ----------
    schema : pyarrow.Schema
        Names, types and notes.

    Returns
    -------
    pyarrow.Schema
        The same names and types.

    Examples
    --------
    >>> import pyarrow as pa
    >>> noted = pa.field("age", pa.int64(), metadata={"about": "the oldest is 103"})
    >>> bare(pa.schema([noted], metadata={"by": "Ada"})).metadata is None
    True
    """
    import pyarrow as pa

    return pa.schema([_field(field) for field in schema])


def _field(field: Any) -> Any:
    import pyarrow as pa

    notes = {key: note for key, note in (field.metadata or {}).items() if key.startswith(TYPES)}
    return pa.field(field.name, _type(field.type), field.nullable, notes or None)


def _type(dtype: Any) -> Any:
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
    """Leave out of a table what no record of it has: notes and unused categories.

    Parameters
    ----------
    table : pyarrow.Table
        Records.

    Returns
    -------
    pyarrow.Table
        The same records.

    Examples
    --------
    >>> import pyarrow as pa
    >>> noted = pa.table({"age": [30, 41]}).replace_schema_metadata({"by": "Ada"})
    >>> without_notes(noted).schema.metadata is None
    True
    """
    import pyarrow as pa

    columns = [without_unused(column) for column in table.columns]
    return pa.Table.from_arrays(columns, schema=bare(table.schema))


def without_unused(column: Any) -> Any:
    """Leave out categories that no record has: they are of records that were left out before.

    Parameters
    ----------
    column : pyarrow.ChunkedArray
        A column; one that is no dictionary comes back as it is.

    Returns
    -------
    pyarrow.ChunkedArray
        The same values and the same type.

    Examples
    --------
    >>> import pyarrow as pa
    >>> codes, kinds = pa.array([2, None, 2]), pa.array(["flu", "rare", "cold"])
    >>> column = pa.chunked_array([pa.DictionaryArray.from_arrays(codes, kinds)])
    >>> without_unused(column).chunk(0).dictionary.to_pylist()
    ['cold']
    """
    import pyarrow as pa

    if not has_dictionary(column.type):
        return column
    return pa.chunked_array([_used(chunk) for chunk in column.chunks], type=column.type)


def has_dictionary(dtype: Any) -> bool:
    """Tell whether a type has categories, itself or further in.

    Examples
    --------
    >>> import pyarrow as pa
    >>> has_dictionary(pa.list_(pa.dictionary(pa.int8(), pa.string())))
    True
    """
    import pyarrow as pa

    inner = (dtype.field(i).type for i in range(dtype.num_fields))
    return bool(pa.types.is_dictionary(dtype)) or any(map(has_dictionary, inner))


def _used(array: Any) -> Any:
    """Go down to the dictionaries, and keep what is used of each."""
    import pyarrow as pa
    import pyarrow.compute as pc

    dtype, is_a = array.type, pa.types
    if not has_dictionary(dtype):
        return array
    if is_a.is_dictionary(dtype):
        used = pc.unique(array.indices.drop_null())
        used = used.take(pc.array_sort_indices(used))
        codes = pc.index_in(array.indices, value_set=used).cast(dtype.index_type)
        kinds = array.dictionary.take(used)
        return pa.DictionaryArray.from_arrays(codes, kinds, ordered=dtype.ordered)
    mask = array.is_null() if array.null_count else None
    if is_a.is_struct(dtype):
        children = [_used(child) for child in array.flatten()]
        return pa.StructArray.from_arrays(children, fields=list(dtype), mask=mask)
    if is_a.is_fixed_size_list(dtype):
        size = dtype.list_size
        values = array.values.slice(array.offset * size, len(array) * size)
        return pa.FixedSizeListArray.from_arrays(_used(values), type=dtype, mask=mask)
    if is_a.is_map(dtype):
        first, last = array.offsets[0].as_py(), array.offsets[-1].as_py()
        pairs = [_used(part.slice(first, last - first)) for part in (array.keys, array.items)]
        starts = pc.subtract(array.offsets, first)
        return pa.MapArray.from_arrays(starts, *pairs, type=dtype, mask=mask)
    lengths = pc.fill_null(pc.list_value_length(array), 0)
    starts = pc.cumulative_sum(pa.concat_arrays([pa.array([0], lengths.type), lengths]))
    kind = pa.LargeListArray if is_a.is_large_list(dtype) else pa.ListArray
    return kind.from_arrays(starts, _used(array.flatten()), type=dtype, mask=mask)
