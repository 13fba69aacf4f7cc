"""Ward's method, modified to make groups of at least k records."""

from __future__ import annotations

from typing import Literal

import numpy as np

from polars_microagg.core.partition import Labels, Matrix, Partition, Vector
from polars_microagg.core.registry import Axis, method
from polars_microagg.kernels.distance import centred
from polars_microagg.kernels.group_splitting import divide_large_groups
from polars_microagg.kernels.order.projection import first_component, sum_of_z
from polars_microagg.kernels.order.runs import labels_along, stable_order
from polars_microagg.kernels.remaining_records import RemainingRecords, greedy_group
from polars_microagg.methods._farthest_pair import farthest_pair
from polars_microagg.methods._ward import ward, ward_on_a_line

__all__ = ["k_ward"]


@method(cite="Domingo-Ferrer and Mateo-Sanz (2002)", paper="002, 003", cost="n^2", limit=50_000)
def k_ward(
    x: Matrix,
    /,
    *,
    k: int,
    sort: Literal["sz", "fpc", "md"] | Axis = "fpc",
    projected: bool = False,
) -> Partition:
    """Join records by Ward's method until each group has k, and divide large groups again.

    Parameters
    ----------
    x : array of shape (n, d)
        One record a row, finite, scaled for distances.
    k : int
        Smallest group size, at least 2.
    sort : {"sz", "fpc", "md"} or column
        What tells the first and the last records: the sum of z-scores, the first principal
        component, the two records most distant from each other, or one variable.
    projected : bool
        Whether Ward's method is applied to the sorting criterion and not to the records.

    Returns
    -------
    Partition
        Groups of k to 2k - 1 records; one group of all if n < 2k.

    Notes
    -----
    MDO, or UDO if projected, of J. M. Mateo-Sanz and J. Domingo-Ferrer (1998), "A comparative
    study of microaggregation methods"; J. Domingo-Ferrer and J. M. Mateo-Sanz (2002), "Practical
    data-oriented microaggregation for statistical disclosure control", IEEE Transactions on
    Knowledge and Data Engineering 14(1), 189-201.

    Form a group with the first (smallest) k elements of the data set and another group with the
    last (largest) k elements. Use Ward's method, which joins the two groups whose union raises the
    sum of squared errors least, until all elements belong to a group of k or more; never join two
    groups which both have k or more. Apply the algorithm recursively to each group that contains
    2k or more elements.

    The papers leave open: the sorting criterion is computed once, for all records, and kept in the
    recursion; this gives the printed losses. With "md" the two records most distant from each
    other are sought in every recursion, that in the lower row is the first, and each group takes
    the record nearest to its running mean; projected, all records are placed on the line through
    the two. Projected records join only with neighbours on the axis. Of unions that cost the same,
    the first group of fewer than k goes with the one of its equals that has the fewest records.

    Examples
    --------
    >>> x = np.array([[0.0], [1.0], [3.0], [4.0], [5.0], [20.0], [21.0]])
    >>> k_ward(x, k=2).labels
    array([0, 0, 1, 1, 1, 2, 2])
    """
    columns = centred(x)
    if sort == "md" and not projected:

        def divide(rows: Labels) -> Labels:
            return ward(*_from_extremes(columns[:, rows], k), k)

        return Partition.from_labels(divide_large_groups(len(x), 2 * k, divide))
    # Computed once, for all records, and kept in the recursion: this gives the losses that the
    # papers print.
    key = _key(x, columns, sort)
    place = np.empty(len(x), dtype=np.intp)
    place[stable_order(key)] = np.arange(len(x))

    def divide_sorted(rows: Labels) -> Labels:
        order = np.argsort(place[rows])
        lengths = np.ones(len(rows) - 2 * (k - 1), dtype=np.intp)
        lengths[[0, -1]] = k
        if projected:
            return labels_along(order, ward_on_a_line(key[rows[order]], lengths, k))
        start = Partition.from_labels(labels_along(order, lengths))
        part = columns[:, rows]
        return ward(part, start.labels, k)

    return Partition.from_labels(divide_large_groups(len(x), 2 * k, divide_sorted))


def _key(x: Matrix, columns: Matrix, sort: Literal["sz", "fpc", "md"] | Axis) -> Vector:
    """Return the sorting criterion of each record."""
    if sort == "sz":
        return sum_of_z(x)
    if sort == "fpc":
        return first_component(x)
    if sort != "md":
        return np.ascontiguousarray(x[:, sort])
    key = np.zeros(len(x))
    if len(x) > 1:
        first, last = farthest_pair(columns)
        for column in columns:
            key += (column[last] - column[first]) * column
    return key


def _from_extremes(columns: Matrix, k: int) -> tuple[Matrix, Labels]:
    """Return the columns, and labels with two groups round the most distant records."""
    first, last = farthest_pair(columns)
    remaining = RemainingRecords(columns.T)
    labels = np.arange(columns.shape[1])
    group = greedy_group(remaining, first, k)
    labels[group] = group.min()
    if last not in remaining:
        last = remaining.farthest_from(first)
    group = greedy_group(remaining, last, k)
    labels[group] = group.min()
    return columns, Partition.from_labels(labels).labels
