"""The rule that every leaf must satisfy, counted on records of one part of a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
import polars as pl

from polars_microagg.core.attributes import Attribute
from polars_microagg.core.partition import Labels, Members
from polars_microagg.core.plan import Plan
from polars_microagg.core.rule import Bound, Rule
from polars_microagg.core.suppression import refuse_strata
from polars_microagg.errors import InvalidDataError
from polars_microagg.frames.attributes import entity_of
from polars_microagg.frames.selection import by_name
from polars_microagg.leaves.masking import fingerprints
from polars_microagg.leaves.references import Reference, Tally
from polars_microagg.wording import Sentence, Setting

__all__ = [
    "FEW",
    "Census",
    "bounds_of",
    "coded",
    "coded_columns",
    "failing_leaves",
    "refuse_broken",
    "refuse_nameless",
    "refuse_unreachable",
    "restricted",
    "rule_of",
    "rule_of_counts",
]

SEEDS = (0, 1)
"""An entity is known by two hashes of 64 bits: that two of 10^9 have equal ones is next to impossible,
and they would count as one, never as more than there are."""

FEW = 1 << 17
"""Entities up to which all records are counted as one group."""


def restricted(plan: Plan) -> bool:
    """Return whether a plan asks for more than k records."""
    return bool(plan.entity or plan.confidential)


def coded_columns(plan: Plan) -> tuple[list[str], list[str]]:
    """Return names of the columns of `coded`, those of the entity and the confidential ones."""
    entity = [f"entity{seed}" for seed in SEEDS] if plan.entity else []
    return entity, [f"value{j}" for j in range(len(plan.confidential))]


def coded(plan: Plan, references: Sequence[Reference], frame: pl.DataFrame) -> pl.DataFrame:
    """Return what models count, as numbers: hashes of the entity, and codes of confidential values."""
    entity, values = coded_columns(plan)
    refuse_nameless((name, frame[name].null_count()) for name in plan.entity)
    ids = frame.select(by_name(name) for name in plan.entity)
    columns = {
        name: fingerprints(ids, seed=seed) for name, seed in zip(entity, SEEDS, strict=False)
    }
    for name, of in zip(values, plan.confidential, strict=True):
        known = next((reference for reference in references if reference.name == of), None)
        if known is None:
            text = "they do not know how often each value of {name} occurs"
            raise InvalidDataError.unmerged(Sentence(text, name=repr(of)))
        columns[name] = known.codes(frame[of])
    return pl.DataFrame(columns)


def rule_of(plan: Plan, references: Sequence[Reference], records: pl.DataFrame) -> Rule:
    """Return what every group of records must satisfy, given what `coded` made of them."""
    entity, values = coded_columns(plan)
    who = None
    if entity:
        found = entity_of([records[name] for name in entity], entity)
        who = replace(found, name=", ".join(plan.entity))
    by = {reference.name: reference for reference in references}
    pairs = zip(values, plan.confidential, strict=True)
    return plan.rule(who, [by[of].attribute(records[name]) for name, of in pairs])


def refuse_broken(rule: Rule, records: int) -> None:
    """Refuse records of a leaf that as one group break the rule."""
    one = Members(np.arange(records), np.array([records], dtype=np.intp))
    if bound := rule.broken(one):
        text = "{setting} does not hold for all of them as one group: {what} of {column} is {value}"
        of = bound.attribute.name if bound.attribute else "the records"
        raise InvalidDataError.unmerged(
            Sentence(
                text,
                setting=Setting(bound.model.name, bound.limit),
                what=bound.model.what,
                column=repr(of),
                value=f"{bound.worst(one):g}",
            )
        )


def failing_leaves(rule: Rule, leaves: Labels) -> Labels:
    """Return the leaves whose records as one group break the rule, ascending."""
    found, own = np.unique(leaves, return_inverse=True)
    groups = Members.of(np.arange(len(leaves)), own.astype(np.intp), len(found))
    failing: Labels = found[rule.failing(groups)].astype(np.intp)
    return failing


def refuse_nameless(columns: Iterable[tuple[str, int]]) -> None:
    """Refuse columns of the entity with nulls, by name and count."""
    for name, nulls in columns:
        if nulls:
            raise InvalidDataError.nameless(name, nulls)


class Census:
    """Counts of a whole table, batch after batch: confidential values, and entities while they are few."""

    def __init__(self, plan: Plan, tallies: Sequence[Tally] = ()) -> None:
        self.plan = plan
        self.tallies = list(tallies) or [Tally() for _ in plan.confidential]
        self.records = 0
        self.entities: Tally | None = Tally(self._many) if plan.entity else None
        self.nameless = dict.fromkeys(plan.entity, 0)

    def add(self, frame: pl.DataFrame) -> None:
        """Count the records of a batch."""
        self.records += frame.height
        for tally, name in zip(self.tallies, self.plan.confidential, strict=True):
            tally.add(frame[name])
        for name in self.plan.entity:
            self.nameless[name] += frame[name].null_count()
        if self.entities is not None:
            ids = frame.select(by_name(name) for name in self.plan.entity)
            first, second = (fingerprints(ids, seed=seed) for seed in SEEDS)
            pair = pl.DataFrame({"a": first, "b": second}).to_struct("entity")
            self.entities.add(pair)

    def _many(self, size: int) -> None:
        """Leave the entities uncounted where there are many: a group of all of them then has k."""
        if size > 24 * max(FEW, 2 * self.plan.k):
            self.entities = None

    def references(self) -> tuple[Reference, ...]:
        """Return the counts of the confidential columns; refuse what no grouping of the table satisfies."""
        refuse_nameless(self.nameless.items())
        named = zip(self.tallies, self.plan.confidential, strict=True)
        references = tuple(tally.reference(name) for tally, name in named)
        who = None
        if self.entities is not None:
            who = self.entities.reference(", ".join(self.plan.entity))
        refuse_unreachable(self.plan, self.records, who, references)
        return references


def refuse_unreachable(
    plan: Plan, records: int, entity: Reference | None, references: Sequence[Reference]
) -> None:
    """Raise the error of a table whose records as one group break the rule.

    Without the counts of the entities, they are taken to be as many as there are records.
    """
    rule = rule_of_counts(plan, entity, references)
    # The columns have counts, so it does not matter which records there are.
    whole = Members(np.empty(0, dtype=np.intp), np.array([records], dtype=np.intp))
    if rule.broken(whole):
        refuse_strata(plan, rule, whole, whole.sizes, records)


def rule_of_counts(
    plan: Plan,
    entity: Reference | None,
    references: Sequence[Reference],
    counts: Sequence[Labels] = (),
) -> Rule:
    """Return what records as one group must satisfy, from the counts of their values alone.

    They are all records, unless `counts` has for each confidential column how many have each value of it.
    """
    who = None if entity is None else _OneGroup.of_reference(entity, entity.counts)
    own = counts or [one.counts for one in references]
    pairs = zip(references, own, strict=True)
    return plan.rule(who, [_OneGroup.of_reference(one, count) for one, count in pairs])


def bounds_of(plan: Plan, references: Sequence[Reference]) -> tuple[Bound, ...]:
    """Return the bounds of a call, with the names of their columns, without records."""
    nobody = Reference(", ".join(plan.entity), pl.Series([], dtype=pl.Int64), np.zeros(0, np.intp))
    return rule_of_counts(plan, nobody if plan.entity else None, references).bounds


@dataclass(frozen=True, eq=False)
class _OneGroup(Attribute):
    """A column of records as one group: how many have each code, without the records."""

    own: Labels = field(default_factory=lambda: np.empty(0, dtype=np.intp))

    @classmethod
    def of_reference(cls, reference: Reference, own: Labels) -> Self:
        """Make the column from its counts."""
        like = reference.attribute(pl.Series([], dtype=pl.Int64))
        return cls(like.name, like.codes, like.counts, like.ordered, like.nulls, own=own)

    def runs(self, groups: Members) -> tuple[Labels, Labels, Labels]:
        """Return each value and how often it occurs."""
        del groups
        code = np.flatnonzero(self.own)
        return np.zeros(len(code), dtype=np.intp), code, self.own[code]
