"""Counts of the confidential values of a whole table, which leaves are compared with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from polars_microagg.core.attributes import Attribute
from polars_microagg.core.partition import Labels
from polars_microagg.errors import InvalidDataError
from polars_microagg.frames.attributes import is_ordered
from polars_microagg.wording import Sentence

__all__ = ["Reference", "Tally"]

WAITING = 1 << 16
"""Rows of counts that wait before they are added up."""


@dataclass(frozen=True, eq=False)
class Reference:
    """The distinct values of a column of the whole table, ascending with null first, and their counts."""

    name: str
    values: pl.Series
    counts: Labels
    cache: dict[Any, Any] = field(default_factory=dict)

    def codes(self, column: pl.Series) -> pl.Series:
        """Return the place of each value among those of the whole table.

        >>> Tally.of(pl.Series([5, None, 7]), "wage").codes(pl.Series([7, None])).to_list()
        [2, 0]
        """
        place = pl.DataFrame([self.values.alias("value")]).with_row_index("code")
        # Left joins match no nulls.
        here = pl.DataFrame([_comparable(column).cast(self.values.dtype).alias("value")])
        codes = here.join(place, on="value", how="left", maintain_order="left")["code"]
        if self.values.null_count():
            codes = codes.set(column.is_null().alias(""), 0)
        if unknown := codes.null_count():
            text = "{name} has {unknown} value(s) that the table of the leaves did not have"
            why = Sentence(text, name=repr(self.name), unknown=unknown)
            raise InvalidDataError.unmerged(why)
        return codes

    def attribute(self, codes: pl.Series) -> Attribute:
        """Return the column of some records, by their codes."""
        return _OfTable(
            self.name,
            codes.to_numpy().astype(np.intp),
            self.counts,
            ordered=is_ordered(self.values.dtype),
            nulls=bool(self.values.null_count()),
            cache=self.cache,
        )


class _OfTable(Attribute):
    """A column of some records of a table that is released whole, but for what is emptied of it."""

    def among(self, released: npt.NDArray[np.bool_]) -> Self:
        """Return the same column: what is suppressed in a leaf is none of the counts of the table."""
        del released
        return self


class Tally:
    """Counts of the values of a column, of which batch after batch is added.

    `refuse`, if given, is called with the bytes that the distinct values take, each time they are counted.
    """

    def __init__(self, refuse: Callable[[int], None] | None = None) -> None:
        self.refuse = refuse
        self.counted: pl.DataFrame | None = None
        self.waiting: list[pl.DataFrame] = []

    @classmethod
    def of(cls, column: pl.Series, name: str) -> Reference:
        """Return the counts of one column that is there whole."""
        tally = cls()
        tally.add(column)
        return tally.reference(name)

    def add(self, column: pl.Series, counts: pl.Series | None = None) -> None:
        """Add a batch: one record each, or as many as `counts` says."""
        frame = pl.DataFrame([_comparable(column).alias("value")])
        ones = pl.repeat(1, frame.height, dtype=pl.Int64, eager=True)
        frame = frame.with_columns((ones if counts is None else counts).alias("count"))
        self.waiting.append(_summed(frame))
        held = 0 if self.counted is None else self.counted.height
        if sum(part.height for part in self.waiting) > held + WAITING:
            self._settle()

    def reference(self, name: str) -> Reference:
        """Return the values of all batches and their counts."""
        table = self._settle().sort("value", nulls_last=False).rechunk()
        return Reference(name, table["value"], table["count"].to_numpy().astype(np.intp))

    def _settle(self) -> pl.DataFrame:
        """Add up what waits."""
        before = [] if self.counted is None else [self.counted]
        if self.waiting:
            self.counted = _summed(pl.concat([*before, *self.waiting]))
            self.waiting = []
            if self.refuse:
                self.refuse(int(self.counted.estimated_size()))
        return pl.DataFrame() if self.counted is None else self.counted


def _summed(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.group_by("value").agg(pl.col("count").sum())


def _comparable(column: pl.Series) -> pl.Series:
    """Return values that are equal wherever they come from."""
    # The codes behind categories depend on what was read before, and zero may have a sign.
    if isinstance(column.dtype, pl.Categorical):
        return column.cast(pl.String)
    return column + 0.0 if column.dtype.is_float() else column
