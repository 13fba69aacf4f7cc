"""The forest approximation against a plain version, and by hand."""

from __future__ import annotations

import numpy as np
import pytest

from polars_microagg.core.partition import Labels, Matrix
from polars_microagg.core.registry import methods
from polars_microagg.methods._forest import cut_trees, forest
from polars_microagg.methods.mu_approx import mu_approx
from tests.loop import rounds
from tests.methods.plain import Plain, labelled
from tests.methods.test_mdav import DRAWS

Edge = tuple[float, int, int]


def grown(left: Plain, k: int) -> list[Edge]:
    """Join trees, looking at every edge out of every small tree in every step."""
    trees = [{row} for row in left.left]
    edges = []
    while True:
        small = []
        for tree in trees:
            if len(tree) < k:
                out = [
                    (left.distance(row, left.z[other]), row, other)
                    for row in tree
                    for other in left.left
                    if other not in tree
                ]
                small.append((len(tree), *min(out)))
        if not small:
            return edges
        _, length, row, other = min(small)
        edges.append((length, row, other))
        joined = [tree for tree in trees if row in tree or other in tree]
        trees = [tree for tree in trees if tree not in joined] + [set.union(*joined)]


def reached(edges: list[Edge], row: int) -> set[int]:
    """Walk over the edges from a record."""
    found, waiting = {row}, [row]
    while waiting:
        here = waiting.pop()
        for _, one, other in edges:
            for a, b in ((one, other), (other, one)):
                if a == here and b not in found:
                    found.add(b)
                    waiting.append(b)
    return found


def cut(n: int, edges: list[Edge], k: int) -> list[list[int]]:
    left = list(edges)
    for edge in sorted(edges, key=lambda edge: -edge[0]):
        without = [other for other in left if other != edge]
        if all(len(reached(without, end)) >= k for end in edge[1:]):
            left = without
    parts = []
    for row in range(n):
        tree = reached(left, row)
        if row != min(tree):
            continue
        if len(tree) <= max(2 * k - 1, 3 * k - 5):
            parts.append(sorted(tree))
            continue
        branches = {}
        for centre in tree:
            links = [(e[0], e[1] + e[2] - centre) for e in left if centre in e[1:]]
            without = [e for e in left if centre not in e[1:]]
            found = [sorted(reached(without, other)) for _, other in sorted(links)]
            if max(map(len, found)) < k:
                branches[centre] = found
        assert len(branches) == 1
        ((centre, found),) = branches.items()
        groups, part, alone = [], [], True
        for branch in found:
            part += branch
            if len(part) == k - 1 and alone:
                part, alone = [*part, centre], False
            if len(part) >= k:
                groups.append(part)
                part = []
        part += [centre] if alone else []
        if len(part) >= k:
            groups.append(part)
        else:
            groups[-1] += part
        parts += groups
    return parts


def plain(x: Matrix, k: int) -> Labels:
    n = len(x)
    if n < 2 * k:
        return np.zeros(n, dtype=np.intp)
    left = Plain(x, k)
    groups = []
    for part in cut(n, grown(left, k), k):
        rows = sorted(part)
        if len(rows) < 2 * k:
            groups.append(rows)
            continue
        inside = Plain(x[rows], k)
        near = [rows[i] for i in inside.near(inside.farthest(inside.mean()))]
        groups += [near, [row for row in rows if row not in near]]
    return labelled(groups, n)


@pytest.mark.parametrize("kind", DRAWS)
def test_records_are_grouped_as_by_the_plain_version(kind):
    rng = np.random.default_rng(len(kind))
    for trial in range(rounds(14)):
        n, d = int(rng.integers(1, 40)), int(rng.integers(1, 4))
        k = int(rng.integers(2, 5 + trial % 4))
        x = DRAWS[kind](rng, n, d)
        found = mu_approx(x, k=k)
        assert n < 2 * k or k <= found.sizes.min() <= found.sizes.max() < 2 * k
        np.testing.assert_array_equal(found.labels, plain(x, k), err_msg=f"{x.shape}, k={k}")


def test_the_forest_by_hand():
    # k = 3. Single records first, by their shortest edge: 0-1 and 3-4 at 1 (rows 0 and 2), then row
    # 4 at 2.5 joins row 1 at 2.25. The tree of rows 2 and 3 joins row 4 at (8 - 2.5)^2.
    columns = np.array([[0.0, 1.0, 8.0, 9.0, 2.5]])
    assert forest(columns, 3) == [(1.0, 0, 1), (1.0, 2, 3), (2.25, 4, 1), (30.25, 2, 4)]


def test_the_longest_edges_are_cut_first():
    # A chain of six with k = 2: the edge of 9 leaves two and four, that of 5 then two and two, and
    # that of 4 would leave one.
    chain = [(1.0, 0, 1), (9.0, 1, 2), (4.0, 2, 3), (5.0, 3, 4), (2.0, 4, 5)]
    assert cut_trees(6, chain, 2).tolist() == [0, 0, 1, 1, 2, 2]
    assert cut_trees(5, chain[:4], 2).tolist() == [0, 0, 1, 1, 1]


def test_a_star_is_gathered_from_the_nearest():
    # k = 3, five branches of one round record 0, six records: more than max(5, 4). Branches 5 and 4, at
    # 1 and 2, are k - 1, so the centre joins; 3, 2 and 1 are a group.
    star = [(5.0, 0, 1), (4.0, 0, 2), (3.0, 0, 3), (2.0, 0, 4), (1.0, 0, 5)]
    labels = cut_trees(6, star, 3)
    assert labels[0] == labels[4] == labels[5] != labels[1] == labels[2] == labels[3]
    # With one branch more than fits, it goes with the group before.
    labels = cut_trees(7, [*star, (6.0, 0, 6)], 3)
    assert np.bincount(labels).tolist() == [3, 4]


def test_registered():
    entry = methods()["mu_approx"]
    assert (entry.sizes, entry.options, entry.seeded) == ("k..2k-1", {}, False)
