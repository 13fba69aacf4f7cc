"""The smallest of many values without sorting them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from polars_microagg.core.partition import Labels, Vector

__all__ = ["at_least_kth", "first_smallest"]

SORTED = 64
"""Up to so many values are sorted, which is quicker than to select among them."""

STRIPE = 64
"""Values in a stripe, of which only the least is looked at first."""


def at_least_kth(values: Vector, count: int) -> float:
    """Value that at least `count` of the values do not exceed, seldom many more.

    Parameters
    ----------
    values : array of shape (m,)
        Finite values, and infinities for records to be passed over.
    count : int
        How many are wanted, at most the number of finite values.

    Returns
    -------
    float
        A bound from above on the `count`-th smallest value.

    Notes
    -----
    The values are dealt out in stripes and the `count`-th smallest of the stripes' minima is
    taken: `count` different stripes hold a value as small. Neighbouring rows fall in different
    stripes, so sorted data do no harm.
    """
    stripes = len(values) // STRIPE
    if stripes >= 4 * count:
        minima = values[: stripes * STRIPE].reshape(STRIPE, stripes).min(axis=0)
        bound = float(np.partition(minima, count - 1)[count - 1])
        if bound < np.inf:
            return bound
    return float(np.partition(values, count - 1)[count - 1])


def first_smallest(values: Vector, count: int) -> Labels:
    """Positions of the `count` smallest values; of equal values the first ones.

    Parameters
    ----------
    values : array of shape (m,)
        No NaN.
    count : int
        How many, at most m.

    Returns
    -------
    array of shape (count,)
        The positions, ascending.
    """
    if len(values) <= SORTED:
        chosen: Labels = values.argsort(kind="stable")[:count]
        chosen.sort()
        return chosen
    limit = np.partition(values, count - 1)[count - 1]
    chosen = (values <= limit).nonzero()[0]
    surplus = len(chosen) - count
    if surplus:
        tied = (values[chosen] == limit).nonzero()[0]
        chosen = np.delete(chosen, tied[-surplus:])
    return chosen
