"""Masking the records of one leaf or of many through the Plan, in any order of arrival."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from dataclasses import fields as dataclass_fields
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from polars_microagg.core.kind import Kind, has_means
from polars_microagg.core.masked import Cells
from polars_microagg.core.partition import Grouping, Labels, Matrix, Members, Strata, Vector
from polars_microagg.core.plan import Plan
from polars_microagg.core.rule import Rule
from polars_microagg.core.suppression import to_suppress
from polars_microagg.core.work import seconds_of
from polars_microagg.frames.batch import BatchMasker, Released
from polars_microagg.frames.columns import kind_for, numbers, require
from polars_microagg.frames.selection import by_name
from polars_microagg.kernels.embedding import Embedding
from polars_microagg.kernels.local.worst_groups import improved_strata
from polars_microagg.leaves.key_columns import KeyColumns, Ranks, table_ranks
from polars_microagg.leaves.leaf_records import LeafRecords
from polars_microagg.leaves.strata import KEYS, LargeStratum, completed_by
from polars_microagg.leaves.tree import blocks_by_rank
from polars_microagg.processes.crew import shared

__all__ = [
    "LARGE",
    "LeafPlan",
    "arrow_of",
    "fingerprints",
    "mask_leaves",
    "masked_field",
]

MOST = 1000
"""Values times their weights stay below this power of two."""

PIECE = 3.0
"""Seconds that a piece takes before progress is reported; smaller ones would take longer in all."""

LEAST = 1e-6
"""Seconds that any work is taken to last: an effort may be 0."""

LARGE = 2
"""A leaf of more than this many times its size is cut further by rank."""

SEARCHED = "mdav"
"""Method whose groups in a leaf are improved by a search, for what its borders cost."""

SEARCHING = 2e-6
"""Seconds that the search takes for a record."""

EXACT = 2.0**53
"""Whole steps below this are exact."""

NO_COLUMNS = KeyColumns((), {}, ())


@dataclass(frozen=True)
class LeafPlan(Plan):
    """A plan whose distances are on the scale of a whole stratum, not on that of a leaf.

    `searched` says that the stratum has several leaves. A leaf that is all of it is masked as the stratum.
    """

    weights: tuple[float, ...] = ()
    centre: tuple[float, ...] = ()
    keys: KeyColumns = NO_COLUMNS
    searched: bool = False

    @classmethod
    def of(
        cls, plan: Plan, columns: tuple[str, ...], stratum: LargeStratum, searched: bool
    ) -> LeafPlan:
        """Return a plan for the leaves of a stratum; progress within a leaf is not reported."""
        # Zero is where it is on the scale of the table only if the table is not scaled.
        absolute = plan.method.absolute and plan.scale == "none"
        fields = {each.name: getattr(plan, each.name) for each in dataclass_fields(plan)}
        fields |= {"method": replace(plan.method, absolute=absolute), "scale": "none"}
        keys = stratum.keys(columns, plan.kinds)
        fields |= {"weights": stratum.weights, "centre": stratum.centre, "keys": keys}
        return cls(**fields, searched=searched)

    @property
    def thorough(self) -> bool:
        """Return whether the search is that of a stratum whose records are few."""
        return not self.searched

    def by_rank(self, columns: list[pl.Series]) -> Matrix:
        """Return the weighted coordinates by which a leaf that is too large is halved."""
        x = completed_by(self.keys.matrix(columns), np.array(self.centre))
        x *= _bounded(x, self.keys.weights(self.weights, self.column_weights))
        # Where leaves know no category, records go by their order.
        return x if x.shape[1] else np.zeros((len(x), 1))

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
        return super().mask(x, np.array(self.weights), strata, whole, rule, embeddings, chosen)

    def _improved(self, x: Matrix, groups: Grouping, strata: Strata) -> Grouping:
        """Search at the borders of leaves for groups that lose less."""
        # The search knows no model: groups are made to satisfy them afterwards. `refine` is a longer one.
        if not self.searched or self.refine or self.method.name != SEARCHED:
            return groups
        each = shared(SEARCHING * len(x))
        return Grouping.by_label(
            *improved_strata(x, groups.labels, strata.sizes, self.k, each=each)
        )


def _bounded(x: Matrix, weights: Vector) -> Vector:
    """Halve all weights until no value times its weight overflows; only their proportions count.

    >>> _bounded(np.array([[1e308]]), np.array([2.0**90])) < 2.0**90
    array([ True])
    """
    largest = np.maximum(x.max(axis=0, initial=0.0), -x.min(axis=0, initial=0.0))
    tops = np.frexp(largest)[1] + np.frexp(weights)[1]
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
    """Masks records by a rule and, in a large stratum, by ranks that were counted on all of it."""

    rule: Rule | None = None

    def _matrix(self, columns: list[pl.Series], strata: Strata) -> Matrix:
        """Return the columns as one (n, p) matrix, as leaves know them."""
        large = self.plan.keys.known if isinstance(self.plan, LeafPlan) else (None,) * len(columns)
        x = np.empty((len(columns[0]), len(columns)), order="F")
        for j, (column, known) in enumerate(zip(columns, large, strict=True)):
            kind = self._kind(j, column)
            require(column, self.names[j], self.plan.nulls, kind)
            if isinstance(known, Ranks):
                x[:, j] = table_ranks(column, kind, known, strata)
            else:
                x[:, j] = numbers(column, strata, kind)
        return x

    def _refuse_rare(self, columns: list[pl.Series], rule: Rule) -> None:
        """Refuse nothing: categories of few records are many in a leaf, and were counted on the table."""

    def _suppressed(self, x: Matrix, strata: Strata, rule: Rule) -> npt.NDArray[np.bool_]:
        """Return which records are emptied or dropped: in a leaf, all of them may be."""
        return to_suppress(self.plan, x, strata, rule)

    def _rule(self, batch: pl.DataFrame) -> Rule:
        """Return the rule that is there."""
        return self.rule or super()._rule(batch)


def mask_leaves(
    plans: Callable[[Labels], tuple[Labels, Sequence[Plan]]],
    size: int,
    records: LeafRecords,
    tick: Callable[[int], object] | None = None,
) -> Released:
    """Return the masked columns of whole leaves, each leaf and each stratum masked on its own.

    `plans` gives for leaves the number of the plan by which each is masked, and the plans. `size` is
    the number of records of a leaf. The order of the records stays. `tick` is called with the number of
    records that are masked, every few seconds.
    """
    order = records.sorting()
    ready = records.take(order)
    number, each = plans(ready.leaf)
    starts = np.flatnonzero(np.diff(number, prepend=-1)).tolist()
    pieces, hidden = [], []
    for start, stop in zip(starts, [*starts[1:], len(number)], strict=True):
        plan, part = each[number[start]], ready.slice(start, stop)
        for first, last in _pieces(plan, part, size):
            piece = part.slice(first, last)
            blocks = _blocks(plan, piece, size)
            if isinstance(plan, LeafPlan):
                blocks = _joined(blocks, piece.rule)
            own = _masked(plan, piece, blocks)
            pieces.append(pl.DataFrame(own.columns))
            hidden.append(own.flags(last - first))
            if tick:
                tick(start + last)
    if not pieces:
        empty = pl.DataFrame([c.alias(str(j)) for j, c in enumerate(ready.columns)])
        return _LeafMasker(each[-1], strata=0).mask(empty)
    back = order.arg_sort()
    flags = pl.concat(hidden)
    return Released(
        [column.gather(back) for column in pl.concat(pieces)],
        flags.gather(back) if flags.any() else None,
    )


def _pieces(plan: Plan, records: LeafRecords, size: int) -> list[tuple[int, int]]:
    """Return the rows of sorted records that are masked together: leaves, or strata, that take some seconds.

    Under a rule it is one leaf, since the search for groups that satisfy it must not know which leaves
    are in memory together, or all small strata.
    """
    count, small = len(records.leaf), not isinstance(plan, LeafPlan)
    if records.rule is not None:
        if small:
            return [(0, count)]
        own, most = records.strata(), 1.0
    else:
        own = records.strata(KEYS) if small else records.leaf.astype(np.intp)
        seconds = seconds_of(plan.method, size, plan.k, plan.options)
        most = max(1.0, size * PIECE / max(seconds, LEAST))
    starts = np.flatnonzero(np.diff(own, prepend=-1))
    # Of the leaves that begin within the same so many records, the first begins a piece.
    starts = starts[np.diff(starts // most, prepend=-1.0) > 0]
    return list(pairwise([*starts.tolist(), count]))


def _masked(plan: Plan, records: LeafRecords, strata: Labels) -> Released:
    """Mask records, each stratum on its own."""
    stratum = pl.Series("stratum", strata)
    columns = records.columns
    if plan.nulls == "impute" and isinstance(plan, LeafPlan):
        columns = [_filled(plan, j, column, strata) for j, column in enumerate(columns)]
    batch = pl.DataFrame([*(c.alias(str(j)) for j, c in enumerate(columns)), stratum])
    return _LeafMasker(plan, strata=1, rule=records.rule).mask(batch)


def _filled(plan: LeafPlan, j: int, column: pl.Series, strata: Labels) -> pl.Series:
    """Fill nulls with the centre of a large stratum where nobody of a leaf has a value.

    Records without a value lie at the centre, so that such leaves are not rare.
    """
    if not column.null_count() or plan.keys.known[j] is not None:
        return column
    kind = plan.keys.kind(j, column.dtype)
    there = np.bincount(strata, column.is_not_null().to_numpy())
    centre = plan.centre[int(np.flatnonzero(plan.keys.owner == j)[0])]
    if there.all() or (abs(centre) >= EXACT and not column.dtype.is_float()):
        return column
    n = len(column)
    made: pl.Series = kind.values(column, Cells(np.full(n, centre), Strata.whole(n)), column.dtype)
    return made.alias("").zip_with(pl.Series(there[strata] == 0), column.alias(""))


def _joined(blocks: Labels, rule: Rule | None) -> Labels:
    """Join the blocks of a leaf two by two where one breaks the rule, until none does."""
    while rule is not None:
        found, own = np.unique(blocks, return_inverse=True)
        failing = rule.failing(Members.of(np.arange(len(own)), own, len(found)))
        if len(found) < 2 or not failing.any():
            break
        # Neighbours by number are halves of one part, but for the last of an odd number.
        pair = np.minimum(np.arange(len(found)) // 2, len(found) // 2 - 1)
        broken = np.bincount(pair, failing) > 0
        first = np.searchsorted(pair, pair)
        blocks = np.where(broken[pair], first, np.arange(len(found)))[own]
    return blocks


def _blocks(plan: Plan, records: LeafRecords, size: int) -> Labels:
    """Number the strata of sorted records, and the parts of those that are too large."""
    # Null patterns of a stratum are told apart by the plan, but a rank may not part one of them.
    strata = records.strata()
    if records.rule is not None and not isinstance(plan, LeafPlan):
        # Halves of a small stratum may break the rule; it is masked whole, however large it came out.
        return strata
    starts = np.flatnonzero(np.diff(records.strata(KEYS), prepend=-1))
    counts = np.diff(starts, append=len(strata))
    parts = np.zeros(len(strata), dtype=np.intp)
    for start, count in zip(starts.tolist(), counts.tolist(), strict=True):
        if count > LARGE * size:
            own = records.slice(start, start + count).columns
            x = plan.by_rank(own) if isinstance(plan, LeafPlan) else _unweighted(plan, own)
            parts[start : start + count] = 1 + blocks_by_rank(x, size)
    # Parts of a leaf are strata of their own, numbered apart.
    return strata * (int(parts.max(initial=0)) + 1) + parts


def _unweighted(plan: Plan, columns: list[pl.Series]) -> Matrix:
    """Return coordinates of a stratum that was small in the sample, each from 0 to 1."""
    names = [name for block in plan.blocks for name in block]
    kinds = [kind_for(name, c.dtype, plan.kinds) for name, c in zip(names, columns, strict=True)]
    x = np.column_stack([numbers(c, None, kind) for c, kind in zip(columns, kinds, strict=True)])
    x = np.nan_to_num(x, copy=False)
    # Halves, since the span of a column may be more than a number can hold.
    low, high = x.min(axis=0) / 2, x.max(axis=0) / 2
    return np.asarray((x / 2 - low) / np.where(high > low, high - low, 1.0))


def masked_field(field: Any, kind: Kind, plan: Plan) -> Any:
    """Return the Arrow field that a masked column has.

    It is as it was; but numbers may become Float64, and there are nulls where no category may be emitted
    and where rows are emptied.
    """
    import pyarrow as pa

    if not kind.numeric or plan.small_strata == "null":
        field = field.with_nullable(True)
    return field.with_type(pa.float64()) if has_means(kind) and plan.dtype == "float" else field


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
