"""What a specialist would warn of before a table is released, in sentences without its values."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from polars_microagg.analysis.anonymity import classes
from polars_microagg.frames.selection import by_name
from polars_microagg.publishing.warnings.functional_dependency import revealing
from polars_microagg.publishing.warnings.outliers import exposed
from polars_microagg.wording import Sentence, Setting, listed

__all__ = ["advice", "of_release", "of_table"]

UNIQUE = 0.9
"""Share of distinct values above which a kept column points at persons."""


def advice(
    original: pl.DataFrame,
    masked: pl.DataFrame,
    blocks: Sequence[Sequence[str]],
    k: int,
    *,
    strata: Sequence[str] = (),
    kept: Sequence[str] = (),
    center: str = "mean",
) -> list[str]:
    """Say what k does not protect in this release.

    Parameters
    ----------
    original : polars.DataFrame
        The table before, with the columns that are masked.
    masked : polars.DataFrame
        The table after. Records whose masked cells are empty are not counted where masked values
        are meant; their kept cells are released, and count. Rows that were dropped are in neither
        table.
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
    >>> masked = people.with_columns(gross=pl.Series([35, 35, 55, 55]))
    >>> advice(people, masked, [["gross"]], 2, kept=["net"])[0].partition(":")[0]
    "The kept column 'net' reveals the masked column 'gross'"
    """
    if not original.height:
        return []
    names = [name for block in blocks for name in block]
    return [
        *revealing(original, names, masked, kept),
        *_strata_shown(original, masked, names, strata, kept),
        *of_release(masked, blocks, k, strata=strata, kept=kept),
        *exposed(original, masked, blocks, strata, center),
    ]


def of_release(
    masked: pl.DataFrame,
    blocks: Sequence[Sequence[str]],
    k: int,
    *,
    strata: Sequence[str] = (),
    kept: Sequence[str] = (),
) -> list[str]:
    """Say what can be seen without the table before; parameters as for `advice`."""
    names = [name for block in blocks for name in block]
    released = masked.filter(_present(masked, names))
    return [
        *_unique(masked, kept),
        *_rare(released, strata, k),
        *_broken(released, blocks, k, strata),
    ]


def of_table(
    original: pl.DataFrame,
    blocks: Sequence[Sequence[str]],
    k: int,
    *,
    strata: Sequence[str] = (),
    kept: Sequence[str] = (),
    center: str = "mean",
    nulls: str = "raise",
    small_strata: str = "raise",
) -> list[str]:
    """Say what a table will be warned of before it is masked.

    Parameters
    ----------
    original, blocks, k, strata, kept, center
        As for `advice`.
    nulls : {"raise", "impute", "pattern"}
        With "pattern" a record without any value has nothing to mask.
    small_strata : {"raise", "null", "drop"}
        With "null" or "drop" a stratum below k is not released.

    Returns
    -------
    list of str
        Sentences that name columns and counts and no value.
    """
    names = [name for block in blocks for name in block]
    released = original
    if nulls == "pattern":
        released = original.filter(_present(original, names))
    found = [*revealing(original, names, original, kept), *_unique(original, kept)]
    found += _rare(released, strata, k, refused=small_strata == "raise")
    if len(blocks) > 1:
        found.append(f"{_alone(blocks, k)} in each of them and not for whole records. {ONE_BLOCK}")
    if center != "mean":
        found.append(
            Sentence(
                "The {center} of a group of an odd number of records is the value of one of them, and "
                "is released as it was. Use {mean}.",
                center=center,
                mean=Setting("center", "mean"),
            )
        )
    return found if original.height else []


def _present(frame: pl.DataFrame, names: Sequence[str]) -> pl.Series:
    """Rows of which a masked cell is released."""
    return frame.select(
        pl.any_horizontal(by_name(name).is_not_null() for name in names).alias("0")
    ).to_series()


def _unique(released: pl.DataFrame, kept: Sequence[str]) -> list[str]:
    if not kept or released.height < 2:
        return []
    counted = released.select(by_name(name).n_unique() for name in kept).row(0)
    return [
        f"The kept column {name!r} is nearly unique: {distinct} distinct values in "
        f"{released.height} rows, so it may point at persons. Drop it, or mask it."
        for name, distinct in zip(kept, counted, strict=True)
        if distinct > UNIQUE * released.height
    ]


def _rare(
    released: pl.DataFrame, strata: Sequence[str], k: int, *, refused: bool = True
) -> list[str]:
    """Strata that are too small, if they will be refused, or that make one group."""
    if not strata or not released.height:
        return []
    sizes = classes(released, strata)["size"].to_numpy()
    below, alone = int((sizes < k).sum()), int(((sizes >= k) & (sizes < 2 * k)).sum())
    found = list[str]()
    if below and refused:
        found.append(
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
        found.append(
            f"{alone} of {len(sizes)} strata of {listed(strata)} are rare, with fewer than "
            f"2k={2 * k} records: each is one group, whose centre is the centre of the whole "
            "stratum. Merge strata if such centres are known elsewhere."
        )
    return found


def _strata_shown(
    original: pl.DataFrame,
    masked: pl.DataFrame,
    names: Sequence[str],
    strata: Sequence[str],
    kept: Sequence[str],
) -> list[str]:
    """Kept columns from which the stratum of an emptied record can be read, as a city has one region."""
    keys = [name for name in strata if name in original.columns]
    gone = ~_present(masked, [*names, *strata])
    if not keys or not gone.any():
        return []
    stratum = original.select(pl.struct(by_name(name) for name in keys).alias("0")).to_series()
    found = list[str]()
    for name in kept:
        column = original.get_column(name).alias("1")
        of = pl.DataFrame([column, stratum, gone.alias("2")]).drop_nulls("1")
        # A value that one record has tells nobody where it is from; nearly unique ones are warned of.
        told = of.filter(pl.len().over("1") > 1, pl.col("0").n_unique().over("1") == 1)["2"].sum()
        if told:
            found.append(
                Sentence(
                    "The kept column {name} may tell the stratum of {told} emptied record(s): its value "
                    "there goes with one stratum of {keys} only. Drop it, or use {drop}.",
                    name=repr(name),
                    told=told,
                    keys=listed(keys),
                    drop=Setting("small_strata", "drop"),
                )
            )
    return found


ONE_BLOCK = "Mask all columns in one block, by a method that groups records."


def _alone(blocks: Sequence[Sequence[str]], k: int) -> str:
    return f"{len(blocks)} columns or blocks are masked each on its own, so k={k} holds"


def _broken(
    released: pl.DataFrame, blocks: Sequence[Sequence[str]], k: int, strata: Sequence[str]
) -> list[str]:
    """Blocks whose columns taken together are not k-anonymous."""
    if len(blocks) < 2:
        return []
    sizes = classes(released, [name for block in blocks for name in block], strata)["size"]
    few = int(sizes.filter(sizes < k).sum())
    if not few:
        return []
    return [
        f"{_alone(blocks, k)} in each of them only: taken together, {few} of {released.height} "
        f"records share their values with fewer than {k}. {ONE_BLOCK}"
    ]
