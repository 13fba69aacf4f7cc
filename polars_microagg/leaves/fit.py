"""Fit leaves to a table or to a sample of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from polars_microagg.frames.safe_collect import collected, schema_of
from polars_microagg.frames.selection import Columns, as_frame, by_name, refuse_repeated
from polars_microagg.leaves.cuts import CUTS, loss_of, tree_of_cuts, with_distance
from polars_microagg.leaves.fit_keys import fitted_keys, unknown_keys
from polars_microagg.leaves.key_columns import KeyColumns
from polars_microagg.leaves.leaves import Leaves
from polars_microagg.leaves.masking import fingerprints
from polars_microagg.leaves.options import leaf_columns, leaf_plan, leaf_roles, leaf_size
from polars_microagg.leaves.refusals import missing_in, refuse_few, refuse_missing, refuse_type
from polars_microagg.leaves.rules import restricted
from polars_microagg.leaves.tree import Tree
from polars_microagg.wording import Sentence, Setting

__all__ = [
    "fit_leaves",
    "in_sample",
    "names_in",
    "one_leaf",
    "require_leaves",
    "require_same_call",
    "sample_size",
]

RECORDS = "the number of records of the whole table, at least those of the sample"

SAMPLE = 1 << 17
"""Least number of records that leaves are fitted to."""

SAMPLED_A_LEAF = 16
"""Least number of sampled records a leaf."""

TRIAL = 40_000
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
    cut : {"best", "median", "gain", "tail+median", "tail+gain"}, default "best"
        Where nodes are cut: in the middle of the column that spreads most; where the sum of
        squares falls most; or thus after the farthest twentieth was set apart. By default all
        are tried on the sample and the one with the lowest measured loss is taken.
    method : str, default "mdav"
        Name of a method that groups records.
    scale : {"zscore", "minmax", "robust", "none"}
        How columns are scaled for distances, the same in all leaves.
    seed : int, default 0
        Seed of methods that draw at random.
    **options : Any
        ``center``, ``dtype``, ``refine``, the kinds of columns (``nominal``, ``ordinal``,
        ``taxonomy``, ``circular``) and ``weigh``, the privacy models (``entity``, which takes
        ``entity_mode="rows"`` here, and ``confidential`` with ``l``, ``max_share`` or ``t``) and
        the options of the method.

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
    options = _plain({**options, "scale": scale, "seed": seed})
    plan = leaf_plan(method, k, options)
    if cut not in ("best", *CUTS):
        raise InvalidParameterError.choice("cut", cut, ("best", *CUTS))
    size = leaf_size(size, plan)
    frame = as_frame(sample_or_frame)
    names = names_in(frame, columns, plan)
    frame = collected(frame)
    kinds = {name: kind_for(name, frame.schema[name], plan.kinds) for name in names}
    categories = [name for name in names if not kinds[name].numeric]
    refuse_missing(((n, *missing_in(frame[n], kinds[n])) for n in names), categories)
    whole = records is None
    n = frame.height if records is None else whole_number("records", records, RECORDS, frame.height)
    refuse_few(n, plan.k)
    sample = frame.filter(in_sample(frame, sample_size(n, size) / n)) if whole else frame
    sample, entity = _in_order(sample, names, plan)
    keys, own = fitted_keys(sample, plan.kinds, plan.weigh, scale, plan.k, n, entity)
    x, weights = keys.matrix(sample.get_columns()), keys.weights(own, plan.weigh)
    centre = (x / len(x)).sum(axis=0)
    values = with_distance(x, centre, weights)
    most = TRIAL if keys.ordinary else TRIAL * NARROW // max(NARROW, len(weights))
    trial = values[:most]
    # A table that is tried whole is cut as it will be cut; a part of it into some leaves at least.
    tried = size if len(trial) == n else min(size, len(trial) // 4)
    losses = (
        {how: _loss(trial, weights, tried, how, plan.k, keys.classes) for how in CUTS}
        if cut == "best"
        else {}
    )
    how = min(losses, key=losses.__getitem__) if losses else cut
    tree = tree_of_cuts(values, weights, max(size * len(x) / n, 1.0), how, keys.classes)
    scaling = tuple(own.tolist()), tuple(centre.tolist())
    leaves = Leaves(
        names, plan.k, method, options, size, *scaling, tree, how, losses, keys=keys.known
    )
    if not whole:
        return leaves
    if restricted(leaves.plan):
        return leaves.merge(frame)
    return leaves.merge(np.bincount(leaves.assign(frame).to_numpy(), minlength=len(tree)))


def require_same_call(
    leaves: Leaves, names: tuple[str, ...], k: int, options: Mapping[str, Any]
) -> None:
    """Refuse leaves of another call, and options that leaves have already."""
    for name, value in options.items():
        what = Sentence(
            "{setting} beside leaves={leaves}", setting=Setting(name, value), leaves=repr(leaves)
        )
        raise InvalidParameterError.cannot("leaves", what, "Give it to fit_leaves.")
    if (leaves.columns, leaves.k) != (names, k):
        need = f"leaves of {list(names)} with k={k}"
        raise InvalidParameterError.kind("leaves", repr(leaves), need)


def require_leaves(leaves: object) -> None:
    """Refuse an object that is not a Leaves."""
    if not isinstance(leaves, Leaves):
        need = "leaves that fit_leaves or an earlier call has made"
        raise InvalidParameterError.kind("leaves", type(leaves).__name__, need)


def one_leaf(
    frame: pl.DataFrame, k: int, method: str, options: dict[str, Any], size: int
) -> Leaves:
    """Return the only leaf of the masked columns of a table without records."""
    none = np.zeros(0, dtype=np.intp)
    tree = Tree(none, none.astype(np.float64), none, none, np.ones(1, dtype=np.intp))
    names, ones = tuple(frame.columns), (1.0,) * frame.width
    kinds = leaf_plan(method, k, dict(options)).kinds
    keys = KeyColumns(names, kinds, unknown_keys(frame, kinds))
    centre = (1.0,) * len(keys.owner)
    own = _plain(options), size, ones, centre, tree, "median"
    return Leaves(names, k, method, *own, keys=keys.known)


def _plain(options: dict[str, Any]) -> dict[str, Any]:
    """Turn numbers of numpy into those of Python, which JSON can hold."""

    def plain(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {name: plain(each) for name, each in value.items()}
        # JSON has no tuples.
        if isinstance(value, tuple):
            return list(value)
        return value.item() if isinstance(value, np.generic) else value

    return {name: plain(value) for name, value in options.items()}


def names_in(frame: pl.DataFrame | pl.LazyFrame, columns: object, plan: Plan) -> tuple[str, ...]:
    """Return the names of the columns of a table that are masked."""
    blocks = selected(frame, columns)
    if len(blocks) > 1:
        need = "one list of columns; mask each of several lists in a call of its own"
        raise InvalidParameterError.kind("columns", f"{len(blocks)} lists", need)
    refuse_repeated(blocks[0])
    schema = schema_of(frame)
    for name in blocks[0]:
        refuse_type(name, schema[name], plan.kinds)
    leaf_columns(blocks[0], plan)
    leaf_roles(blocks[0], schema, plan)
    return tuple(blocks[0])


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
