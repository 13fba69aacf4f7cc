"""Leaves of too few records joined to their nearest neighbours in the tree."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from polars_microagg.core.partition import Labels
from polars_microagg.leaves.tree import Tree

__all__ = ["merge_small", "targets"]


def merge_small(tree: Tree, counts: Labels, least: int) -> dict[int, int]:
    """Return where the records of leaves with fewer than `least` records go, by leaf.

    A subtree with too few records in all goes to the leaf on the other side of its cut that lies
    next to it, or, if that one is empty, to the nearest in the order of leaves.

    >>> tree = Tree(*np.array([[0, 0], [3, 1], [1, -1], [-3, -2]]), np.array([4, 4, 4]))
    >>> merge_small(tree, np.array([4, 1, 7]), 2)
    {1: 0}
    """
    counts = np.asarray(counts, dtype=np.intp).copy()
    into: dict[int, int] = {}
    first, last = tree.spans()
    # From the last node to the root, so children come before parents: when a node is reached, each
    # of its sides has either no leaf below `least` or fewer records than that in all. Then one side
    # at most must be joined to the other; at the root, no leaf below `least` is left unless the
    # whole table has too few.
    for node in range(len(first) - 1, -1, -1):
        middle = _start(tree.above[node], first)
        sides = slice(first[node], middle), slice(middle, last[node])
        low, high = (int(counts[side].sum()) for side in sides)
        if min(low, high) >= least or not low or not high:
            continue
        small, large = sides if low < high else sides[::-1]
        # The nearest leaf across the cut that has records: the last one before the border, or the
        # first one after it.
        filled = large.start + np.flatnonzero(counts[large])
        target = int(filled[-1] if large.stop == middle else filled[0])
        for leaf in (small.start + np.flatnonzero(counts[small])).tolist():
            into[leaf] = target
        counts[target] += counts[small].sum()
        counts[small] = 0
    return dict(sorted(targets(into).items()))


def _start(child: int, first: Labels) -> int:
    """Return the first leaf of a child."""
    return int(first[child] if child >= 0 else -1 - child)


def targets(into: Mapping[int, int]) -> dict[int, int]:
    """Follow leaves that were merged into leaves that were merged themselves."""
    final = {}
    for leaf, target in into.items():
        while target in into:
            target = into[target]
        final[leaf] = target
    return final
