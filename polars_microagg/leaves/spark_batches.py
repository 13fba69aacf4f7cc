"""The work of Spark's workers on batches of a table, whose columns go by number there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa

from polars_microagg.frames.batch import Released
from polars_microagg.frames.selection import as_frame
from polars_microagg.leaves.fit import in_sample
from polars_microagg.leaves.leaves import Leaves
from polars_microagg.leaves.masking import fingerprints
from polars_microagg.leaves.protect import mask_counted
from polars_microagg.leaves.rules import coded, failing_leaves, rule_of
from polars_microagg.leaves.suppressed import settled

__all__ = [
    "LEAF",
    "BlockMarker",
    "LeafCounter",
    "LeafMarker",
    "SampleFilter",
    "as_long",
    "block_masker",
    "in_utc",
    "leaf_checker",
    "marks_of",
]

LEAF, TIES = "leaf", "ties"
"""Columns of the leaf of each record and of the hash that breaks ties, beside those that go by number."""


@dataclass(frozen=True)
class SampleFilter:
    """Keep a share of the records of each batch, the same in whatever batch they are."""

    places: list[int]
    share: float

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the chosen records of each batch."""
        for batch in batches:
            rows = in_sample(as_frame(batch), self.share)
            yield batch.select(self.places).filter(rows.to_arrow())


@dataclass(frozen=True)
class LeafCounter:
    """Count the records of each batch leaf by leaf, and stratum by stratum if that is asked for."""

    leaves: Leaves
    names: tuple[str, ...]
    strata: bool = False

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the leaves of each batch and how many records each has."""
        for batch in batches:
            frame = as_frame(batch.rename_columns(self.names))
            marks = pl.DataFrame(marks_of(self.leaves, frame, strata=self.strata))
            counted = marks.group_by(pl.all()).agg(pl.len().cast(pl.Int64).alias("records"))
            yield from counted.to_arrow().to_batches()


@dataclass(frozen=True)
class LeafMarker:
    """Add the leaf of each record, and its stratum if that is asked for."""

    leaves: Leaves
    names: tuple[str, ...]
    strata: bool = False

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield each batch with more columns."""
        for batch in batches:
            frame = as_frame(batch.rename_columns(self.names))
            for column in marks_of(self.leaves, frame, strata=self.strata):
                batch = batch.append_column(column.name, column.to_arrow())
            yield batch


def marks_of(leaves: Leaves, frame: pl.DataFrame, *, strata: bool) -> list[pl.Series]:
    """Return the leaf of each record, and what tells its stratum, as numbers that Spark has."""
    keys = leaves.stratum_keys(frame)
    leaves.refuse_incomplete(leaves.selected(frame))
    leaf = leaves.after_merging(leaves.before_merging(frame, keys))
    marks = [pl.Series(LEAF, leaf.astype(np.int64))]
    return marks + [as_long(keys[name]) for name in keys.columns if strata]


def as_long(column: pl.Series) -> pl.Series:
    """Return whole numbers as Spark has them: those of 64 bits without a sign keep their bits."""
    if column.dtype == pl.UInt64:
        return pl.Series(column.name, column.to_numpy().view(np.int64))
    return column.cast(pl.Int64)


@dataclass(frozen=True)
class BlockMarker:
    """Keep some columns, and add what masking each block needs to know of the records as they came.

    That is their leaf in each block, the hash by which those go that are equal in a block, and columns
    by which records are ordered though they are masked themselves.
    """

    blocks: tuple[Leaves, ...]
    names: tuple[str, ...]
    kept: list[int]
    ordering: list[int]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield each batch with its marks."""
        masked = [name for leaves in self.blocks for name in leaves.columns]
        for batch in batches:
            frame = as_frame(batch.rename_columns(self.names))
            made = batch.select(self.kept)
            for j, leaves in enumerate(self.blocks):
                leaf = marks_of(leaves, frame, strata=False)[0]
                made = made.append_column(f"{LEAF}{j}", leaf.to_arrow())
            ties = as_long(fingerprints(frame, without=masked))
            made = made.append_column(TIES, ties.to_arrow())
            for j, place in enumerate(self.ordering):
                made = made.append_column(f"order{j}", batch.column(place))
            yield made


def block_masker(
    leaves: Leaves, names: Sequence[str], ordering: Sequence[str], released: Sequence[str] | None
) -> Callable[[pa.Table], pa.Table]:
    """Return the function that masks the records of one leaf.

    After the last block only `released` columns come out, and rows are emptied or dropped; before it,
    all that other blocks need.
    """

    # Spark counts the arguments of a function, and those of an object wrongly.
    def mask(table: pa.Table) -> pa.Table:
        width = len(names)
        plain = table.select(range(width)).rename_columns(names)
        marks = table.select(range(width, table.num_columns))
        own = as_frame(marks.select([TIES, *(f"order{j}" for j in range(len(ordering)))]))
        ties = pl.Series(TIES, own[TIES].to_numpy().view(np.uint64))
        frame = as_frame(plain)
        copies = {name: own[f"order{j}"] for j, name in enumerate(ordering)}
        order = [copies.get(name, frame[name]) for name in leaves.request.order_by]
        masked = mask_counted(leaves, frame, ties, order)
        if released is None:
            made = settled(leaves, plain, Released(masked.columns, None))
            made = made.rename_columns(table.column_names[:width])
            for field, column in zip(marks.schema, marks.columns, strict=True):
                made = made.append_column(field, column)
        else:
            made = settled(leaves, plain, masked).select(released)
            numbers = dict(zip(names, table.column_names, strict=False))
            made = made.rename_columns([numbers[name] for name in released])
        fields = [field.with_type(in_utc(field.type)) for field in made.schema]
        return made.cast(pa.schema(fields))

    return mask


def leaf_checker(leaves: Leaves, names: Sequence[str]) -> Callable[[pa.Table], pa.Table]:
    """Return the function that says whether the records of one leaf as one group break the rule."""

    def check(table: pa.Table) -> pa.Table:
        frame = as_frame(table.drop_columns([LEAF]).rename_columns(names))
        records = coded(leaves.plan, leaves.references, frame)
        rule = rule_of(leaves.plan, leaves.references, records)
        broken = len(failing_leaves(rule, np.zeros(frame.height, dtype=np.intp))) > 0
        return pa.table({LEAF: table[LEAF][:1], "broken": [broken]})

    return check


def in_utc(kind: pa.DataType) -> pa.DataType:
    """Return the type that Spark takes back: moments are sent in its zone, and taken in UTC.

    >>> in_utc(pa.list_(pa.timestamp("us", "America/New_York")))
    ListType(list<item: timestamp[us, tz=UTC]>)
    """
    if pa.types.is_timestamp(kind) and kind.tz:
        return pa.timestamp(kind.unit, "UTC")
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(in_utc(field.type)) for field in kind])
    if pa.types.is_map(kind):
        fields = (kind.key_field, kind.item_field)
        return pa.map_(*(field.with_type(in_utc(field.type)) for field in fields))
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(in_utc(kind.value_type)))
    return kind
