"""Small strata of a table of Spark: counted over all leaves before anything is masked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from polars_microagg.core.partition import Labels, Members
from polars_microagg.core.rule import Rule
from polars_microagg.frames.selection import as_frame
from polars_microagg.leaves.leaves import Leaves
from polars_microagg.leaves.references import Reference
from polars_microagg.leaves.rules import coded, coded_columns, restricted, rule_of, rule_of_counts
from polars_microagg.leaves.spark_batches import LEAF, LeafCounter, as_long
from polars_microagg.leaves.spark_merging import key_names, with_leaf
from polars_microagg.leaves.spark_table import SparkTable
from polars_microagg.leaves.suppressed import SmallStrata, broken_in, emptied_hold

__all__ = ["settle_strata"]

ANY = -1
"""In place of the number of a bound: strata that break some bound."""

COUNTS = (
    "shared boolean, strata long, bound long, small long, fewest long, worst double, few long, "
    "emptied long"
)
"""Columns counted in each leaf for each bound that is broken: `SmallStrata.broken` and more."""


def settle_strata(table: SparkTable, blocks: Sequence[Leaves]) -> None:
    """Refuse small strata of a table that may not be suppressed, or that are too few once emptied."""
    plan = blocks[0].plan
    if not blocks[0].parted or (plan.small_strata == "drop"):
        return
    # Without null patterns, the strata of all blocks are the same.
    for leaves in blocks if plan.nulls == "pattern" else blocks[:1]:
        if restricted(plan):
            _settle_by_rule(table, leaves)
            continue
        small = _counted(table, leaves)
        small.refuse(leaves)
        emptied_hold(plan, None, small.records)


def _counted(table: SparkTable, leaves: Leaves) -> SmallStrata:
    """Count strata, and those of fewer than k records."""
    few = table.only([*leaves.columns, *leaves.request.strata])
    keys = [LEAF, *key_names(leaves)]
    kinds = ", ".join(f"{name} long" for name in [*keys, "records"])
    parts = few.df.mapInArrow(LeafCounter(leaves, few.names, strata=True), kinds)
    strata = parts.groupBy(*keys).agg({"records": "sum"}).toDF(*keys, "records")
    small = f"if(records < {leaves.k}, records, null)"
    shared = f"count_if({LEAF} >= {_first_shared(leaves)})"
    counts = strata.selectExpr(f"count({small})", shared, f"min({small})", f"sum({small})")
    found = table.row(counts)
    count, of, fewest, records = (int(number or 0) for number in found)
    return SmallStrata(count, of, fewest or SmallStrata.fewest, records)


def _first_shared(leaves: Leaves) -> int:
    """Return the first leaf of small strata, of which one may hold several."""
    return int(np.searchsorted(leaves.stratum_of_leaf, len(leaves.large)))


def _settle_by_rule(table: SparkTable, leaves: Leaves) -> None:
    """Count strata that break the rule, which as one group no grouping of them satisfies."""
    plan = leaves.plan
    names = [*plan.entity, *plan.confidential]
    parts = with_leaf(table, leaves, names, strata=True).groupBy(LEAF)
    counts = table.read(parts.applyInArrow(_stratum_counter(leaves, names), COUNTS))
    broken = counts.filter(bound=ANY).filter(pl.col("small") > 0)
    if not broken.height:
        return
    if plan.small_strata == "raise":
        _refuse(leaves, counts)
    coder = _emptied_coder(leaves, names)
    kinds = ", ".join(f"{name} long" for name in chain(*coded_columns(plan)))
    emptied = parts.applyInArrow(coder, kinds)
    emptied_hold(plan, _rule_of_emptied(table, leaves, emptied), int(broken["emptied"].sum()))


def _refuse(leaves: Leaves, counts: pl.DataFrame) -> None:
    """Raise the error on the strata that break the first bound that any of them breaks."""
    broken = counts.filter(pl.col("bound") != ANY)
    rows = broken.select("bound", "small", "fewest", "worst", "few").rows()
    shared = counts.filter(pl.col("shared"), bound=ANY)
    SmallStrata(len(rows), int(shared["strata"].sum()), broken=rows).refuse(leaves)


def _rule_of_emptied(table: SparkTable, leaves: Leaves, emptied: Any) -> Rule:
    """Return what the emptied records as one group must satisfy, from the counts of their values."""
    plan = leaves.plan
    entity, values = coded_columns(plan)
    counts = []
    for name, reference in zip(values, leaves.references, strict=True):
        found = table.read(emptied.groupBy(name).count())
        own = np.bincount(found[name], found["count"], minlength=len(reference.counts))
        counts.append(own.astype(np.intp))
    who = None
    if entity:
        # More than k are as good as k, of which one has the most records.
        rows = emptied.groupBy(*entity).count().orderBy("count", ascending=False).limit(plan.k)
        own = table.read(rows)["count"].to_numpy().astype(np.intp)
        who = Reference(", ".join(plan.entity), pl.int_range(len(own), eager=True), own)
    return rule_of_counts(plan, who, leaves.references, counts)


def _of_leaf(leaves: Leaves, names: Sequence[str], table: pa.Table) -> tuple[pl.DataFrame, Labels]:
    """Return what models count of the records of a leaf, and the number of the stratum of each."""
    keys = key_names(leaves)
    columns = table.drop_columns([LEAF, *keys]).rename_columns(names)
    records = coded(leaves.plan, leaves.references, as_frame(columns))
    # In the order in which strata are masked.
    told = [pl.Series(name, table[name].to_numpy().view(np.uint64)) for name in keys]
    stratum = pl.DataFrame(told).select(pl.struct(pl.all()).rank("dense")).to_series()
    return records, stratum.to_numpy().astype(np.intp) - 1


def _stratum_counter(leaves: Leaves, names: Sequence[str]) -> Callable[[pa.Table], pa.Table]:
    """Return the function that counts the strata of one leaf that break each bound."""
    first = _first_shared(leaves)

    def count(table: pa.Table) -> pa.Table:
        records, stratum = _of_leaf(leaves, names, table)
        rule = rule_of(leaves.plan, leaves.references, records)
        strata = Members.of(np.arange(records.height), stratum, int(stratum.max()) + 1)
        emptied = strata.sizes[rule.failing(strata)]
        common = (table[LEAF][0].as_py() >= first, len(strata.sizes))
        rows = [(*common, ANY, len(emptied), 0, 0.0, 0, int(emptied.sum()))]
        rows += [(*common, *row, 0) for row in broken_in(rule, stratum)]
        named = [each.split()[0] for each in COUNTS.split(", ")]
        kinds = [_ARROW[each.split()[1]] for each in COUNTS.split(", ")]
        columns = zip(*rows, strict=True)
        arrays = [pa.array(list(c), kind) for c, kind in zip(columns, kinds, strict=True)]
        return pa.table(arrays, names=named)

    return count


_ARROW = {"long": pa.int64(), "boolean": pa.bool_(), "double": pa.float64()}


def _emptied_coder(leaves: Leaves, names: Sequence[str]) -> Callable[[pa.Table], pa.Table]:
    """Return the function that gives what models count of the records of a leaf that are emptied."""

    def code(table: pa.Table) -> pa.Table:
        records, stratum = _of_leaf(leaves, names, table)
        rule = rule_of(leaves.plan, leaves.references, records)
        strata = Members.of(np.arange(len(stratum)), stratum, int(stratum.max()) + 1)
        gone = pl.Series(rule.failing(strata)[stratum])
        return pl.DataFrame([as_long(column) for column in records.filter(gone)]).to_arrow()

    return code
