"""Records of strata that are too small to be masked, and whether they may be emptied."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn, Self

import numpy as np
import numpy.typing as npt

from polars_microagg.core.entities import rows_above_cap, strata_alike
from polars_microagg.core.partition import Labels, Matrix, Members, Strata
from polars_microagg.core.plan import Plan
from polars_microagg.core.rule import Bound, Rule
from polars_microagg.errors import TooFewRecordsError, UnreachableError
from polars_microagg.wording import Setting

__all__ = [
    "BrokenStrata",
    "refuse_emptied",
    "refuse_none_left",
    "refuse_strata",
    "to_suppress",
]


def to_suppress(
    plan: Plan, x: Matrix, strata: Strata, rule: Rule | None = None
) -> npt.NDArray[np.bool_]:
    """Return which records are emptied or dropped, since their stratum as one group breaks the rule.

    What a stratum does not satisfy as one group, no grouping of it can. With ``nulls="pattern"``
    records with nulls in the same columns are a stratum of their own. InvalidDataError is raised if
    `small_strata` is "raise", or if the emptied records are a group that breaks the rule.

    >>> plan = Plan.make("mdav", 2, small_strata="drop").bind([["age"]])
    >>> one_alone = Strata(np.array([0, 1, 2]), np.array([2, 1]))
    >>> to_suppress(plan, np.array([[31.0], [34.0], [47.0]]), one_alone)
    array([False, False,  True])
    """
    whole = rule or plan.rule()
    hidden = np.zeros(len(x), dtype=np.bool_)
    if plan.max_rows_per_entity is not None:
        hidden = rows_above_cap(whole.entity_codes, plan.max_rows_per_entity)
    before = -1
    # A record that is suppressed for one block is missing in the others, whose strata may then
    # be too small. Records are only ever added, so this ends at the least set that leaves k everywhere.
    while (count := int(hidden.sum())) > before:
        before = count
        now = whole.among(~hidden) if plan.drops else whole
        for columns in plan.slices():
            parts = plan.patterns(x[:, columns], strata.without(hidden))
            if plan.entity_mode == "alike":
                parts = strata_alike(whole.entity_codes, parts)
            groups = Members(parts.order, _counts(plan, x[:, columns], parts))
            small = now.failing(groups)
            if not small.any():
                continue
            if plan.small_strata == "raise":
                refuse_strata(plan, now, groups, parts.sizes, len(x))
            hidden[parts.only(small).order] = True
            if plan.entity_mode == "alike":
                # An entity comes out with all of its rows or with none.
                gone = np.unique(whole.entity_codes[parts.only(small).order])
                hidden |= np.isin(whole.entity_codes, gone)
    emptied = Members(np.flatnonzero(hidden), np.array([count], dtype=np.intp))
    if plan.small_strata == "null" and count:
        refuse_none_left(plan, whole, hidden)
        refuse_emptied(plan, whole, emptied)
    return hidden


def refuse_none_left(plan: Plan, rule: Rule, hidden: npt.NDArray[np.bool_]) -> None:
    """Refuse a table of which no record is left, where a bound on confidential columns is too much for it."""
    every = Members(np.arange(len(hidden)), np.array([len(hidden)], dtype=np.intp))
    bound = rule.broken(every) if len(hidden) and hidden.all() else None
    if bound is not None and bound.model.name != "k":
        raise BrokenStrata.of(bound, every, every.sizes, len(hidden)).unreachable(plan)


def refuse_emptied(plan: Plan, rule: Rule, emptied: Members) -> None:
    """Refuse emptied records that break the rule: they are alike, and a class like any other."""
    if bound := rule.broken(emptied):
        if bound.model.name == "k":
            what = "records" if bound.attribute is None else bound.model.what
            raise TooFewRecordsError.emptied(int(bound.worst(emptied)), plan.k, plan.k, what)
        raise UnreachableError.emptied(
            Setting(bound.model.name, bound.limit),
            bound.model.what,
            bound.attribute.name if bound.attribute else "",
            bound.worst(emptied),
            records=int(emptied.sizes.sum()),
            at_least=bound.model.at_least,
        )


def _counts(plan: Plan, x: Matrix, strata: Strata) -> Labels:
    """Count what k counts in each stratum: records, or values if those are grouped."""
    if not plan.groups_cells:
        return strata.sizes
    values = np.count_nonzero(~np.isnan(x[strata.firsts]), axis=1)
    # A stratum without values has nothing to mask, and always passes.
    return np.where(values > 0, strata.sizes * values, plan.k)


@dataclass(frozen=True)
class BrokenStrata:
    """Counts of strata that break a bound, among all `strata` of so many records.

    `small` of them do; the smallest of these has `fewest` records. `worst` is the number of the model in
    the stratum that is the farthest from it, which has `few` records.
    """

    bound: Bound
    small: int
    strata: int
    fewest: int
    worst: float
    few: int
    records: int

    @classmethod
    def of(cls, bound: Bound, strata: Members, sizes: Labels, records: int) -> Self:
        """Count the strata of a table; `sizes` are their records, where those of `strata` are values."""
        small, worst = bound.failing(strata), bound.worst(strata)
        farthest = int(np.flatnonzero(bound.measure(strata) == worst)[0])
        counts = int(small.sum()), len(sizes), int(sizes[small].min(initial=records))
        return cls(bound, *counts, worst, int(sizes[farthest]), records)

    def refuse(self, plan: Plan) -> NoReturn:
        """Raise the error on them."""
        if self.bound.model.name != "k":
            raise self.unreachable(plan)
        if plan.entity_mode == "alike":
            raise TooFewRecordsError.alike(self.small, self.strata, int(self.worst), plan.k)
        what, fewest = "records", self.fewest
        if self.bound.attribute is not None:
            what, fewest = self.bound.model.what, int(self.worst)
        if self.strata == 1 and self.few == self.records:
            raise TooFewRecordsError.of(fewest, plan.k, what=what)
        patterns = plan.nulls == "pattern" and not plan.groups_cells
        counts = self.small, self.strata, fewest, plan.k, what
        raise TooFewRecordsError.strata(*counts, patterns=patterns)

    def unreachable(self, plan: Plan, whole: float | None = None) -> UnreachableError:
        """Return the error that says what could be reached; all strata merged reach `whole`, and break it."""
        return UnreachableError.of(
            Setting(self.bound.model.name, self.bound.limit),
            self.bound.model.what,
            self.bound.attribute.name if self.bound.attribute else "",
            self.worst,
            stratum=None if self.few == self.records else self.few,
            at_least=self.bound.model.at_least,
            empties=plan.entity_mode != "alike",
            patterns=plan.nulls == "pattern" and not plan.groups_cells,
            whole=whole,
        )


def refuse_strata(plan: Plan, rule: Rule, strata: Members, sizes: Labels, records: int) -> NoReturn:
    """Raise the error on strata of which some break the rule."""
    bound = next(bound for bound in rule.bounds if bound.failing(strata).any())
    whole = Members(strata.order, np.array([strata.sizes.sum()], dtype=np.intp))
    broken = BrokenStrata.of(bound, strata, sizes, records)
    if bound.failing(whole).any() and bound.model.name != "k":
        raise broken.unreachable(plan, bound.worst(whole))
    broken.refuse(plan)
