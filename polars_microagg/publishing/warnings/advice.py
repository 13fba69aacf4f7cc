"""Warnings before a table is released, in sentences without its values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from polars_microagg.publishing.column_kinds import of_numbers
from polars_microagg.publishing.warnings.emptied_strata import emptied_strata, with_values
from polars_microagg.publishing.warnings.enum_names import enum_names
from polars_microagg.publishing.warnings.functional_dependency import revealing
from polars_microagg.publishing.warnings.nearly_unique import nearly_unique
from polars_microagg.publishing.warnings.outliers import exposed
from polars_microagg.publishing.warnings.persons import Persons
from polars_microagg.publishing.warnings.rare_strata import rare_strata
from polars_microagg.publishing.warnings.separate_blocks import broken_together, masked_apart
from polars_microagg.wording import Sentence, Setting

__all__ = ["advice", "of_release", "of_table"]


def advice(
    original: pl.DataFrame,
    masked: pl.DataFrame,
    blocks: Sequence[Sequence[str]],
    k: int,
    *,
    strata: Sequence[str] = (),
    kept: Sequence[str] = (),
    center: str = "mean",
    kinds: Mapping[str, Any] | None = None,
    who: Persons | None = None,
) -> list[str]:
    """Warn of what k does not protect in this release, in sentences without values of records.

    Records whose masked cells are empty are not counted where masked values are meant; their kept
    cells are released, and count. Rows that were dropped are in neither table. `kinds` are the options that
    say of which kind masked columns are, and `who` the persons of the records, if they are known.

    >>> people = pl.DataFrame({"gross": [30, 40, 50, 60], "net": [21, 28, 35, 42]})
    >>> masked = people.with_columns(gross=pl.Series([35, 35, 55, 55]))
    >>> advice(people, masked, [["gross"]], 2, kept=["net"])[0].partition(":")[0]
    "The kept column 'net' reveals the masked column 'gross'"
    """
    if not original.height:
        return []
    names = [name for block in blocks for name in block]
    return [
        *revealing(original, names, masked, kept, kinds),
        *emptied_strata(original, masked, names, strata, kept),
        *of_release(masked, blocks, k, strata=strata, kept=kept, who=who),
        *exposed(original, masked, blocks, strata, center, kinds, who),
    ]


def of_release(
    masked: pl.DataFrame,
    blocks: Sequence[Sequence[str]],
    k: int,
    *,
    strata: Sequence[str] = (),
    kept: Sequence[str] = (),
    who: Persons | None = None,
) -> list[str]:
    """Return the warnings that need no original; parameters as for `advice`."""
    names = [name for block in blocks for name in block]
    there = with_values(masked, names)
    released, persons = masked.filter(there), None if who is None else who.filter(there)
    return [
        *nearly_unique(masked, kept, who),
        *enum_names(masked, [*names, *strata, *kept]),
        *rare_strata(released, strata, k, who=persons),
        *broken_together(released, blocks, k, strata, persons),
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
    kinds: Mapping[str, Any] | None = None,
    who: Persons | None = None,
) -> list[str]:
    """Return the warnings that can be given before masking; parameters as for `advice`.

    With `nulls` "pattern" a record without any value has nothing to mask; with `small_strata`
    "null" or "drop" a stratum below k is not released.
    """
    names = [name for block in blocks for name in block]
    released, persons = original, who
    if nulls == "pattern":
        there = with_values(original, names)
        released, persons = original.filter(there), None if who is None else who.filter(there)
    warnings = revealing(original, names, original, kept, kinds)
    warnings += nearly_unique(original, kept, who)
    warnings += rare_strata(released, strata, k, refused=small_strata == "raise", who=persons)
    warnings += masked_apart(blocks, k)
    if center != "mean" and of_numbers(original.schema, names, kinds):
        warnings.append(
            Sentence(
                "The {center} of a group of an odd number of records is the value of one of them, and "
                "is released as it was. Use {mean}.",
                center=center,
                mean=Setting("center", "mean"),
            )
        )
    return warnings if original.height else []
