"""One batch of records: out of DuckDB's lists, through the plan, and back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from polars_microagg.core.partition import Labels, Masked, Partition, Strata
from polars_microagg.core.plan import Plan
from polars_microagg.core.suppression import suppressed
from polars_microagg.duckdb.arrow_lists import arrow_of
from polars_microagg.duckdb.columns import Column, Emitted, Mask, emit
from polars_microagg.duckdb.identifiers import copies_of, refuse_copy
from polars_microagg.duckdb.macro_call import MaskCall
from polars_microagg.errors import BrokenPromiseError
from polars_microagg.frames.batch import BatchMasker
from polars_microagg.frames.selection import as_frame

__all__ = ["group_rows", "in_order", "mask_columns", "strata_of"]


def in_order(rows: Labels) -> Labels | None:
    """Order that brings records back to how they were numbered; None if they are.

    Lists gathered by several threads do not come in the order of the table.
    """
    numbered = np.arange(len(rows), dtype=rows.dtype)
    if np.array_equal(rows, numbered):
        return None
    order = np.argsort(rows, kind="stable")
    if not np.array_equal(rows[order], numbered):
        raise BrokenPromiseError.shape("list()", len(np.unique(rows)), len(rows))
    return order


def strata_of(first_rows: Labels) -> Strata:
    """Strata from the number of the first record in each record's stratum.

    Examples
    --------
    >>> strata_of(np.array([0, 1, 0, 1])).rows()
    [array([0, 2]), array([1, 3])]
    """
    order = np.argsort(first_rows, kind="stable")
    ends = np.flatnonzero(np.diff(first_rows[order])) + 1
    sizes = np.diff(np.concatenate([[0], ends, [len(order)]]))
    return Strata(order.astype(np.intp), sizes.astype(np.intp) if len(order) else sizes[:0])


def _bound(request: MaskCall, columns: Sequence[Column]) -> tuple[Plan, list[Column]]:
    """The plan, and its columns in the order they were asked for."""
    by_name = {column.name: column for column in columns}
    plan = request.bind(list(by_name))
    names = [name for block in plan.blocks for name in block]
    for copy, name in copies_of(names, [name for name in by_name if name not in names]):
        if by_name.pop(copy).repeats(by_name[name]):
            refuse_copy(copy, name)
    if len(by_name) != len(names):
        raise BrokenPromiseError.shape("The macro", len(by_name), len(names))
    return plan, [by_name[name] for name in names]


def _masked(
    plan: Plan, columns: Sequence[Column], strata: Strata
) -> tuple[Mask, Strata, list[Masked]]:
    """Which records are suppressed, the strata of the others, and their masked values."""
    for column in columns:
        column.require(plan.nulls)
    if not len(strata.order):
        return np.zeros(0, dtype=np.bool_), strata, []
    x = np.empty((len(strata.order), len(columns)), order="F")
    for j, column in enumerate(columns):
        x[:, j] = column.numbers(None if plan.groups_cells else strata)
    factors = np.array([column.unit for column in columns])
    whole = [not column.floats and plan.dtype != "float" for column in columns]
    hidden = suppressed(plan, x, strata)
    strata = strata.without(hidden)
    return hidden, strata, list(plan.mask(x, factors, strata, whole))


def mask_columns(
    request: MaskCall, columns: Sequence[Column], rows: Labels, first_rows: Labels
) -> tuple[list[Emitted], Mask]:
    """Mask all records.

    Parameters
    ----------
    request : Masking
        The call.
    columns : sequence of Column
        The columns to mask, in any order.
    rows : array of shape (n,)
        Numbers of the records, 0 to n - 1, in the order of the columns' values.
    first_rows : array of shape (n,)
        Number of the first record in each record's stratum.

    Returns
    -------
    list of Emitted
        The masked columns, as `columns` are ordered, records ascending by number.
    array of shape (n,)
        Records that are emptied or dropped.

    Raises
    ------
    InvalidDataError
        The data cannot be masked.
    BrokenPromiseError
        A class is smaller than k; nothing is released.
    """
    plan, chosen, strata = _prepared(request, columns, rows, first_rows)
    released: dict[str, Emitted] = {}
    hidden, strata, found = _masked(plan, chosen, strata)
    kernel = BatchMasker(plan)
    for masked in found:
        here = chosen[len(released) : len(released) + len(masked.columns)]
        block = [emit(column, masked, j, plan.dtype) for j, column in enumerate(here)]
        table = as_frame(pa.table({str(j): arrow_of(e) for j, e in enumerate(block)}))
        kernel.keep_promise(table.get_columns(), masked.labels, strata)
        released |= zip([column.name for column in here], block, strict=True)
    nothing = Emitted("d", np.zeros(0), None)
    return [released.get(column.name, nothing) for column in columns], hidden


def group_rows(
    request: MaskCall, columns: Sequence[Column], rows: Labels, first_rows: Labels
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.bool_] | None]:
    """Number the groups by their first record; parameters as for `mask_columns`.

    Returns
    -------
    tuple of array of shape (n,)
        The numbers, and where a record has no group.
    """
    plan, chosen, strata = _prepared(request, columns, rows, first_rows)
    found = _masked(plan, chosen, strata)[2]
    labels = found[0].labels if found else np.zeros(0, dtype=np.intp)
    grouped = labels >= 0
    number = np.zeros(len(labels), dtype=np.uint32)
    number[grouped] = Partition.from_labels(labels[grouped]).labels
    return number, None if grouped.all() else ~grouped


def _prepared(
    request: MaskCall, columns: Sequence[Column], rows: Labels, first_rows: Labels
) -> tuple[Plan, list[Column], Strata]:
    plan, chosen = _bound(request, columns)
    order = in_order(rows)
    if order is not None:
        # A column of a type that cannot be masked has no values here; it is refused later.
        chosen = [column.take(order) if len(column.values) else column for column in chosen]
        first_rows = first_rows[order]
    return plan, chosen, strata_of(first_rows)
