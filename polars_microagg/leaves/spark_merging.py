"""Leaves merged by what Spark counts in a table."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any, Protocol

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

__all__ = ["SparkTable", "merged_for_spark", "with_leaf"]

VALUES = 1 << 20
"""Most distinct values of a confidential column."""


class SparkTable(Protocol):
    """A table of Spark whose columns go by number."""

    @property
    def df(self) -> Any:
        """The DataFrame of Spark."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns before they were numbered."""

    def read(self, df: Any) -> pl.DataFrame:
        """Run a job and return its records."""

    def place(self, name: str) -> str:
        """Return the name that a column has by its number."""

    def key(self, name: str) -> Any:
        """Return a column to group by, in which text is told apart by its bytes."""


def with_leaf(table: SparkTable, leaves: Leaves) -> Any:
    """Return the records with their leaves."""
    schema = deepcopy(table.df.schema).add(LEAF, "long", nullable=False)
    return table.df.mapInArrow(LeafMarker(leaves, table.names), schema)


def merged_for_spark(table: SparkTable, leaves: Leaves, records: int) -> Leaves:
    """Return the leaves with small ones merged, and those that break a privacy model."""
    counting = LeafCounter(leaves, table.names)
    counted = table.read(table.df.mapInArrow(counting, "leaf long, records long"))
    # Batches count their leaves apart; the sums are those of the whole table.
    counts = np.bincount(counted["leaf"], counted["records"], minlength=len(leaves.tree))
    counts = counts.astype(np.intp)
    plan = leaves.plan
    if not restricted(plan):
        return leaves.merge(counts)
    names = [*plan.entity, *plan.confidential]

    def failing(now: Leaves, grown: Labels | None) -> Labels:
        parts = with_leaf(table, now).select(LEAF, *map(table.place, names))
        if grown is not None:
            parts = parts.where(parts[LEAF].isin(grown.tolist()))
        check, kinds = leaf_checker(now, names), f"{LEAF} long, broken boolean"
        broken = table.read(parts.groupBy(LEAF).applyInArrow(check, kinds)).filter("broken")
        return broken[LEAF].sort().to_numpy().astype(np.intp)

    references = _references(table, plan, records)
    return merge_until(replace(leaves, references=references), counts, failing)


def _references(table: SparkTable, plan: Plan, records: int) -> tuple[Reference, ...]:
    """Count the confidential values of a table, and refuse what no grouping of it satisfies."""

    def counted(names: Sequence[str], most: int, name: str) -> Reference | None:
        rows = table.read(table.df.groupBy(*map(table.key, names)).count().limit(most + 1))
        tally = Tally()
        ids = rows.to_series() if len(names) == 1 else pl.int_range(rows.height, eager=True)
        tally.add(ids, rows["count"])
        return tally.reference(name) if rows.height <= most else None

    references = []
    for name in plan.confidential:
        reference = counted([name], VALUES, name)
        if reference is None:
            need = f"columns of at most {VALUES} different values, and {name!r} has more; round it"
            raise InvalidParameterError.kind("confidential", list(plan.confidential), need)
        references.append(reference)
    entity = counted(plan.entity, max(FEW, 2 * plan.k), ", ".join(plan.entity))
    refuse_unreachable(plan, records, entity if plan.entity else None, references)
    return tuple(references)
