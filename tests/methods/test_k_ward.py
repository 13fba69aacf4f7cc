"""k-Ward against a plain version that looks at every two groups in every step, and by hand."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from polars_microagg.core.partition import Labels, Matrix, Partition, Vector
from polars_microagg.core.registry import methods
from polars_microagg.methods import _farthest_pair, _ward
from polars_microagg.methods.k_ward import k_ward
from tests.methods.plain import Plain, divided, labelled, on_paper
from tests.methods.test_mdav import DRAWS


class Group:
    """Records with their mean; a union starts from the mean of the group with the first record."""

    def __init__(self, rows: list[int], mean: Vector) -> None:
        self.rows, self.mean = rows, mean

    def cost(self, other: Group) -> float | Fraction:
        own, theirs = len(self.rows), len(other.rows)
        squares = sum((a - b) ** 2 for a, b in zip(self.mean, other.mean, strict=True))
        return squares * self.share(own * theirs, own + theirs)

    def join(self, other: Group) -> Group:
        share = self.share(len(other.rows), len(self.rows) + len(other.rows))
        return Group(self.rows + other.rows, self.mean + (other.mean - self.mean) * share)

    def share(self, part: int, whole: int) -> float | Fraction:
        return Fraction(part, whole) if self.mean.dtype == object else part / whole


def joined(groups: list[Group], k: int, near: bool) -> list[Group]:
    """Join until every group has k; `near` joins only neighbours in the list."""
    while True:
        best = None
        for i, small in enumerate(groups):
            for j, other in enumerate(groups):
                if i == j or len(small.rows) >= k or (near and abs(i - j) > 1):
                    continue
                first, second = (small, other) if i < j else (other, small)
                key = (first.cost(second), i, len(other.rows), j)
                if best is None or key < best:
                    best = key
        if best is None:
            return groups
        i, j = sorted((best[1], best[3]))
        groups[i] = groups[i].join(groups.pop(j))


def plain(x: Matrix, k: int, sort: int | str, projected: bool) -> Labels:
    z = Plain(x, k).z
    done, waiting = [], [list(range(len(x)))]
    while waiting:
        rows = sorted(waiting.pop())
        if len(rows) < 2 * k:
            done.append(rows)
            continue
        if sort == "md":
            first, last = extremes(z, rows, k)
        else:
            order = sorted(rows, key=lambda row: (x[row, sort], row))
            first, last = order[:k], order[-k:]
        single = [[row] for row in rows if row not in first and row not in last]
        if projected:
            single.sort(key=lambda group: (x[group[0], sort], group[0]))
            y = on_paper(x[np.ix_(rows, [sort])])
            if y.dtype != object:
                y = x[np.ix_(rows, [sort])]
            at = {row: place for place, row in enumerate(rows)}
            parts = [[at[row] for row in group] for group in (first, *single, last)]
            means = [y[g[0]] + divided(sum(y[g] - y[g[0]]), len(g)) for g in parts]
            groups = [Group(*pair) for pair in zip((first, *single, last), means, strict=True)]
        else:
            parts = sorted(sorted(g) for g in (first, *single, last))
            groups = [Group(g, divided(np.cumsum(z[g], axis=0)[-1], len(g))) for g in parts]
        waiting += [group.rows for group in joined(groups, k, projected)]
    return labelled(done, len(x))


def extremes(z: Matrix, rows: list[int], k: int) -> tuple[list[int], list[int]]:
    left = Plain(z[rows], k)
    left.z = z[rows] - 0.0
    pairs = [(-left.distance(i, left.z[j]), i, j) for i in left.left for j in left.left if i < j]
    _, first, last = min(pairs)
    left.grow(first)
    if last not in left.left:
        last = left.farthest(left.z[first])
    left.grow(last)
    return [rows[i] for i in left.groups[0]], [rows[i] for i in left.groups[1]]


@pytest.fixture(params=["as it is", "large"])
def setting(request, monkeypatch):
    # Direct arithmetic is what small data meet; large data meet products and rewritten tables.
    if request.param == "large":
        monkeypatch.setattr(_ward, "DIRECT", 0)
        monkeypatch.setattr(_ward, "SHARE", 12)
        monkeypatch.setattr(_farthest_pair, "CELLS", 20)


@pytest.mark.usefixtures("setting")
@pytest.mark.parametrize("projected", [False, True])
@pytest.mark.parametrize("kind", DRAWS)
def test_records_are_joined_as_by_the_plain_version(kind, projected):
    rng = np.random.default_rng(len(kind))
    for _ in range(12):
        n, d, k = (int(rng.integers(*bounds)) for bounds in ((1, 26), (1, 4), (2, 6)))
        x = DRAWS[kind](rng, n, d)
        found = k_ward(x, k=k, sort=int(rng.integers(d)) if d > 1 else 0, projected=projected)
        assert n < 2 * k or k <= found.sizes.min() <= found.sizes.max() < 2 * k
    rng = np.random.default_rng(len(kind))
    for _ in range(12):
        n, d, k = (int(rng.integers(*bounds)) for bounds in ((1, 26), (1, 4), (2, 6)))
        x = DRAWS[kind](rng, n, d)
        found = k_ward(x, k=k, sort=0, projected=projected)
        expected = plain(x, k, 0, projected)
        np.testing.assert_array_equal(found.labels, expected, err_msg=f"{x.shape}, k={k}")


@pytest.mark.usefixtures("setting")
@pytest.mark.parametrize("kind", DRAWS)
def test_first_and_last_groups_grow_from_the_extremes_as_in_the_plain_version(kind):
    rng = np.random.default_rng(len(kind) + 1)
    for _ in range(10):
        n, d, k = (int(rng.integers(*bounds)) for bounds in ((1, 22), (1, 4), (2, 5)))
        x = DRAWS[kind](rng, n, d)
        found = k_ward(x, k=k, sort="md")
        if kind in ("gaussian", "lognormal", "cauchy"):
            expected = plain(x, k, "md", projected=False)
            np.testing.assert_array_equal(found.labels, expected, err_msg=f"{x.shape}, k={k}")
        assert n < 2 * k or k <= found.sizes.min() <= found.sizes.max() < 2 * k


def test_by_hand():
    # k = 2, sorted by the first column: rows 0, 1 are the first group, rows 5, 6 the last.
    #   row      0       1       2       3       4       5       6
    x = [(0, 0), (1, 0), (4, 0), (5, 2), (6, 0), (9, 0), (10, 0)]
    # Unions of 2 and 3: (1 + 4) / 2 = 2.5; 2 and 4: 4 / 2 = 2; 3 and 4: 2.5; of 2 with the first
    # group 2/3 3.5^2 = 8.2, as of 4 with the last. So 2 and 4 join, and 3 costs 2/3 2^2 = 2.7 there.
    found = k_ward(np.array(x, dtype=np.float64), k=2, sort=0)
    assert found.labels.tolist() == [0, 0, 1, 1, 1, 2, 2]


def test_large_groups_are_divided_again():
    # 20 and 21 join for 0.5. Then 17 and 24 cost 2/3 3.5^2 each: 17 is first. 24 costs
    # 3/4 (14/3)^2 = 16.3 there and far more with 60 and 61. Four records are 2k: of 17, 20, 21, 24 the
    # first two and the last two are groups, and nothing is left to join.
    x = np.array([17.0, 0.0, 20.0, 60.0, 24.0, 1.0, 21.0, 61.0])[:, None]
    for projected in (False, True):
        found = k_ward(x, k=2, sort=0, projected=projected)
        assert found.labels.tolist() == [0, 1, 0, 2, 3, 1, 3, 2]


def test_equal_records_are_not_gathered_in_one_group():
    # Of unions that all cost nothing, single records join each other first.
    for projected in (False, True):
        found = k_ward(np.ones((30, 2)), k=3, sort="sz", projected=projected)
        assert found.sizes.max() <= 5
        assert len(found) == 10


def test_projected_records_join_only_their_neighbours():
    x = np.random.default_rng(0).normal(size=(300, 3))
    labels = k_ward(x, k=4, sort=1, projected=True).labels
    along = labels[np.argsort(x[:, 1])]
    assert np.count_nonzero(np.diff(along)) == labels.max()


def test_the_line_through_the_most_distant_records_sorts_by_it():
    x = np.random.default_rng(1).normal(size=(40, 2))
    first, last = _farthest_pair.farthest_pair((x - x.mean(axis=0)).T)
    key = (x - x[first]) @ (x[last] - x[first])
    expected = k_ward(key[:, None], k=3, sort=0, projected=True).labels
    assert np.array_equal(k_ward(x, k=3, sort="md", projected=True).labels, expected)


@pytest.mark.parametrize("cells", [7, 30, 1 << 21])
def test_the_farthest_pair_is_that_of_all_distances(cells, monkeypatch):
    monkeypatch.setattr(_farthest_pair, "CELLS", cells)
    for kind, draw in DRAWS.items():
        rng = np.random.default_rng(len(kind))
        for _ in range(15):
            n, d = int(rng.integers(2, 40)), int(rng.integers(1, 4))
            left = Plain(draw(rng, n, d), 1)
            far = [(-left.distance(i, left.z[j]), i, j) for i in range(n) for j in range(i + 1, n)]
            assert _farthest_pair.farthest_pair(left.z.T) == min(far)[1:], kind


def test_registered():
    entry = methods()["k_ward"]
    assert (entry.sizes, entry.cost, entry.limit) == ("k..2k-1", "n^2", 50_000)
    assert entry.options["sort"].axis
    assert Partition.from_labels(k_ward(np.zeros((3, 1)), k=2).labels).sizes.tolist() == [3]
