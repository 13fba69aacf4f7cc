"""Records of strata that are too small to be masked, and whether they may be emptied."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from polars_microagg.core.partition import Labels, Matrix, Strata
from polars_microagg.core.plan import Plan
from polars_microagg.errors import TooFewRecordsError

__all__ = ["to_suppress"]


def to_suppress(plan: Plan, x: Matrix, strata: Strata) -> npt.NDArray[np.bool_]:
    """Return which records are emptied or dropped, since their stratum has fewer than k.

    With ``nulls="pattern"`` records with nulls in the same columns are a stratum of their own.
    TooFewRecordsError is raised if `small_strata` is "raise", or if the emptied records are fewer than
    k.

    >>> plan = Plan.make("mdav", 2, small_strata="drop").bind([["age"]])
    >>> one_alone = Strata(np.array([0, 1, 2]), np.array([2, 1]))
    >>> to_suppress(plan, np.array([[31.0], [34.0], [47.0]]), one_alone)
    array([False, False,  True])
    """
    hidden = np.zeros(len(x), dtype=np.bool_)
    before = -1
    # A record that is suppressed for one block is missing in the others, whose strata may then
    # be too small. Records are only ever added, so this ends at the least set that leaves k everywhere.
    while (count := int(hidden.sum())) > before:
        before = count
        for columns in plan.slices():
            parts = plan.patterns(x[:, columns], strata.without(hidden))
            small = _counts(plan, x[:, columns], parts) < plan.k
            if small.any() and plan.small_strata == "raise":
                raise _too_few(plan.k, parts, small, len(x))
            hidden[parts.only(small).order] = True
    need = plan.k  # emptied records are alike, and a class like any other
    if plan.small_strata == "null" and 0 < count < need:
        raise TooFewRecordsError.emptied(count, plan.k, need)
    return hidden


def _counts(plan: Plan, x: Matrix, strata: Strata) -> Labels:
    """Count what k counts in each stratum: records, or values if those are grouped."""
    if not plan.groups_cells:
        return strata.sizes
    values = np.count_nonzero(~np.isnan(x[strata.firsts]), axis=1)
    # A stratum without values has nothing to mask, and always passes.
    return np.where(values > 0, strata.sizes * values, plan.k)


def _too_few(
    k: int, strata: Strata, small: npt.NDArray[np.bool_], records: int
) -> TooFewRecordsError:
    fewest = int(strata.sizes[small].min())
    if len(small) == 1 and fewest == records:
        return TooFewRecordsError.of(fewest, k)
    return TooFewRecordsError.strata(int(small.sum()), len(small), fewest, k)
