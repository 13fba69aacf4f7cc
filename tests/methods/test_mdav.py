"""MDAV against a plain version that does what the paper says, one record set at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polars_microagg.core.partition import Labels, Matrix, Partition, Vector
from polars_microagg.core.registry import methods
from polars_microagg.kernels import point_search, remaining_records, smallest
from polars_microagg.methods.mdav import mdav
from tests.loop import rounds, tries
from tests.methods.plain import on_paper
from tests.reference import MDAV_LOSSES, loss, reference


class PlainMdav:
    """MDAV with every distance computed every time."""

    def __init__(self, x: Matrix, k: int) -> None:
        self.k = k
        self.z = on_paper(x)
        self.exact = self.z.dtype == object
        if self.exact and len(x):
            # Whole numbers that 64 bits hold with all that is made of them; an offset changes no distance.
            whole = self.z - self.z.min(axis=0)
            if x.shape[1] * (len(x) * int(whole.max())) ** 2 < 2**63:
                self.z = whole.astype(np.int64)
        self.left = np.arange(len(x))
        self.groups: list[Labels] = []
        self.restart()

    def restart(self) -> None:
        self.summed = len(self.left)
        self.sum = np.cumsum(self.z[self.left], axis=0)[-1]

    def distances(self, point: Vector, count: int = 1) -> Vector:
        """Squared distances to a point, or `count` squared times those to a sum of so many records."""
        return sum((count * self.z[self.left, j] - value) ** 2 for j, value in enumerate(point))

    def farthest(self, point: Vector, count: int = 1) -> int:
        return int(self.left[np.argmax(self.distances(point, count))])

    def farthest_from_mean(self) -> int:
        if 2 * len(self.left) <= self.summed:
            self.restart()
        n = len(self.left)
        return self.farthest(self.sum, n) if self.exact else self.farthest(self.sum / n)

    def take(self, row: int) -> None:
        distances = self.distances(self.z[row])
        distances[self.left == row] = -1
        group = np.sort(self.left[np.argsort(distances, kind="stable")[: self.k]])
        self.groups.append(group)
        self.left = np.setdiff1d(self.left, group)
        self.sum = self.sum - np.cumsum(self.z[group], axis=0)[-1]

    def run(self) -> Labels:
        while len(self.left) >= 3 * self.k:
            r = self.farthest_from_mean()
            s = self.farthest(self.z[r])
            self.take(r)
            if s not in self.left:
                s = self.farthest(self.z[r])
            self.take(s)
        if len(self.left) >= 2 * self.k:
            self.take(self.farthest_from_mean())
        labels = np.zeros(len(self.z), dtype=np.intp)
        for number, group in enumerate(self.groups, start=1):
            labels[group] = number
        return Partition.from_labels(labels).labels


Draw = Callable[[np.random.Generator, int, int], Matrix]


def grid(rng: np.random.Generator, n: int, d: int) -> Matrix:
    """Equally spaced points in scrambled order."""
    side = int(np.ceil(n ** (1 / d)))
    points = np.stack(np.unravel_index(rng.permutation(side**d)[:n], (side,) * d), axis=1)
    return points.astype(np.float64)


def repeated(rng: np.random.Generator, n: int, d: int) -> Matrix:
    """Few different records."""
    return rng.standard_normal((max(1, n // 7), d))[rng.integers(0, max(1, n // 7), n)]


def sphere(rng: np.random.Generator, n: int, d: int) -> Matrix:
    """All about as far from the mean."""
    x = rng.standard_normal((n, d)) + 1e-9
    radius: Matrix = np.sqrt((x**2).sum(axis=1, keepdims=True))
    return x / radius


def two_scales(rng: np.random.Generator, n: int, d: int) -> Matrix:
    x = rng.standard_normal((n, d))
    x[:, ::2] *= 1e6
    return x


def tenths(rng: np.random.Generator, n: int, d: int) -> Matrix:
    """Distances that are equal on paper and differ in the last bit, or the other way round."""
    return rng.integers(0, 4, (n, d)) / 10


DRAWS: dict[str, Draw] = {
    "integers to 2": lambda rng, n, d: rng.integers(0, 3, (n, d)).astype(np.float64),
    "integers to 9": lambda rng, n, d: rng.integers(0, 10, (n, d)).astype(np.float64),
    "corners": lambda rng, n, d: rng.choice([-1.0, 1.0], (n, d)),
    "constant": lambda rng, n, d: np.full((n, d), rng.standard_normal()),
    "repeated": repeated,
    "mostly zero": lambda rng, n, d: np.where(
        rng.random((n, d)) < 0.9, 0.0, rng.standard_normal((n, d))
    ),
    "cauchy": lambda rng, n, d: rng.standard_cauchy((n, d)),
    "lognormal": lambda rng, n, d: rng.lognormal(size=(n, d)),
    "gaussian": lambda rng, n, d: rng.standard_normal((n, d)),
    "grid": grid,
    "tenths": tenths,
    "sphere": sphere,
    "two scales": two_scales,
    "offset": lambda rng, n, d: rng.standard_normal((n, d)) + 1e8,
    "offset integers": lambda rng, n, d: rng.integers(0, 4, (n, d)) + np.float64(1e8),
    "tiny": lambda rng, n, d: rng.integers(0, 4, (n, d)) * np.float64(1e-160),
    "sorted": lambda rng, n, d: np.sort(rng.standard_normal((n, d)), axis=0),
}

# Direct arithmetic up to 512 records is what small data meet. The others take them through what
# large data meet: products, stripes, the queue, a table full of records that are gone.
SETTINGS = {
    "as it is": {},
    "large": {"DIRECT": 0, "HEAD": 1, "STRIPE": 3, "SORTED": 2},
    "gone": {"DIRECT": 0, "HEAD": 4, "SHARE": 1, "STRIPE": 2},
    "rewritten": {"DIRECT": 12, "SHARE": 1000, "SORTED": 0},
}


@pytest.fixture(params=SETTINGS)
def setting(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    for name, value in SETTINGS[request.param].items():
        module = next(m for m in (smallest, remaining_records, point_search) if hasattr(m, name))
        monkeypatch.setattr(module, name, value)
    return str(request.param)


def small_cases(draw: Draw, seed: int) -> Iterator[tuple[Matrix, int]]:
    rng = np.random.default_rng(seed)
    for _ in range(rounds(60)):
        n, d, k = int(rng.integers(1, 121)), int(rng.integers(1, 13)), int(rng.integers(2, 11))
        yield np.asarray(draw(rng, n, d), order=rng.choice(["C", "F"])), k


@pytest.mark.usefixtures("setting")
@pytest.mark.parametrize("kind", DRAWS)
def test_small_data_are_grouped_as_by_the_plain_version(kind: str) -> None:
    for x, k in small_cases(DRAWS[kind], seed=len(kind)):
        found = mdav(x, k=k)
        expected = PlainMdav(x, k).run()
        np.testing.assert_array_equal(found.labels, expected, err_msg=f"{x.shape}, k={k}")


@pytest.mark.deep
@pytest.mark.parametrize("kind", DRAWS)
@pytest.mark.parametrize(("n", "d", "k"), [(3001, 2, 7), (4096, 5, 5)])
def test_large_data_are_grouped_as_by_the_plain_version(kind: str, n: int, d: int, k: int) -> None:
    x = DRAWS[kind](np.random.default_rng(n), n, d)
    np.testing.assert_array_equal(mdav(x, k=k).labels, PlainMdav(x, k).run())


@pytest.mark.usefixtures("setting")
def test_near_ties_on_a_line_are_grouped_as_by_the_plain_version() -> None:
    # Steps of one to four units in the last place: products alone would confuse all of them.
    rng = np.random.default_rng(5)
    for _ in range(60):
        steps = rng.integers(0, 5, (40, 2)) * np.finfo(np.float64).eps
        x = rng.choice([-2.0, 1.0, 1.5], (40, 2)) * (1 + steps)
        np.testing.assert_array_equal(mdav(x, k=3).labels, PlainMdav(x, 3).run())


@tries(300)
@given(st.data())
def test_any_small_integers_are_grouped_as_by_the_plain_version(data: st.DataObject) -> None:
    d, k = data.draw(st.integers(1, 3)), data.draw(st.integers(2, 4))
    record = st.lists(st.integers(-2, 2), min_size=d, max_size=d)
    x = np.array(data.draw(st.lists(record, min_size=1, max_size=30)), dtype=np.float64)
    np.testing.assert_array_equal(mdav(x, k=k).labels, PlainMdav(x, k).run())


def test_by_hand() -> None:
    # Nine points with mean (3, 2), k = 2.
    #   row      0       1       2       3       4       5       6       7       8
    x = [(0, 0), (1, 0), (9, 6), (0, 1), (8, 5), (3, 1), (2, 4), (3, 1), (1, 0)]
    # Squared distances from the mean: 13 8 52 10 34 1 5 1 8, so r is row 2. From (9, 6) they
    # are 117 100 0 106 2 61 53 61 100, so s is row 0, and row 4 goes with r. Rows 1, 3 and 8
    # are at distance 1 from s: the lowest, row 1, goes with it.
    # Rows 3 5 6 7 8 are left, fewer than 3k but at least 2k. Their mean is (1.8, 1.4), their
    # squared distances from it 3.4 1.6 6.8 1.6 2.6. From row 6 they are 13 10 0 10 17: the
    # lower of rows 5 and 7 goes with it, and the others are the last group.
    found = mdav(np.array(x, dtype=np.float64), k=2)
    assert found.labels.tolist() == [0, 0, 1, 2, 1, 3, 3, 2, 2]
    assert found.sizes.tolist() == [2, 2, 3, 2]


def test_equally_far_records_go_to_the_lowest_row() -> None:
    # On a line with mean 0 the rows 1 and 4 are equally far from it: r is row 1. Of rows 0 and
    # 3, equally near to it, row 0 goes with it. Row 4 is s; of rows 2 and 5 it gets row 2.
    x = np.array([[-6.0], [-8.0], [6.0], [-6.0], [8.0], [6.0]])
    assert mdav(x, k=2).labels.tolist() == [0, 0, 1, 2, 1, 2]


def test_a_new_s_is_found_when_the_group_of_r_has_taken_it() -> None:
    # Row 15 is farthest from the mean (4.3125, 0) and 5 away from every other record. So s is
    # row 0, and the four lowest rows go with row 15, s among them. Row 4 is then the lowest of
    # those farthest from row 15: with it go rows 5 to 8 on the same place, the rest is the last
    # group. Starting from the mean of the rest instead would give rows 4, 5, 9, 10, 11.
    x = np.array([(5, 0)] * 9 + [(4, 3)] * 3 + [(4, -3)] * 3 + [(0, 0)], dtype=np.float64)
    assert mdav(x, k=5).labels.tolist() == [0] * 4 + [1] * 5 + [2] * 6 + [0]


def test_equal_records_are_grouped_in_row_order() -> None:
    assert mdav(np.ones((8, 3)), k=2).labels.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert mdav(np.ones((7, 1)), k=3).labels.tolist() == [0, 0, 0, 1, 1, 1, 1]


@pytest.mark.parametrize("n", [1, 2, 5])
def test_fewer_than_2k_records_are_one_group(n: int) -> None:
    found = mdav(np.arange(n, dtype=np.float64)[:, None], k=3)
    assert found.labels.tolist() == [0] * n
    assert found.sizes.tolist() == [n]


@pytest.mark.parametrize(("n", "last"), [(6, 3), (8, 5), (9, 3), (10, 4), (11, 5), (12, 3)])
def test_only_one_group_exceeds_k(n: int, last: int) -> None:
    x = np.random.default_rng(n).standard_normal((n, 2))
    assert sorted(mdav(x, k=3).sizes.tolist()) == [3] * ((n - last) // 3) + [last]


def test_layout_does_not_matter_and_the_input_is_left_alone() -> None:
    wide = np.random.default_rng(0).standard_normal((2500, 12))
    x = np.asfortranarray(wide[:, ::2])
    before = x.copy()
    x.setflags(write=False)
    found = mdav(x, k=4)
    np.testing.assert_array_equal(x, before)
    np.testing.assert_array_equal(mdav(np.ascontiguousarray(x), k=4).labels, found.labels)
    np.testing.assert_array_equal(mdav(wide[:, ::2], k=4).labels, found.labels)


@pytest.mark.parametrize(("name", "k", "expected"), MDAV_LOSSES)
def test_losses_of_the_literature(name: str, k: int, expected: float) -> None:
    # The papers print 19.54579, 22.46128 and 33.19236 for Tarragona at k = 4, 5, 10: that is
    # MDAV-1, which sends records left over to the nearest groups instead of to a last one.
    x = reference(name)
    labels = mdav(x, k=k).labels
    assert round(loss(x, labels), 4) == expected


def test_sse_of_domingo_ferrer_2006_table_2() -> None:
    # Census 799 and EIA 217 at k = 3.
    for name, expected in (("census", 799), ("eia", 217)):
        x = reference(name)
        assert round(loss(x, mdav(x, k=3).labels) * x.size / 100) == expected


def test_it_is_registered() -> None:
    entry = methods()["mdav"]
    assert entry.function is mdav
    assert (entry.cite, entry.sizes) == ("Domingo-Ferrer and Torra (2005)", "k..2k-1")
    assert (entry.options, entry.seeded, entry.columnwise) == ({}, False, False)
