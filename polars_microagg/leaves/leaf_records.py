"""Records of leaves, and the order in which they are masked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from polars_microagg.core.partition import Labels
from polars_microagg.core.rule import Rule
from polars_microagg.leaves.sorting import sorted_by
from polars_microagg.leaves.strata import STRATA

__all__ = ["LeafRecords"]


@dataclass(frozen=True, eq=False)
class LeafRecords:
    """Records of whole leaves, in any order, with all that masking them needs.

    `leaf` (n,) is the leaf of each; `keys` tell strata apart, `order` is what they are sorted by first,
    and `ties` orders records that are equal in all columns. `rule` is what every group must satisfy,
    None for k records.
    """

    columns: list[pl.Series]
    leaf: Labels
    ties: pl.Series
    keys: pl.DataFrame = field(default_factory=pl.DataFrame)
    order: Sequence[pl.Series] = ()
    rule: Rule | None = None

    def sorting(self) -> pl.Series:
        """Return an order of the records that does not depend on how they came."""
        # Sorted by their values, then by hash: methods break ties by row, so the groups depend on what
        # the records are and not on when they arrived. That makes files, batches and Spark bit-equal.
        keys = (*self.keys, *self.order, *self.columns, self.ties)
        return pl.Series(sorted_by(self.leaf, keys).astype(np.uint32))

    def take(self, rows: pl.Series) -> LeafRecords:
        """Return the records at these positions."""
        at = rows.to_numpy()
        numbered = pl.DataFrame([c.alias(str(j)) for j, c in enumerate(self.columns)])
        keys = self.keys[rows] if self.keys.width else self.keys
        rule = self.rule and self.rule.take(at)
        return LeafRecords(
            numbered[rows].get_columns(), self.leaf[at], self.ties[:0], keys, (), rule
        )

    def slice(self, start: int, stop: int) -> LeafRecords:
        """Return the records from one position to another."""
        if stop - start == len(self.leaf):
            return self
        keys = self.keys[start:stop] if self.keys.width else self.keys
        rule = self.rule and self.rule.take(np.arange(start, stop))
        columns = [column[start:stop] for column in self.columns]
        return LeafRecords(columns, self.leaf[start:stop], self.ties, keys, (), rule)

    def strata(self, names: Sequence[str] = STRATA) -> Labels:
        """Number the strata of sorted records, told apart by these keys; no leaf shares one with others."""
        changed = np.diff(self.leaf, prepend=-1) != 0
        for column in self.keys.select(name for name in self.keys.columns if name in names):
            values = column.to_numpy()
            changed[1:] |= values[1:] != values[:-1]
        return np.asarray(np.cumsum(changed) - 1)
