"""One call of a macro: DuckDB's lists through the batch of the Polars door."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
import pyarrow as pa

from polars_microagg.core.partition import Labels
from polars_microagg.core.plan import Plan
from polars_microagg.duckdb.arrow_lists import ListColumn, in_order
from polars_microagg.duckdb.identifiers import copies_of, refuse_copy
from polars_microagg.duckdb.macro_call import MaskCall
from polars_microagg.errors import BrokenPromiseError
from polars_microagg.frames.batch import BatchMasker

__all__ = ["batch_of"]


def batch_of(
    call: MaskCall, columns: Sequence[ListColumn], rows: Labels, first_rows: Labels
) -> tuple[BatchMasker, pl.DataFrame, dict[str, str]]:
    """Bind a call to the lists of a table.

    Parameters
    ----------
    call : MaskCall
        The call.
    columns : sequence of ListColumn
        The columns to mask and perhaps copies of them, in any order.
    rows : array of shape (n,)
        Numbers of the records, 0 to n - 1, in the order of the columns' values.
    first_rows : array of shape (n,)
        Number of the first record in each record's stratum.

    Returns
    -------
    BatchMasker
        What masks or groups the records.
    polars.DataFrame
        All records, ascending by number.
    dict of str to str
        The masked columns and their types in DuckDB, in the order of the batch.

    Raises
    ------
    InvalidDataError
        A column cannot be masked.
    """
    plan, chosen = _bound(call, columns)
    batch = [c.require(plan.nulls).alias(str(j)) for j, c in enumerate(chosen)]
    # Without strata all records have the number 0.
    strata = int(first_rows.any())
    if strata:
        # By way of Arrow, as Polars copies what it takes from numpy.
        batch.append(pl.Series(str(len(batch)), pa.array(first_rows)))
    order = in_order(rows)
    if order is not None:
        index = pl.Series(order)
        batch = [column.gather(index) for column in batch]
    types = {column.name: column.type_ for column in chosen}
    return BatchMasker(plan, strata), pl.DataFrame(batch), types


def _bound(call: MaskCall, columns: Sequence[ListColumn]) -> tuple[Plan, list[ListColumn]]:
    """The plan, and its columns in the order they were asked for."""
    by_name = {column.name: column for column in columns}
    plan = call.bind(list(by_name))
    names = [name for block in plan.blocks for name in block]
    for copy, name in copies_of(names, [name for name in by_name if name not in names]):
        if by_name.pop(copy).repeats(by_name[name]):
            refuse_copy(copy, name)
    if len(by_name) != len(names):
        raise BrokenPromiseError.shape("The macro", len(by_name), len(names))
    return plan, [by_name[name] for name in names]
