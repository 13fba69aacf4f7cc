"""Warnings of a large release: counted on all of it where that is possible, else seen in a sample."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from polars_microagg.leaves.memory_budget import MemoryBudget
from polars_microagg.out_of_core.class_sizes import ClassSizes
from polars_microagg.out_of_core.counts import class_sizes
from polars_microagg.out_of_core.parquet_source import ParquetSource
from polars_microagg.publishing.large.survey import Survey
from polars_microagg.publishing.warnings.advice import advice, of_release
from polars_microagg.publishing.warnings.emptied_strata import emptied_strata
from polars_microagg.publishing.warnings.enum_names import with_unused
from polars_microagg.publishing.warnings.functional_dependency import revealing
from polars_microagg.publishing.warnings.nearly_unique import of_persons, with_values_of
from polars_microagg.publishing.warnings.outliers import exposed
from polars_microagg.publishing.warnings.persons import Persons
from polars_microagg.publishing.warnings.rare_strata import of_sizes
from polars_microagg.publishing.warnings.separate_blocks import few_together
from polars_microagg.wording import Sentence

__all__ = ["Asked", "warnings_of", "whole_of"]


@dataclass(frozen=True)
class Asked:
    """Parts of a call that warnings depend on: columns that are masked together, strata, and kept columns.

    `entity` are columns that say whose a record is, where warnings may count persons, and `mode` is what the
    rows of one became.
    """

    blocks: Sequence[Sequence[str]]
    strata: Sequence[str]
    kept: Sequence[str]
    k: int
    center: str
    kinds: Mapping[str, Any]
    entity: Sequence[str] = ()
    mode: str | None = None


def whole_of(
    call: Asked,
    release: ParquetSource,
    original: ParquetSource | None,
    budget: MemoryBudget,
    folder: Path,
) -> ClassSizes:
    """Count the classes on all masked columns together, with the persons of each, as warnings need them."""
    names = [name for block in call.blocks for name in block]
    beside = None if {*call.entity} <= {*release.schema.names} else original
    asked = release, [names], call.strata, budget
    return class_sizes(*asked, folder=folder, entity=call.entity, beside=beside)[0]


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
    who = Persons.of(call.entity, call.mode, before, after)
    if not survey.drawn:
        if not beside:
            return of_release(after, blocks, k, strata=strata, kept=kept, who=who)
        asked: dict[str, Any] = {"center": call.center, "kinds": call.kinds, "who": who}
        return advice(before, after, blocks, k, strata=strata, kept=kept, **asked)
    names = [name for block in blocks for name in block]
    rows = after.height, release.rows
    seen = revealing(before, names, after, kept, call.kinds)
    seen += emptied_strata(before, after, names, strata, kept)
    distinct = {n: survey.distinct.get(n, 0) for n in kept}
    own, pairs = distinct, dict[str, int]()
    if who is not None:
        own = {n: v for n, v in distinct.items() if n in who.entity}
        pairs = {n: survey.pairs[n] for n in kept if n in survey.pairs and n not in own}
    counted = [
        *of_persons(distinct, pairs, about=True),
        *with_values_of(own, release.rows, about=True),
        *with_unused({n: survey.unused[n] for n in (*names, *strata, *kept) if n in survey.unused}),
        *(_strata(survey, strata, k, who) if strata else []),
        *_together(blocks, k, whole, release.rows, who),
    ]
    if not beside:
        return counted
    groups = list[str]()
    for block, (one, other) in zip(blocks, survey.groups, strict=True):
        whose = Persons.of(call.entity, call.mode, one, other)
        found = exposed(one, other, [block], strata, call.center, call.kinds, whose)
        groups += _sampled(found, (other.height, release.rows))
    where = _where([one.height for one, _ in survey.groups], survey.largest, rows, kept=bool(kept))
    return [*_sampled(seen, rows), *counted, *groups, where]


def _where(groups: Sequence[int], largest: int, rows: tuple[int, int], *, kept: bool) -> str:
    """Describe the samples: of `groups`, so many rows by block, and of so many `rows`.

    Groups of more than `largest` records are not in the sample, nor need few exposed records among
    millions be: who reads no warning of them is to know.
    """
    said = f"Single records that show in the centre of their group were looked for in {min(groups):,} of "
    said += f"{rows[1]:,} rows" + " or more of each block" * (len(groups) > 1)
    said += f", in whole groups of at most {largest:,}"
    if kept:
        said += f", kept columns that reveal masked ones in {rows[0]:,}"
    return f"{said}, and not in the others."


def _sampled(sentences: Iterable[str], rows: tuple[int, int]) -> Iterator[str]:
    """Add to each sentence that it is of a sample of so many rows, of how many."""
    for said in sentences:
        seen = f"This was seen in a sample of {rows[0]:,} of {rows[1]:,} rows, drawn with a seed."
        yield Sentence("{said} {seen}", said=said, seen=seen)


def _strata(survey: Survey, strata: Sequence[str], k: int, who: Persons | None) -> list[str]:
    """Warn of small strata, by persons if they are known."""
    if who is None or survey.persons is None:
        return of_sizes(survey.strata, strata, k)
    return of_sizes(survey.persons, strata, k, what="persons")


def _together(
    blocks: Sequence[Sequence[str]], k: int, whole: ClassSizes, rows: int, who: Persons | None
) -> list[str]:
    """Warn of the records that are with fewer than k others, or with those of fewer than k persons."""
    if len(blocks) < 2:
        return []
    counted = who is not None and whole.entities is not None
    few = whole.table.filter(pl.col("entities" if counted else "size") < k)
    records = int((few["size"] * few["classes"]).sum())
    return few_together(blocks, k, records, rows, what=" persons" if counted else "")
