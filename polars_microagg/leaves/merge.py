"""Leaves of too few records joined to their nearest neighbours in the tree."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from polars_microagg.core.partition import Labels
from polars_microagg.leaves.tree import Tree

__all__ = ["merge_failing", "merge_small", "targets"]

EVEN = 2
"""A side of a cut with at most so many times the records of a leaf is joined to it whole."""


def merge_small(
    tree: Tree, counts: Labels, least: int, cuts: npt.NDArray[np.bool_] | None = None
) -> dict[int, int]:
    """Return where the records of leaves with fewer than `least` records go, by leaf.

    `cuts` says at which nodes leaves may be joined, by default at all. A subtree with too few records in
    all goes to the leaf on the other side of its cut that lies next to it, or, if that one is empty, to
    the nearest in the order of leaves.

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
    joining = range(len(first)) if cuts is None else np.flatnonzero(cuts).tolist()
    for node in reversed(joining):
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


def merge_failing(
    tree: Tree,
    counts: Labels,
    into: Labels,
    failing: Labels,
    cuts: npt.NDArray[np.bool_] | None = None,
) -> tuple[Labels, Labels]:
    """Return where the records of each leaf go once failing leaves have grown, and which have grown.

    `into` (m,) says where they went before, and `failing` are leaves that are not merged into
    others. Each is joined with what lies across the nearest cut: with all of it if that is not much
    more, otherwise with the next leaf of it. A failing leaf that holds all records below the `cuts` where
    leaves may be joined does not grow.

    >>> tree = Tree(*np.array([[0, 0], [3, 1], [1, -1], [-3, -2]]), np.array([4, 4, 4]))
    >>> merge_failing(tree, np.array([4, 4, 4]), np.arange(3), np.array([1]))
    (array([1, 1, 2]), array([1]))
    """
    into, counts = into.copy(), np.asarray(counts)
    first, last = tree.spans()
    above_node, above_leaf = _parents(tree)
    grown: set[int] = set()
    for leaf in failing.tolist():
        # What was joined in this round is looked at again before it grows further.
        if into[leaf] != leaf or leaf in grown:
            continue
        node, others = above_leaf[leaf], np.empty(0, dtype=np.intp)
        while node >= 0 and (cuts is None or cuts[node]):
            span = np.arange(first[node], last[node])
            others = span[(counts[span] > 0) & (into[span] != leaf)]
            if others.size:
                break
            node = above_node[node]
        if not others.size:
            continue
        own = into == leaf
        if counts[others].sum() <= EVEN * counts[own].sum():
            into[np.isin(into, into[others])] = leaf
            grown.add(leaf)
        else:
            # Below this cut there was nothing else, so the others are all on its other side.
            right = leaf < _start(tree.above[node], first)
            target = int(into[others[0 if right else -1]])
            into[own] = target
            grown.add(target)
    return into, np.array(sorted({int(into[leaf]) for leaf in grown}), dtype=np.intp)


def _parents(tree: Tree) -> tuple[list[int], list[int]]:
    """Return the parent of each node, and that of each leaf; -1 for none."""
    nodes, leaves = [-1] * len(tree.columns), [-1] * len(tree)
    for side in (tree.below, tree.above):
        for parent, child in enumerate(side.tolist()):
            if child >= 0:
                nodes[child] = parent
            else:
                leaves[-1 - child] = parent
    return nodes, leaves


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
