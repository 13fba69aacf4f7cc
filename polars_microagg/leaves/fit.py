"""Fit leaves to a table or to a sample of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

import numpy as np
import polars as pl

from polars_microagg.analysis.anonymity import selected
from polars_microagg.core.options import whole_number
from polars_microagg.core.partition import Labels, Matrix, Vector
from polars_microagg.core.plan import Plan
from polars_microagg.errors import InvalidParameterError
from polars_microagg.frames.attributes import entity_of
from polars_microagg.frames.columns import kind_for
from polars_microagg.frames.mask import MaskRequest
from polars_microagg.frames.rare_categories import refuse_rare_in, refuse_unique
from polars_microagg.frames.safe_collect import collected, schema_of
from polars_microagg.frames.selection import (
    Columns,
    as_frame,
    by_name,
    named_options,
    refuse_repeated,
)
from polars_microagg.leaves.cuts import (
    CUTS,
    TRIED,
    best_of,
    loss_of,
    tree_of_cuts,
    with_distance,
    with_far,
)
from polars_microagg.leaves.fit_keys import fitted_keys
from polars_microagg.leaves.leaves import Leaves
from polars_microagg.leaves.masking import LARGE, fingerprints
from polars_microagg.leaves.options import (
    block_request,
    leaf_columns,
    leaf_options,
    leaf_request,
    leaf_roles,
    leaf_size,
    refuse_patterns,
)
from polars_microagg.leaves.refusals import refuse_few, refuse_incomplete
from polars_microagg.leaves.rules import restricted
from polars_microagg.leaves.strata import (
    LargeStratum,
    completed_by,
    forest,
    placed,
    stratum_keys,
)
from polars_microagg.leaves.tree import Tree
from polars_microagg.wording import Sentence, Setting

__all__ = [
    "bound_blocks",
    "fit_leaves",
    "in_sample",
    "names_in",
    "one_leaf",
    "require_leaves",
    "require_no_options",
    "require_same_call",
    "sample_size",
]

RECORDS = "the number of records of the whole table, at least those of the sample"

ALONE = 1.5
"""Strata of more than this many times the size of a leaf have a tree of their own. They have not more
records than `LARGE` times that, above which a leaf is cut by rank, though a sample counts them roughly.
Where the sample is the table and no cut is named, it is `LARGE` times the size."""

SAMPLE = 1 << 17
"""Least number of records that leaves are fitted to."""

SAMPLED_A_LEAF = 16
"""Least number of sampled records a leaf."""

TRIAL = 20_000
"""Sampled records on which cuts are compared."""

NARROW = 8
"""Columns up to which that many are compared; of more numbers, fewer records."""


def fit_leaves(
    sample_or_frame: Any,
    columns: Columns,
    k: int,
    *,
    records: int | None = None,
    size: int | None = None,
    cut: str = "best",
    method: str = "mdav",
    scale: str = "zscore",
    seed: int = 0,
    **options: Any,
) -> Leaves:
    """Decide where to cut a table into leaves that are masked each on its own.

    Parameters
    ----------
    sample_or_frame : polars.DataFrame or polars.LazyFrame
        The table, or a sample of its records.
    columns : str, selector or list
        What is masked, and where the table is cut.
    k : int
        Smallest group size, at least 2.
    records : int, optional
        Number of records of the whole table if this is a sample.
    size : int, optional
        Records of a leaf, at least 2k; 5000 by default, or what the method can take.
    cut : str, default "best"
        Where nodes are cut: "median", in the middle of the column that spreads most; "gain", where
        the sum of squares falls most; "tail+median" and "tail+gain", thus after the farthest
        twentieth was set apart; "far+median" and "far+gain", after one leaf of the farthest of
        these was set apart, too. By default they are tried on the sample, and what loses least
        is taken.
    method : str, default "mdav"
        Name of a method that groups records.
    scale : {"zscore", "minmax", "robust", "none"}
        How columns are scaled for distances, the same in all leaves.
    seed : int, default 0
        Seed of methods that draw at random.
    **options : Any
        Those of the function of the method, such as ``strata``, ``small_strata``, ``nulls`` and
        ``order_by``. Of persons, ``entity`` takes ``entity_mode="rows"`` here.

    Returns
    -------
    Leaves
        If the whole table was given, leaves that are too small or break a privacy model are
        merged already; after a sample, give ``merge`` the counts of the whole table, or with
        privacy models the table.

    Raises
    ------
    InvalidParameterError
        A parameter is wrong, or one that leaves cannot honour.
    InvalidDataError
        Nulls, NaN or infinities, a type without centroid, fewer than k records, or a privacy
        model that the whole table as one group does not satisfy.

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> people = pl.DataFrame({"age": range(100), "income": range(1000, 900, -1)})
    >>> leaves = mg.fit_leaves(people, ["age", "income"], k=5, size=40)
    >>> parts = people.group_by(leaves.assign(people))
    >>> masked = pl.concat(leaves.protect(part) for _, part in parts)
    >>> mg.verify(masked, ["age", "income"], k=5)
    """
    frame = as_frame(sample_or_frame, "sample_or_frame")
    options = named_options(options, schema_of(frame))
    request = leaf_request(method, k, {**options, "scale": scale, "seed": seed})
    if cut not in ("best", *CUTS):
        raise InvalidParameterError.choice("cut", cut, ("best", *CUTS))
    size = leaf_size(size, request.plan)
    names = names_in(frame, columns, request)
    frame = collected(frame)
    plan = request.plan.bind([names])
    kinds = {name: kind_for(name, frame.schema[name], plan.kinds) for name in names}
    refuse_incomplete(frame.select(map(by_name, names)), kinds, plan.nulls)
    whole = records is None
    n = frame.height if records is None else whole_number("records", records, RECORDS, frame.height)
    refuse_few(n, plan.k)
    sample = frame.filter(in_sample(frame, sample_size(n, size) / n)) if whole else frame
    if whole:
        refuse_rare_in(frame, kinds, plan.k, plan.entity)
    for name, kind in kinds.items() if sample.height < n else ():
        refuse_unique(sample[name].alias(""), name, kind, n)
    call = _Call(replace(request, plan=plan), names, size, cut, n / max(sample.height, 1))
    large, tree = call.forest(sample)
    options = leaf_options(request, names)
    leaves = Leaves(names, plan.k, method, options, size, large, tree)
    if not whole:
        return leaves
    if restricted(plan):
        return leaves.merge(frame)
    return leaves.merge(np.bincount(leaves.assign(frame).to_numpy(), minlength=len(tree)))


@dataclass(frozen=True)
class _Call:
    """A checked call: each record of its sample stands for `each` of the table."""

    request: MaskRequest
    names: tuple[str, ...]
    size: int
    cut: str
    each: float

    def forest(self, sample: pl.DataFrame) -> tuple[tuple[LargeStratum, ...], Tree]:
        """Return the large strata of a sample, and the tree of all leaves."""
        plan = self.request.plan
        absent = self.names if plan.nulls == "pattern" else ()
        strata = stratum_keys(sample, self.request.strata, absent)
        if not strata.width:
            parts: list[Any] = [(None, sample)] if self._large(sample.height) else []
        else:
            rows = strata.with_row_index("row").group_by(strata.columns).agg("row")
            # In the order of their hashes, whatever came first.
            listed = rows.sort(strata.columns).iter_rows()
            parts = [(key, sample[row]) for *key, row in listed if self._large(len(row))]
        # Cuts are compared in the largest stratum, and the others take what was best there: else trying
        # would take longer the more strata there are.
        first = max(range(len(parts)), key=lambda j: parts[j][1].height, default=0)
        call, fitted = self, {}
        for j in sorted(range(len(parts)), key=lambda j: j != first):
            key, part = parts[j]
            fitted[j] = call._stratum(key and tuple(key), part)
            call = replace(self, cut=fitted[j][0].cut)
        made = [fitted[j] for j in range(len(parts))]
        left = sample.height - sum(part.height for _, part in parts)
        buckets = max(1, ceil(left * self.each / self.size)) if strata.width else 1 - len(parts)
        return tuple(stratum for stratum, _ in made), forest([t for _, t in made], buckets, left)

    def _large(self, sampled: int) -> bool:
        """Return whether a stratum with so many records in the sample has a tree of its own."""
        most = LARGE if self.each == 1 and self.cut == "best" else ALONE
        return sampled * self.each > most * self.size

    def _stratum(
        self, key: tuple[int, ...] | None, sample: pl.DataFrame
    ) -> tuple[LargeStratum, Tree]:
        """Fit a tree to the sampled records of a stratum, of which there are `n` in the table."""
        plan, n = self.request.plan, round(sample.height * self.each)
        sample, entity = _in_order(sample, self.names, plan)
        keys, own = fitted_keys(
            sample, plan.kinds, plan.column_weights, plan.scale, plan.k, n, entity
        )
        x, weights = keys.matrix(sample.get_columns()), keys.weights(own, plan.column_weights)
        there = np.maximum((~np.isnan(x)).sum(axis=0), 1)
        centre = (np.nan_to_num(x) / there).sum(axis=0)
        values = with_distance(completed_by(x, centre), centre, weights)
        most = TRIAL if keys.ordinary else TRIAL * NARROW // max(NARROW, len(weights))
        trial = values[:most]
        # A table that is tried whole is cut as it will be cut; a part of it into some leaves at least.
        tried = self.size if len(trial) == n else min(self.size, len(trial) // 4)
        losses = (
            {how: _loss(trial, weights, tried, how, plan.k, keys.classes) for how in TRIED}
            if self.cut == "best"
            else {}
        )
        capacity = max(self.size / self.each, 1.0)
        how = self.cut
        if losses:
            how = best_of(losses, whole=len(trial) == n)
            how = with_far(values, weights, capacity, how, plan.k, keys.classes)
        tree = tree_of_cuts(values, weights, capacity, how, keys.classes)
        known = () if keys.ordinary else keys.known
        scaling = tuple(own.tolist()), tuple(centre.tolist())
        return LargeStratum(key, *scaling, how, losses, known), placed(tree, len(weights))


def require_no_options(leaves: Leaves, options: Mapping[str, Any]) -> None:
    """Refuse options beside leaves, which have theirs already."""
    for name, value in options.items():
        what = Sentence(
            "{setting} beside leaves={leaves}", setting=Setting(name, value), leaves=repr(leaves)
        )
        raise InvalidParameterError.cannot("leaves", what, "Give it to fit_leaves.")


def require_same_call(leaves: Leaves, blocks: Sequence[tuple[str, ...]], k: int) -> None:
    """Refuse leaves of other columns, or of another k."""
    if ([leaves.columns], leaves.k) != ([*blocks], k):
        names = [list(block) for block in blocks]
        need = f"leaves of {names[0] if len(names) == 1 else names} with k={k}"
        raise InvalidParameterError.kind("leaves", repr(leaves), need)


def require_leaves(leaves: object) -> None:
    """Refuse an object that is not a Leaves."""
    if not isinstance(leaves, Leaves):
        need = "leaves that fit_leaves or an earlier call has made"
        raise InvalidParameterError.kind("leaves", type(leaves).__name__, need)


def one_leaf(names: Sequence[str], request: MaskRequest, size: int) -> Leaves:
    """Return the only leaf of a table without records."""
    plan, options = request.plan, leaf_options(request, names)
    return Leaves(tuple(names), plan.k, plan.method.name, options, size, (), forest([], 1, 1))


def names_in(
    frame: pl.DataFrame | pl.LazyFrame, columns: object, request: MaskRequest
) -> tuple[str, ...]:
    """Return the names of the columns of a table that are masked."""
    blocks = selected(frame, columns)
    if len(blocks) > 1:
        need = "one list of columns; mask each of several lists in a call of its own"
        raise InvalidParameterError.kind("columns", f"{len(blocks)} lists", need)
    refuse_repeated(blocks[0])
    schema = schema_of(frame)
    for name in blocks[0]:
        kind_for(name, schema[name], request.plan.kinds)
    leaf_columns(blocks[0], request.plan)
    leaf_roles(blocks[0], schema, request)
    return tuple(blocks[0])


def bound_blocks(frame: pl.DataFrame, request: MaskRequest) -> MaskRequest:
    """Return a call with the names of its columns, block by block; `frame` has the columns of the table."""
    found = request.masker(frame.schema).plan.blocks
    blocks = [names_in(frame, block, block_request(request, block)) for block in found]
    plan = request.plan.bind(blocks)
    refuse_patterns(plan)
    return replace(request, plan=plan, blocks=[list(block) for block in blocks])


def sample_size(records: int, size: int) -> int:
    """Return how many records of so many the leaves are fitted to."""
    return max(SAMPLE, SAMPLED_A_LEAF * -(-records // size))


def in_sample(frame: pl.DataFrame, share: float) -> pl.Series:
    """Return, as a Boolean series, a share of the records: those with a low hash."""
    if share >= 1:
        return pl.repeat(True, frame.height, dtype=pl.Boolean, eager=True)
    # The hash depends on the record alone: the same records are chosen from any file, batch or
    # partition, and equal records are in or out together.
    return fingerprints(frame) < int(share * 2**64)


def _in_order(
    sample: pl.DataFrame, names: Sequence[str], plan: Plan
) -> tuple[pl.DataFrame, Labels | None]:
    """Return the masked columns sorted by hash, and the entity of each record.

    So neither the first records nor sums depend on the order of reading.
    """
    masked = sample.select(by_name(name) for name in names)
    order = fingerprints(masked).arg_sort()
    entity = None
    if plan.entity:
        entity = entity_of([sample[name] for name in plan.entity], plan.entity).codes
        entity = entity[order.to_numpy()]
    return masked[order], entity


def _loss(values: Matrix, weights: Vector, size: int, how: str, k: int, classes: Labels) -> float:
    """Return the loss of one kind of cut on a trial."""
    tree = tree_of_cuts(values, weights, max(size, 2 * k), how, classes)
    return loss_of(tree, values, weights, k)
