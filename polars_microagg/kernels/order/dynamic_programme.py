"""The optimal partition of an ordered sequence: one dynamic programme, many lanes in lockstep.

With c(s, t) the cost of the run s..t-1, such as the sum of squares about its mean, it is

    f[0] = 0,    f[t] = min over m in k..2k-1 of f[t-m] + c(t-m, t).

*Blocks.* Every m is at least k, so k successive values of f follow from earlier ones alone and
are computed together.

*Lanes.* f crosses a stretch of the sequence as a state, its last 2k-1 values, and a constant added
to all of them changes no choice. States that differ soon become the same, up to a constant, because
their best runs soon have a border in common. So all stretches are swept in lockstep, each from a
guess: what comes of zeros some way before it. Where that is not what leaves the stretch before it,
the stretch is swept again.

On equally spaced numbers, states stay apart, and beside far outliers many sums are ties, of which
the ways might take different ones. Then the state that leaves is taken as the (min, +)
product of the state that enters and a matrix of the stretch. The matrices of all stretches are
swept in lockstep, then chained, and the stretches are swept again, each from the state that truly
enters it. Nothing is approximate in either way.

*Costs.* Every run that ends in a block holds its first item. Sums are taken about that item; see
`run_costs`. States are shifted as they go, for the same reason.
"""

from __future__ import annotations

from array import array
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

AHEAD = 40
"""The state that enters a lane is guessed from this many times k items before it."""

SAME = 1e-14
"""Relative difference of states, up to a constant, up to which they are the same: well below TIE."""

STRETCH, LEVELS = 1 << 15, 3
"""Items that are walked back at a time, and how often steps are doubled for it."""

ROUNDS, FEW = 3, 4
"""Up to one lane in FEW may be swept again, in so many rounds, because its state was guessed wrong."""


class DynamicProgramme:
    """The dynamic programme on an ordered sequence, dealt into lanes of equal length.

    `columns` are the items, one array a dimension, and k the smallest length of a run. `length` is
    the number of items a lane, rounded up to whole tiles, by default all in one lane; `blocks` the
    number of blocks a tile, the stretch whose costs are held at once; `cost` one of `COSTS`, of
    which all but "sse" take one sorted column; without `guess`, lanes are swept by matrices.
    """

    def __init__(
        self,
        columns: Sequence[Vector],
        k: int,
        *,
        length: int | None = None,
        blocks: int | None = None,
        cost: str = "sse",
        guess: bool = True,
    ) -> None:
        self.cost, self.guess = COSTS[cost], guess
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
        self.ahead = -(-AHEAD * k // self.tile) * self.tile if self.count > 1 else 0
        self.items = [self._deal(column) for column in columns]
        self.last = np.zeros((self.count, self.length), np.min_scalar_type(self.width))
        self.ranks = np.arange(k, dtype=self.last.dtype).reshape(k, 1, 1)

    def runs(self) -> Labels:
        """Return the lengths of the runs of the optimal partition, in order."""
        # Before the first item f[0] = 0, and f[t] is infinite for t < 0: no run may reach back
        # beyond the start.
        entry = np.full(self.width, np.inf)
        entry[-1] = 0.0
        # A single lane needs no matrix: the state that enters it is known.
        meet = self.guess or self.count == 1
        for first in range(0, self.count, TOGETHER):
            lanes = np.arange(first, min(first + TOGETHER, self.count))
            leaving = self._from_guesses(entry, lanes) if meet else None
            # Where states stay apart in some lanes, they will in most.
            meet = leaving is not None
            entry = self._from_matrices(entry, lanes) if leaving is None else leaving
        return self._trace()

    def _from_guesses(self, entry: Vector, lanes: Labels) -> Vector | None:
        """Sweep lanes from what enters the first; return what leaves the last.

        None if states that enter a lane differently stay different for long.
        """
        states = np.zeros((self.width, 1, len(lanes)))
        if len(lanes) > 1:
            states = self._sweep(states, lanes, -self.ahead)
        states[:, 0, 0] = entry
        leaving = self._sweep(states, lanes)
        for _ in range(ROUNDS):
            # A lane was swept rightly if it was entered by what leaves the one before it, up to a
            # constant.
            left, entered = leaving[:, 0, :-1], states[:, 0, 1:]
            # Where a lane is shorter than a state, values may still be infinite.
            with np.errstate(invalid="ignore"):
                spread = np.ptp(left - entered, axis=0)
            limit = SAME * (left.max(axis=0) + entered.max(axis=0))
            same = np.isfinite(spread) & (spread <= limit)
            wrong = 1 + np.flatnonzero(~same)
            if not len(wrong):
                return leaving[:, 0, -1]
            if FEW * len(wrong) > len(lanes):
                break
            states[:, :, wrong] = leaving[:, :, wrong - 1]
            leaving[:, :, wrong] = self._sweep(states[:, :, wrong], lanes[wrong])
        return None

    def _from_matrices(self, entry: Vector, lanes: Labels) -> Vector:
        """Sweep lanes from what enters the first; return what leaves the last."""
        # Sweep the unit matrix of (min, +) through each lane: column j is what leaves if only value
        # j of the state that enters is 0. That is the matrix of the lane, whatever enters it.
        unit = np.where(np.eye(self.width, dtype=bool), 0.0, np.inf)
        matrices = self._sweep(np.repeat(unit[:, :, None], len(lanes), axis=2), lanes)
        entries = np.empty((self.width, 1, len(lanes)))
        for lane, matrix in enumerate(np.ascontiguousarray(matrices.transpose(2, 0, 1))):
            entries[:, 0, lane] = entry
            # Less the least value, which shifts all later f alike and keeps them as small as the
            # costs of one lane.
            entry = (matrix + entry).min(axis=1) - entry.min()
        # Now each lane starts from its true state, so this sweep is the plain dynamic programme.
        self._sweep(entries, lanes)
        return entry

    def _deal(self, column: Vector) -> Array:
        """Return a column with a lane a row, each after as many items before it as are needed."""
        before = self.ahead + self.width - 1
        padded = np.empty(before + self.count * self.length)
        padded[:before] = column[0]
        padded[before : before + self.n] = column
        padded[before + self.n :] = column[-1]
        return view(padded, (self.count, before + self.length), (self.length, 1))

    def _sweep(self, state: Array, lanes: Labels, start: int = 0) -> Array:
        """Carry states of shape (2k-1, state, lane) from the start of lanes to their end.

        A single state records its choices. From a negative start, carry them to the start of the
        lanes.
        """
        for at in range(start, 0 if start < 0 else self.length, self.tile):
            cost = self.cost([self._offsets(items, lanes, at) for items in self.items], self.k)
            f = np.empty((self.width + self.tile, *state.shape[1:]))
            f[: self.width] = state
            values = self._advance(f, cost)
            if at >= 0 and state.shape[1] == 1:
                self._record(cost, values[:, :, 0], lanes, at)
            # Shifting by the state that entered, not by the one that leaves, leaves f as large as
            # the sums behind it and so as large as their rounding, which TIE has to cover.
            state = f[-self.width :] - state.min(axis=(0, 1))
        return state

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

    def _record(self, total: Array, values: Array, lanes: Labels, start: int) -> None:
        """Record the shortest last run that attains f, for every item of a tile."""
        # The run lengths fall with the rank, so the highest rank that attains f is the shortest
        # last run. Sums within TIE count as attaining it, so the choice does not hang on rounding.
        attains = total <= (values * (1 + TIE))[:, None]
        last = self.width - (attains * self.ranks).max(axis=1)
        self.last[lanes, start : start + self.tile] = last.reshape(self.tile, -1).T

    def _offsets(self, items: Array, lanes: Labels, start: int) -> Array:
        """Return the items round every block, as differences from the item before it."""
        first = self.ahead + start
        near = items[lanes[0] : lanes[-1] + 1, first : first + self.tile + self.width - 1]
        own = np.ascontiguousarray(near.take(lanes - lanes[0], axis=0).T)
        count = len(lanes)
        shape = (self.blocks, self.width + self.block - 1, count)
        blocks = view(own, shape, (self.block * count, count, 1))
        return blocks - blocks[:, self.width - 1 : self.width]

    def _trace(self) -> Labels:
        """Walk back from the last item, run by run."""
        last, width = self.last.reshape(-1), self.width
        # Node i is the border before item i, and the last of a stretch is where the walk enters it.
        ends, node = [], self.n
        while node:
            low = max(0, node - STRETCH)
            base = low - width
            # Steps of several runs at once are put together from steps of half as many, so that few are
            # left to walk. Those that leave the stretch stay where they come out.
            steps = [np.arange(node - base + 1)]
            steps[0][width + 1 :] -= last[low:node]
            for _ in range(LEVELS):
                steps.append(steps[-1].take(steps[-1]))
            walked = array("q")
            add, to, at = walked.append, steps[-1].data, node - base
            while at > width:
                add(at)
                at = to[at]
            nodes: Labels = np.array(walked, dtype=np.intp)
            for step in steps[-2::-1]:
                nodes = np.stack([nodes, step.take(nodes)], axis=1).ravel()
            ends.append(nodes[nodes > width] + base)
            node = at + base
        return np.diff(np.concatenate(ends)[::-1], prepend=0)
