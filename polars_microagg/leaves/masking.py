"""Masking the records of one leaf or of many through the Plan, in any order of arrival."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from polars_microagg.core.partition import Labels, Matrix, Members, Strata, Vector
from polars_microagg.core.plan import Plan
from polars_microagg.core.rule import Rule
from polars_microagg.frames.batch import BatchMasker
from polars_microagg.frames.columns import numbers
from polars_microagg.frames.selection import by_name
from polars_microagg.kernels.places import Places
from polars_microagg.leaves.tree import blocks_by_rank

__all__ = ["LARGE", "LeafPlan", "arrow_of", "fingerprints", "mask_leaves", "matrix_of"]

MOST = 1000
"""Values times their weights stay below this power of two."""

LARGE = 2
"""A leaf of more than this many times its size is cut further by rank."""


@dataclass(frozen=True)
class LeafPlan(Plan):
    """A plan whose distances are on the scale of the whole table, not on that of a leaf."""

    weights: tuple[float, ...] = ()

    @classmethod
    def of(
        cls, method: str, k: int, columns: Sequence[str], weights: Vector, **options: Any
    ) -> Plan:
        """Check a call; progress within a leaf is not reported."""
        plan = cls.make(method, k, **options)
        # Zero is where it is on the scale of the table only if the table is not scaled.
        absolute = plan.method.absolute and plan.scale == "none"
        own = replace(plan.method, absolute=absolute)
        weighed = tuple(weights.tolist())
        plan = replace(plan, method=own, scale="none", weights=weighed, progress_callback=None)
        return plan.bind([columns])

    def mask(
        self,
        x: Matrix,
        factors: Vector,
        strata: Strata,
        whole: Sequence[bool] = (),
        rule: Rule | None = None,
        places: Sequence[Places | None] = (),
        chosen: Sequence[bool] = (),
    ) -> Any:
        """Mask as any plan does, with the weights in place of the sizes of units."""
        del factors
        weights = _bounded(x, np.array(self.weights))
        return super().mask(x, weights, strata, whole, rule, places, chosen)


def _bounded(x: Matrix, weights: Vector) -> Vector:
    """Halve all weights until no value times its weight overflows; only their proportions count.

    >>> _bounded(np.array([[1e308]]), np.array([2.0**90])) < 2.0**90
    array([ True])
    """
    tops = np.frexp(np.abs(x).max(axis=0, initial=0.0))[1] + np.frexp(weights)[1]
    return np.asarray(np.ldexp(weights, -max(0, int(tops.max()) - MOST)))


def matrix_of(frame: pl.DataFrame, columns: Sequence[str]) -> Matrix:
    """Return (n, p) values in the units in which leaves are cut: the numbers behind any type.

    >>> matrix_of(pl.DataFrame({"a": [1, 2], "b": [0.5, None]}), ["a", "b"])
    array([[1. , 0.5],
           [2. , nan]])
    """
    x = np.empty((frame.height, len(columns)), order="F")
    for j, name in enumerate(columns):
        # What Polars does to a series it does to a column of its name, which may read as a pattern.
        x[:, j] = numbers(frame[name].alias(""), None)
    return x


def fingerprints(frame: pl.DataFrame, *, without: Sequence[str] = (), seed: int = 0) -> pl.Series:
    """Return a UInt64 hash of each record, the same wherever it comes from.

    Columns in `without` do not count; all are 0 where no column can be hashed.
    """
    kept = []
    for name, dtype in frame.schema.items():
        if name in without or dtype.is_nested() or dtype in (pl.Object, pl.Null):
            continue
        column = by_name(name)
        # The codes behind categories depend on what was read before.
        kept.append(column.cast(pl.String) if isinstance(dtype, pl.Categorical) else column)
    if not kept:
        return pl.zeros(frame.height, pl.UInt64, eager=True)
    # The names are no part of the hash, and "" or "*" would not do.
    return frame.select(kept).hash_rows(seed=seed)


@dataclass(frozen=True)
class _LeafMasker(BatchMasker):
    """Masks records by a rule that was counted on a larger table."""

    rule: Rule | None = None

    def _rule(self, batch: pl.DataFrame) -> Rule:
        """Return the rule that is there."""
        return self.rule or super()._rule(batch)


def mask_leaves(
    plan: Plan,
    frame: pl.DataFrame,
    size: int,
    leaves: Labels,
    ties: pl.Series,
    rule: Rule | None = None,
) -> list[pl.Series]:
    """Return the masked columns of whole leaves, each leaf masked on its own.

    `plan` is bound to the columns of `frame`; `size` is the number of records of a leaf, `leaves`
    (n,) the leaf of each record, and `ties` orders records that are equal in all columns. The order
    of the records stays. Each leaf as one group satisfies the `rule` of these records, if there is one.
    """
    named = {str(j): column for j, column in enumerate(frame.get_columns())}
    leaf = pl.Series(leaves.astype(np.uint32))
    keys = pl.DataFrame({"leaf": leaf, **named, "ties": ties})
    # Sorted by their values, then by hash: methods break ties by row, so the groups depend on what
    # the records are and not on when they arrived. That makes files, batches and Spark bit-equal.
    order = keys.select(pl.arg_sort_by(keys.columns)).to_series()
    records = keys.select(list(named))[order]
    leaves = leaves[order.to_numpy()]
    if rule is None or not len(leaves):
        masked = _masked(plan, records, _blocks(plan, records, leaves, size))
    else:
        masked = _leaf_by_leaf(plan, records, leaves, size, rule.take(order.to_numpy()))
    back = order.arg_sort()
    return [
        column.gather(back).alias(name) for column, name in zip(masked, frame.columns, strict=True)
    ]


def _masked(
    plan: Plan, records: pl.DataFrame, strata: Labels, rule: Rule | None = None
) -> list[pl.Series]:
    """Return the masked columns of records, each stratum masked on its own."""
    batch = records.with_columns(pl.Series("leaf", strata))
    return _LeafMasker(plan, strata=1, rule=rule).mask(batch).columns


def _leaf_by_leaf(
    plan: Plan, records: pl.DataFrame, leaves: Labels, size: int, rule: Rule
) -> list[pl.Series]:
    """Return the masked columns of sorted records under a rule.

    The search for groups that satisfy it must not know which leaves are in memory together.
    """
    pieces = []
    starts = np.flatnonzero(np.diff(leaves, prepend=-1))
    for start, stop in zip(starts.tolist(), [*starts[1:].tolist(), len(leaves)], strict=True):
        own, part = rule.take(np.arange(start, stop)), records[start:stop]
        strata = _joined(_blocks(plan, part, leaves[start:stop], size), own)
        pieces.append(pl.DataFrame(_masked(plan, part, strata, own)))
    return pl.concat(pieces).get_columns()


def _joined(blocks: Labels, rule: Rule) -> Labels:
    """Join the blocks of a leaf two by two where one breaks the rule, until none does."""
    while True:
        found, own = np.unique(blocks, return_inverse=True)
        failing = rule.failing(Members.of(np.arange(len(own)), own, len(found)))
        if len(found) < 2 or not failing.any():
            return blocks
        # Neighbours by number are halves of one part, but for the last of an odd number.
        pair = np.minimum(np.arange(len(found)) // 2, len(found) // 2 - 1)
        broken = np.bincount(pair, failing) > 0
        first = np.searchsorted(pair, pair)
        blocks = np.where(broken[pair], first, np.arange(len(found)))[own]


def _blocks(plan: Plan, records: pl.DataFrame, leaves: Labels, size: int) -> Labels:
    """Return the strata of sorted records: leaves, and the parts of leaves that are too large."""
    starts = np.flatnonzero(np.diff(leaves, prepend=-1))
    counts = np.diff(starts, append=len(leaves))
    parts = np.zeros(len(leaves), dtype=np.intp)
    if (counts > LARGE * size).any():
        x = matrix_of(records, records.columns)
        x *= _bounded(x, np.array(plan.weights))  # type: ignore[attr-defined]
        for start, count in zip(starts.tolist(), counts.tolist(), strict=True):
            if count > LARGE * size:
                parts[start : start + count] = blocks_by_rank(x[start : start + count], size)
    changed = np.diff(leaves, prepend=-1) != 0
    # Parts of a leaf are strata of their own, numbered apart.
    stratum = np.cumsum(changed) - 1
    return stratum * (int(parts.max(initial=0)) + 1) + parts


def arrow_of(column: pl.Series, field: Any, dtype: str) -> tuple[Any, Any]:
    """Return the Arrow field and array of a masked column.

    The field is as it was; only its type is another if the column became Float64.
    """
    array = column.to_arrow()
    if dtype == "float":
        return field.with_type(array.type), array
    return field, array.cast(field.type)
