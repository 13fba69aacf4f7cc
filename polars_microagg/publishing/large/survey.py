"""Counts and samples of all rows of a release beside its original, in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from polars_microagg.frames.released_strata import class_keys
from polars_microagg.frames.selection import by_name, own_text
from polars_microagg.leaves.memory_budget import MemoryBudget
from polars_microagg.out_of_core.aligned import aligned
from polars_microagg.out_of_core.counts import entity_hashes
from polars_microagg.out_of_core.distinct_values import DistinctValues
from polars_microagg.out_of_core.grouped import summed
from polars_microagg.out_of_core.parquet_source import ParquetSource
from polars_microagg.publishing.large.group_sample import GroupSample
from polars_microagg.publishing.manifest.imputed import counted_imputed, counted_values
from polars_microagg.publishing.warnings.emptied_strata import with_values
from polars_microagg.publishing.warnings.rare_strata import WHO

__all__ = ["SAMPLE", "SEED", "Survey"]

SAMPLE = 200_000
"""Rows, about, on which is seen what cannot be counted on all, and about as many in whole groups."""

SEED = 0
"""Seed of the sample."""

SIZE = "\0size"
"""Name of a column of counts beside columns of any name."""

CELL = 16
"""Bytes that a cell is thought to take."""

PART = 16
"""Each sample takes at most this part of the memory."""


@dataclass(frozen=True)
class Survey:
    """Counts over all rows of a release, and a sample of them beside the original ones.

    `values` are the masked cells that have one.
    `strata` are the sizes of the strata, without records that have no value, `unused` the names in the
    type of each Enum that no record has, and `distinct` about how many values each column has. `drawn`
    says whether the rows of `before` and `after` are fewer than all. Where an entity is known, `pairs` are
    about how many pairs of a value and a person each column has, and `persons` those of each stratum,
    of which no more than 2 k are counted. `imputed` are the cells of each masked column that had no value.
    `groups` are whole groups of each block, before and after, if the rows are a sample, and `largest`
    the most records of a group there.
    """

    emptied: int
    values: int
    fewest: int
    unused: dict[str, int]
    distinct: dict[str, int]
    strata: pl.Series
    before: pl.DataFrame
    after: pl.DataFrame
    drawn: bool
    pairs: dict[str, int]
    persons: pl.Series | None
    imputed: dict[str, int]
    groups: list[tuple[pl.DataFrame, pl.DataFrame]]
    largest: int

    @classmethod
    def of(
        cls,
        original: ParquetSource,
        released: ParquetSource,
        kept: npt.NDArray[np.bool_] | None,
        columns: tuple[Sequence[Sequence[str]], Sequence[str], Sequence[str]],
        budget: MemoryBudget,
        k: int,
    ) -> Self:
        """Read both tables once; `kept` says which rows of the original are in the release.

        `columns` are the blocks of masked ones, the strata, and those of the original that say whose a
        record is, which are in the sample.
        """
        blocks, strata, entity = columns
        names = [name for block in blocks for name in block]
        keys = [*names, *strata]
        # The same for the same table, however its files were written.
        cells = len(names) + len(released.schema)
        most = min(SAMPLE, max(1000, budget.memory // (PART * CELL * cells)))
        every = -(-released.rows // most)
        empty = released.empty
        there = entity and {*entity} <= {*original.schema.names}
        tally = _Tally(names, strata, empty.schema, entity if there else [], 2 * k)
        beside = {*keys, *entity}
        sides = [n for n in original.schema.names if n in beside], released.schema.names
        before = [original.empty.select(map(by_name, sides[0]))]
        after = [empty]
        row, drawn, seen = 0, every > 1, list[GroupSample]()
        largest = most // len(blocks)
        if drawn:
            # A group may have as many rows as are expected in the sample: then it is rarely much larger.
            of = every * len(blocks), largest, SEED
            seen = [GroupSample([*block, *strata], entity, *of) for block in blocks]
        for one, other in aligned(original, released, budget.batch, sides, kept):
            blank = other.select(pl.all_horizontal(by_name(n).is_null() for n in keys)).to_series()
            tally.add(one, other, blank)
            for sample in seen:
                sample.add(one, other, blank)
            chosen = pl.int_range(row, row + other.height, eager=True).hash(SEED) % every == 0
            before.append(own_text(one.filter(chosen)))
            after.append(own_text(other.filter(chosen)))
            row += other.height
        distinct = {name: min(one.count, released.rows) for name, one in tally.distinct.items()}
        # Each value has a person, which two estimates do not know of each other.
        pairs = {
            n: min(max(one.count, distinct[n]), released.rows) for n, one in tally.pairs.items()
        }
        return cls(
            tally.emptied,
            tally.values,
            tally.fewest,
            tally.unused,
            distinct,
            tally.sizes,
            pl.concat(before, rechunk=True),
            pl.concat(after, rechunk=True),
            drawn,
            pairs,
            tally.persons,
            tally.imputed,
            [sample.whole() for sample in seen],
            largest,
        )


@dataclass
class _Tally:
    """Counts that are added up batch by batch."""

    names: Sequence[str]
    strata: Sequence[str]
    schema: pl.Schema
    entity: Sequence[str]
    most: int
    emptied: int = 0
    values: int = 0
    rows: int = 0
    both: Any = None
    seen: dict[str, pl.Series] = field(default_factory=dict)
    found: pl.DataFrame | None = None
    distinct: dict[str, DistinctValues] = field(default_factory=dict)
    pairs: dict[str, DistinctValues] = field(default_factory=dict)
    people: pl.DataFrame | None = None
    imputed: dict[str, int] = field(default_factory=dict)

    def add(self, before: pl.DataFrame, after: pl.DataFrame, blank: pl.Series) -> None:
        """Count these rows, of which some are emptied."""
        self.emptied += int(blank.sum())
        self.values += counted_values(after, self.names)
        for name, cells in counted_imputed(before, after, self.names).items():
            self.imputed[name] = self.imputed.get(name, 0) + cells
        there = np.column_stack(
            [
                (one.get_column(n).alias("0").is_not_null()).to_numpy()
                & (other.get_column(n).alias("0").is_not_null()).to_numpy()
                for n in self.names
                for one, other in [(before, after)]
            ]
        )
        if self.both is None:
            self.both = np.zeros((len(self.names), len(self.names)))
        if there.all():
            self.both += len(there)
        else:
            # A product of matrices counts the records of every two columns; in pieces of 2^17 rows
            # float32 counts exactly.
            exact = there.astype(np.float32)
            self.both += exact.T @ exact
        who = entity_hashes(before, self.entity) if self.entity else None
        for name, dtype in self.schema.items():
            if not (dtype.is_nested() or dtype in (pl.Boolean, pl.Null)):
                column = after.get_column(name)
                self.distinct.setdefault(name, DistinctValues()).add(column)
                if who is not None and name not in (*self.names, *self.strata):
                    text = column.cast(pl.String) if isinstance(dtype, pl.Categorical) else column
                    hashes = pl.DataFrame([text.alias("0"), who.alias("1")]).hash_rows(seed=SEED)
                    self.pairs.setdefault(name, DistinctValues()).add(hashes)
            if isinstance(dtype, pl.Enum):
                values = after.get_column(name).alias("0").drop_nulls()
                known = self.seen.get(name)
                self.seen[name] = (values if known is None else pl.concat([known, values])).unique()

        if self.strata:
            valued = with_values(after, self.names)
            shown = after.filter(valued)
            keys = shown.select(class_keys(self.strata, self.schema))
            keys = keys.select(
                pl.col(c).cast(pl.String) if t == pl.Categorical else c
                for c, t in keys.schema.items()
            )
            counted = keys.group_by(pl.all()).agg(pl.len().cast(pl.Int64).alias(SIZE))
            both = counted if self.found is None else pl.concat([self.found, counted])
            self.found = summed(both, keys.columns)
            if who is not None:
                self._meet(keys.with_columns(who.filter(valued).alias(WHO)), keys.columns)

    def _meet(self, met: pl.DataFrame, keys: list[str]) -> None:
        """Keep the persons of each stratum, up to as many as make it large enough."""
        both = met if self.people is None else pl.concat([self.people, met])
        self.people = both.unique().filter(pl.int_range(pl.len()).over(keys) < self.most)

    @property
    def persons(self) -> pl.Series | None:
        """The persons of each stratum, or as many as make it large enough."""
        if self.people is None:
            return None
        keys = [name for name in self.people.columns if name != WHO]
        return self.people.group_by(keys).len(SIZE)[SIZE].cast(pl.Int64)

    @property
    def sizes(self) -> pl.Series:
        """The records of each stratum."""
        return pl.Series([], dtype=pl.Int64) if self.found is None else self.found[SIZE]

    @property
    def fewest(self) -> int:
        """The records that two columns have in common, where they are fewest."""
        return 0 if self.both is None else int(self.both.min())

    @property
    def unused(self) -> dict[str, int]:
        """The categories of each Enum that no released record has."""
        return {
            name: len(dtype.categories) - (len(self.seen[name]) if name in self.seen else 0)
            for name, dtype in self.schema.items()
            if isinstance(dtype, pl.Enum)
        }
