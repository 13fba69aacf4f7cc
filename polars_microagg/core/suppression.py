"""Records whose stratum is too small to be masked in: which ones, and whether they may be emptied."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from polars_microagg.core.partition import Labels, Matrix, Strata
from polars_microagg.core.plan import Plan
from polars_microagg.errors import TooFewRecordsError

__all__ = ["suppressed"]


def suppressed(plan: Plan, x: Matrix, strata: Strata) -> npt.NDArray[np.bool_]:
    """Find the records whose stratum has fewer than k, so that they cannot be masked in it.

    With ``nulls="pattern"`` records with nulls in the same columns are a stratum of their own.

    Parameters
    ----------
    plan : Plan
        The call.
    x : array of shape (n, p)
        The columns of all blocks, in order: finite values, NaN where absent.
    strata : Strata
        Rows that may be grouped together.

    Returns
    -------
    array of shape (n,)
        True where a record is to be emptied or dropped, as `small_strata` says.

    Raises
    ------
    TooFewRecordsError
        There are such records and they are to be refused, or too few to be emptied.

    Examples
    --------
    >>> plan = Plan.make("mdav", 2, small_strata="drop").bind([["age"]])
    >>> one_alone = Strata(np.array([0, 1, 2]), np.array([2, 1]))
    >>> suppressed(plan, np.array([[31.0], [34.0], [47.0]]), one_alone)
    array([False, False,  True])
    """
    hidden = np.zeros(len(x), dtype=np.bool_)
    known = -1
    # A record that is suppressed for one block is missing in the others, whose strata may then
    # be too small: again, until nothing changes.
    while (count := int(hidden.sum())) > known:
        known = count
        for here in plan.slices():
            parts = plan.patterns(x[:, here], strata.without(hidden))
            small = _counts(plan, x[:, here], parts) < plan.k
            if small.any() and plan.small_strata == "raise":
                raise _too_few(plan.k, parts, small, len(x))
            hidden[parts.only(small).order] = True
    if plan.small_strata == "null" and 0 < known < plan.k:
        raise TooFewRecordsError.emptied(known, plan.k)
    return hidden


def _counts(plan: Plan, x: Matrix, strata: Strata) -> Labels:
    """What k counts in each stratum: records, or values if those are grouped."""
    if not plan.groups_cells:
        return strata.sizes
    values = np.count_nonzero(~np.isnan(x[strata.firsts]), axis=1)
    # Where there is no value nothing is masked, and this method promises nothing of records.
    return np.where(values > 0, strata.sizes * values, plan.k)


def _too_few(
    k: int, strata: Strata, small: npt.NDArray[np.bool_], records: int
) -> TooFewRecordsError:
    fewest = int(strata.sizes[small].min())
    if len(small) == 1 and fewest == records:
        return TooFewRecordsError.of(fewest, k)
    return TooFewRecordsError.strata(int(small.sum()), len(small), fewest, k)
