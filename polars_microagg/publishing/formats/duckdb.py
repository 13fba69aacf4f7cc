"""Tables of DuckDB files."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from polars_microagg.publishing.formats.duckdb_read import read_batches, read_table
from polars_microagg.publishing.formats.duckdb_write import TableSwap, foreseen, through
from polars_microagg.publishing.formats.register import Format, Tables, register

__all__ = ["DUCKDB"]

UNHELD = (
    *(pl.Object, pl.Int128, pl.UInt128, pl.Duration),
    *((pl.Float16,) if hasattr(pl, "Float16") else ()),
)


def _holds(dtype: pl.DataType) -> bool:
    # An array of no width has no place in Arrow's buffers.
    return not isinstance(dtype, UNHELD) and not (isinstance(dtype, pl.Array) and 0 in dtype.shape)


def _refuse_names(names: Sequence[str]) -> str:
    """Return why DuckDB cannot have these names, or an empty text."""
    if null := [name for name in names if "\0" in name]:
        return f"the name of column {null[0]!r} has a null character in it. Rename the column."
    if "" in names:
        return "a column has no name, and DuckDB needs one. Name the column."
    seen: dict[str, str] = {}
    for name in names:
        if (first := seen.setdefault(name.lower(), name)) != name:
            return f"columns {first!r} and {name!r} have one name in DuckDB. Rename one of them."
    return ""


DUCKDB = register(
    Format(
        "duckdb",
        "DuckDB",
        (".duckdb", ".ddb", ".db"),
        holds=_holds,
        cannot="does not go through a table of DuckDB and back",
        refuse_names=_refuse_names,
        begins=rb".{8}DUCK",
        tables=Tables(read_table, read_batches, TableSwap, foreseen, through),
    )
)
