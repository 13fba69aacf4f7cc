"""Floors by prices of groups and by a semidefinite matrix: below every grouping, and near the best."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polars_microagg.kernels.risk import (
    group_prices,
    semidefinite_bound,
    semidefinite_patches,
    tightest_bound,
)
from tests.kernels.local.test_moves_and_swaps import optimum, sse
from tests.loop import tries

seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)


def gaussian(rng, n):
    return rng.normal(size=(n, 2))


def few_values(rng, n):
    return rng.integers(0, 3, (n, 2)).astype(float)


def one_constant(rng, n):
    return np.column_stack((rng.normal(size=n), np.full(n, 7.0)))


def one_crowd(rng, n):
    x = rng.normal(size=(n, 2))
    x[rng.random(n) < rng.random()] = x[-1]
    return x


def far_apart(rng, n):
    return rng.integers(0, 2, (n, 2)) * 1e8 + rng.integers(0, 3, (n, 2)) * 1e-3


def of_all_sizes(rng, n):
    return rng.normal(size=(n, 2)) * 10.0 ** rng.integers(-6, 7, (n, 1))


def beside_zero(rng, n):
    return rng.normal(size=(n, 2)) + 1e6


KINDS = [gaussian, few_values, one_constant, one_crowd, far_apart, of_all_sizes, beside_zero]


def grouped(rng, n, k):
    """Any groups of at least k records."""
    return np.minimum(rng.permutation(n) // k, n // k - 1)


def below(floor, best, x):
    """Whether a floor is one, up to what the plain sums of the oracle themselves are off."""
    return floor <= best * (1 + 1e-12) + 1e-15 * np.square(x - x.mean(axis=0)).sum()


@pytest.mark.parametrize("scale", [1.0, 1e-150, 1e150])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@tries(40)
@given(rng=seeds, k=st.integers(2, 4), more=st.integers(0, 8))
def test_no_grouping_goes_under_any_floor(kind, scale, rng, k, more):
    n = min(12, k + more)
    x = kind(rng, n)
    x = x - x.mean(axis=0)
    x = x / max(np.abs(x).max(), 1e-300) * scale
    best, labels = optimum(x, k), grouped(rng, n, k)
    for rounds in (1, 8):
        assert below(group_prices.group_price_bound(x, k, labels, rounds), best, x)
    for steps in (1, 60):
        assert below(semidefinite_bound.semidefinite_bound(x, k, labels, steps), best, x)
        assert below(semidefinite_patches.patched_bound(x, k, steps), best, x)
    for effort in (0.0, 1.0):
        assert below(tightest_bound.tightest_bound(x, k, labels, effort), best, x)


@tries(60)
@given(rng=seeds, k=st.integers(2, 4), n=st.integers(4, 9), size=st.sampled_from([0.1, 1, 10]))
def test_any_prices_and_any_factor_give_a_floor(rng, k, n, size):
    x = rng.normal(size=(n, 2))
    best = optimum(x, k)
    squares = group_prices.all_squares(x)
    prices = size * rng.normal(size=n)
    cheap, excess, complete = group_prices._cheaper(squares, prices, k, 10**6)
    assert complete
    assert group_prices._less(prices, cheap, excess, k) <= best
    factor = size * rng.normal(size=(n, 3))
    assert semidefinite_bound._floor(squares / (2 * k), 1.0, factor, prices, k) <= best


@tries(60)
@given(rng=seeds, k=st.integers(2, 5), n=st.integers(5, 9))
def test_every_group_that_is_cheaper_than_its_prices_is_found(rng, k, n):
    x = rng.normal(size=(n, 2))
    prices = rng.normal(0.3, 0.5, size=n)
    wanted = {}
    for group in combinations(range(n), k):
        above = sse(x[list(group)], np.zeros(k, int)) - prices[list(group)].sum()
        if above < -1e-12:
            wanted[group] = above
    squares = group_prices.all_squares(x)
    cheap, excess, complete = group_prices._cheaper(squares, prices, k, 10**6)
    assert complete
    found = dict(zip(map(tuple, cheap.tolist()), excess, strict=True))
    assert wanted.keys() == {group for group, above in found.items() if above < -1e-12}
    assert all(found[group] == pytest.approx(above) for group, above in wanted.items())


@tries(40)
@given(rng=seeds, k=st.integers(3, 5), digits=st.integers(1, 99))
def test_no_cheaper_group_is_hidden_by_rounding_where_all_are_alike(rng, k, digits):
    # All sides of a simplex are equal, so each record adds as much as any other.
    x = np.eye(k + 1) * rng.random() * 10.0 ** rng.integers(-3, 4)
    squares = group_prices.all_squares(x)
    prices = np.full(k + 1, squares[0, 1] * (k - 1) / (2 * k) * (1 + digits / 10))
    cheap, _, complete = group_prices._cheaper(squares, prices, k, 10**6)
    assert complete
    assert len(cheap) == k + 1


@pytest.mark.parametrize("k", [3, 4, 5])
def test_no_more_groups_are_held_than_asked_for_and_they_are_cheaper(k):
    # One price that is too high makes all groups of its record cheaper, far too many to hold.
    x = np.random.default_rng(k).normal(size=(40, 2))
    squares, prices = group_prices.all_squares(x), np.full(40, 0.01)
    prices[0] = 1e3
    cheap, excess, complete = group_prices._cheaper(squares, prices, k, 6)
    assert (len(cheap), complete) == (6 * group_prices.LARGEST, False)
    own = [sse(x[group], np.zeros(k, int)) - prices[group].sum() for group in cheap]
    assert excess == pytest.approx(own)
    assert (excess < 0).all()


def test_what_was_not_looked_at_proves_nothing(monkeypatch):
    x = np.random.default_rng(0).normal(size=(30, 3))
    labels = np.arange(30) // 3
    assert group_prices.group_price_bound(x, 3, labels, 6) > 0
    monkeypatch.setattr(group_prices, "SOME", 0)
    monkeypatch.setattr(group_prices, "WORK", 0)
    assert group_prices.group_price_bound(x, 3, labels, 6) == 0.0


def test_the_optimum_itself_where_groups_are_plain():
    # Groups far apart: no price can be saved by a group across them.
    rng = np.random.default_rng(1)
    labels = np.repeat(np.arange(10), 3)
    x = 100.0 * rng.normal(size=(10, 2))[labels] + rng.normal(size=(30, 2))
    best = sse(x, labels)
    assert group_prices.group_price_bound(x, 3, labels, 12) == pytest.approx(best, rel=1e-4)
    assert semidefinite_bound.semidefinite_bound(x, 3, labels, 300) == pytest.approx(best, rel=0.02)


@pytest.mark.parametrize("k", [2, 3, 4, 5, 10])
def test_more_effort_is_never_lower_and_some_is_much_higher(k):
    rng = np.random.default_rng(k)
    x = rng.normal(size=(60, 4))
    labels = grouped(rng, 60, k)
    efforts = (0.0, 0.02, 0.03, 0.05, 0.09, 0.1, 0.18, 0.19, 0.2, 0.5, 1.0, 2.0)
    floors = [tightest_bound.tightest_bound(x, k, labels, effort) for effort in efforts]
    assert all(low <= high for low, high in pairwise(floors))
    assert floors[-1] > 1.15 * floors[0]


@pytest.mark.parametrize(("k", "limit"), [(4, "MOST"), (8, "DECOMPOSED")])
def test_with_many_records_neighbours_alone_are_looked_at(monkeypatch, k, limit):
    x = np.random.default_rng(0).normal(size=(40, 2))
    labels = np.arange(40) // k
    tighter = tightest_bound.tightest_bound(x, k, labels, 1.0)
    monkeypatch.setattr(tightest_bound, limit, 39)
    assert 0 < tightest_bound.tightest_bound(x, k, labels, 1.0) < tighter


@tries(20)
@given(rng=seeds, k=st.integers(2, 4), n=st.integers(5, 10))
def test_equations_solved_in_steps_give_floors_as_well(rng, k, n):
    x, labels = rng.normal(size=(n, 2)), grouped(rng, n, k)
    whole = group_prices.group_price_bound(x, k, labels, 6)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(group_prices, "DENSE", 0)
        found = group_prices.group_price_bound(x, k, labels, 6)
    assert 0.95 * whole < found <= optimum(x, k) * (1 + 1e-12)
