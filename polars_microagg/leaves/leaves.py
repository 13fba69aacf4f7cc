"""Leaves: how a table is split, as a small object that can be stored and sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from polars_microagg.core.kind import Kind
from polars_microagg.core.partition import Labels
from polars_microagg.core.plan import Plan
from polars_microagg.errors import InvalidParameterError
from polars_microagg.frames.columns import kind_for
from polars_microagg.frames.mask import MaskRequest
from polars_microagg.frames.safe_collect import collected
from polars_microagg.frames.selection import Schema, as_frame, by_name, resolve
from polars_microagg.leaves.key_columns import KeyColumns
from polars_microagg.leaves.leaves_json import fields_of, text_of
from polars_microagg.leaves.masking import LeafPlan
from polars_microagg.leaves.merge import merge_small, targets
from polars_microagg.leaves.merge_for_table import merge_for_table
from polars_microagg.leaves.options import leaf_request
from polars_microagg.leaves.protect import mask_leaf, mask_table
from polars_microagg.leaves.references import Reference
from polars_microagg.leaves.refusals import refuse_few, refuse_incomplete
from polars_microagg.leaves.rules import restricted
from polars_microagg.leaves.strata import (
    NUMBER,
    LargeStratum,
    Placing,
    refuse_nested,
    stratum_keys,
    within_strata,
)
from polars_microagg.leaves.tree import Tree

__all__ = ["Leaves"]


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
    large: tuple[LargeStratum, ...]
    tree: Tree
    merged: Mapping[int, int] = field(default_factory=dict)
    references: tuple[Reference, ...] = ()

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
        return hash((self.columns, self.k, self.method, self.size, len(self.tree)))

    def __repr__(self) -> str:
        """Describe the leaves without a value of a record."""
        about = f"{len(self)} of about {self.size} records, {self.method}, k={self.k}"
        return f"Leaves({about}{', cut by ' * bool(self.cut)}{self.cut})"

    @cached_property
    def request(self) -> MaskRequest:
        """The call by which a table is masked."""
        request = leaf_request(self.method, self.k, dict(self.options))
        return replace(request, plan=request.plan.bind([self.columns]), blocks=[[*self.columns]])

    @property
    def plan(self) -> Plan:
        """The plan of the call."""
        return self.request.plan

    @property
    def cut(self) -> str:
        """Return the way that large strata are cut; a table without strata is one."""
        return self.large[0].cut if self.large else ""

    @property
    def losses(self) -> Mapping[str, float]:
        """The loss of each kind of cut, tried in the largest stratum; none if the cut was named."""
        return next((one.losses for one in self.large if one.losses), {})

    @cached_property
    def _plans(self) -> list[Plan]:
        """Plans of the leaves of each large stratum, and then that of small strata."""
        # What is suppressed is counted over all leaves, and then refused, emptied or dropped.
        small = "drop" if self.parted or self.plan.small_strata != "raise" else "raise"
        plan = replace(self.plan, small_strata=small, progress_callback=None)
        several = np.bincount(np.delete(self.stratum_of_leaf, [*self.merged])) > 1
        return [*map(partial(LeafPlan.of, plan, self.columns), self.large, several.tolist()), plan]

    @cached_property
    def stratum_of_leaf(self) -> Labels:
        """Number of the large stratum of each leaf; how many there are for leaves of small strata."""
        # The leaves of a stratum lie side by side, and those of small strata come last.
        return np.cumsum(np.isin(np.arange(len(self.tree)), self.tree.borders(NUMBER)))

    def plans_of(self, leaves: Labels) -> tuple[Labels, Sequence[Plan]]:
        """Return the number of the plan of each leaf, and the plans."""
        return self.stratum_of_leaf[leaves], self._plans

    @property
    def key_columns(self) -> list[KeyColumns]:
        """The masked columns, and what is known of each in each large stratum."""
        return [stratum.keys(self.columns, self.plan.kinds) for stratum in self.large]

    @cached_property
    def _into(self) -> npt.NDArray[np.uint32]:
        """Leaf of each leaf after merging."""
        into = np.arange(len(self.tree), dtype=np.uint32)
        into[list(self.merged)] = list(self.merged.values())
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

        """
        frame = as_frame(frame)
        self.refuse_incomplete(self.selected(frame))
        return pl.Series("leaf", self._into[self.before_merging(frame)])

    def expr(self) -> pl.Expr:
        """Write `assign` as an expression for a LazyFrame, which may call it batch by batch.

        Returns
        -------
        polars.Expr
            UInt32, named "leaf".
        """
        return (
            pl.struct(by_name(name) for name in (*self.columns, *self.request.strata))
            .map_batches(
                _Assigning(self),
                return_dtype=pl.UInt32(),
                is_elementwise=True,
                returns_scalar=False,
            )
            .alias("leaf")
        )

    def stratum_keys(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the stratum of each record as two hashes; no columns if there are no strata."""
        return stratum_keys(frame, self.request.strata, self._absent)

    @property
    def _absent(self) -> Sequence[str]:
        """Columns whose nulls part records."""
        return self.columns if self.plan.nulls == "pattern" else ()

    def before_merging(self, frame: pl.DataFrame, keys: pl.DataFrame | None = None) -> Labels:
        """Return the leaf of each record before any are merged; `keys` are the strata, if known."""
        keys = self.stratum_keys(frame) if keys is None else keys
        plan = self.plan
        placing = Placing(self.columns, plan.kinds, plan.column_weights, self.large, self.tree)
        return placing.leaves(frame.select(map(by_name, self.columns)), keys)

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

        """
        if restricted(self.plan):
            return merge_for_table(self, collected(as_frame(counts, "counts")))[0]
        counts = np.asarray(counts, dtype=np.intp)
        if len(counts) != len(self.tree):
            need = f"one count for each of the {len(self.tree)} leaves"
            raise InvalidParameterError.kind("counts", f"{len(counts)} counts", need)
        refuse_few(int(counts.sum()) or self.k, self.k)
        # Merging is by the counts of the whole table. A leaf below k there would have no group of
        # k; joined to a neighbour it has, so k holds leaf by leaf and with that in the whole table.
        return self.joined(merge_small(self.tree, counts, self.k, within_strata(self.tree)))

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
            As of the function of the method, or the emptied rows of this leaf alone are fewer than k.
        GuaranteeError
            A class of masked records is smaller than k; nothing is released.

        Notes
        -----
        Equal distances go to the record whose values are lower, and among records equal in all
        masked columns to the one whose other columns have the lower hash. The order of rows thus
        does not count, only what is in them.
        """
        return mask_leaf(self, table)

    def mask(self, frame: pl.DataFrame, *, workers: int | None = None) -> pl.DataFrame:
        """Mask a whole table in memory, leaf by leaf.

        Parameters
        ----------
        frame : polars.DataFrame or polars.LazyFrame
            All records; a LazyFrame is collected.
        workers : int, optional
            Most processes that share long work, by default as many as processors.

        Returns
        -------
        polars.DataFrame
            The same table with its columns masked, after merging leaves of too few records.

        Raises
        ------
        InvalidDataError
            As of the function of the method.

        Examples
        --------
        >>> import polars as pl, polars_microagg as mg
        >>> people = pl.DataFrame({"age": range(100)})
        >>> mg.verify(mg.fit_leaves(people, "age", k=5, size=20).mask(people), "age", k=5)
        """
        return mask_table(self, collected(as_frame(frame)), workers)

    @property
    def parted(self) -> bool:
        """Return whether groups never cross strata, or null patterns."""
        return bool(self.request.strata or self._absent)

    def selected(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the columns that are masked, refusing types without centroid."""
        named = {"columns": self.columns, "strata": self.request.strata}
        for what, name in ((what, name) for what, names in named.items() for name in names):
            resolve(name, frame.schema, what)
        refuse_nested(self.request.strata, frame.schema)
        self.kinds(frame.schema)
        return frame.select(by_name(name) for name in self.columns)

    def kinds(self, schema: Schema) -> dict[str, Kind]:
        """Return the kind of each masked column, refusing types that leaves were not fitted to."""
        for keys in self.key_columns[:1]:
            keys.kinds_of(schema)
        return {name: kind_for(name, schema[name], self.plan.kinds) for name in self.columns}

    def refuse_incomplete(self, frame: pl.DataFrame) -> None:
        """Refuse nulls, NaN, infinities, and what is in no taxonomy."""
        kinds = self.kinds(frame.schema)
        refuse_incomplete(frame, kinds, self.plan.nulls)

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
