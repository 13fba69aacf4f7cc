"""Strata that are too small, or that are one group each."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from polars_microagg.analysis.anonymity import classes
from polars_microagg.wording import Sentence, Setting, listed

__all__ = ["of_sizes", "rare_strata"]


def rare_strata(
    released: pl.DataFrame, strata: Sequence[str], k: int, *, refused: bool = True
) -> list[str]:
    """Warn of strata that are too small, if they will be refused, or that make one group."""
    if not strata or not released.height:
        return []
    sizes = classes(released, strata)["size"]
    return of_sizes(sizes, strata, k, refused=refused)


def of_sizes(sizes: pl.Series, strata: Sequence[str], k: int, *, refused: bool = True) -> list[str]:
    """Warn of strata of these sizes, as `rare_strata` does.

    >>> of_sizes(pl.Series([3, 900]), ["city"], 5)[0].partition(" (")[0]
    "1 of 2 strata of 'city' have fewer than k=5 records"
    """
    below, alone = int((sizes < k).sum()), int(((sizes >= k) & (sizes < 2 * k)).sum())
    warnings = list[str]()
    if below and refused:
        warnings.append(
            Sentence(
                "{below} of {total} strata of {strata} have fewer than k={k} records (the smallest has "
                "{smallest}). Merge strata, empty them with {empty}, or leave them out with {drop}.",
                below=below,
                total=len(sizes),
                strata=listed(strata),
                k=k,
                smallest=sizes.min(),
                empty=Setting("small_strata", "null"),
                drop=Setting("small_strata", "drop"),
            )
        )
    if alone:
        warnings.append(
            f"{alone} of {len(sizes)} strata of {listed(strata)} are rare, with fewer than "
            f"2k={2 * k} records: each is one group, whose centre is the centre of the whole "
            "stratum. Merge strata if such centres are known elsewhere."
        )
    return warnings
