"""Warnings of a large release: counted on all of it where that is possible, else seen in a sample."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from polars_microagg.frames.selection import by_name
from polars_microagg.leaves.memory_budget import MemoryBudget
from polars_microagg.out_of_core.class_sizes import ClassSizes
from polars_microagg.out_of_core.counts import class_sizes
from polars_microagg.out_of_core.parquet_source import ParquetSource
from polars_microagg.publishing.large.survey import Survey
from polars_microagg.publishing.warnings.advice import advice, of_release
from polars_microagg.publishing.warnings.emptied_strata import emptied_strata
from polars_microagg.publishing.warnings.enum_names import with_unused
from polars_microagg.publishing.warnings.functional_dependency import revealing
from polars_microagg.publishing.warnings.nearly_unique import UNIQUE, with_values_of
from polars_microagg.publishing.warnings.outliers import exposed
from polars_microagg.publishing.warnings.rare_strata import of_sizes
from polars_microagg.publishing.warnings.separate_blocks import few_together
from polars_microagg.wording import Sentence

__all__ = ["Asked", "warnings_of"]

NEAR = 0.9 * UNIQUE
"""Share of distinct values in the sample from which on a column is counted on all rows."""


@dataclass(frozen=True)
class Asked:
    """What of a call warnings depend on: columns that are masked together, strata, and kept columns."""

    blocks: Sequence[Sequence[str]]
    strata: Sequence[str]
    kept: Sequence[str]
    k: int
    center: str
    kinds: Mapping[str, Any]


def warnings_of(
    call: Asked,
    survey: Survey,
    release: ParquetSource,
    whole: ClassSizes,
    budget: MemoryBudget,
    *,
    beside: bool,
) -> list[str]:
    """Warn of what can be seen in a release, and `beside` its original of more.

    `whole` are the classes on all masked columns together.
    """
    blocks, strata, kept, k = call.blocks, call.strata, call.kept, call.k
    before, after = survey.before, survey.after
    asked: dict[str, Any] = {"center": call.center, "kinds": call.kinds}
    if not survey.drawn:
        if not beside:
            return of_release(after, blocks, k, strata=strata, kept=kept)
        return advice(before, after, blocks, k, strata=strata, kept=kept, **asked)
    names = [name for block in blocks for name in block]
    seen = revealing(before, names, after, kept, call.kinds)
    seen += emptied_strata(before, after, names, strata, kept)
    groups = exposed(before, after, blocks, strata, call.center, call.kinds)
    counted = [
        *with_values_of(_distinct(survey, release, kept, budget), release.rows),
        *with_unused({n: survey.unused[n] for n in (*names, *strata, *kept) if n in survey.unused}),
        *(of_sizes(survey.strata, strata, k) if strata else []),
        *few_together(blocks, k, _few(whole, k) if len(blocks) > 1 else 0, release.rows),
    ]
    if not beside:
        return counted
    return [*_sampled(seen, after.height), *counted, *_sampled(groups, after.height)]


def _sampled(sentences: Iterable[str], rows: int) -> Iterator[str]:
    """Add to each sentence that it is of a sample."""
    for said in sentences:
        yield Sentence(
            "{said} This was seen in a sample of {rows} rows, drawn with a seed.",
            said=said,
            rows=f"{rows:,}",
        )


def _distinct(
    survey: Survey, release: ParquetSource, kept: Sequence[str], budget: MemoryBudget
) -> dict[str, int]:
    """Count the distinct values of the columns that may be nearly unique."""
    after = survey.after
    # A part of the rows has at least the share of distinct values that all of them have.
    near = [
        name
        for name in kept
        if not after.schema[name].is_nested()
        and after.select(by_name(name).n_unique()).item() > NEAR * after.height
    ]
    found = class_sizes(release, [[name] for name in near], [], budget) if near else []
    return {name: sizes.classes for name, sizes in zip(near, found, strict=True)}


def _few(whole: ClassSizes, k: int) -> int:
    """Count the records that are with fewer than k others."""
    few = whole.histogram.filter(pl.col("size") < k)
    return int((few["size"] * few["classes"]).sum())
