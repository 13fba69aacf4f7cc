"""Blocks of columns that are masked separately, and not k-anonymous together."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from polars_microagg.analysis.anonymity import classes
from polars_microagg.frames.released_strata import class_keys
from polars_microagg.publishing.warnings.persons import Persons
from polars_microagg.wording import Counted, Sentence

__all__ = ["broken_together", "few_together", "masked_apart"]


ONE_BLOCK = "Mask all columns in one block, by a method that groups records."


def _alone(blocks: Sequence[Sequence[str]], k: int) -> str:
    return f"{len(blocks)} columns or blocks are masked each on its own, so k={k} holds"


def masked_apart(blocks: Sequence[Sequence[str]], k: int) -> list[str]:
    """Warn that k will hold in each block only."""
    if len(blocks) < 2:
        return []
    return [f"{_alone(blocks, k)} in each of them and not for whole records. {ONE_BLOCK}"]


def broken_together(
    released: pl.DataFrame,
    blocks: Sequence[Sequence[str]],
    k: int,
    strata: Sequence[str],
    who: Persons | None = None,
) -> list[str]:
    """Warn of records that fewer than k others share on all blocks together.

    `who` are the persons of the records, if they are known; k counts them then.
    """
    if len(blocks) < 2:
        return []
    names = [name for block in blocks for name in block]
    if who is None:
        sizes = classes(released, names, strata)["size"]
        return few_together(blocks, k, int(sizes.filter(sizes < k).sum()), released.height)
    keys = released.select(class_keys([*dict.fromkeys([*names, *strata])], released.schema))
    counted = keys.with_columns(who.numbers.alias("\0who")).group_by(keys.columns)
    found = counted.agg(pl.len().alias("size"), pl.col("\0who").n_unique().alias("persons"))
    few = int(found.filter(pl.col("persons") < k)["size"].sum())
    return few_together(blocks, k, few, released.height, what=" persons")


def few_together(
    blocks: Sequence[Sequence[str]], k: int, few: int, rows: int, *, what: str = ""
) -> list[str]:
    """Warn that so few of these rows are with fewer than k others on all blocks together.

    >>> few_together([["age"], ["pay"]], 5, 12, 100)[0].partition(", 12")[2].partition(". ")[0]
    ' of 100 records share their values with fewer than 5'
    """
    if not few:
        return []
    return [
        Sentence(
            f"{_alone(blocks, k)} in each of them only: taken together, {{few}} of {{rows}} "
            f"records share their values with fewer than {k}{what}. {ONE_BLOCK}",
            # The release shows its records, and not the persons of it.
            few=Counted(few, rows) if what else few,
            rows=rows,
        )
    ]
