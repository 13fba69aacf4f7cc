"""Records of strata that are too small to be masked, and whether they may be emptied."""

from __future__ import annotations

from typing import NoReturn

import numpy as np
import numpy.typing as npt

from polars_microagg.core.entities import rows_above_cap, strata_alike
from polars_microagg.core.partition import Labels, Matrix, Members, Strata
from polars_microagg.core.plan import Plan
from polars_microagg.core.rule import Bound, Rule
from polars_microagg.errors import InvalidDataError, TooFewRecordsError
from polars_microagg.wording import Setting

__all__ = ["refuse_emptied", "refuse_strata", "to_suppress"]


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
    if plan.cap_rows is not None:
        hidden = rows_above_cap(whole.entity_codes, plan.cap_rows)
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
            if small.any() and plan.small_strata == "raise":
                refuse_strata(plan, now, groups, parts.sizes, len(x))
            hidden[parts.only(small).order] = True
            if plan.entity_mode == "alike" and small.any():
                # An entity comes out with all of its rows or with none.
                gone = np.unique(whole.entity_codes[parts.only(small).order])
                hidden |= np.isin(whole.entity_codes, gone)
    emptied = Members(np.flatnonzero(hidden), np.array([count], dtype=np.intp))
    if plan.small_strata == "null" and count:
        refuse_emptied(plan, whole, emptied)
    return hidden


def refuse_emptied(plan: Plan, rule: Rule, emptied: Members) -> None:
    """Refuse emptied records that break the rule: they are alike, and a class like any other."""
    if bound := rule.broken(emptied):
        if bound.model.name == "k":
            what = "records" if bound.attribute is None else bound.model.what
            raise TooFewRecordsError.emptied(int(bound.worst(emptied)), plan.k, plan.k, what)
        raise _unreachable(plan, bound, emptied, int(emptied.sizes.sum()))


def _counts(plan: Plan, x: Matrix, strata: Strata) -> Labels:
    """Count what k counts in each stratum: records, or values if those are grouped."""
    if not plan.groups_cells:
        return strata.sizes
    values = np.count_nonzero(~np.isnan(x[strata.firsts]), axis=1)
    # A stratum without values has nothing to mask, and always passes.
    return np.where(values > 0, strata.sizes * values, plan.k)


def refuse_strata(plan: Plan, rule: Rule, strata: Members, sizes: Labels, records: int) -> NoReturn:
    """Raise the error on strata of which some break the rule."""
    bound = next(bound for bound in rule.bounds if bound.failing(strata).any())
    if bound.model.name != "k":
        raise _unreachable(plan, bound, strata, records)
    small = bound.failing(strata)
    if plan.entity_mode == "alike":
        fewest = int(bound.worst(strata))
        raise TooFewRecordsError.alike(int(small.sum()), len(sizes), fewest, plan.k)
    what, fewest = "records", int(sizes[small].min())
    if bound.attribute is not None:
        what, fewest = bound.model.what, int(bound.worst(strata))
    if len(sizes) == 1 and sizes[0] == records:
        raise TooFewRecordsError.of(fewest, plan.k, what=what)
    raise TooFewRecordsError.strata(int(small.sum()), len(sizes), fewest, plan.k, what)


def _unreachable(plan: Plan, bound: Bound, strata: Members, records: int) -> InvalidDataError:
    """Return the error that says what could be reached."""
    worst = int(np.flatnonzero(bound.measure(strata) == bound.worst(strata))[0])
    few = int(strata.sizes[worst])
    return InvalidDataError.unreachable(
        Setting(bound.model.name, bound.limit),
        bound.model.what,
        bound.attribute.name if bound.attribute else "",
        bound.worst(strata),
        stratum=None if few == records else few,
        at_least=bound.model.at_least,
        empties=plan.entity_mode != "alike",
    )
