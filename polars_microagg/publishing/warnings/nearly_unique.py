"""Kept columns that are nearly unique, and so may point at persons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from polars_microagg.frames.selection import by_name
from polars_microagg.publishing.warnings.persons import Persons

__all__ = ["UNIQUE", "nearly_unique", "of_persons", "with_values_of"]

UNIQUE = 0.9
"""Share of distinct values above which a kept column points at persons."""


def nearly_unique(
    released: pl.DataFrame, kept: Sequence[str], who: Persons | None = None
) -> list[str]:
    """Warn of kept columns that have nearly as many values as records, or that tell persons apart.

    `who` are the persons of the records, if they are known. A value that all records of one person have
    points at that person, as one of one record does: a person counts once for each value. Columns of the
    entity tell persons apart anyway, and count records.
    """
    if not kept or released.height < 2:
        return []
    counted = released.select(by_name(name).n_unique() for name in kept).row(0)
    distinct = dict(zip(kept, counted, strict=True))
    if who is None:
        return with_values_of(distinct, released.height)
    pairs = {
        name: pl.DataFrame(
            [released.get_column(name).alias("0"), who.numbers.alias("1")]
        ).n_unique()
        for name in kept
        if name not in who.entity
    }
    own = {name: distinct[name] for name in kept if name in who.entity}
    return [*of_persons(distinct, pairs), *with_values_of(own, released.height)]


def of_persons(
    distinct: Mapping[str, int], pairs: Mapping[str, int], *, about: bool = False
) -> list[str]:
    """Warn of columns with so many distinct values, and so many of a value and a person who has it.

    >>> of_persons({"id": 33, "city": 7}, {"id": 33, "city": 60})[0].partition(":")[0]
    "The kept column 'id' is nearly unique"
    """
    return [
        f"The kept column {name!r} is nearly unique: {'about ' * about}{values} distinct values, "
        "nearly each of one person, so it may point at persons. Drop it, or mask it."
        for name, both in pairs.items()
        if (values := distinct[name]) > 1 and values > UNIQUE * both
    ]


def with_values_of(distinct: Mapping[str, int], rows: int, *, about: bool = False) -> list[str]:
    """Warn of columns that have so many, or about so many, distinct values in so many rows.

    >>> with_values_of({"id": 100, "city": 7}, 100)[0].partition(":")[0]
    "The kept column 'id' is nearly unique"
    """
    return [
        f"The kept column {name!r} is nearly unique: {'about ' * about}{values} distinct values in "
        f"{rows} rows, so it may point at persons. Drop it, or mask it."
        for name, values in distinct.items()
        if values > UNIQUE * rows
    ]
