"""The costs of univariate: by hand, by exhaustion, by a plain programme, by another package."""

from __future__ import annotations

from fractions import Fraction
from statistics import median

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.core.partition import Labels
from polars_microagg.kernels.order.dynamic_programme import DynamicProgramme
from polars_microagg.kernels.order.runs import optimal_runs
from polars_microagg.methods.univariate import univariate
from tests.methods.test_univariate import all_groupings

COSTS = ("sse", "sae", "maxdist")


def cost(values: list[Fraction], how: str) -> Fraction:
    if how == "maxdist":
        return max(values) - min(values)
    if how == "sae":
        middle = median(values)
        return sum((abs(value - middle) for value in values), Fraction(0))
    mean = sum(values, Fraction(0)) / len(values)
    return sum(((value - mean) ** 2 for value in values), Fraction(0))


def total(x: np.ndarray, labels: Labels, how: str) -> Fraction:
    groups: dict[int, list[Fraction]] = {}
    for value, group in zip(x.tolist(), labels.tolist(), strict=True):
        groups.setdefault(group, []).append(Fraction(value))
    return sum((cost(values, how) for values in groups.values()), Fraction(0))


def test_the_costs_disagree_by_hand():
    # k = 2, five values: two and three, or three and two.
    #   0 3 | 4 7 8: sse 4.5 + 26/3 = 13.17, sae 3 + 4 = 7, range 3 + 4 = 7
    #   0 3 4 | 7 8: sse 26/3 + .5 = 9.17, sae 4 + 1 = 5, range 4 + 1 = 5
    x = np.array([0.0, 3.0, 4.0, 7.0, 8.0])[:, None]
    for how in COSTS:
        assert univariate(x, k=2, cost=how).labels.tolist() == [0, 0, 0, 1, 1]
    #   0 10 | 14 20 20: sse 50 + 24, sae 10 + 6, range 10 + 6
    #   0 10 14 | 20 20: sse 104 + 0, sae 14 + 0, range 14 + 0
    x = np.array([0.0, 10.0, 14.0, 20.0, 20.0])[:, None]
    assert univariate(x, k=2).labels.tolist() == [0, 0, 1, 1, 1]
    for how in ("sae", "maxdist"):
        assert univariate(x, k=2, cost=how).labels.tolist() == [0, 0, 0, 1, 1]


@pytest.mark.parametrize("how", COSTS)
@pytest.mark.parametrize(("n", "k"), [(8, 2), (9, 3), (8, 4)])
def test_no_grouping_at_all_costs_less(n, k, how):
    rng = np.random.default_rng(2)
    groupings = all_groupings(n, k)
    for spread in (2, 6, 100):
        x = rng.integers(0, spread, n).astype(np.float64)
        least = min(total(x, labels, how) for labels in groupings)
        assert total(x, univariate(x[:, None], k=k, cost=how).labels, how) == least


def plain(y: np.ndarray, k: int, how: str) -> list[int]:
    """Write the programme down in rational numbers; of equal costs the shortest last run."""
    values = [Fraction(v) for v in y.tolist()]
    least: list[Fraction | None] = [Fraction(0)] + [None] * len(values)
    last = [0] * (len(values) + 1)
    for end in range(k, len(values) + 1):
        for run in range(k, min(2 * k - 1, end) + 1):
            before = least[end - run]
            if before is None:
                continue
            found = before + cost(values[end - run : end], how)
            if least[end] is None or found < least[end]:
                least[end], last[end] = found, run
    runs, end = [], len(values)
    while end:
        runs.append(last[end])
        end -= last[end]
    return runs[::-1]


DRAWS = {
    "few": lambda rng, n: rng.integers(0, 5, n),
    "steps": lambda rng, n: np.arange(n),
    "squares": lambda rng, n: np.arange(n) ** 2,
    "offset": lambda rng, n: rng.integers(0, 40, n) + 10**9,
    "equal": lambda rng, n: np.zeros(n),
    "skewed": lambda rng, n: np.round(2.0**20 * rng.lognormal(size=n)) / 2.0**10,
    "outlier": lambda rng, n: np.where(np.arange(n) == 0, 2.0**40, rng.integers(0, 99, n)),
}


@pytest.mark.parametrize("lanes", [False, True])
@pytest.mark.parametrize("how", COSTS)
@pytest.mark.parametrize("kind", DRAWS)
def test_runs_are_those_of_the_plain_programme(kind, how, lanes):
    rng = np.random.default_rng(len(kind))
    for _ in range(20):
        k = int(rng.integers(2, 8))
        n = int(rng.integers(2 * k, 70))
        y = np.sort(DRAWS[kind](rng, n).astype(np.float64))
        shape = {"length": max(k, n // 4), "blocks": 1} if lanes else {}
        found = DynamicProgramme([y], k, cost=how, **shape).runs()
        assert found.tolist() == plain(y, k, how)


@pytest.mark.parametrize("how", COSTS)
def test_another_package_finds_the_same_cost(how):
    microagg1d = pytest.importorskip("microagg1d")
    rng = np.random.default_rng(5)
    for n, k in ((500, 3), (500, 11), (1000, 40)):
        y = np.sort(rng.normal(size=n))
        theirs = microagg1d.univariate_microaggregation(y, k, method="wilber", cost=how)
        ours = np.repeat(np.arange(len(runs := optimal_runs(y, k, how))), runs)
        costs = [float(total(y, np.asarray(g, dtype=np.intp), how)) for g in (ours, theirs)]
        assert costs[0] == pytest.approx(costs[1], rel=1e-12)


@pytest.mark.parametrize("how", ["sae", "maxdist"])
def test_the_mean_is_emitted_whatever_the_cost(how):
    # 0 10 14 | 20 20, as above; the median of the first three would be 10.
    frame = pl.DataFrame({"x": [0.0, 10.0, 14.0, 20.0, 20.0]})
    assert mg.univariate(frame, "x", 2, cost=how)["x"].to_list() == [8, 8, 8, 20, 20]
