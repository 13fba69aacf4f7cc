"""A forest of records, and how its trees are cut into groups.

Trees are walked from record to record; there are no whole arrays to work on.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TypeAlias

import numpy as np

from polars_microagg.core.partition import Labels, Matrix
from polars_microagg.kernels.distance import squared_distances
from polars_microagg.kernels.neighbours import Neighbours

__all__ = ["cut_trees", "forest"]

Edges: TypeAlias = list[tuple[float, int, int]]
"""Squared length of each edge, and the two rows that it joins."""

Links: TypeAlias = list[tuple[float, int]]
"""Neighbours of a record in its tree, and their squared distances."""


def forest(columns: Matrix, k: int) -> Edges:
    """Return the edges that join each tree of fewer than k to the nearest record outside.

    The smallest tree is first, of equally small ones that with the shortest edge to a record
    outside. That edge is added; of equally short ones that from the lowest row to the lowest.

    >>> forest(np.array([[0.0, 1.0, 9.0, 10.0, 3.0]]), 2)
    [(1.0, 0, 1), (1.0, 2, 3), (4.0, 4, 1)]
    """
    n = columns.shape[1]
    near = Neighbours(columns, k - 1).near
    origin = np.zeros(len(columns))
    lengths = [squared_distances(columns - columns.take(rows, axis=1), origin) for rows in near]
    # A tree of fewer than k records holds at most k - 2 of the k - 1 nearest to one of its own.
    # A tree of fewer than k records holds at most k - 2 of the k - 1 nearest to one of its own: its
    # shortest edge outwards is always in the lists.
    others, distances = near.T.tolist(), np.array(lengths).T.tolist()
    tree, members, seen = list(range(n)), [[row] for row in range(n)], [0] * n

    def shortest(own: int) -> tuple[int, float, int, int, int]:
        """Return the size of a tree, and its shortest edge to a record outside."""
        reach = []
        for one in members[own]:
            while tree[others[one][seen[one]]] == own:
                seen[one] += 1
            reach.append((distances[one][seen[one]], one, others[one][seen[one]]))
        return len(members[own]), *min(reach), own

    edges: Edges = []
    waiting = [shortest(row) for row in range(n)]
    heapify(waiting)
    while waiting:
        size, length, one, other, own = heappop(waiting)
        # An entry of the heap is out of date if its tree has grown or was joined to another.
        if size != len(members[own]):
            continue
        edges.append((length, one, other))
        joined = tree[other]
        # The smaller list moves, so a record moves at most log n times.
        kept, gone = (own, joined) if size > len(members[joined]) else (joined, own)
        for row in members[gone]:
            tree[row] = kept
        members[kept] += members[gone]
        members[gone] = []
        if len(members[kept]) < k:
            heappush(waiting, shortest(kept))
    return edges


def cut_trees(n: int, edges: Edges, k: int) -> Labels:
    """Return (n,) labels of groups of at least k records that trees are cut into.

    Edges that leave k records or more on both sides are cut, the longest first, of equally long
    ones the first to have been added. What then has more than max(2k - 1, 3k - 5) records has a
    centre, all branches of which have fewer than k: the branches are gathered, the nearest first,
    until k have come together; where k - 1 have, the centre joins them. The last ones go with the
    group before them if they are fewer than k.

    >>> cut_trees(5, [(1.0, 0, 1), (4.0, 1, 2), (2.0, 2, 3), (1.0, 3, 4)], 2)
    array([0, 0, 1, 1, 1])
    """
    linked = _linked(n, _kept(n, edges, k))
    labels = np.empty(n, dtype=np.intp)
    groups = 0
    for tree in _trees(linked, [-1] * n):
        parts = [tree] if len(tree) <= max(2 * k - 1, 3 * k - 5) else _star(tree, linked, k)
        for part in parts:
            labels[part] = groups
            groups += 1
    return labels


def _linked(n: int, edges: Edges) -> list[Links]:
    """Return the neighbours of each record."""
    linked: list[Links] = [[] for _ in range(n)]
    for length, one, other in edges:
        linked[one].append((length, other))
        linked[other].append((length, one))
    return linked


def _walk(linked: list[Links], start: int, parent: list[int]) -> list[int]:
    """Return the rows of a tree from a start, away from its parent, and note the parents."""
    order = [start]
    for row in order:
        for _, other in linked[row]:
            if other != parent[row]:
                parent[other] = row
                order.append(other)
    return order


def _trees(linked: list[Links], parent: list[int]) -> list[list[int]]:
    """Return the rows of all trees, each from its lowest row."""
    visited, trees = [False] * len(linked), []
    for row in range(len(linked)):
        if not visited[row]:
            trees.append(_walk(linked, row, parent))
            for one in trees[-1]:
                visited[one] = True
    return trees


def _sizes(tree: list[int], parent: list[int], size: list[int]) -> None:
    """Count the records at and beyond each record of a tree."""
    for row in reversed(tree[1:]):
        size[parent[row]] += size[row]


def _kept(n: int, edges: Edges, k: int) -> Edges:
    """Return the edges that are not cut."""
    parent, size = [-1] * n, [1] * n
    for tree in _trees(_linked(n, edges), parent):
        _sizes(tree, parent, size)
    kept: Edges = []
    for edge in sorted(edges, key=lambda edge: -edge[0]):
        _, one, other = edge
        child = one if parent[one] == other else other
        above = [parent[child]]
        if size[child] >= k:
            while parent[above[-1]] >= 0:
                above.append(parent[above[-1]])
        # The size of the whole tree is that of its root, so both sides of an edge are known without
        # a walk.
        if size[child] < k or size[above[-1]] - size[child] < k:
            kept.append(edge)
            continue
        for row in above:
            size[row] -= size[child]
        parent[child] = -1
    return kept


def _star(tree: list[int], linked: list[Links], k: int) -> list[list[int]]:
    """Return the groups that the branches round the centre of a tree are gathered into."""
    parent, size = [-1] * len(linked), [1] * len(linked)
    _sizes(_walk(linked, tree[0], parent), parent, size)
    centre, inwards = -1, tree[0]
    # Go into the branch of k or more while there is one. Its edge was not cut, so what is left
    # behind has fewer than k: in the end all branches of the centre have.
    while inwards >= 0:
        centre = inwards
        beyond = [row for _, row in linked[centre] if row != parent[centre] and size[row] >= k]
        inwards = beyond[0] if beyond else -1
    parts, part, alone = [], [], True
    for _, row in sorted(linked[centre]):
        parent[row] = centre
        part += _walk(linked, row, parent)
        if len(part) == k - 1 and alone:
            part.append(centre)
            alone = False
        if len(part) >= k:
            parts.append(part)
            part = []
    part += [centre] if alone else []
    if len(part) >= k:
        parts.append(part)
    else:
        parts[-1] += part
    return parts
