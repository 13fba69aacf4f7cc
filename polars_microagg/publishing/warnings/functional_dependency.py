"""Kept columns that are nearly a function of a masked one, from which it can be computed."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from polars_microagg.core.kind import kind_of
from polars_microagg.core.partition import Matrix, Vector
from polars_microagg.frames.columns import floats, is_number
from polars_microagg.frames.selection import by_name
from polars_microagg.publishing.column_kinds import of_numbers
from polars_microagg.publishing.formats.column_batches import batches
from polars_microagg.publishing.formats.text_types import typed

__all__ = ["revealing"]

REVEALS = 0.99
"""Correlation above which a kept column shows a masked one."""

FEWEST = 3
"""Records with both values, and distinct values, below which a correlation says nothing."""

SEVERAL = 2
"""Records that a value must have on average before it is said to go with a category."""

ITEMS = 4
"""Items of a list that are looked at."""


def revealing(
    original: pl.DataFrame,
    names: Sequence[str],
    released: pl.DataFrame,
    kept: Sequence[str],
    kinds: Mapping[str, Any] | None = None,
) -> list[str]:
    """Warn of kept columns that follow a masked one, by value or by rank, on the records with both.

    Text and categories are read as numbers or dates, structs and lists in parts. A masked category is
    revealed where each value of a kept column goes with one.

    >>> people = pl.DataFrame({"gross": [30, 45, 50, 60], "net": [21, None, 35, 42]})
    >>> revealing(people, ["gross"], people, ["net"])[0].partition(":")[0]
    "The kept column 'net' reveals the masked column 'gross'"
    """
    if not kept:
        return []
    masked = of_numbers(original.schema, names, kinds)
    others = [n for n in names if n not in masked and kind_of(original.schema[n], n, kinds)]
    return [
        *_by_number(original, masked, released, kept),
        *_by_value(original, others, released, kept),
    ]


def _by_value(
    original: pl.DataFrame, masked: Sequence[str], released: pl.DataFrame, kept: Sequence[str]
) -> Iterator[str]:
    """Yield a warning for each kept column whose values go with one category each."""
    plain = [name for name in kept if not released.schema[name].is_nested()] if masked else []
    for name in plain:
        value = released.get_column(name).alias("value")
        for other in masked:
            category = original.get_column(other).alias("category")
            pairs = pl.DataFrame([value, category]).drop_nulls()
            values, categories = pairs.select(pl.all().n_unique()).row(0)
            both = pairs.n_unique()
            # A value that one record has goes with its category whatever they mean.
            if categories > 1 and both == values and SEVERAL * values <= pairs.height:
                yield (
                    f"The kept column {name!r} reveals the masked column {other!r}: each of its "
                    "values goes with one category, so the original ones can be worked out. Mask or drop it."
                )


def _by_number(
    original: pl.DataFrame, masked: Sequence[str], released: pl.DataFrame, kept: Sequence[str]
) -> list[str]:
    """Warn of kept columns that follow a masked column of numbers."""
    if not masked:
        return []
    x = _numbers(original.select(by_name(n).alias(str(i)) for i, n in enumerate(masked)))
    read, pieces = list[str](), list[Matrix]()
    for batch in batches(kept, released.height):
        of, y = _readable(released, batch)
        read += of
        pieces.append(_strongest(x, y))
    strongest = np.hstack(pieces)
    close = np.argwhere(strongest > REVEALS).tolist()
    pairs = dict.fromkeys((read[j], masked[i]) for i, j in close)
    return [
        f"The kept column {one!r} reveals the masked column {other!r}: their correlation "
        f"is above {REVEALS}, so the original values can be worked out. Mask or drop it."
        for one, other in pairs
    ]


def _readable(released: pl.DataFrame, kept: Sequence[str]) -> tuple[list[str], Matrix]:
    """Return what can be read as numbers in some columns, and the column of each."""
    parts = [part for name in kept for part in _parts(name, released.get_column(name).alias("0"))]
    table = pl.DataFrame([column.alias(str(i)) for i, (_, column) in enumerate(parts)])
    table = typed(table, table.columns)
    table = table.select(column for column in table if is_number(column.dtype))
    if not table.width:
        return [], np.empty((released.height, 0))
    distinct = table.select(pl.all().n_unique()).row(0)
    table = table.select(itertools.compress(table.columns, np.greater_equal(distinct, FEWEST)))
    return [parts[int(i)][0] for i in table.columns], _numbers(table)


def _parts(name: str, column: pl.Series) -> Iterator[tuple[str, pl.Series]]:
    """Yield a column, or the parts of a nested one, with the name of the column."""
    kind = column.dtype
    if isinstance(kind, pl.Struct):
        for field in kind.fields:
            yield from _parts(name, column.struct.field(field.name).alias("0"))
    elif isinstance(kind, pl.List | pl.Array):
        items = column.arr.to_list() if isinstance(kind, pl.Array) else column
        for place in range(min(ITEMS, int(items.list.len().max() or 0))):  # type: ignore[arg-type]
            yield from _parts(name, items.list.get(place, null_on_oob=True))
    else:
        yield name, column.cast(pl.String) if isinstance(kind, pl.Categorical | pl.Enum) else column


def _numbers(table: pl.DataFrame) -> Matrix:
    """Return columns as numbers, NaN for missing ones."""
    # One step for all that polars stores as numbers, however many columns there are.
    others = [c for c in table if not (c.dtype.is_numeric() or c.dtype.is_temporal())]
    table = table.with_columns(floats(column) for column in others)
    numbers = table.select(pl.all().to_physical().cast(pl.Float64)).to_numpy()
    return np.where(np.isfinite(numbers), numbers, np.nan)


def _strongest(x: Matrix, y: Matrix) -> Matrix:
    """Return the larger of both correlations of each pair, on the records that have both values."""
    whole = [np.asarray(~np.isnan(side).any(axis=0)) for side in (x, y)]
    strongest = np.zeros((x.shape[1], y.shape[1]))
    if all(side.any() for side in whole):
        one, other = x[:, whole[0]], y[:, whole[1]]
        linear = _standardised(one).T @ _standardised(other)
        ranked = _standardised(_ranks(one)).T @ _standardised(_ranks(other))
        strongest[np.ix_(*whole)] = np.maximum(np.abs(linear), np.abs(ranked))
    for i in range(x.shape[1]):
        missing = ~(whole[0][i] & whole[1])
        if missing.any():
            strongest[i, missing] = _strongest_beside(x[:, i], y[:, missing])
    return strongest


def _strongest_beside(x: Vector, y: Matrix) -> Vector:
    """Return the same for one column and several others with missing values."""
    both = ~np.isnan(x)[:, None] & ~np.isnan(y)
    one, other = (np.where(both, side, np.nan) for side in (x[:, None], y))
    linear = (_standardised(one) * _standardised(other)).sum(axis=0)
    ranked = (_standardised(_ranks(one)) * _standardised(_ranks(other))).sum(axis=0)
    few = np.minimum(_distinct(one), _distinct(other)) < FEWEST
    return np.where(few, 0.0, np.maximum(np.abs(linear), np.abs(ranked)))


def _ranks(x: Matrix) -> Matrix:
    ranks = pl.DataFrame(x, nan_to_null=True).select(pl.all().rank("average"))
    return ranks.cast(pl.Float64).to_numpy()


def _distinct(x: Matrix) -> Vector:
    values = pl.DataFrame(x, nan_to_null=True).select(pl.all().drop_nulls().n_unique())
    return np.asarray(values.row(0))


def _standardised(x: Matrix) -> Matrix:
    """Return columns with mean 0 and length 1, 0 for missing values; constant columns are 0."""
    present = ~np.isnan(x)
    mean = np.nansum(x, axis=0) / np.maximum(present.sum(axis=0), 1)
    x = np.where(present, x - mean, 0.0)
    largest = np.abs(x).max(axis=0, initial=0.0)
    x /= np.where(largest > 0, largest, 1.0)
    length = np.sqrt((x * x).sum(axis=0))
    return np.asarray(x / np.where(length > 0, length, 1.0))
