"""The optimal partition against an exact programme in whole numbers, and against brute force."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate, combinations, pairwise
from math import lcm
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polars_microagg.core.partition import Labels, Vector
from polars_microagg.kernels.order import dynamic_programme
from polars_microagg.kernels.order.dynamic_programme import DynamicProgramme
from polars_microagg.kernels.order.runs import fixed_runs, labels_along, optimal_runs, stable_order
from tests.loop import rounds

Whole: TypeAlias = list[list[int]]
"""Columns of whole numbers: what Python adds up without rounding."""


class Exact:
    """Costs of runs times the least common multiple of their lengths, as whole numbers."""

    def __init__(self, columns: Whole, k: int) -> None:
        self.n, self.k = len(columns[0]), k
        self.unit = lcm(*range(1, 2 * k)) if self.n >= 2 * k else lcm(*range(1, self.n + 1))
        self.sums = [list(accumulate(column, initial=0)) for column in columns]
        squares = [sum(v * v for v in item) for item in zip(*columns, strict=True)]
        self.squares = list(accumulate(squares, initial=0))

    def cost(self, s: int, t: int) -> int:
        between = sum((sums[t] - sums[s]) ** 2 for sums in self.sums)
        return self.unit * (self.squares[t] - self.squares[s]) - self.unit // (t - s) * between

    def total(self, runs: list[int]) -> int:
        ends = [0, *accumulate(runs)]
        assert ends[-1] == self.n
        return sum(self.cost(s, t) for s, t in pairwise(ends))

    def runs(self) -> list[int]:
        """Plain programme, one item and one length at a time; ties to the shortest last run."""
        if self.n < 2 * self.k:
            return [self.n]
        f: list[int | None] = [0] + [None] * self.n
        last = [0] * (self.n + 1)
        for t in range(self.k, self.n + 1):
            for m in range(self.k, min(2 * self.k - 1, t) + 1):
                before = f[t - m]
                if before is None:
                    continue
                through = before + self.cost(t - m, t)
                best = f[t]
                if best is None or through < best:
                    f[t], last[t] = through, m
        runs = []
        t = self.n
        while t:
            runs.append(last[t])
            t -= last[t]
        return runs[::-1]


def is_optimal(columns: Whole, runs: Labels, k: int) -> None:
    exact = Exact(columns, k)
    found = runs.tolist()
    assert sum(found) == exact.n
    if exact.n >= 2 * k:
        assert all(k <= run < 2 * k for run in found)
    least = exact.total(exact.runs())
    assert abs(exact.total(found) - least) <= 1e-9 * least


KINDS = {
    "few integers": lambda rng, n: rng.integers(0, 10, n),
    "integers": lambda rng, n: rng.integers(0, 1000, n),
    "signs": lambda rng, n: rng.integers(-3, 4, n),
    "constant": lambda rng, n: np.full(n, 7),
    "two values": lambda rng, n: rng.integers(0, 2, n) * 1000,
    "equally spaced": lambda rng, n: np.arange(n) * int(rng.integers(1, 50)),
    "each twice": lambda rng, n: np.arange(n) // 2,
    "spaced with gaps": lambda rng, n: np.arange(n) + 5 * (np.arange(n) > n // 3),
    "rounded lognormal": lambda rng, n: np.rint(100 * rng.lognormal(3, 1, n)),
    "fine": lambda rng, n: np.rint(2.0**30 * rng.normal(size=n)),
    "heavy tails": lambda rng, n: np.clip(np.rint(10 * rng.standard_cauchy(n)), -1e7, 1e7),
    "one outlier": lambda rng, n: np.append(rng.integers(0, 50, n - 1), 10**6),
    "low outliers": lambda rng, n: np.where(
        np.arange(n) < n // 9, -(10**6), rng.integers(0, 50, n)
    ),
    "quadratic": lambda rng, n: np.arange(n) ** 2,
}

SHAPES: list[dict[str, int | None]] = [
    {"length": None},
    {"length": None, "blocks": 1},
    {"length": 1, "blocks": 1},
    {"length": 20, "blocks": 2},
    {"length": 50, "blocks": 3},
]
"""One lane; the shortest lanes there are; lanes of a few tiles."""


def whole(kind: str, rng: np.random.Generator, n: int) -> list[int]:
    return sorted(int(v) for v in KINDS[kind](rng, n))


def cases(seed: int, count: int, largest: int) -> Iterator[tuple[np.random.Generator, int, int]]:
    rng = np.random.default_rng(seed)
    for _ in range(rounds(count)):
        k = int(rng.integers(2, 13))
        yield rng, int(rng.integers(2 * k, largest)), k


@pytest.mark.parametrize("kind", KINDS)
def test_every_way_of_cutting_finds_the_partition_of_the_exact_programme(kind):
    for rng, n, k in cases(1, 60, 201):
        column = whole(kind, rng, n)
        y = np.array(column, dtype=np.float64)
        runs = Exact([column], k).runs()
        assert optimal_runs(y, k).tolist() == runs
        for shape in SHAPES:
            assert DynamicProgramme([y], k, **shape).runs().tolist() == runs, (n, k, shape)


@pytest.mark.parametrize("kind", KINDS)
def test_neither_a_far_origin_nor_decimals_change_the_partition(kind):
    # 1e15 + 1e7 is a whole number that a double holds; hundredths are not what a double holds.
    for rng, n, k in cases(2, 25, 120):
        column = whole(kind, rng, n)
        y = np.array(column, dtype=np.float64)
        runs = optimal_runs(y, k).tolist()
        assert runs == Exact([column], k).runs()
        if max(map(abs, column)) <= 1e7:
            assert optimal_runs(y + 1e15, k).tolist() == runs
        if kind not in ("heavy tails", "one outlier", "low outliers", "fine"):
            assert optimal_runs(y / 100, k).tolist() == runs
            for shape in SHAPES:
                assert DynamicProgramme([y / 100], k, **shape).runs().tolist() == runs, (
                    n,
                    k,
                    shape,
                )
        assert optimal_runs(y * 2.0**600, k).tolist() == runs
        assert optimal_runs(y * 2.0**-700, k).tolist() == runs


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cached", [1, 30])
def test_blocks_shorter_than_k_and_batches_of_lanes_change_nothing(kind, cached, monkeypatch):
    monkeypatch.setattr(dynamic_programme, "CACHED", cached)
    monkeypatch.setattr(dynamic_programme, "TOGETHER", 3)
    for rng, n, k in cases(3, 12, 200):
        column = whole(kind, rng, n)
        y = np.array(column, dtype=np.float64)
        runs = Exact([column], k).runs()
        for shape in SHAPES:
            assert DynamicProgramme([y], k, **shape).runs().tolist() == runs, (n, k, shape)


def compositions(n: int, k: int) -> Iterator[list[int]]:
    """All ways to write n as an ordered sum of numbers of at least k, or as n alone."""
    for cuts in range(max(1, n // k)):
        for inner in combinations(range(1, n), cuts):
            ends = [0, *inner, n]
            runs = [t - s for s, t in pairwise(ends)]
            if not cuts or min(runs) >= k:
                yield runs


@pytest.mark.parametrize("kind", KINDS)
def test_no_partition_into_runs_of_any_length_from_k_is_better(kind):
    rng = np.random.default_rng(4)
    for n, k in [(1, 2), (3, 2), (4, 2), (5, 2), (9, 2), (12, 2), (5, 3), (6, 3), (12, 3), (13, 4)]:
        column = whole(kind, rng, n)
        exact = Exact([column], k)
        exact.unit = lcm(*range(1, n + 1))
        least = min(exact.total(runs) for runs in compositions(n, k))
        found = optimal_runs(np.array(column, dtype=np.float64), k).tolist()
        assert abs(exact.total(found) - least) <= 1e-12 * least


@pytest.mark.parametrize(
    ("y", "k", "runs"),
    [
        # A run of m successive numbers costs m (m^2 - 1) / 12: 2 for 3, 5 for 4, 10 for 5. One 4
        # and four 3s cost 13, four 4s 20, a 5, a 5 and two 3s 24. The 4 may be anywhere; first,
        # it leaves every run after it shortest.
        (np.arange(16.0), 3, [4, 3, 3, 3, 3]),
        # 3 + 4 costs 2 + 5; 4 + 3 has the gap inside a run and costs 62.75 + 2.
        (np.array([0, 1, 2, 10, 11, 12, 13.0]), 3, [3, 4]),
        # The 4 joins the zeros, mean 0.8: 4 * 0.64 + 10.24 = 12.8. With the nines, mean 7.75:
        # 14.0625 + 3 * 1.5625 = 18.75. And 3 + 5, mean 6.2, costs 66.8.
        (np.array([0, 0, 0, 0, 4, 9, 9, 9.0]), 3, [5, 3]),
        # Everything costs 0, so the last run is as short as can be, then the one before it.
        (np.zeros(11), 3, [5, 3, 3]),
        (np.array([5.0]), 3, [1]),
        (np.arange(5.0), 3, [5]),
        (np.arange(6.0), 3, [3, 3]),
        (np.arange(4.0), 1, [1, 1, 1, 1]),
    ],
)
def test_by_hand(y, k, runs):
    assert optimal_runs(y, k).tolist() == runs


@pytest.mark.parametrize(("n", "k"), [(60_000, 2), (60_000, 3), (20_000, 5), (20_000, 10)])
@pytest.mark.parametrize("kind", ["equally spaced", "integers", "fine", "rounded lognormal"])
def test_long_sequences_in_lanes(kind, n, k):
    column = whole(kind, np.random.default_rng(5), n)
    is_optimal([column], optimal_runs(np.array(column, dtype=np.float64), k), k)


@pytest.mark.deep
@pytest.mark.parametrize("kind", ["equally spaced", "integers", "fine", "heavy tails"])
@pytest.mark.parametrize("k", [3, 12, 13, 40])
def test_one_lane_and_many_agree_on_60_000(kind, k):
    column = whole(kind, np.random.default_rng(6), 60_000)
    y = np.array(column, dtype=np.float64)
    exact = Exact([column], k)
    one, many = (DynamicProgramme([y], k, length=length).runs() for length in (None, 700))
    least = exact.total(one.tolist())
    assert abs(exact.total(many.tolist()) - least) <= 1e-9 * least
    assert optimal_runs(y, k).tolist() in (one.tolist(), many.tolist())


@pytest.mark.parametrize("kind", ["integers", "equally spaced", "fine"])
def test_k_in_the_thousands(kind):
    column = whole(kind, np.random.default_rng(7), 9_000)
    y = np.array(column, dtype=np.float64)
    exact = Exact([column], 1500)
    runs = optimal_runs(y, 1500).tolist()
    assert all(1500 <= run < 3000 for run in runs)
    least = exact.total(runs)
    ends = [*accumulate(runs)][:-1]
    for j, end in enumerate(ends):
        for moved in range(end - 40, end + 41):
            others = [0, *ends[:j], moved, *ends[j + 1 :], 9_000]
            lengths = np.diff(others).tolist()
            if min(lengths) >= 1500 and max(lengths) < 3000:
                assert exact.total(lengths) * 10**12 >= least * (10**12 - 1)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_records_along_a_path_have_the_cost_of_all_their_columns(d):
    for rng, n, k in cases(8, 60, 150):
        spread = rng.choice([3, 1000, 2**25])
        columns = [[int(v) for v in rng.integers(0, spread, n)] for _ in range(d)]
        y = np.array(columns, dtype=np.float64).T
        runs = Exact(columns, k).runs()
        assert optimal_runs(y, k).tolist() == runs
        assert optimal_runs(np.asfortranarray(y), k).tolist() == runs
        assert optimal_runs(y + 2.0**40, k).tolist() == runs
        for shape in SHAPES:
            assert DynamicProgramme(list(y.T.copy()), k, **shape).runs().tolist() == runs, (
                n,
                k,
                shape,
            )


def test_a_long_path_in_lanes():
    path = np.random.default_rng(9).integers(0, 99, (3, 9_000))
    is_optimal(path.tolist(), optimal_runs(path.T.astype(np.float64), 4), 4)


@given(
    st.lists(st.integers(-50, 50), min_size=1, max_size=60),
    st.integers(1, 8),
    st.sampled_from([None, 1, 16]),
)
def test_runs_are_optimal_on_any_path(column, k, length):
    y = np.array(column, dtype=np.float64)
    runs = optimal_runs(y, k)
    is_optimal([column], runs, k)
    if len(column) >= 2 * k:
        assert DynamicProgramme([y], k, length=length).runs().tolist() == runs.tolist()
    backwards = Exact([column], k)
    assert backwards.total(optimal_runs(y[::-1], k)[::-1].tolist()) == pytest.approx(
        backwards.total(runs.tolist()), rel=1e-9
    )


def test_outliers_leave_the_rest_of_a_lane_its_digits():
    # Sums over the whole lane would be 1e24 here, and the costs of the rest are of the order 1.
    rng = np.random.default_rng(10)
    rest = np.sort(rng.normal(size=400))
    y = np.concatenate([np.full(3, -1e12), rest])
    assert optimal_runs(y, 3).tolist() == [3, *optimal_runs(rest, 3).tolist()]


@pytest.mark.parametrize("length", [None, 60])
def test_a_costly_run_leaves_the_later_ones_their_digits(length):
    # The first run costs 2e22, which a double knows to 2e6; the others cost about as little.
    rng = np.random.default_rng(11)
    column = [-10 * 10**11, -9 * 10**11, -8 * 10**11, *sorted(rng.integers(0, 10**6, 900).tolist())]
    runs = DynamicProgramme([np.array(column, dtype=np.float64)], 3, length=length, blocks=2).runs()
    assert runs.tolist()[-200:] == Exact([column], 3).runs()[-200:]


def test_zero_costs_after_others_are_still_ties():
    for seed in range(60):
        tenths = np.sort(np.rint(10 * np.random.default_rng(seed).lognormal(size=500)))
        runs = Exact([tenths.astype(int).tolist()], 2).runs()
        assert DynamicProgramme([tenths / 10], 2, length=8, blocks=1).runs().tolist() == runs


def test_the_input_is_left_alone():
    y = np.arange(40.0)
    y.flags.writeable = False
    optimal_runs(y, 3)
    optimal_runs(y.reshape(20, 2), 3)
    stable_order(y)


@pytest.mark.parametrize(
    ("n", "k", "lengths"),
    [(9, 3, [3, 3, 3]), (10, 3, [3, 3, 4]), (11, 3, [3, 3, 5]), (5, 3, [5]), (2, 3, [2])],
)
def test_blocks(n, k, lengths):
    assert fixed_runs(n, k).tolist() == lengths


def test_labels_follow_the_order():
    order = np.array([4, 1, 0, 3, 2])
    assert labels_along(order, np.array([2, 3])).tolist() == [1, 0, 1, 1, 0]


@pytest.mark.parametrize("n", [0, 1, 2, 5, 100, 3_000])
@pytest.mark.parametrize("spread", [1, 2, 50, 10**9])
def test_order_is_stable(n, spread):
    values: Vector = np.random.default_rng(n).integers(0, spread, n).astype(np.float64)
    values[::3] *= -0.0
    assert stable_order(values).tolist() == np.argsort(values, kind="stable").tolist()
