"""Blocks of columns that are masked separately, and not k-anonymous together."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from polars_microagg.analysis.anonymity import classes

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
    released: pl.DataFrame, blocks: Sequence[Sequence[str]], k: int, strata: Sequence[str]
) -> list[str]:
    """Warn of records that fewer than k others share on all blocks together."""
    if len(blocks) < 2:
        return []
    sizes = classes(released, [name for block in blocks for name in block], strata)["size"]
    return few_together(blocks, k, int(sizes.filter(sizes < k).sum()), released.height)


def few_together(blocks: Sequence[Sequence[str]], k: int, few: int, rows: int) -> list[str]:
    """Warn that so few of these rows are with fewer than k others on all blocks together.

    >>> few_together([["age"], ["pay"]], 5, 12, 100)[0].partition(", 12")[2].partition(". ")[0]
    ' of 100 records share their values with fewer than 5'
    """
    if not few:
        return []
    return [
        f"{_alone(blocks, k)} in each of them only: taken together, {few} of {rows} "
        f"records share their values with fewer than {k}. {ONE_BLOCK}"
    ]
