"""Masking the records of one leaf or of many through the Plan, in any order of arrival."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from polars_microagg.core.kind import Kind
from polars_microagg.core.partition import Labels, Matrix, Members, Strata, Vector
from polars_microagg.core.plan import Plan
from polars_microagg.core.rule import Rule
from polars_microagg.frames.batch import BatchMasker
from polars_microagg.frames.columns import numbers, require
from polars_microagg.frames.selection import by_name
from polars_microagg.kernels.embedding import Embedding
from polars_microagg.leaves.key_columns import Key, KeyColumns, Ranks, table_ranks
from polars_microagg.leaves.tree import blocks_by_rank

__all__ = ["LARGE", "LeafPlan", "arrow_of", "fingerprints", "mask_leaves", "masked_field"]

MOST = 1000
"""Values times their weights stay below this power of two."""

LARGE = 2
"""A leaf of more than this many times its size is cut further by rank."""


NO_COLUMNS = KeyColumns((), {}, ())


@dataclass(frozen=True)
class LeafPlan(Plan):
    """A plan whose distances are on the scale of the whole table, not on that of a leaf."""

    weights: tuple[float, ...] = ()
    keys: KeyColumns = NO_COLUMNS

    @classmethod
    def of(
        cls,
        method: str,
        k: int,
        columns: Sequence[str],
        weights: Vector,
        known: tuple[Key, ...] = (),
        **options: Any,
    ) -> LeafPlan:
        """Check a call; progress within a leaf is not reported."""
        plan = cls.make(method, k, **options)
        # Zero is where it is on the scale of the table only if the table is not scaled.
        absolute = plan.method.absolute and plan.scale == "none"
        own = replace(plan.method, absolute=absolute)
        weighed = tuple(weights.tolist())
        keys = KeyColumns(tuple(columns), plan.kinds, known or (None,) * len(columns))
        plan = replace(plan, method=own, scale="none", weights=weighed, progress_callback=None)
        return replace(plan, keys=keys).bind([columns])

    def mask(
        self,
        x: Matrix,
        factors: Vector,
        strata: Strata,
        whole: Sequence[bool] = (),
        rule: Rule | None = None,
        embeddings: Sequence[Embedding | None] = (),
        chosen: Sequence[bool] = (),
    ) -> Any:
        """Mask as any plan does, with the weights in place of the sizes of units."""
        del factors
        weights = _bounded(x, np.array(self.weights))
        return super().mask(x, weights, strata, whole, rule, embeddings, chosen)


def _bounded(x: Matrix, weights: Vector) -> Vector:
    """Halve all weights until no value times its weight overflows; only their proportions count.

    >>> _bounded(np.array([[1e308]]), np.array([2.0**90])) < 2.0**90
    array([ True])
    """
    tops = np.frexp(np.abs(x).max(axis=0, initial=0.0))[1] + np.frexp(weights)[1]
    return np.asarray(np.ldexp(weights, -max(0, int(tops.max(initial=0)) - MOST)))


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
    """Masks records by a rule and by ranks that were counted on a larger table."""

    rule: Rule | None = None

    def _matrix(self, columns: list[pl.Series], strata: Strata) -> Matrix:
        """Turn the columns into one (n, p) matrix, as leaves know them."""
        keys: KeyColumns = self.plan.keys  # type: ignore[attr-defined]
        x = np.empty((len(columns[0]), len(columns)), order="F")
        for j, column in enumerate(columns):
            kind, known = keys.kind(j, column.dtype), keys.known[j]
            require(column, keys.names[j], self.plan.nulls, kind)
            # Categories of few records are many in a leaf, and were counted on the table.
            if isinstance(known, Ranks):
                x[:, j] = table_ranks(column, kind, known, strata)
            else:
                x[:, j] = numbers(column, strata, kind)
        return x

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
    # The codes behind categories depend on what was read before.
    texts = {
        name: column.cast(pl.String) if isinstance(column.dtype, pl.Categorical) else column
        for name, column in named.items()
    }
    keys = pl.DataFrame({"leaf": leaf, **texts, "ties": ties})
    # Sorted by their values, then by hash: methods break ties by row, so the groups depend on what
    # the records are and not on when they arrived. That makes files, batches and Spark bit-equal.
    order = keys.select(pl.arg_sort_by(keys.columns)).to_series()
    records = pl.DataFrame(named)[order]
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
        keys: KeyColumns = plan.keys  # type: ignore[attr-defined]
        x = keys.matrix(records.get_columns())
        x *= _bounded(x, keys.weights(plan.weights, plan.weigh))  # type: ignore[attr-defined]
        # Where leaves know no category, records go by their order.
        x = x if x.shape[1] else np.zeros((len(x), 1))
        for start, count in zip(starts.tolist(), counts.tolist(), strict=True):
            if count > LARGE * size:
                parts[start : start + count] = blocks_by_rank(x[start : start + count], size)
    changed = np.diff(leaves, prepend=-1) != 0
    # Parts of a leaf are strata of their own, numbered apart.
    stratum = np.cumsum(changed) - 1
    return stratum * (int(parts.max(initial=0)) + 1) + parts


def masked_field(field: Any, kind: Kind, dtype: str) -> Any:
    """Return the Arrow field that a masked column has.

    It is as it was; but numbers may become Float64, and where no category may be emitted there is null.
    """
    import pyarrow as pa

    if not kind.numeric:
        return field.with_nullable(True)
    return field.with_type(pa.float64()) if dtype == "float" else field


def arrow_of(column: pl.Series, field: Any) -> Any:
    """Return the Arrow array of a masked column in the type of its field."""
    import pyarrow as pa

    array = column.to_arrow()
    if pa.types.is_dictionary(field.type):
        # Arrow casts no dictionary to one of other indices.
        array = array.cast(field.type.value_type).dictionary_encode()
        indices = array.indices.cast(field.type.index_type)
        made = pa.DictionaryArray.from_arrays(indices, array.dictionary, ordered=field.type.ordered)
        return made.cast(field.type)
    return array.cast(field.type)
