"""Multivariate Hansen-Mukherjee: the optimal partition along a path through the records."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

from polars_microagg.core.partition import Matrix, Partition
from polars_microagg.core.registry import method
from polars_microagg.kernels.distance import centred
from polars_microagg.kernels.order.runs import optimal_runs
from polars_microagg.kernels.order.tour import nearest_point_next, through_groups
from polars_microagg.methods.cbfs import cbfs
from polars_microagg.methods.md import md
from polars_microagg.methods.mdav import mdav
from polars_microagg.progress import steps_of, ticker

__all__ = ["mhm"]

GROUPS: dict[str, Callable[..., Partition]] = {
    "md": partial(md, grow="seed"),
    "mdav": mdav,
    "cbfs": cbfs,
}
"""Methods through whose groups a path can go."""


@method(
    cite="Domingo-Ferrer, Martinez-Balleste, Mateo-Sanz and Sebe (2006)",
    paper="002",
    cost="n^2",
    limit=200_000,
)
def mhm(x: Matrix, /, *, k: int, order: Literal["npn", "md", "mdav", "cbfs"] = "npn") -> Partition:
    """Walk from record to near record, and cut the path where the sum of squares is least.

    Parameters
    ----------
    x : array of shape (n, d)
        One record a row, finite, scaled for distances.
    k : int
        Smallest group size, at least 2.
    order : {"npn", "md", "mdav", "cbfs"}
        The path: always to the nearest point next, or through the groups of another method.

    Returns
    -------
    Partition
        Groups of k to 2k - 1 records; one group of all if n < 2k.

    Notes
    -----
    J. Domingo-Ferrer, A. Martinez-Balleste, J. M. Mateo-Sanz and F. Sebe (2006), "Efficient
    multivariate data-oriented microaggregation", The VLDB Journal 15(4), 355-369, as described by
    A. N. Mahmood, M. E. Kabir and A. K. Mustafa (2012), section 4.

    The method first uses a heuristic, such as nearest point next, or the groups of maximum distance,
    MDAV or CBFS, to order the records. Steps similar to those of S. Hansen and S. Mukherjee (2003)
    are then applied: of all cuts of this order into groups of k to 2k - 1 records, the one with the
    least sum of squared errors is taken.

    Nearest point next starts with the record farthest from the mean and goes on to the nearest
    record not visited yet. A path through groups visits their centroids in this way, and within a
    group starts with the record nearest to the centroid before, ends with the one nearest to the
    centroid after, and goes to the nearest point next in between. How the paper goes through a
    group is not known in full, and its printed losses differ from these. The groups themselves are
    one cut of their path, so the loss is never higher than that of the other method: of `mdav` and
    `cbfs` as they are by default, and of `md` with ``grow="seed"``, whose groups "md" goes through.
    `md` by default grows them otherwise, and may lose less.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[0.0], [1.0], [2.0], [8.0], [9.0], [20.0], [21.0]])
    >>> mhm(x, k=2).labels
    array([0, 0, 0, 1, 1, 2, 2])
    """
    if order == "npn":
        path = nearest_point_next(x)
    else:
        with steps_of(ticker("mhm", len(x))):
            labels = GROUPS[order](x, k=k).labels
        path = through_groups(centred(x), labels)
    return Partition.along(path, optimal_runs(x[path], k))
