"""The Python functions that the SQL macros call: Arrow in, Arrow out."""

# Module-level functions only: DuckDB may free a lambda or closure and call whatever took its place.

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from polars_microagg.duckdb.arrow_lists import (
    columns_of,
    integers,
    list_of,
    masked_lists,
    one_array,
)
from polars_microagg.duckdb.column_types import as_steps
from polars_microagg.duckdb.compare_call import ROWS, CompareCall, compare_lists, recommended
from polars_microagg.duckdb.identifiers import is_named
from polars_microagg.duckdb.list_batch import batch_of
from polars_microagg.duckdb.list_classes import count_classes
from polars_microagg.duckdb.list_metrics import Table, assess_lists
from polars_microagg.duckdb.macro_call import (
    AssessCall,
    MaskCall,
    VerifyCall,
    call_of,
    columns_in_role,
)
from polars_microagg.duckdb.memory_need import MemoryNeed, bytes_of_limit
from polars_microagg.duckdb.same_records import require_same_records
from polars_microagg.duckdb.trees import rows_of
from polars_microagg.errors import MicroaggError
from polars_microagg.wording import SQL

__all__ = ["FUNCTIONS"]

LISTS = "STRUCT(type VARCHAR, d DOUBLE[], i BIGINT[], t VARCHAR[])"
COLUMNS = f"STRUCT(name VARCHAR, lists {LISTS})[]"
MASKED = "STRUCT(name VARCHAR, d DOUBLE[], i BIGINT[], t VARCHAR[])[]"
SEEN = "STRUCT(name VARCHAR, seen STRUCT(type VARCHAR, values BIGINT))[]"
TREES = "STRUCT(option VARCHAR, name VARCHAR, source VARCHAR, rows VARCHAR[])[]"
SOURCE = "STRUCT(query VARCHAR, name VARCHAR, path VARCHAR[], records UBIGINT)"
SIDE = f"STRUCT(rows BIGINT[], keys BIGINT[], columns {COLUMNS})"


def _in_sql(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with its errors in the spelling of SQL."""

    @wraps(function)
    def worded(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except MicroaggError as error:
            failed = type(error)(error.told(SQL))
        # Raised outside of the except clause, so that DuckDB gets one text without a context.
        raise failed

    return worded


def _calls(*arguments: Any) -> Iterator[Any]:
    """Return the arguments of each of the calls that DuckDB makes at once."""
    return zip(*(one_array(argument) for argument in arguments), strict=True)


@_in_sql
def _columns(names: Any, role: Any, spec: Any) -> Any:
    """Choose the columns of a table that play a role in a call."""
    calls = _calls(spec, role, names)
    chosen = [
        columns_in_role(text.as_py(), part.as_py(), table.as_py()) for text, part, table in calls
    ]
    return pa.array(chosen, pa.list_(pa.string()))


@_in_sql
def _fits(spec: Any, limit: Any, rows: Any, columns: Any) -> Any:
    """Return true, or refuse what takes more memory than the connection may."""
    for text, allowed, size, column in _calls(spec, limit, rows, columns):
        seen = {each["name"]: each["seen"] for each in column.as_py()}
        types = {name: each["type"] for name, each in seen.items()}
        distinct = {name: each["values"] for name, each in seen.items()}
        call = call_of(MaskCall, text.as_py())
        # `compare` runs other methods than that of its plan.
        timed = not call.strata and not isinstance(call, CompareCall)
        need = MemoryNeed("macro", call.bind([*seen]), types, timed=timed)
        need.require(bytes_of_limit(allowed.as_py()), size.as_py(), distinct)
    return pa.array([True] * len(spec), pa.bool_())


@_in_sql
def _mask(spec: Any, rows: Any, strata: Any, columns: Any, trees: Any, source: Any) -> Any:
    """Mask the columns of a table."""
    results = []
    for text, row, stratum, column, tree, read in _calls(
        spec, rows, strata, columns, trees, source
    ):
        call = _mask_call(text, tree, read)
        types, released, hidden = _released(call, row, stratum, column)
        lists = masked_lists(types, released)
        results.append(_numbered(hidden=list_of(hidden.to_arrow()), columns=lists))
    return results[0] if len(results) == 1 else pa.concat_arrays(results)


def _mask_call(spec: Any, tree: Any, source: Any) -> MaskCall:
    """Return a call with its trees, or refuse records that another use of it did not meet."""
    text, rows = spec.as_py(), rows_of(tree)
    call = call_of(MaskCall, text)
    require_same_records(text, call, rows, source.as_py())
    return call.planted(rows)


def _released(
    call: MaskCall, row: Any, stratum: Any, column: Any
) -> tuple[dict[str, str], list[pl.Series], pl.Series]:
    """Return the types of the masked columns, their values, and which records are suppressed."""
    masker, batch, types = batch_of(call, columns_of(column), integers(row), integers(stratum))
    released = masker.mask(batch)
    emitted = zip(types.items(), released.columns, strict=True)
    steps = [
        as_steps(type_, values) if is_named(name, masker.plan.kinds) else values
        for (name, type_), values in emitted
    ]
    return types, steps, released.flags(batch.height)


@_in_sql
def _groups(spec: Any, rows: Any, strata: Any, columns: Any, trees: Any, source: Any) -> Any:
    """Number the groups of a table."""
    results = []
    for text, row, stratum, column, tree, read in _calls(
        spec, rows, strata, columns, trees, source
    ):
        call = _mask_call(text, tree, read)
        masker, batch, _ = batch_of(call, columns_of(column), integers(row), integers(stratum))
        results.append(_numbered(groups=list_of(masker.groups(batch).to_arrow())))
    return pa.concat_arrays(results)


def _numbered(**results: Any) -> Any:
    """Join the numbers of the records to lists of results, the first of one item a record."""
    rows = len(next(iter(results.values())).values)
    results = {"rows": list_of(pa.array(np.arange(rows)))} | results
    return pa.StructArray.from_arrays(list(results.values()), list(results))


@_in_sql
def _classes(spec: Any, sizes: Any, numbers: Any, columns: Any) -> Any:
    """Count the classes of a table, or refuse them."""
    counted = []
    for text, size, number, column in _calls(spec, sizes, numbers, columns):
        call = call_of(VerifyCall, text.as_py())
        lists = columns_of(column) if len(column.values) else []
        counted.append(count_classes(call, integers(size), integers(number), lists))
    return pa.array(counted, pa.list_(pa.float64()))


@_in_sql
def _assess(spec: Any, original: Any, masked: Any, sizes: Any, strata: Any, trees: Any) -> Any:
    """Measure a masked table against the original."""
    measured = []
    calls = _calls(spec, original, masked, sizes, strata, trees)
    for text, before, after, size, stratum, tree in calls:
        call = call_of(AssessCall, text.as_py()).planted(rows_of(tree))
        tables = _table(before), _table(after)
        measured.append(assess_lists(call, *tables, integers(size), integers(stratum)))
    return pa.array(measured, pa.list_(pa.float64()))


@_in_sql
def _compare(spec: Any, rows: Any, strata: Any, columns: Any, trees: Any) -> Any:
    """Compare methods on the columns of a table."""
    found = []
    for text, row, stratum, column, tree in _calls(spec, rows, strata, columns, trees):
        call = call_of(CompareCall, text.as_py()).planted(rows_of(tree))
        found.append(compare_lists(call, columns_of(column), integers(row), integers(stratum)))
    return pa.concat_arrays(found)


@_in_sql
def _recommend(spec: Any, rows: Any) -> Any:
    """Pick a row of a table of `compare`."""
    picked = [recommended(text.as_py(), row.as_py() or []) for text, row in _calls(spec, rows)]
    kinds = {"row": pa.int64(), "met": pa.bool_(), "reason": pa.string()}
    return pa.array(picked, pa.struct(list(kinds.items())))


def _table(scalar: Any) -> Table:
    """Unpack one side of an assessment."""
    return integers(scalar["rows"]), integers(scalar["keys"]), columns_of(scalar["columns"])


FUNCTIONS: dict[str, tuple[Callable[..., Any], Sequence[str], str]] = {
    "_microagg_columns": (_columns, ["VARCHAR[]", "VARCHAR", "VARCHAR"], "VARCHAR[]"),
    "_microagg_fits": (
        _fits,
        ["VARCHAR", "VARCHAR", "BIGINT", SEEN],
        "BOOLEAN",
    ),
    "_microagg_mask": (
        _mask,
        ["VARCHAR", "BIGINT[]", "BIGINT[]", COLUMNS, TREES, SOURCE],
        f"STRUCT(rows BIGINT[], hidden BOOLEAN[], columns {MASKED})",
    ),
    "_microagg_groups": (
        _groups,
        ["VARCHAR", "BIGINT[]", "BIGINT[]", COLUMNS, TREES, SOURCE],
        "STRUCT(rows BIGINT[], groups UINTEGER[])",
    ),
    "_microagg_classes": (
        _classes,
        ["VARCHAR", "BIGINT[]", "BIGINT[]", COLUMNS],
        "DOUBLE[]",
    ),
    "_microagg_compare": (_compare, ["VARCHAR", "BIGINT[]", "BIGINT[]", COLUMNS, TREES], ROWS),
    "_microagg_recommend": (
        _recommend,
        ["VARCHAR", "VARCHAR[]"],
        "STRUCT(row BIGINT, met BOOLEAN, reason VARCHAR)",
    ),
    "_microagg_assess": (
        _assess,
        ["VARCHAR", SIDE, SIDE, "BIGINT[]", "BIGINT[]", TREES],
        "DOUBLE[]",
    ),
}
"""Name in DuckDB: the function, the types of its arguments, and that of its result."""
