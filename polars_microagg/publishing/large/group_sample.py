"""A sample of whole groups of a release beside their original rows, block by block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import polars as pl

from polars_microagg.frames.selection import by_name, own_text
from polars_microagg.leaves.masking import fingerprints

__all__ = ["GroupSample"]

NUMBER = "\0number"
"""Name of the column of the groups, beside columns of any name."""


@dataclass
class GroupSample:
    """A sample of one in `every` group of a block; `names` are its columns and the strata.

    `beside` are columns of either table that say whose a record is. A group of more than `largest`
    records is left out: of those without an income there may be half of a table.
    """

    names: Sequence[str]
    beside: Sequence[str]
    every: int
    largest: int
    seed: int
    tables: list[tuple[pl.DataFrame, pl.DataFrame]] = field(default_factory=list)
    sizes: pl.DataFrame = field(
        default_factory=lambda: pl.DataFrame(schema={NUMBER: pl.UInt64, "rows": pl.Int64})
    )

    def add(self, before: pl.DataFrame, after: pl.DataFrame, blank: pl.Series) -> None:
        """Add the rows that belong to the sample; those that are `blank` are emptied."""
        number = fingerprints(after.select(map(by_name, self.names)), seed=self.seed)
        chosen = ~blank & (number % self.every == 0)
        picked = number.filter(chosen).alias(NUMBER).to_frame()
        met = picked.join(self.sizes, on=NUMBER, how="left", maintain_order="left")
        # One more than there may be tells that a group is too large; more would be in memory for nothing.
        earlier = pl.col("rows").fill_null(0) + pl.int_range(pl.len()).over(NUMBER)
        room = met.select(earlier <= self.largest).to_series()
        picked = picked.filter(room)
        counted = picked.group_by(NUMBER).agg(pl.len().cast(pl.Int64).alias("rows"))
        self.sizes = pl.concat([self.sizes, counted]).group_by(NUMBER).agg(pl.col("rows").sum())
        one, other = (
            own_text(
                table.select(map(by_name, self._columns_of(table))).filter(chosen).filter(room)
            )
            for table in (before, after)
        )
        self.tables.append((one, other.with_columns(picked)))

    def _columns_of(self, table: pl.DataFrame) -> list[str]:
        """Return the columns of the sample that a table has."""
        known = set(table.columns)
        return [name for name in dict.fromkeys([*self.names, *self.beside]) if name in known]

    def whole(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return the groups that are not too large, before and after."""
        before, after = (pl.concat(side, rechunk=True) for side in zip(*self.tables, strict=True))
        small = self.sizes.filter(pl.col("rows") <= self.largest)
        kept = after.get_column(NUMBER).is_in(small.get_column(NUMBER).implode())
        return before.filter(kept), after.drop(NUMBER).filter(kept)
