"""Leaves merged by what Spark counts in a table."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from polars_microagg.core.partition import Labels
from polars_microagg.core.plan import Plan
from polars_microagg.errors import InvalidParameterError
from polars_microagg.leaves.leaves import Leaves
from polars_microagg.leaves.merge_for_table import merge_until
from polars_microagg.leaves.references import Reference, Tally
from polars_microagg.leaves.rules import FEW, refuse_unreachable, restricted
from polars_microagg.leaves.spark_batches import LEAF, LeafCounter, LeafMarker, leaf_checker
from polars_microagg.leaves.spark_categories import refuse_rare_on
from polars_microagg.leaves.spark_table import SparkTable
from polars_microagg.leaves.strata import KEYS

__all__ = ["key_names", "merged_for_spark", "references_of", "value_counts", "with_leaf"]

VALUES = 1 << 20
"""Most distinct values of a confidential column."""


def with_leaf(table: SparkTable, leaves: Leaves, more: Sequence[str], *, strata: bool) -> Any:
    """Return the leaf of each record, its stratum if that is asked for, and `more` columns of it."""
    few = table.only([*leaves.columns, *leaves.request.strata, *more])
    schema = deepcopy(few.df.schema).add(LEAF, "long", nullable=False)
    keys = key_names(leaves) if strata else []
    for name in keys:
        schema = schema.add(name, "long", nullable=False)
    marked = few.df.mapInArrow(LeafMarker(leaves, few.names, strata), schema)
    return marked.select(LEAF, *keys, *map(few.place, more))


def key_names(leaves: Leaves) -> list[str]:
    """Return the names of the columns that tell strata apart."""
    told = leaves.request.strata, leaves.plan.nulls == "pattern"
    return [name for name in KEYS if told[name == KEYS[-1]]]


def merged_for_spark(
    table: SparkTable, leaves: Leaves, references: tuple[Reference, ...]
) -> Leaves:
    """Return the leaves with small ones merged, and those that break a privacy model."""
    few = table.only([*leaves.columns, *leaves.request.strata])
    counting = LeafCounter(leaves, few.names)
    counted = table.read(few.df.mapInArrow(counting, f"{LEAF} long, records long"))
    # Batches count their leaves apart; the sums are those of the whole table.
    counts = np.bincount(counted[LEAF], counted["records"], minlength=len(leaves.tree))
    counts = counts.astype(np.intp)
    plan = leaves.plan
    if not restricted(plan):
        return leaves.merge(counts)
    names = [*plan.entity, *plan.confidential]

    def failing(now: Leaves, grown: Labels | None) -> Labels:
        parts = with_leaf(table, now, names, strata=False)
        if grown is not None:
            parts = parts.where(parts[LEAF].isin(grown.tolist()))
        check, kinds = leaf_checker(now, names), f"{LEAF} long, broken boolean"
        broken = table.read(parts.groupBy(LEAF).applyInArrow(check, kinds)).filter("broken")
        return broken[LEAF].sort().to_numpy().astype(np.intp)

    return merge_until(replace(leaves, references=references), counts, failing)


def references_of(table: SparkTable, plan: Plan, records: int) -> tuple[Reference, ...]:
    """Count the confidential values of a table, and refuse what no grouping of it satisfies.

    Columns of which most would be lost are refused, too: their categories are counted.
    """
    refuse_rare_on(table, plan)
    if not restricted(plan):
        return ()
    references = value_counts(table, plan)
    entity = None
    if plan.entity:
        entity = _counted(table, plan.entity, max(FEW, 2 * plan.k), ", ".join(plan.entity))
    refuse_unreachable(plan, records, entity, references)
    return references


def value_counts(table: SparkTable, plan: Plan) -> tuple[Reference, ...]:
    """Count the confidential values of a table."""
    references = []
    for name in plan.confidential:
        reference = _counted(table, [name], VALUES, name)
        if reference is None:
            need = f"columns of at most {VALUES} different values, and {name!r} has more; round it"
            raise InvalidParameterError.kind("confidential", list(plan.confidential), need)
        references.append(reference)
    return tuple(references)


def _counted(table: SparkTable, names: Sequence[str], most: int, name: str) -> Reference | None:
    """Return the values of columns and their counts; None if there are more than so many."""
    rows = table.read(table.df.groupBy(*map(table.key, names)).count().limit(most + 1))
    tally = Tally()
    ids = rows.to_series() if len(names) == 1 else pl.int_range(rows.height, eager=True)
    tally.add(ids, rows["count"])
    return tally.reference(name) if rows.height <= most else None
