"""A tree of cuts through the values of records; its leaves are numbered from left to right."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from polars_microagg.core.partition import Labels, Matrix

__all__ = ["Cut", "Tree", "blocks_by_rank", "grow_tree", "joined_trees"]

Cut: TypeAlias = Callable[[Matrix], tuple[int, float] | None]
"""``(records) -> (column, threshold)``; None where the records are all alike."""

CACHED = 1 << 16
"""Records that go down the tree at a time, so that they stay in the cache."""


@dataclass(frozen=True, eq=False)
class Tree:
    """Nodes in the order in which they were made, the root first.

    A record goes ``below`` where its value in the node's column is at most the threshold, and
    ``above`` otherwise. Both lead to a later node, or to leaf ``-1 - i`` if they are negative.
    """

    columns: Labels
    thresholds: Matrix
    below: Labels
    above: Labels
    expected: Labels

    def __len__(self) -> int:
        """Count the leaves."""
        return len(self.expected)

    def assign(self, values: Matrix) -> Labels:
        """Return the leaf of each record, which depends on its own values alone.

        >>> tree = grow_tree(np.array([[1.0], [2.0], [7.0], [8.0]]), 2, lambda x: (0, 2.0))
        >>> tree.assign(np.array([[2.0], [2.5]]))
        array([0, 1])
        """
        n = len(values)
        leaf = np.zeros(n, dtype=np.intp)
        if len(self.columns):
            for start in range(0, n, CACHED):
                leaf[start : start + CACHED] = self._descend(values[start : start + CACHED])
        return leaf

    def _descend(self, values: Matrix) -> Labels:
        """Return the leaf of each record of a batch."""
        at = np.zeros(len(values), dtype=np.intp)
        live = np.arange(len(values))
        while live.size:
            node = at[live]
            low = values[live, self.columns[node]] <= self.thresholds[node]
            node = np.where(low, self.below[node], self.above[node])
            at[live] = node
            live = live[node >= 0]
        return -1 - at

    def borders(self, column: int) -> list[int]:
        """Return the first leaf above each cut of a column, ascending."""
        nodes = np.flatnonzero(self.columns == column)
        first, _ = self.spans()
        above = self.above[nodes]
        return sorted(np.where(above >= 0, first[np.maximum(above, 0)], -1 - above).tolist())

    def spans(self) -> tuple[Labels, Labels]:
        """Return the first leaf of the subtree of each node, and the first leaf after it."""
        first, last = np.empty((2, len(self.columns)), dtype=np.intp)
        # Children come after their parents, so from the last node to the first each child is done
        # before its parent.
        for node in range(len(self.columns) - 1, -1, -1):
            below, above = self.below[node], self.above[node]
            first[node] = first[below] if below >= 0 else -1 - below
            last[node] = last[above] if above >= 0 else -above
        return first, last


def grow_tree(x: Matrix, capacity: float, cut: Cut, outer: Sequence[Cut] = ()) -> Tree:
    """Return a tree of cuts in two, again and again, until no leaf holds more than its capacity.

    A leaf may hold more if no cut parts its records. `outer` choose where to cut all
    records, then those above that cut, and so on, as long as they can. ``expected`` counts these records
    in the leaves.
    """
    columns: list[int] = []
    thresholds: list[float] = []
    children: list[list[int]] = []
    expected: list[int] = []
    stack = [(np.arange(len(x)), -1, 0, outer)]
    while stack:
        rows, parent, side, ways = stack.pop()
        chosen = apart = None
        if len(rows) > capacity:
            apart = ways[0](x[rows]) if ways else None
            chosen = apart or cut(x[rows])
        if chosen is None:
            number = -1 - len(expected)
            expected.append(len(rows))
        else:
            number = len(columns)
            columns.append(chosen[0])
            thresholds.append(chosen[1])
            children.append([0, 0])
            low = x[rows, chosen[0]] <= chosen[1]
            # The lower side is on top of the stack: leaves get their numbers from left to right.
            stack += [
                (rows[~low], number, 1, ways[1:] if apart else ()),
                (rows[low], number, 0, ()),
            ]
        if parent >= 0:
            children[parent][side] = number
    ends = np.array(children, dtype=np.intp).reshape(-1, 2)
    return Tree(
        np.array(columns, dtype=np.intp),
        np.array(thresholds, dtype=np.float64),
        ends[:, 0],
        ends[:, 1],
        np.array(expected, dtype=np.intp),
    )


def joined_trees(trees: Sequence[Tree], column: int, borders: Sequence[float]) -> Tree:
    """Return one tree of several, told apart by the value of a column; `borders` lie between them.

    >>> one = grow_tree(np.zeros((1, 1)), 1, lambda x: None)
    >>> joined_trees([one, one, one], 0, [0.5, 1.5]).assign(np.array([[0.0], [2.0], [1.0]]))
    array([0, 2, 1])
    """
    if len(trees) == 1:
        return trees[0]
    # Halved again and again, so that the joined tree is as flat as can be.
    half = len(trees) // 2
    low = joined_trees(trees[:half], column, borders[: half - 1])
    high = joined_trees(trees[half:], column, borders[half:])
    nodes, leaves = len(low.columns), len(low)

    def ends(name: str) -> list[Labels]:
        # The root comes first, then the nodes of the lower side, then those of the upper one.
        below, above = getattr(low, name), getattr(high, name)
        return [
            np.where(below >= 0, below + 1, below),
            np.where(above >= 0, above + 1 + nodes, above - leaves),
        ]

    roots = 1 if nodes else -1, 1 + nodes if len(high.columns) else -1 - leaves
    return Tree(
        np.concatenate([[column], low.columns, high.columns]),
        np.concatenate([[borders[half - 1]], low.thresholds, high.thresholds]),
        np.concatenate([[roots[0]], *ends("below")]),
        np.concatenate([[roots[1]], *ends("above")]),
        np.concatenate([low.expected, high.expected]),
    )


def blocks_by_rank(x: Matrix, size: int) -> Labels:
    """Return the (n,) number of the block of each record, halved by rank where they spread most.

    Equal values go by the order of records. A block holds at most `size` records, and more than
    half of that if there are as many.

    >>> blocks_by_rank(np.array([[5.0], [5.0], [5.0], [1.0]]), 2)
    array([0, 1, 1, 0])
    """
    block = np.zeros(len(x), dtype=np.intp)
    stack = [np.arange(len(x))]
    made = 0
    while stack:
        rows = stack.pop()
        if len(rows) <= size:
            block[rows] = made
            made += 1
            continue
        # The greatest value is brought below 1, since squares of large values overflow.
        part = np.ldexp(x[rows], -np.frexp(np.abs(x[rows]).max())[1])
        widest = int(part.var(axis=0).argmax())
        # By rank, not by value: equal records are parted as well, so no block is too large for the
        # method.
        order = rows[np.argsort(x[rows, widest], kind="stable")]
        half = len(rows) // 2
        stack += [np.sort(order[half:]), np.sort(order[:half])]
    return block
