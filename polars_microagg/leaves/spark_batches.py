"""The work of Spark's workers on batches of a table, whose columns go by number there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from polars_microagg.frames.selection import as_frame
from polars_microagg.leaves.fit import in_sample
from polars_microagg.leaves.leaves import Leaves
from polars_microagg.leaves.rules import coded, failing_leaves, rule_of

__all__ = [
    "LEAF",
    "LeafCounter",
    "LeafMarker",
    "SampleFilter",
    "in_utc",
    "leaf_checker",
    "leaf_masker",
]

LEAF = "leaf"
"""Column of the leaf of each record, beside those that go by number."""


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
    """Count the records of each batch leaf by leaf."""

    leaves: Leaves
    names: tuple[str, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the leaves of each batch and how many records each has."""
        for batch in batches:
            leaves = self.leaves.assign(batch.rename_columns(self.names))
            leaf, records = np.unique(leaves.to_numpy(), return_counts=True)
            yield pa.record_batch({"leaf": leaf.astype(np.int64), "records": records})


@dataclass(frozen=True)
class LeafMarker:
    """Add the leaf of each record."""

    leaves: Leaves
    names: tuple[str, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield each batch with one more column."""
        for batch in batches:
            leaf = self.leaves.assign(batch.rename_columns(self.names)).to_numpy()
            yield batch.append_column(LEAF, pa.array(leaf.astype(np.int64)))


def leaf_masker(leaves: Leaves, names: Sequence[str]) -> Callable[[pa.Table], pa.Table]:
    """Return the function that masks the records of one leaf."""

    # Spark counts the arguments of a function, and those of an object wrongly.
    def mask(table: pa.Table) -> pa.Table:
        numbered = table.drop_columns([LEAF])
        masked = leaves.protect(numbered.rename_columns(names))
        masked = masked.rename_columns(numbered.column_names)
        fields = [field.with_type(in_utc(field.type)) for field in masked.schema]
        return masked.cast(pa.schema(fields))

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
