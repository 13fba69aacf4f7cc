"""Kept columns that are nearly a function of a masked one, so that it can be worked out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from polars_microagg.frames.columns import can_mask
from polars_microagg.frames.selection import by_name
from polars_microagg.partition import Matrix, Vector
from polars_microagg.release.csv import typed

__all__ = ["revealing"]

REVEALS = 0.99
"""Correlation above which a kept column shows a masked one."""

FEWEST = 3
"""Records with both values, and distinct values, below which a correlation says nothing."""

ITEMS = 4
"""Items of a list that are looked at."""


def revealing(
    original: pl.DataFrame, names: Sequence[str], released: pl.DataFrame, kept: Sequence[str]
) -> list[str]:
    """Warn of kept columns that follow a masked one, by value or by rank.

    Parameters
    ----------
    original : polars.DataFrame
        The table before, with the columns that are masked.
    names : sequence of str
        The columns that are masked.
    released : polars.DataFrame
        The release, with the columns that are kept.
    kept : sequence of str
        Those columns; text and categories are read as numbers or dates, structs and lists in parts.

    Returns
    -------
    list of str
        One sentence for each pair, on the records that have both values.

    Examples
    --------
    >>> people = pl.DataFrame({"gross": [30, 45, 50, 60], "net": [21, None, 35, 42]})
    >>> revealing(people, ["gross"], people, ["net"])[0].partition(":")[0]
    "The kept column 'net' reveals the masked column 'gross'"
    """
    masked = [(n, original.get_column(n)) for n in names if can_mask(original.schema[n])]
    read = [part for name in kept for part in _parts(name, released.get_column(name).alias("0"))]
    if not masked or not read:
        return []
    x = [_numbers(column) for _, column in masked]
    y = [_numbers(column) for _, column in read]
    strongest = _strongest(x, y)
    pairs = np.argwhere(strongest > REVEALS).tolist()
    found = dict.fromkeys((read[j][0], masked[i][0]) for i, j in pairs)
    return [
        f"The kept column {one!r} reveals the masked column {other!r}: their correlation "
        f"is above {REVEALS}, so the original values can be worked out. Mask or drop it."
        for one, other in found
    ]


def _parts(name: str, column: pl.Series) -> Iterator[tuple[str, pl.Series]]:
    """What of a column can be read as numbers, with the name of the column."""
    kind = column.dtype
    if isinstance(kind, pl.Struct):
        for field in kind.fields:
            yield from _parts(name, column.struct.field(field.name).alias("0"))
    elif isinstance(kind, pl.List | pl.Array):
        items = column.arr.to_list() if isinstance(kind, pl.Array) else column
        for place in range(min(ITEMS, int(items.list.len().max() or 0))):  # type: ignore[arg-type]
            yield from _parts(name, items.list.get(place, null_on_oob=True))
    elif isinstance(kind, pl.Categorical | pl.Enum):
        yield from _parts(name, column.cast(pl.String))
    else:
        read = typed(column.to_frame(), ["0"]).select(by_name("0")).to_series()
        if can_mask(read.dtype) and read.n_unique() >= FEWEST:
            yield name, read


def _numbers(column: pl.Series) -> Vector:
    numbers = column.alias("0").to_physical().cast(pl.Float64).to_numpy()
    return np.where(np.isfinite(numbers), numbers, np.nan)


def _strongest(x: Sequence[Vector], y: Sequence[Vector]) -> Matrix:
    """The larger of both correlations of each pair; where values are missing, pair by pair."""
    whole = [[not np.isnan(column).any() for column in side] for side in (x, y)]
    found = np.zeros((len(x), len(y)))
    rows, columns = (np.flatnonzero(side).tolist() for side in whole)
    if len(rows) and len(columns):
        found[np.ix_(rows, columns)] = _correlations([x[i] for i in rows], [y[j] for j in columns])
    for i, j in np.argwhere(~np.logical_and.outer(*whole)).tolist():
        both = ~np.isnan(x[i]) & ~np.isnan(y[j])
        one, other = x[i][both], y[j][both]
        if min(len(np.unique(one)), len(np.unique(other))) >= FEWEST:
            found[i, j] = _correlations([one], [other])[0, 0]
    return found


def _correlations(x: Sequence[Vector], y: Sequence[Vector]) -> Matrix:
    linear = np.abs(_standardised(x).T @ _standardised(y))
    ranks = [[pl.Series(c).rank("average").to_numpy() for c in side] for side in (x, y)]
    return np.maximum(linear, np.abs(_standardised(ranks[0]).T @ _standardised(ranks[1])))


def _standardised(columns: Sequence[Vector]) -> Matrix:
    """Columns with mean 0 and length 1; those that do not vary are 0."""
    x = np.column_stack(columns).astype(np.float64)
    x -= x.mean(axis=0)
    largest = np.abs(x).max(axis=0, initial=0.0)
    x /= np.where(largest > 0, largest, 1.0)
    length = np.sqrt((x * x).sum(axis=0))
    return np.asarray(x / np.where(length > 0, length, 1.0))
