"""Distance of a release from the least loss that its groups allow."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from polars_microagg.core.partition import Labels, Matrix
from polars_microagg.core.registry import Range, metric
from polars_microagg.kernels.risk.lower_bound import neighbour_bound
from polars_microagg.kernels.risk.tightest_bound import tightest_bound
from polars_microagg.kernels.scale import standardised

__all__ = ["above_optimum"]


@metric(cite="this library", unit="%")
def above_optimum(
    original: Matrix,
    masked: Matrix,
    joint: Labels | None = None,
    /,
    *,
    effort: Annotated[float, Range(0, 1000)] = 1.0,
) -> float | None:
    """Percentage by which the loss is above the least possible one, at most.

    Parameters
    ----------
    original, masked : array of shape (n, p)
        The data before and after.
    joint : array of shape (p,), optional
        The column that each is a coordinate of: categories have several.
    effort : float, default 1
        How hard to try for a tighter bound, as for `lower_bound`: 1 takes seconds to some minutes, 0
        less than one second for a thousand records, and says much less.

    Returns
    -------
    float or None
        The loss of the release is at most this percentage above the least that any grouping into
        groups of at least k records loses, k being the number of records that share the rarest
        masked record. 0 where nothing is lost; else None where k is 1, where a value is missing, and
        where no loss could be excluded.

    Notes
    -----
    The bound is that of `lower_bound`, for the k that the release keeps. A release by `lowloss` usually is
    within 1 to 5 % of it for k up to 5 and up to 5,000 records, or larger k and up to 1,500 records, and
    within 5 to 20 % for more.

    It is None of several columns that `univariate`, `individual_ranking` or `mic1d` masked each on its
    own: there hardly any record shares its masked values with another, k is 1, and the least loss with
    a k of 1 is 0.

    Finding the bound is what takes long. With a floor at hand, from ``lower_bound(original, columns, k,
    effort=1)``, it need not be found twice: ``100 * (loss / floor - 1)``. Both searches may end at
    slightly different bounds, and this one is for the k that the release keeps, which may be larger
    than the one that was asked for.

    Examples
    --------
    >>> before = np.array([[0.0], [1.0], [8.0], [9.0]])
    >>> round(above_optimum(before, np.array([[0.5], [0.5], [8.5], [8.5]])), 6)
    0.0
    """
    if np.isnan(original).any() or np.isnan(masked).any() or not original.size:
        return None
    _, labels, counts = np.unique(masked, axis=0, return_inverse=True, return_counts=True)
    k, labels = int(counts.min()), labels.reshape(-1)
    # Standardised like `loss`, so that the ratio of squares is the ratio of losses.
    before, after = (np.ascontiguousarray(x) for x in standardised(original, masked, joint))
    squares = float(np.square(before - after).sum())
    if squares == 0.0:
        return 0.0
    if k < 2 or not before.size:
        return None
    floor = tightest_bound(before, k, labels, effort) if effort else neighbour_bound(before, k)
    return max(0.0, 100.0 * (squares / floor - 1.0)) if floor > 0.0 else None
