"""Classes of a table of Spark, counted there: their records, and what privacy models count of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from polars_microagg.analysis.anonymity import selected, verify
from polars_microagg.analysis.counted_classes import not_anonymous
from polars_microagg.core.options import MODEL_OPTIONS
from polars_microagg.core.own_options import refuse_unknown
from polars_microagg.core.plan import Plan
from polars_microagg.errors import InvalidParameterError, NotAnonymousError
from polars_microagg.frames.classes import classes_of
from polars_microagg.frames.selection import as_frame, by_name, keys_of
from polars_microagg.leaves.masking import fingerprints
from polars_microagg.leaves.references import Reference
from polars_microagg.leaves.rules import (
    coded,
    refuse_nameless,
    restricted,
    rule_of,
    rule_of_counts,
)
from polars_microagg.leaves.spark_merging import value_counts
from polars_microagg.leaves.spark_table import Absent, SparkTable
from polars_microagg.wording import Setting

__all__ = ["verify_classes"]

TOGETHER = 1 << 17
"""Records whose classes are counted together in a worker, about."""

BUCKET = "bucket"
"""Column that classes are divided by, beside those that go by number."""

COUNTS = "bound long, classes long, records long, worst double"
"""Columns that count the classes of a bucket that break a bound."""


def verify_classes(
    table: SparkTable,
    columns: Any,
    k: int,
    strata: Any,
    people: Mapping[str, Any],
    bounds: Mapping[str, Any],
) -> None:
    """Raise an error if some class breaks what `people` and `bounds` ask for."""
    refuse_unknown(verify, bounds, MODEL_OPTIONS)
    plan = Plan.make("mdav", k, **people, **bounds)
    if plan.entity_mode == "alike":
        setting = Setting("entity_mode", "alike")
        way = "Read the table into memory, and give it to verify of polars_microagg."
        raise InvalidParameterError.cannot("verify on Spark", setting, way)
    types = dict.fromkeys(table.names, pl.Null())
    schema = pl.LazyFrame(schema=types)
    keys = keys_of(types, "strata", strata)
    counted = [n for what in ("entity", "confidential") for n in keys_of(types, what, people[what])]
    blocks = selected(schema, columns)
    references: tuple[Reference, ...] = ()
    records = 0
    if restricted(plan):
        absent = Absent.of(table, [], plan.entity)
        records = absent.records
        refuse_nameless(absent.nameless)
        references = value_counts(table, plan)
    for names in blocks:
        if restricted(plan):
            few = table.only([*names, *keys, *counted])
            few.empty()
            _hold(few, plan, references, names, keys, records)
        else:
            _hold_k(table, plan.k, names, keys)


def _hold_k(table: SparkTable, k: int, names: Sequence[str], strata: Sequence[str]) -> None:
    """Refuse classes of fewer than k records."""
    told = list(dict.fromkeys([*names, *strata]))
    signs = (table.minus(name) for name in told)
    by = [*map(table.key, told), *(c.alias(f"s{j}") for j, c in enumerate(signs) if c is not None)]
    sizes = table.df.groupBy(*by).count()
    few = sizes.where(f"`count` < {k}").selectExpr("count(1)", "sum(`count`)", "min(`count`)")
    small_classes = table.row(few)
    if small_classes[0]:
        raise NotAnonymousError.of(names, k, small_classes, strata)


def _hold(
    table: SparkTable,
    plan: Plan,
    references: tuple[Reference, ...],
    names: Sequence[str],
    strata: Sequence[str],
    records: int,
) -> None:
    """Refuse classes that break the rule of a call."""
    told = list(dict.fromkeys([*names, *strata]))
    count = -(-records // TOGETHER)
    marker = _BucketMarker(table.names, told, max(1, count))
    marked = table.df.mapInArrow(marker, deepcopy(table.df.schema).add(BUCKET, "long"))
    counter = _class_counter(plan, references, table.names, told)
    counts = table.read(marked.groupBy(BUCKET).applyInArrow(counter, COUNTS))
    entity = Reference(", ".join(plan.entity), pl.Series([0]), np.array([1], dtype=np.intp))
    bounds = rule_of_counts(plan, entity if plan.entity else None, references).bounds
    for number, bound in enumerate(bounds):
        found = counts.filter(bound=number)
        if classes := int(found["classes"].sum()):
            numbers = found["worst"].to_numpy()
            worst = float(numbers.min() if bound.model.at_least else numbers.max())
            told_of = classes, int(found["records"].sum()), worst
            raise not_anonymous(plan, bound, told_of, names, strata)


@dataclass(frozen=True)
class _BucketMarker:
    """Divide records so that those of a class stay together."""

    names: tuple[str, ...]
    keys: list[str]
    count: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield each batch with one more column."""
        for batch in batches:
            frame = as_frame(batch.rename_columns(self.names))
            hashes = fingerprints(frame.select(map(by_name, self.keys))).to_numpy()
            bucket = (hashes % self.count).astype(np.int64)
            yield batch.append_column(BUCKET, pa.array(bucket))


def _class_counter(
    plan: Plan, references: tuple[Reference, ...], names: Sequence[str], keys: Sequence[str]
) -> Callable[[pa.Table], pa.Table]:
    """Return the function that counts the classes of a bucket that break each bound."""

    def count(table: pa.Table) -> pa.Table:
        frame = as_frame(table.drop_columns([BUCKET]).rename_columns(names))
        rule = rule_of(plan, references, coded(plan, references, frame))
        classes = classes_of(frame, keys)
        rows: dict[str, list[Any]] = {"bound": [], "classes": [], "records": [], "worst": []}
        for number, bound in enumerate(rule.bounds):
            failing = bound.failing(classes)
            own = number, int(failing.sum()), int(classes.sizes[failing].sum())
            for name, value in zip(rows, (*own, bound.worst(classes)), strict=True):
                rows[name].append(value)
        return pa.table(rows)

    return count
