"""Warnings of a large release: counted on all of it where that is possible, else seen in a sample."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from polars_microagg.out_of_core.class_sizes import ClassSizes
from polars_microagg.out_of_core.parquet_source import ParquetSource
from polars_microagg.publishing.large.survey import Survey
from polars_microagg.publishing.warnings.advice import advice, of_release
from polars_microagg.publishing.warnings.emptied_strata import emptied_strata
from polars_microagg.publishing.warnings.enum_names import with_unused
from polars_microagg.publishing.warnings.functional_dependency import revealing
from polars_microagg.publishing.warnings.nearly_unique import with_values_of
from polars_microagg.publishing.warnings.outliers import exposed
from polars_microagg.publishing.warnings.rare_strata import of_sizes
from polars_microagg.publishing.warnings.separate_blocks import few_together
from polars_microagg.wording import Sentence

__all__ = ["Asked", "warnings_of"]


@dataclass(frozen=True)
class Asked:
    """Parts of a call that warnings depend on: columns that are masked together, strata, and kept columns."""

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
    rows = after.height, release.rows
    seen = revealing(before, names, after, kept, call.kinds)
    seen += emptied_strata(before, after, names, strata, kept)
    groups = exposed(before, after, blocks, strata, call.center, call.kinds)
    counted = [
        *with_values_of({n: survey.distinct.get(n, 0) for n in kept}, release.rows, about=True),
        *with_unused({n: survey.unused[n] for n in (*names, *strata, *kept) if n in survey.unused}),
        *(of_sizes(survey.strata, strata, k) if strata else []),
        *few_together(blocks, k, _few(whole, k) if len(blocks) > 1 else 0, release.rows),
    ]
    if not beside:
        return counted
    # Few exposed records among millions need not be in the sample: who reads no warning of them is to know.
    others = " and kept columns that reveal masked ones" if kept else ""
    where = (
        f"Single records that show in the centre of their group{others} "
        f"were looked for in a sample of {rows[0]:,} of {rows[1]:,} rows, and not in the others."
    )
    return [*_sampled(seen, rows), *counted, *_sampled(groups, rows), where]


def _sampled(sentences: Iterable[str], rows: tuple[int, int]) -> Iterator[str]:
    """Add to each sentence that it is of a sample of so many rows, of how many."""
    for said in sentences:
        seen = f"This was seen in a sample of {rows[0]:,} of {rows[1]:,} rows, drawn with a seed."
        yield Sentence("{said} {seen}", said=said, seen=seen)


def _few(whole: ClassSizes, k: int) -> int:
    """Count the records that are with fewer than k others."""
    few = whole.histogram.filter(pl.col("size") < k)
    return int((few["size"] * few["classes"]).sum())
