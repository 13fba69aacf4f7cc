"""One call of a macro: lists of DuckDB as a batch of the Polars door."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
import pyarrow as pa

from polars_microagg.core.partition import Labels
from polars_microagg.core.plan import Plan
from polars_microagg.duckdb.arrow_lists import ListColumn, in_order
from polars_microagg.duckdb.column_types import refuse_kind, typed
from polars_microagg.duckdb.identifiers import copies_of, is_named, refuse_copy
from polars_microagg.duckdb.macro_call import MaskCall
from polars_microagg.errors import GuaranteeError
from polars_microagg.frames.batch import BatchMasker

__all__ = ["batch_of"]


def batch_of(
    call: MaskCall, columns: Sequence[ListColumn], rows: Labels, first_rows: Labels
) -> tuple[BatchMasker, pl.DataFrame, dict[str, str]]:
    """Bind a call to the lists of a table: return a masker, the records in order, and their types.

    `columns` are those to mask and to count, and perhaps copies of them, in any order. `rows` (n,) are the
    numbers of the records, 0 to n - 1, in the order of the values, and `first_rows` (n,) the number
    of the first record in each record's stratum. The types are DuckDB's, by name and in the order
    of the batch.
    """
    plan, chosen, beside = _bound(call, columns)
    batch = []
    for j, column in enumerate(chosen):
        refuse_kind(column.name, column.type_, plan.kinds, plan.method)
        values = column.require(plan.nulls)
        if is_named(column.name, plan.kinds):
            values = typed(column.type_, values)
        batch.append(values.alias(str(j)))
    # Without strata all records have the number 0.
    strata = int(first_rows.any())
    if strata:
        # By way of Arrow, as Polars copies what it takes from numpy.
        batch.append(pl.Series(str(len(batch)), pa.array(first_rows)))
    batch += [c.counted().alias(str(j)) for j, c in enumerate(beside, start=len(batch))]
    # `list()` gathers in the order in which threads come. Methods depend on the order of the
    # records where distances are equal, so they are put back into that of the table.
    order = in_order(rows)
    if order is not None:
        index = pl.Series(order)
        batch = [column.gather(index) for column in batch]
    types = {column.name: column.type_ for column in chosen}
    return BatchMasker(plan, strata), pl.DataFrame(batch), types


def _bound(
    call: MaskCall, columns: Sequence[ListColumn]
) -> tuple[Plan, list[ListColumn], list[ListColumn]]:
    """Return the plan, its columns to mask and those to count, in the order of the call."""
    by_name = {column.name: column for column in columns}
    plan = call.bind(list(by_name))
    names = [name for block in plan.blocks for name in block]
    # DuckDB calls a second column of a name name_1, so a masked column may come along unmasked.
    counted = [*plan.entity, *plan.confidential]
    for copy, name in copies_of(names, [name for name in by_name if name not in names]):
        if by_name[copy].repeats(by_name[name]):
            refuse_copy(copy, name)
        if copy not in counted:
            by_name.pop(copy)
    if len(by_name) != len(names) + len(counted):
        raise GuaranteeError.shape("The macro", len(by_name), len(names) + len(counted))
    return plan, [by_name[name] for name in names], [by_name[name] for name in counted]
