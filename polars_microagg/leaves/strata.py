"""Strata of a table that is cut into leaves: large ones have a tree each, small ones share leaves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from polars_microagg.core.partition import Labels, Matrix, Vector
from polars_microagg.errors import InvalidParameterError
from polars_microagg.frames.columns import type_name
from polars_microagg.frames.released_strata import released_keys
from polars_microagg.frames.selection import Schema, by_name
from polars_microagg.leaves.key_columns import Key, KeyColumns
from polars_microagg.leaves.tree import Tree, joined_trees

__all__ = [
    "FIRST",
    "KEYS",
    "NUMBER",
    "SHARE",
    "STRATA",
    "LargeStratum",
    "Placing",
    "completed_by",
    "forest",
    "placed",
    "refuse_nested",
    "squared_distances",
    "stratum_keys",
    "within_strata",
]

NUMBER, SHARE, DISTANCE, FIRST = range(4)
"""Columns by which a table is cut: the number of the large stratum, the place of a small one between 0
and 1, the squared distance from the centre of the stratum, and then the coordinates."""

SEEDS = (2, 3)
"""A stratum is known by two hashes of 64 bits."""

STRATA = tuple(f"stratum{j}" for j in range(len(SEEDS)))
"""Names of their columns."""

PATTERN = "pattern"
"""Name of the column with the hash of which values are null."""

KEYS = (*STRATA, PATTERN)
"""Columns that a table of records may have to tell them apart."""

AT_ONCE = 1 << 21
"""Most numbers in memory while the leaves of records are found."""


@dataclass(frozen=True, eq=False)
class LargeStratum:
    """A stratum with a tree of its own: what leaves know of its columns, and how distances are measured.

    `key` has the hashes of the stratum and of its null pattern; it is None if the table is one stratum.
    """

    key: tuple[int, ...] | None
    weights: tuple[float, ...]
    centre: tuple[float, ...]
    cut: str
    losses: Mapping[str, float] = field(default_factory=dict)
    known: tuple[Key, ...] = ()

    def keys(self, columns: tuple[str, ...], kinds: Mapping[str, Any]) -> KeyColumns:
        """Return the masked columns, and what is known of each."""
        return KeyColumns(columns, kinds, self.known or (None,) * len(columns))


def stratum_keys(frame: pl.DataFrame, strata: Sequence[str], absent: Sequence[str]) -> pl.DataFrame:
    """Return the stratum of each record as two hashes, and a hash of which `absent` columns are null.

    There are no columns of what a call does not have.

    >>> frame = pl.DataFrame({"region": ["n", "s", "n"]})
    >>> stratum_keys(frame, ["region"], []).is_duplicated().to_list()
    [True, False, True]
    """
    found = {}
    if strata:
        # Records whose keys are -0.0 and 0.0 are one stratum.
        keys = frame.select(by_name(name) for name in strata)
        keys = keys.with_columns(released_keys(strata, keys.schema))
        # The codes behind categories depend on what was read before.
        texts = [
            column.cast(pl.String) if isinstance(column.dtype, pl.Categorical | pl.Enum) else column
            for column in keys
        ]
        told = pl.DataFrame([column.alias(str(j)) for j, column in enumerate(texts)])
        found = {name: told.hash_rows(seed=s) for name, s in zip(STRATA, SEEDS, strict=True)}
    if absent:
        gaps = [frame[name].alias("").is_null().alias(str(j)) for j, name in enumerate(absent)]
        found[PATTERN] = pl.DataFrame(gaps).hash_rows(seed=SEEDS[0])
    return pl.DataFrame(found)


def refuse_nested(strata: Sequence[str], schema: Schema) -> None:
    """Refuse strata of a type that has no hash."""
    for name in strata:
        if schema[name].is_nested() or isinstance(schema[name], pl.Object):
            need = f"columns of single values, and {name!r} is of type {type_name(schema[name])}"
            raise InvalidParameterError.kind("strata", list(strata), need)


@dataclass(frozen=True, eq=False)
class Placing:
    """Finds the leaf of records: by their stratum, and in a large one by their coordinates."""

    columns: tuple[str, ...]
    kinds: Mapping[str, Any]
    column_weights: Mapping[str, float]
    large: tuple[LargeStratum, ...]
    tree: Tree

    def leaves(self, frame: pl.DataFrame, strata: pl.DataFrame) -> Labels:
        """Return the leaf of each record, which depends on its own values alone."""
        n = frame.height
        number, share = self._numbers(strata, n), np.zeros(n)
        if strata.width:
            share = strata.to_series().to_numpy() / 2.0**64
        leaf = np.empty(n, dtype=np.intp)
        for rows, each in self._batches(number):
            sides = number[rows], share[rows]
            at = rows if isinstance(rows, slice) else pl.Series(rows)
            own = [column[at] for column in frame.get_columns()]
            leaf[rows] = self.tree.assign(self._values(own, *sides, each))
        return leaf

    def _numbers(self, strata: pl.DataFrame, n: int) -> Labels:
        """Return the number of the large stratum of each record; their count if it is in a small one."""
        if not strata.width or not self.large:
            return np.zeros(n, dtype=np.intp)
        known = pl.DataFrame(
            [(*(one.key or ()), j) for j, one in enumerate(self.large)],
            schema={**strata.schema, "number": pl.Int64},
            orient="row",
        )
        found = strata.join(known, on=strata.columns, how="left", maintain_order="left")["number"]
        return found.fill_null(len(self.large)).to_numpy().astype(np.intp)

    def _batches(self, number: Labels) -> Iterator[tuple[Any, Sequence[LargeStratum]]]:
        """Yield rows, and the large strata that they may be in."""
        n, width = len(number), FIRST + len(self.columns)
        if not any(one.known for one in self.large):
            # All strata have the same coordinates, and are placed together.
            for start in range(0, n, step := AT_ONCE // width):
                yield slice(start, start + step), self.large
            return
        order = np.argsort(number, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(number[order])) + 1):
            if rows.size:
                own = self.large[number[rows[0]] :][:1]
                width = FIRST + (len(own[0].centre) if own else 0)
                for start in range(0, len(rows), step := AT_ONCE // width):
                    yield rows[start : start + step], own

    def _values(
        self,
        columns: list[pl.Series],
        number: Labels,
        share: Vector,
        large: Sequence[LargeStratum],
    ) -> Matrix:
        """Return what the tree cuts by."""
        if not large:
            return np.column_stack([number, share])
        keys = large[0].keys(self.columns, self.kinds)
        x = keys.matrix(columns)
        centre, weights = self._scales(keys, number, large)
        x = completed_by(x, centre)
        values = np.empty((len(x), FIRST + x.shape[1]), order="F")
        values[:, NUMBER], values[:, SHARE], values[:, FIRST:] = number, share, x
        if (self.tree.columns == DISTANCE).any():
            values[:, DISTANCE] = squared_distances(x, centre, weights)
        return values

    def _scales(
        self, keys: KeyColumns, number: Labels, large: Sequence[LargeStratum]
    ) -> tuple[Matrix, Matrix]:
        """Return the centre of the stratum of each record, and the weights of its coordinates."""
        centres = np.array([one.centre for one in large])
        weights = np.array([keys.weights(one.weights, self.column_weights) for one in large])
        if len(large) == 1:
            return centres, weights
        # Records of small strata have a number that is one too high, and any coordinates will do.
        rows = np.minimum(number, len(large) - 1)
        return centres[rows], weights[rows]


def squared_distances(x: Matrix, centres: Matrix, weights: Matrix) -> Vector:
    """Return the weighted squared distance of each record from its centre; one row may stand for all.

    Values are added up column by column, so that a record has the same distance in any company.

    >>> squared_distances(np.array([[1.0, 5.0]]), np.array([[3.0, 4.0]]), np.array([[1.0, 2.0]]))
    array([8.])
    """
    distance = np.zeros(len(x))
    with np.errstate(over="ignore"):
        for column, middle, weight in zip(x.T, centres.T, weights.T, strict=True):
            away = (column - middle) * weight
            distance += away * away
    return distance


def completed_by(x: Matrix, centres: Matrix | Vector) -> Matrix:
    """Replace coordinates that are absent by the centre.

    >>> completed_by(np.array([[np.nan, 1.0]]), np.array([5.0, 7.0]))
    array([[5., 1.]])
    """
    absent = np.isnan(x)
    return np.where(absent, centres, x) if absent.any() else x


def within_strata(tree: Tree) -> np.ndarray:
    """Return which nodes of a tree cut a stratum; the others tell strata apart."""
    return np.asarray(tree.columns > SHARE)


def placed(tree: Tree, width: int) -> Tree:
    """Return a tree that cuts by `width` coordinates and the distance after them, for `Placing`."""
    distance = tree.columns == width
    return replace(tree, columns=np.where(distance, DISTANCE, tree.columns + FIRST))


def forest(trees: Sequence[Tree], buckets: int, expected: float) -> Tree:
    """Return one tree of the trees of all large strata, and of `buckets` leaves for the small ones.

    `expected` counts the sampled records of the small strata.
    """
    none = np.zeros(0, dtype=np.intp)
    each = np.array([max(1, round(expected / max(buckets, 1)))], dtype=np.intp)
    bucket = Tree(none, none.astype(np.float64), none, none, each)
    shares = [(j + 1) / buckets for j in range(buckets - 1)]
    small = [joined_trees([bucket] * buckets, SHARE, shares)] if buckets else []
    borders = [j + 0.5 for j in range(len(trees) + len(small) - 1)]
    return joined_trees([*trees, *small], NUMBER, borders)
