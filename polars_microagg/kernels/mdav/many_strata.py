"""MDAV on many strata at once, with the arithmetic of one stratum alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from polars_microagg.core.partition import Labels, Matrix
from polars_microagg.kernels.mdav.rounds import groups_of_many
from polars_microagg.kernels.whole_numbers import whole_steps

__all__ = ["SMALL", "mdav_of_strata"]

CELLS = 1 << 18
"""Values handled at a time, so that they stay in the cache."""

SMALL = 256
"""Up to this many records of a stratum all distances are computed; of more, a table is scanned."""

SCANNED = 1 << 21
"""Values of the strata that are scanned together."""

Cube = npt.NDArray[np.float64]
"""Array of shape (d, strata, slots): a stratum a row of slots, filled from the left."""


def mdav_of_strata(
    x: Matrix, sizes: Labels, /, *, k: int, tick: Callable[[int], None] | None = None
) -> tuple[Labels, int]:
    """Return the MDAV group of each record, numbered over all strata, and the number of groups.

    `x` (n, d) holds scaled records stratum by stratum, `sizes` (s,) the number of records of each,
    at least k. `tick` is called with how many records of strata that are not `SMALL` have been grouped.

    >>> mdav_of_strata(np.array([[0.0], [9.0], [1.0], [8.0], [5.0], [5.0]]), np.array([4, 2]), k=2)
    (array([0, 1, 0, 1, 2, 2]), 3)
    """
    starts = np.cumsum(sizes) - sizes
    # A stratum of q k records or more, but less than (q + 1) k, makes q groups.
    rounds = sizes // k
    labels = np.repeat(np.cumsum(rounds) - rounds, sizes)
    _add_all_compared(labels, x, sizes, starts, k)
    for done in _add_scanned(labels, x, sizes, starts, k):
        if tick is not None:
            tick(done)
    return labels, int(rounds.sum())


def _add_all_compared(labels: Labels, x: Matrix, sizes: Labels, starts: Labels, k: int) -> None:
    """Add the number of its group in its stratum to the label of each record of a small stratum."""
    rounds = sizes // k
    small = (sizes <= SMALL).nonzero()[0]
    if not len(small):
        return
    exact = np.zeros(len(sizes), dtype=np.bool_)
    exact[small] = whole_steps(x.T, starts, sizes)[small] > 0
    # Strata with the same number of groups go through the same rounds, so they can be one batch.
    # Sums are taken in row order and distances column by column as for a stratum alone, so the
    # groups are the same to the last tie.
    order = small[np.lexsort((exact[small], rounds[small]))]
    new = np.diff(rounds[order]) != 0
    new |= exact[order[1:]] != exact[order[:-1]]
    for chosen in np.split(order, np.flatnonzero(new) + 1):
        width = int(sizes[chosen].max())
        step = max(1, CELLS // (width * x.shape[1]))
        for first in range(0, len(chosen), step):
            part = chosen[first : first + step]
            slots = np.arange(width)
            filled = slots < sizes[part][:, None]
            rows = np.where(filled, starts[part][:, None] + slots, starts[part][:, None])
            batch = _Strata(x, rows, filled, k, whole=bool(exact[part[0]]))
            labels[rows[filled]] += batch.group(int(rounds[part[0]]))[filled]


def _add_scanned(labels: Labels, x: Matrix, sizes: Labels, starts: Labels, k: int) -> Iterator[int]:
    """Add the number of its group in its stratum to the label of each record of a larger stratum.

    Yields the number of records that have been grouped so far.
    """
    # Strata of about one size have about as many rounds.
    order = np.argsort(-sizes, kind="stable")[: np.count_nonzero(sizes > SMALL)]
    if not len(order):
        return
    records = np.cumsum(sizes[order])
    batches = -(-int(records[-1]) * (x.shape[1] + 1) // SCANNED)
    ends = np.flatnonzero(np.diff((records - 1) * batches // records[-1])) + 1
    before = 0
    for part in np.split(order, ends):
        strata = [x[starts[i] : starts[i] + sizes[i]] for i in part]
        # The last group of each has number 0.
        made, done = [1] * len(part), before
        for i, rows in groups_of_many(strata, k):
            numbers = np.arange(made[i], made[i] + len(rows))
            labels[starts[part[i]] + rows] += numbers[:, None]
            made[i] += len(rows)
            done += rows.size
            yield done
        before += int(sizes[part].sum())
        yield before


class _Strata:
    """Strata side by side, and the records of each that are in no group yet."""

    def __init__(
        self, x: Matrix, rows: Labels, filled: npt.NDArray[np.bool_], k: int, *, whole: bool
    ) -> None:
        self.k, self.whole = k, whole
        self.index = np.arange(len(rows))[:, None]
        self.free = filled.copy()
        self.left = filled.sum(axis=1)
        cube = np.stack([np.where(filled, x[rows, j], 0.0) for j in range(x.shape[1])])
        # Whole numbers stay whole less the first record, and are as exact as about their mean.
        origin = cube[:, :, 0] if whole else _total(cube) / self.left
        self.cube: Cube = np.where(filled, cube - origin[:, :, None], 0.0)
        self.sum = _total(self.cube)
        self.summed = self.left.copy()
        self.labels = np.zeros(rows.shape, dtype=np.intp)
        self.made = 0

    def group(self, groups: int) -> Labels:
        """Make all groups; every stratum of a batch makes the same number."""
        while groups - self.made >= 3:
            r = self._farthest_from_mean()
            # Distances from r serve twice: for the record s opposite, and for the k - 1 nearest to
            # r.
            from_r = self._distances(self.cube[:, self.index[:, 0], r])
            s = np.where(self.free, from_r, -1.0).argmax(axis=1)
            self.take(r, from_r)
            gone = ~self.free[self.index[:, 0], s]
            if gone.any():
                s = np.where(gone, np.where(self.free, from_r, -1.0).argmax(axis=1), s)
            self.take(s, self._distances(self.cube[:, self.index[:, 0], s]))
        if groups - self.made == 2:
            r = self._farthest_from_mean()
            self.take(r, self._distances(self.cube[:, self.index[:, 0], r]))
        self.labels[self.free] = self.made
        return self.labels

    def _farthest_from_mean(self) -> Labels:
        """Return the slot of the free record farthest from the mean, the first of equals."""
        # The running sum is taken afresh when half of its records are gone, as `RemainingMean`
        # does.
        fresh = 2 * self.left <= self.summed
        if fresh.any():
            self.sum = np.where(fresh, _total(np.where(self.free, self.cube, 0.0)), self.sum)
            self.summed = np.where(fresh, self.left, self.summed)
        if self.whole:
            # As `squared_distances` from a `Mean`: n x less the sum is whole, not rounded.
            times = self.left[:, None].astype(np.float64)
            distances = _squares(times * self.cube - self.sum[:, :, None]) / times**2
        else:
            distances = self._distances(self.sum / self.left)
        slots: Labels = np.where(self.free, distances, -1.0).argmax(axis=1)
        return slots

    def _distances(self, points: Matrix) -> Matrix:
        """Return the squared distances of all slots from one point a stratum."""
        return _squares(self.cube - points[:, :, None])

    def take(self, slot: Labels, distances: Matrix) -> None:
        """Group a record and the k - 1 free records nearest to it."""
        # The seed comes before its equals; a stable sort gives equal distances to the lowest slot.
        near = np.where(self.free, distances, np.inf)
        near[self.index[:, 0], slot] = -1.0
        group = np.sort(near.argsort(axis=1, kind="stable")[:, : self.k], axis=1)
        self.labels[self.index, group] = self.made
        self.made += 1
        self.free[self.index, group] = False
        self.sum -= _total(self.cube[:, self.index, group])
        self.left -= self.k


def _squares(difference: Cube) -> Matrix:
    """Return squared lengths, added column by column; overwrites the differences."""
    difference *= difference
    lengths: Matrix = difference[0]
    for squares in difference[1:]:
        lengths += squares
    return lengths


def _total(cube: Cube) -> Matrix:
    """Sum over the slots in row order; empty slots hold 0, which changes no sum."""
    return np.cumsum(cube, axis=2)[:, :, -1]
