"""Strata that are too small, or that are one group each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import polars as pl

from polars_microagg.analysis.anonymity import classes
from polars_microagg.frames.released_strata import class_keys
from polars_microagg.publishing.warnings.persons import Persons
from polars_microagg.wording import Counted, Sentence, Setting, listed

__all__ = ["WHO", "of_sizes", "rare_strata"]

WHO = "\0who"
"""Name of the column of persons beside the keys of strata."""


def rare_strata(
    released: pl.DataFrame,
    strata: Sequence[str],
    k: int,
    *,
    refused: bool = True,
    who: Persons | None = None,
) -> list[str]:
    """Warn of strata that are too small, if they will be refused, or that make one group.

    `who` are the persons of the records, if they are known; k counts them then.
    """
    if not strata or not released.height:
        return []
    if who is None:
        return of_sizes(classes(released, strata)["size"], strata, k, refused=refused)
    keys = released.select(class_keys(strata, released.schema))
    pairs = keys.with_columns(who.numbers.alias(WHO)).unique()
    sizes = pairs.group_by(keys.columns).len("size")["size"]
    return of_sizes(sizes, strata, k, refused=refused, what="persons")


def of_sizes(
    sizes: pl.Series,
    strata: Sequence[str],
    k: int,
    *,
    refused: bool = True,
    what: Literal["records", "persons"] = "records",
) -> list[str]:
    """Warn of strata of these sizes, in records or persons, as `rare_strata` does.

    >>> of_sizes(pl.Series([3, 900]), ["city"], 5)[0].partition(" (")[0]
    "1 of 2 strata of 'city' have fewer than k=5 records"
    """
    below, alone = int((sizes < k).sum()), int(((sizes >= k) & (sizes < 2 * k)).sum())
    warnings = list[str]()
    if below and refused:
        warnings.append(
            Sentence(
                f"{{below}} of {{total}} strata of {{strata}} have fewer than k={{k}} {what} (the smallest "
                "has {smallest}). Merge strata, empty them with {empty}, or leave them out with {drop}.",
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
            Sentence(
                f"{{alone}} of {{total}} strata of {{strata}} are rare, with fewer than "
                f"2k={2 * k} {what}: each is one group, whose centre is the centre of the whole "
                "stratum. Merge strata if such centres are known elsewhere.",
                # The release shows its records, and not the persons of it.
                alone=alone if what == "records" else Counted(alone, len(sizes)),
                total=len(sizes),
                strata=listed(strata),
            )
        )
    return warnings
