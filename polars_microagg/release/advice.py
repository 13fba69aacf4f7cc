"""What a specialist would warn of before a table is released, in sentences without its values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import polars as pl

from polars_microagg.frames.columns import can_mask
from polars_microagg.frames.measures import classes
from polars_microagg.frames.selection import by_name
from polars_microagg.partition import Matrix
from polars_microagg.release.csv import typed

__all__ = ["advice"]

REVEALS = 0.99
"""Correlation above which a kept column shows a masked one."""

UNIQUE = 0.9
"""Share of distinct values above which a kept column points at persons."""

DOMINATES = 0.8
"""Share of the total of a group above which one record shows through the group's mean."""


def advice(
    original: pl.DataFrame,
    masked: pl.DataFrame | None,
    blocks: Sequence[Sequence[str]],
    k: int,
    *,
    strata: Sequence[str] = (),
    kept: Sequence[str] = (),
    center: str = "mean",
) -> list[str]:
    """Say what k does not protect in this table.

    Parameters
    ----------
    original : polars.DataFrame
        The table before.
    masked : polars.DataFrame or None
        The table after; without it only what the original shows is said.
    blocks : sequence of sequence of str
        Columns that are masked together.
    k : int
        Smallest group size.
    strata : sequence of str, optional
        Columns that keep records apart.
    kept : sequence of str, optional
        Other columns that are released as they are.
    center : {"mean", "median"}
        What replaces the values of a group.

    Returns
    -------
    list of str
        Sentences that name columns and counts and no value.

    Examples
    --------
    >>> people = pl.DataFrame({"gross": [30, 40, 50, 60], "net": [21, 28, 35, 42]})
    >>> advice(people, None, [["gross"]], 2, kept=["net"])[0].partition(":")[0]
    "The kept column 'net' reveals the masked column 'gross'"
    """
    if not original.height:
        return []
    names = [name for block in blocks for name in block]
    found = [*_revealing(original, names, kept), *_unique(original, kept)]
    found += _rare(original, strata, k)
    found += _broken(masked, blocks, k, strata)
    if masked is not None and center == "mean":
        found += _dominated(original, masked, blocks, strata)
    return found


def _listed(names: Iterable[str]) -> str:
    shown = [repr(name) for name in names]
    return ", ".join(shown[:10]) + (f" and {len(shown) - 10} more" if len(shown) > 10 else "")


def _standardised(columns: Sequence[pl.Series]) -> Matrix:
    """Columns with mean 0 and variance 1; those that do not vary are 0."""
    x = np.empty((len(columns[0]), len(columns)))
    for j, column in enumerate(columns):
        numbers = column.alias("0").to_physical().cast(pl.Float64).to_numpy()
        present = np.isfinite(numbers)
        centred = numbers - (numbers[present].mean() if present.any() else 0.0)
        x[:, j] = np.where(present, centred, 0.0)
    largest = np.abs(x).max(axis=0, initial=0.0)
    x /= np.where(largest > 0, largest, 1.0)
    length = np.sqrt((x * x).sum(axis=0))
    return x / np.where(length > 0, length, 1.0)


def _revealing(original: pl.DataFrame, names: Sequence[str], kept: Sequence[str]) -> list[str]:
    """Kept columns that are nearly a function of a masked one, by value or by rank."""
    read = typed(original.select(by_name(name) for name in kept), kept) if kept else original
    numeric = [n for n in kept if can_mask(read.schema[n]) and read.get_column(n).n_unique() > 2]
    masked = [name for name in names if can_mask(original.schema[name])]
    if not numeric or not masked:
        return []
    x = [original.get_column(name).alias("0") for name in masked]
    y = [read.get_column(name).alias("0") for name in numeric]
    linear = np.abs(_standardised(x).T @ _standardised(y))
    ranks = [[column.rank("average") for column in side] for side in (x, y)]
    ordered = np.abs(_standardised(ranks[0]).T @ _standardised(ranks[1]))
    strongest = np.maximum(linear, ordered)
    return [
        f"The kept column {numeric[j]!r} reveals the masked column {masked[i]!r}: their correlation "
        f"is {strongest[i, j]:.3f}, so the original values can be worked out. Mask or drop it."
        for i, j in np.argwhere(strongest > REVEALS)
    ]


def _unique(original: pl.DataFrame, kept: Sequence[str]) -> list[str]:
    found = []
    for name in kept:
        distinct = original.select(by_name(name)).n_unique()
        if original.height > 1 and distinct > UNIQUE * original.height:
            found.append(
                f"The kept column {name!r} is nearly unique: {distinct} distinct values in "
                f"{original.height} rows, so it may point at persons. Drop it, or mask it."
            )
    return found


def _rare(original: pl.DataFrame, strata: Sequence[str], k: int) -> list[str]:
    """Strata that are too small, or that make one group."""
    if not strata:
        return []
    sizes = classes(original, strata)["size"].to_numpy()
    below, alone = int((sizes < k).sum()), int(((sizes >= k) & (sizes < 2 * k)).sum())
    found = []
    if below:
        found.append(
            f"{below} of {len(sizes)} strata of {_listed(strata)} have fewer than k={k} records "
            f"(the smallest has {sizes.min()}). Merge strata, or empty their masked cells with "
            "small_strata='null'."
        )
    if alone:
        found.append(
            f"{alone} of {len(sizes)} strata of {_listed(strata)} are rare, with fewer than "
            f"2k={2 * k} records: each is one group, whose centre is the centre of the whole "
            "stratum. Merge strata if such centres are known elsewhere."
        )
    return found


def _broken(
    masked: pl.DataFrame | None, blocks: Sequence[Sequence[str]], k: int, strata: Sequence[str]
) -> list[str]:
    """Blocks whose columns taken together are not k-anonymous."""
    if len(blocks) < 2:
        return []
    names = [name for block in blocks for name in block]
    start = f"{len(blocks)} columns or blocks are masked each on its own, so k={k} holds "
    way = "Mask all columns in one block, by a method that groups records."
    if masked is None:
        return [f"{start}in each of them and not for whole records. {way}"]
    sizes = classes(masked, names, strata).filter(~pl.col("empty"))["size"]
    few = int(sizes.filter(sizes < k).sum())
    if not few:
        return []
    return [
        f"{start}in each of them only: taken together, {few} of {masked.height} records share their "
        f"values with fewer than {k}. {way}"
    ]


def _dominated(
    original: pl.DataFrame,
    masked: pl.DataFrame,
    blocks: Sequence[Sequence[str]],
    strata: Sequence[str],
) -> list[str]:
    """Groups whose mean nearly tells the value of one record."""
    found = []
    for block in blocks:
        keys = [masked.get_column(n).alias(f"k{i}") for i, n in enumerate([*block, *strata])]
        numeric = [name for name in block if original.schema[name].is_numeric()]
        sizes = [
            original.get_column(name).alias(f"x{i}").cast(pl.Float64).abs()
            for i, name in enumerate(numeric)
        ]
        by = [key.name for key in keys]
        values = [size.name for size in sizes]
        groups = (
            pl.DataFrame([*keys, *sizes])
            .group_by(by)
            .agg((pl.col(value).max() / pl.col(value).sum()).alias(value) for value in values)
        )
        for value, name in zip(values, numeric, strict=True):
            many = int((groups[value].fill_nan(0) > DOMINATES).sum())
            if many:
                found.append(
                    f"In {many} of {groups.height} groups one record makes more than "
                    f"{DOMINATES:.0%} of the total of {name!r}, so k times the mean nearly tells "
                    "its value. Cap the extremes before masking, or ask for a larger k."
                )
    return found
