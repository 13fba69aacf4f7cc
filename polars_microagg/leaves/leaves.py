"""Leaves: how a table is split, as a small object that can be stored and sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from polars_microagg.core.kind import Kind
from polars_microagg.core.partition import Labels
from polars_microagg.errors import InvalidParameterError
from polars_microagg.frames.safe_collect import collected
from polars_microagg.frames.selection import Schema, as_frame, by_name, resolve
from polars_microagg.leaves.cuts import with_distance
from polars_microagg.leaves.key_columns import Key, KeyColumns
from polars_microagg.leaves.leaves_json import fields_of, text_of
from polars_microagg.leaves.masking import (
    LeafPlan,
    arrow_of,
    fingerprints,
    mask_leaves,
    masked_field,
)
from polars_microagg.leaves.memory_budget import parts_of
from polars_microagg.leaves.merge import merge_small, targets
from polars_microagg.leaves.merge_for_table import merge_for_table, rule_of_leaf
from polars_microagg.leaves.metadata_scrub import without_notes
from polars_microagg.leaves.references import Reference
from polars_microagg.leaves.refusals import missing_in, refuse_few, refuse_missing
from polars_microagg.leaves.rules import restricted
from polars_microagg.leaves.tree import Tree

__all__ = ["Leaves"]

MANY = 1 << 19
"""Records masked at a time where all are in memory."""

AT_ONCE = 1 << 21
"""Most numbers in memory while the leaves of records are found."""


@dataclass(frozen=True, eq=False, repr=False)
class Leaves:
    """A table split by the values of its records into leaves that are masked each on its own.

    Made by `fit_leaves`. Leaves can be pickled and written as JSON. They hold numbers close to values
    of single records, where it is cut, categories that at least k of the sample have, and how often each
    confidential value occurs, and are no more to be released than the table itself.

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> people = pl.DataFrame({"age": range(100), "income": range(1000, 900, -1)})
    >>> leaves = mg.fit_leaves(people, ["age", "income"], k=5, size=40)
    >>> leaves
    Leaves(4 of about 40 records, mdav, k=5, cut by median)
    >>> leaves.assign(people).value_counts(sort=True)["count"].to_list()
    [25, 25, 25, 25]
    """

    columns: tuple[str, ...]
    k: int
    method: str
    options: Mapping[str, Any]
    size: int
    weights: tuple[float, ...]
    centre: tuple[float, ...]
    tree: Tree
    cut: str
    losses: Mapping[str, float] = field(default_factory=dict)
    merged: Mapping[int, int] = field(default_factory=dict)
    references: tuple[Reference, ...] = ()
    keys: tuple[Key, ...] = ()

    def __len__(self) -> int:
        """Count the leaves that are not merged into others."""
        return len(self.tree) - len(self.merged)

    def __eq__(self, other: object) -> bool:
        """Return whether other leaves are the same to the last bit."""
        if not isinstance(other, Leaves):
            return NotImplemented
        return text_of(self, ordered=True) == text_of(other, ordered=True)

    def __hash__(self) -> int:
        """Hash the short fields."""
        return hash((self.columns, self.k, self.method, self.size, self.weights))

    def __repr__(self) -> str:
        """Describe the leaves without a value of a record."""
        about = f"{len(self)} of about {self.size} records, {self.method}, k={self.k}"
        return f"Leaves({about}, cut by {self.cut})"

    @cached_property
    def plan(self) -> LeafPlan:
        """The plan by which one leaf is masked."""
        weights = np.array(self.weights)
        return LeafPlan.of(self.method, self.k, self.columns, weights, self.keys, **self.options)

    @property
    def key_columns(self) -> KeyColumns:
        """The masked columns, and what is known of each."""
        return self.plan.keys

    @cached_property
    def _into(self) -> npt.NDArray[np.uint32]:
        """Leaf of each leaf after merging."""
        into = np.arange(len(self.tree), dtype=np.uint32)
        for leaf, target in self.merged.items():
            into[leaf] = target
        return into

    def assign(self, frame: Any) -> pl.Series:
        """Find the leaf of each record.

        Parameters
        ----------
        frame : polars.DataFrame, or a table that exports Arrow
            Some records or all. Equal values are in the same leaf whatever they came with.

        Returns
        -------
        polars.Series
            UInt32, named "leaf".

        Raises
        ------
        InvalidDataError
            Nulls, NaN or infinities.
        """
        frame = self._selected(as_frame(frame))
        self._complete(frame)
        return pl.Series("leaf", self._into[self.before_merging(frame)])

    def expr(self) -> pl.Expr:
        """Write `assign` as an expression for a LazyFrame, which may call it batch by batch.

        Returns
        -------
        polars.Expr
            UInt32, named "leaf".
        """
        return (
            pl.struct(by_name(name) for name in self.columns)
            .map_batches(
                _Assigning(self),
                return_dtype=pl.UInt32(),
                is_elementwise=True,
                returns_scalar=False,
            )
            .alias("leaf")
        )

    def before_merging(self, frame: pl.DataFrame) -> Labels:
        """Return the leaf of each record of the masked columns before any are merged."""
        keys, leaf = self.key_columns, np.empty(frame.height, dtype=np.intp)
        rows = AT_ONCE // (1 + len(keys.owner))
        for start in range(0, frame.height, rows):
            values = keys.matrix(frame[start : start + rows].get_columns())
            if (self.tree.columns == len(keys.owner)).any():
                weights = keys.weights(self.weights, self.plan.weigh)
                values = with_distance(values, np.array(self.centre), weights)
            leaf[start : start + rows] = self.tree.assign(values)
        return leaf

    def after_merging(self, leaves: npt.NDArray[np.integer]) -> Labels:
        """Return the leaf of each record, from the leaf that it had before."""
        into: Labels = self._into[leaves].astype(np.intp)
        return into

    def merge(self, counts: Any) -> Leaves:
        """Join leaves of fewer than k records, or that break a privacy model, to their neighbours.

        Parameters
        ----------
        counts : sequence of int, polars.DataFrame or polars.LazyFrame
            Records of the whole table in each leaf as `assign` finds it, those without any
            included. With privacy models the whole table itself.

        Returns
        -------
        Leaves
            The same leaves, those with too few merged.

        Raises
        ------
        InvalidDataError
            There are fewer than k records in all, or together they break a privacy model.
        """
        if restricted(self.plan):
            return merge_for_table(self, collected(as_frame(counts)))[0]
        counts = np.asarray(counts, dtype=np.intp)
        if len(counts) != len(self.tree):
            need = f"one count for each of the {len(self.tree)} leaves"
            raise InvalidParameterError.kind("counts", f"{len(counts)} counts", need)
        refuse_few(int(counts.sum()) or self.k, self.k)
        # Merging is by the counts of the whole table. A leaf below k there would have no group of
        # k; joined to a neighbour it has, so k holds leaf by leaf and with that in the whole table.
        return self.joined(merge_small(self.tree, counts, self.k))

    def joined(self, into: Mapping[int, int]) -> Self:
        """Return the leaves after merging some more."""
        return replace(self, merged=dict(sorted(targets({**self.merged, **into}).items())))

    def protect(self, table: Any) -> Any:
        """Mask the records of one leaf.

        Parameters
        ----------
        table : polars.DataFrame or pyarrow.Table
            All records of one leaf, with any other columns, in any order.

        Returns
        -------
        polars.DataFrame or pyarrow.Table
            The same table with its columns masked: other columns, types and the order of rows
            are kept. Notes on an Arrow table, its metadata, are left out.

        Raises
        ------
        InvalidDataError
            Nulls, NaN or infinities, a type without centroid, or fewer than k records.
        BrokenPromiseError
            A class of masked records is smaller than k; nothing is released.

        Notes
        -----
        Equal distances go to the record whose values are lower, and among records equal in all
        masked columns to the one whose other columns have the lower hash. The order of rows thus
        does not count, only what is in them.
        """
        frame = as_frame(table)
        chosen = self._selected(frame)
        self._complete(chosen)
        refuse_few(frame.height or self.k, self.k, leaf=True)
        leaves = np.zeros(frame.height, dtype=np.intp)
        rule = rule_of_leaf(self, frame)
        ties = fingerprints(frame, without=self.columns)
        masked = mask_leaves(self.plan, chosen, self.size, leaves, ties, rule)
        if isinstance(table, pl.DataFrame):
            return table.with_columns(masked)
        kinds = self.kinds(chosen.schema)
        for column in masked:
            at = table.schema.get_field_index(column.name)
            made = masked_field(table.schema.field(at), kinds[column.name], self.plan.dtype)
            table = table.set_column(at, made, arrow_of(column, made))
        return without_notes(table)

    def mask(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Mask a whole table in memory, all leaves one after the other.

        Parameters
        ----------
        frame : polars.DataFrame or polars.LazyFrame
            All records; a LazyFrame is collected.

        Returns
        -------
        polars.DataFrame
            The same table with its columns masked; leaves that have too few records here are
            merged first.

        Raises
        ------
        InvalidDataError
            Nulls, NaN or infinities, a type without centroid, or fewer than k records.

        Examples
        --------
        >>> import polars as pl, polars_microagg as mg
        >>> people = pl.DataFrame({"age": range(100)})
        >>> masked = mg.fit_leaves(people, "age", k=5, size=20).mask(people)
        >>> mg.verify(masked, "age", k=5)
        """
        frame = collected(as_frame(frame))
        _, leaf, rule = merge_for_table(self, frame)
        ties = fingerprints(frame, without=self.columns)
        # Part by part, so that sorting needs little memory; leaves are masked on their own, so the
        # parts do not show in the result.
        part = parts_of(self.tree, frame.height, MANY)[leaf]
        order = np.argsort(part, kind="stable")
        pieces = []
        for rows in np.split(order, np.cumsum(np.bincount(part))[:-1]):
            if rows.size:
                chosen = self._selected(frame)[rows]
                own = rule and rule.take(rows)
                masked = mask_leaves(self.plan, chosen, self.size, leaf[rows], ties[rows], own)
                pieces.append(pl.DataFrame({column.name: column for column in masked}))
        back = np.empty(len(order), dtype=np.intp)
        back[order] = np.arange(len(order))
        return frame.with_columns(pl.concat(pieces)[back]) if pieces else frame

    def _selected(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the columns that are masked, refusing types without centroid."""
        for name in self.columns:
            resolve(name, frame.schema)
        self.kinds(frame.schema)
        return frame.select(by_name(name) for name in self.columns)

    def kinds(self, schema: Schema) -> dict[str, Kind]:
        """Return the kind of each masked column, refusing types that leaves were not fitted to."""
        return self.key_columns.kinds_of(schema)

    def _complete(self, frame: pl.DataFrame) -> None:
        """Refuse nulls, NaN, infinities, and what is in no taxonomy."""
        kinds = self.kinds(frame.schema)
        found = ((name, *missing_in(frame[name], kind)) for name, kind in kinds.items())
        refuse_missing(found, [name for name, kind in kinds.items() if not kind.numeric])

    def to_json(self) -> str:
        """Write the leaves as JSON, every number to its last bit."""
        return text_of(self)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote.

        Parameters
        ----------
        text : str
            JSON.

        Returns
        -------
        Leaves
            The same leaves.

        Raises
        ------
        InvalidParameterError
            It is no JSON of leaves, or was altered so that it is none any more.
        """
        return cls(**fields_of(text))


@dataclass(frozen=True)
class _Assigning:
    """The function of `Leaves.expr`; a class, so that plans can be serialised."""

    leaves: Leaves

    def __call__(self, records: pl.Series) -> pl.Series:
        """Return the leaves of a batch."""
        return self.leaves.assign(records.struct.unnest())
