"""The smallest of many values, without sorting them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from polars_microagg.core.partition import Labels, Vector

__all__ = ["at_least_kth", "first_smallest"]

SORTED = 64
"""Up to this many values are sorted, which is faster than selecting."""

STRIPE = 16
"""Values in a stripe, of which only the least is looked at first."""


def at_least_kth(values: Vector | npt.NDArray[np.float32], count: int) -> float:
    """Return an upper bound on the `count`-th smallest value, seldom far above it.

    Values are finite, or infinite for records to be passed over; `count` of them must be finite.
    """
    stripes = len(values) // STRIPE
    if stripes >= 4 * count:
        # The `count`-th smallest of the stripes' minima: `count` different stripes hold a value as
        # small, so at least `count` values do not exceed it. Neighbouring rows fall in different
        # stripes, so sorted data do no harm.
        minima = np.minimum.reduce(values[: stripes * STRIPE].reshape(STRIPE, stripes), axis=0)
        minima.partition(count - 1)
        bound = float(minima[count - 1])
        if bound < np.inf:
            return bound
    return float(np.partition(values, count - 1)[count - 1])


def first_smallest(values: Vector, count: int) -> Labels:
    """Return the positions, ascending, of the `count` smallest values, the first ones of equals."""
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
