"""The optimal partition of an ordered sequence: one dynamic programme, many lanes in lockstep.

With c(s, t) the cost of the run s..t-1, such as the sum of squares about its mean, it is

    f[0] = 0,    f[t] = min over m in k..2k-1 of f[t-m] + c(t-m, t).

*Blocks.* Every m is at least k, so k successive values of f follow from earlier ones alone and
are computed together.

*Lanes.* f crosses a stretch of the sequence as a state, its last 2k-1 values: the state that
leaves is the (min, +) product of the state that enters and a matrix of the stretch. The matrices
of all stretches are swept in lockstep, then chained, and the stretches are swept again, each from
the state that truly enters it. Nothing is approximate, and the time does not depend on the data.

*Costs.* Every run that ends in a block holds its first item. Sums are taken about that item; see
`run_costs`. States are shifted as they go, for the same reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polars_microagg.kernels.order.run_costs import COSTS, Array, view

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_microagg.core.partition import Labels, Vector

__all__ = ["DynamicProgramme"]

TIE = 1e-13
"""Relative difference up to which two sums of costs are a tie."""

CACHED = 1 << 17
"""Numbers handled at a time, so that they stay in the cache."""

TOGETHER = 256
"""Lanes swept at a time."""


class DynamicProgramme:
    """The dynamic programme on an ordered sequence, dealt into lanes of equal length.

    `columns` are the items, one array a dimension, and k the smallest length of a run. `length` is
    the number of items a lane, rounded up to whole tiles, by default all in one lane; `blocks` the
    number of blocks a tile, the stretch whose costs are held at once; `cost` one of `COSTS`, of
    which all but "sse" take one sorted column.
    """

    def __init__(
        self,
        columns: Sequence[Vector],
        k: int,
        *,
        length: int | None = None,
        blocks: int | None = None,
        cost: str = "sse",
    ) -> None:
        self.cost = COSTS[cost]
        self.n, self.k, self.width = len(columns[0]), k, 2 * k - 1
        # A block is at most k items: then f of all its items follows from values before the block,
        # and they are computed together.
        self.block = min(k, max(1, CACHED // k))
        blocks = blocks or (16 if length else max(2, min(64, CACHED // (k * self.block))))
        length = length or self.n
        self.blocks = min(blocks, -(-length // self.block))
        self.tile = self.block * self.blocks
        self.length = -(-length // self.tile) * self.tile
        self.count = -(-self.n // self.length)
        self.items = [self._deal(column) for column in columns]
        self.last = np.zeros((self.count, self.length), np.min_scalar_type(self.width))
        self.ranks = np.arange(k, dtype=self.last.dtype).reshape(k, 1, 1)

    def runs(self) -> Labels:
        """Return the lengths of the runs of the optimal partition, in order."""
        # Before the first item f[0] = 0, and f[t] is infinite for t < 0: no run may reach back
        # beyond the start.
        entries = np.full((self.width, 1, self.count), np.inf)
        entries[-1, 0, 0] = 0.0
        if self.count > 1:
            # Sweep the unit matrix of (min, +) through each lane: column j is what leaves if only
            # value j of the state that enters is 0. That is the matrix of the lane, whatever enters
            # it.
            unit = np.where(np.eye(self.width, dtype=bool), 0.0, np.inf)
            matrices = self._sweep(np.repeat(unit[:, :, None], self.count, axis=2))
            _chain(entries[:, 0], np.ascontiguousarray(matrices.transpose(2, 0, 1)))
        # Now each lane starts from its true state, so this sweep is the plain dynamic programme and
        # records its choices.
        self._sweep(entries)
        return self._trace()

    def _deal(self, column: Vector) -> Array:
        """Lay a column out with a lane a row, each after the 2k-2 items before it."""
        before = self.width - 1
        padded = np.empty(before + self.count * self.length)
        padded[:before] = column[0]
        padded[before : before + self.n] = column
        padded[before + self.n :] = column[-1]
        return view(padded, (self.count, before + self.length), (self.length, 1))

    def _sweep(self, states: Array) -> Array:
        """Carry states of shape (2k-1, state, lane) from the start of every lane to its end."""
        for first in range(0, self.count, TOGETHER):
            lanes = slice(first, first + TOGETHER)
            state = states[:, :, lanes]
            for start in range(0, self.length, self.tile):
                state = self._step(state, lanes, start)
            states[:, :, lanes] = state
        return states

    def _step(self, state: Array, lanes: slice, start: int) -> Array:
        """Carry the states of several lanes over one tile."""
        cost = self.cost([self._offsets(items[lanes], start) for items in self.items], self.k)
        f = np.empty((self.width + self.tile, *state.shape[1:]))
        f[: self.width] = state
        values = self._advance(f, cost)
        if state.shape[1] == 1:
            self._record(cost, values[:, :, 0], lanes, start)
        # Shifting by the state that entered, not by the one that leaves, leaves f as large as
        # the sums behind it and so as large as their rounding, which TIE has to cover.
        leaving: Array = f[-self.width :] - state.min(axis=(0, 1))
        return leaving

    def _advance(self, f: Array, cost: Array) -> Array:
        """Fill f block by block.

        A single state adds itself to the costs, to be recorded.
        """
        _, states, lanes = f.shape
        row = states * lanes
        shape = (self.blocks, self.k, self.block, states, lanes)
        # before[b][r] are the values f[t-m] for the run length m = 2k-1-r of every item t of block
        # b: a view with overlaps, not a copy. When block b is computed, all of them are final.
        before = view(f, shape, (self.block * row, row, row, lanes, 1))
        values = f[self.width :].reshape(self.blocks, self.block, states, lanes)
        added = cost[:, :, :, None]
        total = added if states == 1 else [np.empty(shape[1:])] * self.blocks
        for b in range(self.blocks):
            np.add(before[b], added[b], out=total[b])
            np.minimum.reduce(total[b], axis=0, out=values[b])
        return values

    def _record(self, total: Array, values: Array, lanes: slice, start: int) -> None:
        """Record the shortest last run that attains f, for every item of a tile."""
        # The run lengths fall with the rank, so the highest rank that attains f is the shortest
        # last run. Sums within TIE count as attaining it, so the choice does not hang on rounding.
        attains = total <= (values * (1 + TIE))[:, None]
        last = self.width - (attains * self.ranks).max(axis=1)
        self.last[lanes, start : start + self.tile] = last.reshape(self.tile, -1).T

    def _offsets(self, items: Array, start: int) -> Array:
        """Lay out the items round every block, as differences from the item before it."""
        own = np.ascontiguousarray(items[:, start : start + self.tile + self.width - 1].T)
        lanes = own.shape[1]
        shape = (self.blocks, self.width + self.block - 1, lanes)
        near = view(own, shape, (self.block * lanes, lanes, 1))
        return near - near[:, self.width - 1 : self.width]

    def _trace(self) -> Labels:
        """Walk back from the last item, run by run."""
        last = self.last.reshape(-1).data
        runs = []
        t = self.n
        while t > 0:
            run = last[t - 1]
            runs.append(run)
            t -= run
        return np.array(runs[::-1], dtype=np.intp)


def _chain(entries: Array, matrices: Array) -> None:
    """Fill in the state that enters each lane, from the first one and the lanes' matrices."""
    state = entries[:, 0]
    for lane in range(1, entries.shape[1]):
        # Less the least value, which shifts all later f alike and keeps them as small as the costs
        # of one lane.
        state = (matrices[lane - 1] + state).min(axis=1) - state.min()
        entries[:, lane] = state
