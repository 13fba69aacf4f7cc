"""Columns of categories of which most would be lost, as too few records, or entities, have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import polars as pl

from polars_microagg.core.kind import Kind
from polars_microagg.core.partition import Labels
from polars_microagg.errors.categories import mostly_rare, nearly_unique
from polars_microagg.frames.attributes import entity_of

__all__ = ["RareValues", "countable", "refuse_rare", "refuse_rare_in", "refuse_unique"]

UNIQUE, FEW = 0.5, 20
"""Share of values in categories that are too rare above which a column is refused; and values below
which none is."""


@dataclass(frozen=True)
class RareValues:
    """Counts of the values of a column of categories, and of those that are in rare ones.

    Of all `values` but nulls, `few` are in categories that fewer than k have, `alone` in those that one has,
    and `numbers` are texts of numbers. `most` have the commonest category.
    """

    values: int = 0
    few: int = 0
    alone: int = 0
    numbers: int = 0
    most: int = 0

    @classmethod
    def of(cls, counted: pl.DataFrame, k: int) -> Self:
        """Add up categories: each `value` once, its `rows`, and the records or entities that `held` it."""
        counted = counted.drop_nulls("value")
        rows, held = pl.col("rows"), pl.col("held")
        number = pl.lit(value=False)
        if isinstance(counted.schema["value"], pl.String | pl.Categorical):
            text = pl.col("value").cast(pl.String)
            number = text.cast(pl.Float64, strict=False).is_not_null()
        sums = counted.select(
            values=rows.sum(),
            few=rows.filter(held < k).sum(),
            alone=rows.filter(held == 1).sum(),
            numbers=rows.filter(number).sum(),
            most=held.max().fill_null(0),
        )
        return cls(**sums.row(0, named=True))

    def with_(self, other: RareValues) -> RareValues:
        """Return the counts of both, where no category is in both."""
        return RareValues(
            self.values + other.values,
            self.few + other.few,
            self.alone + other.alone,
            self.numbers + other.numbers,
            max(self.most, other.most),
        )

    def refuse(self, name: str, kind: Kind, k: int, *, entities: bool) -> None:
        """Refuse the column if most of its values would be lost; `entities` says that these are counted."""
        # In an order, the nearest category that k have stands for a rare one, if there is one.
        fewest, lost = (2, self.alone) if kind.ordered and self.most >= k else (k, self.few)
        if self.values >= FEW and lost > UNIQUE * self.values:
            numbers = self.numbers > UNIQUE * self.values
            raise mostly_rare(name, (lost, self.values), fewest, entities, numbers)


def countable(kinds: Mapping[str, Kind]) -> dict[str, Kind]:
    """Return the columns whose categories can be too rare: those without means or wider classes."""
    return {name: kind for name, kind in kinds.items() if not kind.widens}


def refuse_unique(column: pl.Series, name: str, kind: Kind, records: int) -> None:
    """Refuse categories that nearly every record of a sample has for itself, as names and numbers of persons.

    A tree of classes can stand for them. In a sample, of so many `records`, categories look rarer than
    they are, so only those of a single record count.
    """
    values = len(column) - column.null_count()
    if kind.widens or values < FEW:
        return
    alone = int(column.drop_nulls().is_unique().sum())
    if alone > UNIQUE * values:
        raise nearly_unique(name, alone, values, records)


def refuse_rare(
    column: pl.Series, name: str, kind: Kind, k: int, entity: Labels | None = None
) -> None:
    """Refuse categories that would mostly be lost, as fewer than k records, or entities, have them.

    The column is whole, and `entity` has the codes of whose its records are.
    """
    if kind.widens or len(column) < FEW:
        return
    table, held = pl.DataFrame([column.alias("value")]), pl.len()
    if entity is not None:
        table, held = table.with_columns(whose=pl.Series(entity)), pl.col("whose").n_unique()
    counted = table.group_by("value").agg(rows=pl.len(), held=held)
    RareValues.of(counted, k).refuse(name, kind, k, entities=entity is not None)


def refuse_rare_in(
    frame: pl.DataFrame, kinds: Mapping[str, Kind], k: int, entity: Sequence[str] = ()
) -> None:
    """Refuse the columns of a whole table whose categories would mostly be lost."""
    own = countable(kinds)
    if not own:
        return
    codes = entity_of([frame[name] for name in entity], entity).codes if entity else None
    for name, kind in own.items():
        refuse_rare(frame[name], name, kind, k, codes)
