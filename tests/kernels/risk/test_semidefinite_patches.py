"""Floors by overlapping patches: below every grouping, whatever the patches and the prices are."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polars_microagg.kernels.risk import semidefinite_patches, tightest_bound, unlisted_pairs
from polars_microagg.kernels.risk.all_squares import all_squares
from polars_microagg.kernels.risk.lower_bound import lagrangian_bound, neighbour_bound
from polars_microagg.kernels.risk.semidefinite_bound import semidefinite_bound
from polars_microagg.kernels.risk.semidefinite_patches import patched_bound
from tests.kernels.local.test_moves_and_swaps import optimum, sse
from tests.kernels.risk.test_tightest_bound import KINDS, below, grouped
from tests.loop import rounds, tries

seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)


@pytest.fixture
def small_patches(monkeypatch):
    """Patches that hold few of a dozen records, so that most pairs are in none or in several."""

    def shrink(wide, narrow, cover):
        monkeypatch.setattr(semidefinite_patches, "WIDE", wide)
        monkeypatch.setattr(semidefinite_patches, "NARROW", narrow)
        monkeypatch.setattr(semidefinite_patches, "COVER", cover)

    return shrink


@pytest.mark.parametrize("scale", [1.0, 1e-150, 1e150])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("size", [(1, 1, 1), (2, 1, 1), (1, 2, 3)])
def test_no_grouping_goes_under_a_floor_of_small_patches(kind, scale, size, small_patches):
    small_patches(*size)
    rng = np.random.default_rng(sum(size))
    for _ in range(rounds(6)):
        k = int(rng.integers(2, 5))
        n = int(min(10, k + rng.integers(0, 8)))
        x = kind(rng, n)
        x = x - x.mean(axis=0)
        x = x / max(np.abs(x).max(), 1e-300) * scale
        best = optimum(x, k)
        for steps in (1, 20, 60):
            assert below(patched_bound(x, k, steps), best, x)


@tries(60)
@given(rng=seeds, k=st.integers(2, 4), n=st.integers(5, 10), size=st.sampled_from([0.1, 1, 10]))
def test_any_patches_prices_and_duals_give_a_floor(rng, k, n, size):
    x = rng.normal(size=(n, 2))
    squares, width = all_squares(x), int(rng.integers(2, n + 1))
    near = np.argsort(squares + np.diag(np.full(n, -1.0)), axis=1)[:, 1:width]
    patches = np.sort(np.stack([rng.permutation(n)[:width] for _ in range(3)]), axis=1)
    pairs = semidefinite_patches._listed(x, near, patches)
    factors = 0.3 * size * rng.normal(size=(3, width, 2))
    duals = factors @ factors.transpose(0, 2, 1)
    inner, own = semidefinite_patches._inner(pairs, patches, duals, n)
    weights = size * rng.normal(size=n)
    far = (weights + unlisted_pairs.least_unlisted(x, pairs.one, pairs.other, weights)) / (2 * k)
    prices, costs = size * rng.normal(size=n), pairs.squares / (2 * k) - inner
    assert semidefinite_patches._floor(pairs, costs, own, far, prices, k) <= optimum(x, k)


def test_the_floor_of_a_given_matrix_worked_by_hand():
    # Four records at 0, 1, 4 and 6 with k = 2, and the pairs 01, 12 and 23 listed. Costs are
    # 1/4, 9/4 and 1; the patch of the first two has Y = (1/2, -1/2), so M is 1/4 on its diagonal
    # and -1/4 for the pair, which then costs 1/2. Unlisted pairs cost at least 4, 25/4, 4 and 25/4.
    x = np.array([[0.0], [1.0], [4.0], [6.0]])
    patches = np.array([[0, 1]])
    pairs = semidefinite_patches._listed(x, np.array([[1], [2], [3], [2]]), patches)
    assert (pairs.one.tolist(), pairs.other.tolist()) == ([0, 1, 2], [1, 2, 3])
    assert (pairs.often.tolist(), pairs.place.tolist()) == ([1, 0, 0], [[0]])
    far = unlisted_pairs.least_unlisted(x, pairs.one, pairs.other, np.zeros(4)) / 4
    assert far.tolist() == [4.0, 6.25, 4.0, 6.25]
    duals = np.array([[[0.25, -0.25], [-0.25, 0.25]]])
    inner, own = semidefinite_patches._inner(pairs, patches, duals, 4)
    floor = semidefinite_patches._floor(pairs, pairs.squares / 4 - inner, own, far, np.zeros(4), 2)
    # 1/2 - 1/4 for each of the first two, and 1 for each of the others.
    assert floor == pytest.approx(2.5)
    assert floor <= sse(x, np.array([0, 0, 1, 1]))
    # Where all listed pairs are dearer, every record takes one that is not listed.
    dear = semidefinite_patches._floor(pairs, pairs.squares + 100.0, 0.0 * own, far, 0.0 * own, 2)
    assert dear == pytest.approx(4.0 + 6.25 + 4.0 + 6.25)


def test_patches_of_all_records_come_to_the_floor_of_one_matrix():
    rng = np.random.default_rng(4)
    x, labels = rng.normal(size=(40, 3)), grouped(rng, 40, 6)
    whole = semidefinite_bound(x, 6, labels, 600)
    assert semidefinite_patches.patch_size(40, 6) == 40
    assert patched_bound(x, 6, 600) == pytest.approx(whole, rel=0.01)


@pytest.mark.parametrize("k", [3, 10])
@pytest.mark.parametrize("spread", [0.0, 2.0])
def test_patches_are_far_above_multipliers_of_pairs(k, spread):
    # With heavy tails, families of twelve near each other, whose prices differ by orders.
    rng = np.random.default_rng(k)
    x = rng.normal(size=(600, 5))
    if spread:
        x = np.exp(spread * (rng.normal(size=(50, 5))[np.arange(600) // 12] + 0.15 * x))
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    labels = grouped(rng, 600, k)
    pairs = max(neighbour_bound(x, k), lagrangian_bound(x, k, sse(x, labels), 200))
    assert patched_bound(x, k, 60) > (1.3 if spread or k > 3 else 1.08) * pairs


def test_more_steps_never_find_a_lower_floor():
    x = np.random.default_rng(0).normal(size=(150, 3))
    floors = [patched_bound(x, 5, steps) for steps in (1, 5, 10, 11, 20, 40)]
    assert floors[0] == floors[2]
    assert all(low <= high for low, high in pairwise(floors))


def test_every_record_is_in_enough_patches_or_in_the_middle_of_one():
    near = np.argsort(all_squares(np.random.default_rng(0).normal(size=(300, 4))), axis=1)[:, 1:24]
    patches = semidefinite_patches._patches(near)
    often = np.bincount(patches.reshape(-1), minlength=300)
    middle = {tuple(sorted((i, *near[i]))) for i in np.flatnonzero(often < 2)}
    assert middle <= set(map(tuple, patches.tolist()))
    assert len(patches) < 100


@tries(60)
@given(rng=seeds, n=st.integers(2, 40), d=st.integers(1, 3), leaf=st.integers(2, 15))
def test_the_least_unlisted_pair_is_that_of_all_pairs(rng, n, d, leaf):
    x = rng.normal(size=(n, d)) if rng.random() < 0.5 else 1.0 * rng.integers(0, 4, (n, d))
    listed = np.triu(rng.random((n, n)) < rng.random(), 1)
    weights = 3.0 * rng.random() * rng.normal(size=n)
    plain = all_squares(x) - weights
    plain[listed | listed.T | np.eye(n, dtype=bool)] = np.inf
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unlisted_pairs, "LEAF", leaf)
        patch.setattr(unlisted_pairs, "CELLS", leaf)
        patch.setattr(unlisted_pairs, "FIRST", 1)
        found = unlisted_pairs.least_unlisted(x, *np.nonzero(listed), weights)
    assert found == pytest.approx(plain.min(axis=1))


@pytest.mark.parametrize(("n", "k", "used"), [(41, 7, True), (41, 3, True), (40, 3, False)])
def test_patches_are_for_more_records_than_the_others_take(monkeypatch, n, k, used):
    x = np.random.default_rng(0).normal(size=(n, 2))
    seen = []
    monkeypatch.setattr(tightest_bound, "MOST", 40)
    monkeypatch.setattr(tightest_bound, "DECOMPOSED", 40)
    monkeypatch.setattr(
        tightest_bound, "patched_bound", lambda x, k, steps: seen.append(steps) or 1e9
    )
    floor = tightest_bound.tightest_bound(x, k, np.zeros(n, np.intp), 0.5)
    assert (seen, floor == 1e9) == (([50], True) if used else ([], False))
    seen.clear()
    monkeypatch.setattr(tightest_bound, "PATCHED", 40 * semidefinite_patches.patch_size(41, 7))
    assert tightest_bound.tightest_bound(x, 7, np.zeros(n, np.intp), 0.5) > 0
    assert seen == []


def test_sums_over_groups_are_what_the_floor_is_about():
    # The plain argument on all groups of k: a group costs at least what its rows pay.
    rng = np.random.default_rng(9)
    x, k = rng.normal(size=(8, 2)), 3
    factor, prices = 0.3 * rng.normal(size=(8, 4)), rng.normal(size=8)
    rows = all_squares(x) / (2 * k) - factor @ factor.T + 0.5 * (prices[:, None] - prices)
    for group in combinations(range(8), k):
        part = list(group)
        assert rows[np.ix_(part, part)].sum() <= sse(x[part], np.zeros(k, int)) + 1e-12
