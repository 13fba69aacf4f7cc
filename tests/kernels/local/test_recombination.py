"""Recombination: groups of several groupings, each record once, as cheap as a few can be together."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polars_microagg.kernels.local import recombined_search
from polars_microagg.kernels.local.groups import Groups
from polars_microagg.kernels.local.recombination import Pool, repaired
from polars_microagg.kernels.local.recombined_search import (
    RecombinedSearch,
    Round,
    annealing_steps,
    rounds,
)
from polars_microagg.kernels.neighbour_lists import neighbour_lists
from polars_microagg.methods.lowloss import lowloss
from tests.kernels.local.test_moves_and_swaps import sse
from tests.loop import tries

seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)


def sets(labels):
    return {tuple(np.flatnonzero(labels == g).tolist()) for g in np.unique(labels) if g >= 0}


def drawn(rng, n, k):
    """Random groups of k to 2k - 1."""
    labels = np.repeat(np.arange(n // k), k)
    return rng.permutation(np.append(labels, np.arange(n % k) % max(1, n // k)))


def least(x, groups):
    """The least sum of squares of any exact cover by these groups, by trying all."""
    best = np.inf
    for count in range(1, len(groups) + 1):
        for some in combinations(groups, count):
            rows = [row for group in some for row in group]
            if len(rows) == len(set(rows)) == len(x):
                best = min(best, sum(sse(x[list(g)], np.zeros(len(g), int)) for g in some))
    return best


@given(rng=seeds, k=st.integers(2, 4), n=st.integers(8, 40), ties=st.booleans())
def test_only_groups_of_the_pool_are_chosen_and_no_record_twice(rng, k, n, ties):
    x = rng.integers(0, 3, (n, 2)).astype(float) if ties else rng.normal(size=(n, 2))
    found = [drawn(rng, n, k) for _ in range(4)]
    found = [one for one in found if np.bincount(one).max() < 2 * k]
    pool = Pool(x, 2 * k - 1)
    for one in found:
        pool.add([one])
    seen = set().union(*map(sets, found))
    assert len(pool) == len(seen)
    assert sets(pool.recombined(min(sse(x, one) for one in found))) <= seen


def test_what_is_best_in_each_of_three_groupings_is_put_together():
    # Three places far apart; each grouping is right in one of them, and no two have a border there.
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=(6, 2)) + 100 * i for i in range(3)])
    good = np.array([np.argsort(np.argsort(part[:, 0])) // 3 for part in np.split(x, 3)])
    bad = np.array([[0, 1, 0, 1, 0, 1]] * 3)
    pool = Pool(x, 5)
    for place in range(3):
        mixed = bad.copy()
        mixed[place] = good[place]
        pool.add([(mixed + 2 * np.arange(3)[:, None]).ravel()])
    found = pool.recombined(1e4)
    groups = [tuple(row[row < 18].tolist()) for row in pool.members]
    assert sse(x, found) == pytest.approx(least(x, groups))


@tries(20)
@given(rng=seeds)
def test_the_cheapest_cover_is_found_where_it_is_easy(rng):
    # Groups of neighbours in pairs along a line: the prices leave no doubt.
    x = np.sort(rng.normal(size=(10, 1)), axis=0)
    pool = Pool(x, 3)
    pool.add([np.repeat(np.arange(5), 2), np.array([0, 0, 0, 1, 1, 1, 2, 2, 3, 3])])
    found = pool.recombined(sse(x, np.repeat(np.arange(5), 2)))
    groups = [tuple(row[row < 10].tolist()) for row in pool.members]
    if (found >= 0).all():
        assert sse(x, found) == pytest.approx(least(x, groups))


def test_a_pool_forgets_what_costs_most():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(12, 2))
    pool = Pool(x, 5)
    pool.room = 6
    pool.add([drawn(rng, 12, 3) for _ in range(5)])
    cheapest = np.sort(pool.cost)[:6]
    pool.recombined(10.0)
    assert np.array_equal(np.sort(pool.cost), cheapest)


@given(rng=seeds, k=st.integers(2, 4), n=st.integers(8, 60))
def test_who_is_left_over_joins_a_neighbour_with_room(rng, k, n):
    x = rng.normal(size=(n, 2))
    labels = drawn(rng, n, k)
    groups = Groups(x, labels, k)
    near = neighbour_lists(x, np.array([n]), min(16, n - 1))
    holes = np.where(labels == labels.max(), -1, labels)
    found = repaired(groups, near, holes)
    assert np.array_equal(found[holes >= 0], holes[holes >= 0])
    assert np.bincount(found[found >= 0]).max() <= groups.most
    if n < 17:
        assert (found >= 0).all() or np.bincount(found[found >= 0]).min() == groups.most


@given(n=st.integers(4, 30_000), efforts=st.tuples(st.floats(0, 30), st.floats(0, 30)))
def test_less_effort_is_the_beginning_of_more(n, efforts):
    less, more = (list(rounds(n, effort)) for effort in sorted(efforts))
    assert more[: len(less)] == less
    assert sum(one.steps for one in more) <= annealing_steps(n, max(efforts))


@pytest.mark.parametrize("effort", [0.1, 0.4, 1.0, 4.0, 10.0, 40.0, 100.0])
def test_at_these_efforts_no_step_is_left(effort):
    assert sum(one.steps for one in rounds(1000, effort)) == annealing_steps(1000, effort)


@tries(12)
@given(rng=seeds, k=st.integers(2, 5), n=st.integers(10, 120), kind=st.integers(0, 2))
def test_more_effort_never_loses_more(rng, k, n, kind):
    x = [
        lambda: rng.normal(size=(n, 3)),
        lambda: rng.integers(0, 4, (n, 2)).astype(float),
        lambda: np.exp(2 * rng.normal(size=(n, 2))),
    ][kind]()
    losses = [sse(x, lowloss(x, k=k, effort=effort).labels) for effort in (0, 0.1, 0.3, 0.5, 1)]
    for less, more in pairwise(losses):
        assert more <= less * (1 + 1e-12) + 1e-12


def test_no_round_ends_higher():
    x = np.random.default_rng(5).lognormal(size=(150, 3))
    near = neighbour_lists(x - x.mean(axis=0), np.array([150]), 16)
    search = RecombinedSearch(x - x.mean(axis=0), 3, near)
    search.begin([np.arange(150) // 3])
    before, rng = np.inf, np.random.default_rng(0)
    for turn in rounds(150, 1.0):
        search.anneal(turn, rng)
        after = sse(x, search.best)
        assert after <= before * (1 + 1e-12)
        assert np.bincount(search.best).min() >= 3
        assert np.bincount(search.best).max() <= 5
        before = after


def test_a_hot_annealing_that_is_long_enough_begins_where_the_records_melt(monkeypatch):
    x = np.random.default_rng(6).normal(size=(60, 3))
    x -= x.mean(axis=0)
    points, begun = iter([0.5, 2.0 * 3.0**2]), []

    def told(groups, near, units, schedule, *_):
        begun.append((schedule.hot, schedule.cold))

    monkeypatch.setattr(recombined_search, "melting_point", lambda *_: next(points))
    monkeypatch.setattr(recombined_search, "anneal", told)
    monkeypatch.setattr(recombined_search, "ENOUGH", 9000)
    search = RecombinedSearch(x, 3, neighbour_lists(x, np.array([60]), 16))
    search.begin([np.arange(60) // 3])
    rng = np.random.default_rng(0)
    for number, (steps, hot) in enumerate([(9000, 0.4), (8999, 1.0), (9000, 1.0), (9000, 0.4)]):
        search.anneal(Round(number, 1, steps, hot), rng)
    # It is measured once, and holds from then on; others begin where they did.
    search.anneal(Round(4, 1, 8999, 1.0), rng)
    assert [hot for hot, _ in begun] == pytest.approx([0.4, 1.0, 3.0, 0.4, 3.0])
    assert {cold for _, cold in begun} == {0.1}
