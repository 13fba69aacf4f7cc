"""Records of one leaf, or of a whole table in memory, masked by leaves."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from polars_microagg.core.options import number_of_workers
from polars_microagg.core.partition import Labels
from polars_microagg.core.rule import Rule
from polars_microagg.core.work import known_elsewhere, seconds_of
from polars_microagg.frames.batch import Released
from polars_microagg.frames.rare_categories import refuse_rare_in
from polars_microagg.frames.selection import as_frame
from polars_microagg.leaves.leaf_records import LeafRecords
from polars_microagg.leaves.masking import fingerprints, mask_leaves
from polars_microagg.leaves.memory_budget import parts_of
from polars_microagg.leaves.merge_for_table import merge_for_table, rule_of_leaf
from polars_microagg.leaves.refusals import refuse_few
from polars_microagg.leaves.suppressed import SmallStrata, emptied_hold, settled
from polars_microagg.processes.crew import crew, shared

if TYPE_CHECKING:
    from polars_microagg.leaves.leaves import Leaves

__all__ = ["mask_counted", "mask_leaf", "mask_table"]

MANY = 1 << 19
"""Records masked at a time where all are in memory."""

PARTS = 16
"""A table is masked in about so many parts at least, for processes to share."""


def mask_leaf(leaves: Leaves, table: Any) -> Any:
    """Mask the records of one leaf, a table of Polars or Arrow.

    The rows of it that are emptied alone must hold what is promised.
    """
    frame = as_frame(table)
    leaves.refuse_incomplete(leaves.selected(frame))
    if not leaves.parted:
        refuse_few(frame.height or leaves.k, leaves.k, leaf=True)
    # All of them are in the leaf of the first.
    leaf = leaves.after_merging(leaves.before_merging(frame.head(1)))
    rule = rule_of_leaf(leaves, frame)
    records = _records(leaves, frame, np.repeat(leaf, frame.height), rule)
    # Whoever has the other leaves decides about processes.
    with crew(1):
        masked = mask_leaves(leaves.plans_of, leaves.size, records)
    small = SmallStrata.of(leaves, records, masked.suppressed)
    small.refuse(leaves)
    if small.records:
        rows = np.flatnonzero(masked.flags(frame.height).to_numpy())
        emptied_hold(leaves.plan, rule and rule.take(rows), len(rows))
    return settled(leaves, table, masked)


def mask_counted(leaves: Leaves, frame: pl.DataFrame, ties: pl.Series, order: Any) -> Released:
    """Mask the records of one leaf, of which all counts that span leaves were settled elsewhere.

    Small strata are refused nevertheless if they may not be suppressed: a table may have changed.
    `ties` and `order` are what tells records apart that are equal in the masked columns.
    """
    leaf = leaves.after_merging(leaves.before_merging(frame.head(1)))
    rule = rule_of_leaf(leaves, frame)
    records = _records(leaves, frame, np.repeat(leaf, frame.height), rule)
    ready = replace(records, ties=ties, order=order)
    with crew(1):
        masked = mask_leaves(leaves.plans_of, leaves.size, ready)
    if masked.suppressed is not None:
        SmallStrata.of(leaves, ready, masked.suppressed).refuse(leaves)
    return masked


def mask_table(leaves: Leaves, frame: pl.DataFrame, workers: int | None) -> pl.DataFrame:
    """Mask a whole table, part by part, in so many processes or fewer."""
    with crew(number_of_workers(workers)):
        return _mask_parts(leaves, frame)


def _mask_parts(leaves: Leaves, frame: pl.DataFrame) -> pl.DataFrame:
    merged, leaf, rule = merge_for_table(leaves, frame)
    refuse_rare_in(frame, leaves.kinds(frame.schema), leaves.k, leaves.plan.entity)
    # So that sorting needs little memory; leaves are masked on their own, so the parts do not show
    # in the result.
    most = max(leaves.size, min(MANY, frame.height // PARTS))
    part = parts_of(leaves.tree, frame.height, most)[leaf]
    order = np.argsort(part, kind="stable")
    parts = [rows for rows in np.split(order, np.cumsum(np.bincount(part))[:-1]) if rows.size]
    jobs = (_records(leaves, frame[rows], leaf[rows], rule and rule.take(rows)) for rows in parts)
    plan, count = leaves.plan, max(1, frame.height // leaves.size)
    known = known_elsewhere(plan.method)
    seconds = seconds_of(plan.method, [leaves.size] * count, plan.k, plan.options)
    each = shared(seconds) if known else map
    pieces, small = [], SmallStrata()
    for piece, found in each(partial(_mask_part, merged), jobs):
        pieces.append(piece)
        small += found
    if not pieces:
        return frame
    small.refuse(leaves)
    back = np.empty(len(order), dtype=np.intp)
    back[order] = np.arange(len(order))
    *columns, gone = pl.concat(pieces)[back].get_columns()
    if small.records:
        emptied = np.flatnonzero(gone.to_numpy())
        emptied_hold(leaves.plan, rule and rule.take(emptied), len(emptied))
    made: pl.DataFrame = settled(leaves, frame, Released(columns, gone if small.records else None))
    return made


def _mask_part(leaves: Leaves, own: LeafRecords) -> tuple[pl.DataFrame, SmallStrata]:
    """Mask the records of whole leaves; return their columns by number, and which are suppressed."""
    masked = mask_leaves(leaves.plans_of, leaves.size, own)
    named = [c.alias(str(j)) for j, c in enumerate(masked.columns)]
    gone = masked.flags(len(own.leaf)).alias("gone")
    return pl.DataFrame([*named, gone]), SmallStrata.of(leaves, own, masked.suppressed)


def _records(leaves: Leaves, frame: pl.DataFrame, leaf: Labels, rule: Rule | None) -> LeafRecords:
    """Return the records of whole leaves with all that masking them needs."""
    return LeafRecords(
        leaves.selected(frame).get_columns(),
        leaf,
        fingerprints(frame, without=leaves.columns),
        leaves.stratum_keys(frame),
        [frame[name] for name in leaves.request.order_by],
        rule,
    )
