"""Multi-dimensional sorting with pairwise-systematic grouping."""

from __future__ import annotations

import numpy as np

from polars_microagg.core.partition import Labels, Matrix, Partition
from polars_microagg.core.registry import method
from polars_microagg.kernels.order.runs import stable_order
from polars_microagg.kernels.remaining_records import RemainingRecords, greedy_group

__all__ = ["multi_dsort"]


@method(cite="Mahmood, Kabir and Mustafa (2012)", paper="002", cost="n^2", limit=100_000)
def multi_dsort(x: Matrix, /, *, k: int, resort: bool = True, constant: bool = False) -> Partition:
    """Sort the records by the sum of their ranks, and group round the first and the last.

    Parameters
    ----------
    x : array of shape (n, d)
        One record a row, finite, scaled for distances.
    k : int
        Group size, at least 2.
    resort : bool
        Whether the remaining records are ranked and sorted again after every two groups.
    constant : bool
        Whether a column that is constant ranks the records too, by row.

    Returns
    -------
    Partition
        Groups of k records; the last one has k to 2k - 1, or all n if n < 2k.

    Notes
    -----
    A. N. Mahmood, M. E. Kabir and A. K. Mustafa (2012), "New multi-dimensional sorting based
    k-anonymity microaggregation for statistical disclosure control".

    Rank each of the variables in ascending order and sort the records by the sum of their ranks.
    Form a group with the first record and its k - 1 nearest records, and another with the last
    record and its k - 1 nearest; the inclusion of these records causes less sum of squared errors
    than that of others. Sort the remaining records again, and repeat until fewer than 3k remain. If
    2k or more remain, form a group with the first record and another with all others; else form a
    group with all remaining records.

    Equal values are ranked by row, and equal sums told apart by the first column, then by the
    second, and so on. A column that is constant ranks nothing, unless asked for.

    The text sorts again after every two groups, which is the default. The printed losses are
    obtained with ``resort=False`` and with ``scale="none"``, that is, from data that are not
    standardised, unlike the losses they are printed beside: on standardised data the method loses
    more than `mdav`. That of EIA needs ``constant=True`` too, since its year is constant. Other
    printed losses come from a last group of fewer than k records, or leave records out;
    such groups are not made here. While the first group is formed the last record is spared for
    its own.

    Examples
    --------
    >>> x = np.array([[5.0, 6.0], [3.0, 10.0], [1.0, 3.0], [2.0, 1.0], [4.0, 2.0]])
    >>> multi_dsort(x, k=2).labels
    array([0, 0, 1, 1, 0])
    """
    n = len(x)
    labels = np.zeros(n, dtype=np.intp)
    if n < 2 * k:
        return Partition.from_labels(labels)
    order = _Order(x if constant else x[:, x.max(axis=0) > x.min(axis=0)])
    remaining = RemainingRecords(x)
    groups: list[Labels] = []
    while len(remaining) >= 2 * k:
        first, last = order.ends()
        pair = [greedy_group(remaining, first, k, spared=last)]
        if len(remaining) >= 2 * k:
            pair.append(greedy_group(remaining, last, k))
        order.remove(np.concatenate(pair), resort=resort)
        groups += pair
    for number, rows in enumerate(groups, start=1):
        labels[rows] = number
    return Partition.from_labels(labels)


class _Order:
    """The remaining records, ordered by the sum of their ranks in all columns."""

    def __init__(self, x: Matrix) -> None:
        self._rows = np.arange(len(x))
        self._by_value = [stable_order(np.ascontiguousarray(column)) for column in x.T]
        self._rank(len(x))

    def ends(self) -> tuple[int, int]:
        """Return the rows of the first and of the last record."""
        places = self._place.take(self._rows)
        return int(self._rows[places.argmin()]), int(self._rows[places.argmax()])

    def remove(self, rows: Labels, *, resort: bool) -> None:
        """Remove records, and rank the others again if `resort`."""
        left = np.ones(len(self._place), dtype=np.bool_)
        left[rows] = False
        self._rows = self._rows[left.take(self._rows)]
        if resort:
            self._by_value = [order[left.take(order)] for order in self._by_value]
            self._rank(len(left))

    def _rank(self, n: int) -> None:
        """Rank the remaining records by the sum of their ranks."""
        ranks = np.zeros((len(self._by_value), n), dtype=np.intp)
        for rank, order in zip(ranks, self._by_value, strict=True):
            rank[order] = np.arange(len(order))
        # Equal sums go by the rank in the first column, then by the second, and so on.
        order = np.lexsort((*ranks[::-1], ranks.sum(axis=0)))
        self._place = np.empty(n, dtype=np.intp)
        self._place[order] = np.arange(n)
