"""Chains of pushes: exact costs, never worse, never below k, and no ring of three is overlooked."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polars_microagg.kernels.local import ejection_chains
from polars_microagg.kernels.local.ejection_chains import EjectionCosts, eject_records
from polars_microagg.kernels.local.groups import Groups
from polars_microagg.kernels.local.local_search import exchange, improve
from polars_microagg.kernels.neighbour_lists import neighbour_lists
from polars_microagg.methods.mdav import mdav
from tests.kernels.local.test_moves_and_swaps import assert_whole, seeds, sse, starts, whole
from tests.loop import tries


def searched(x, labels, k, count=None):
    groups = Groups(x, labels, k)
    near = neighbour_lists(x, whole(len(x)), count or 2 * k + 4)
    return groups, near


@pytest.fixture
def wide(monkeypatch):
    """Follow every chain, however unlikely."""
    for name in ("TARGETS", "PUSHES", "LATER", "BEAM"):
        monkeypatch.setattr(ejection_chains, name, 200)


# --- Costs ------------------------------------------------------------------------------------


@tries(100)
@given(start=starts(high=20))
def test_the_cost_of_a_push_and_of_joining_is_exact(start):
    x, labels, k = start
    groups, near = searched(x, labels, k)
    pushes = EjectionCosts(groups, near)
    before = sse(x, labels)
    alone = labels.max() + 1
    for row in range(len(x)):
        without = labels.copy()
        without[row] = alone
        left = sse(x, without)
        for other, cost in zip(pushes.replaced[row], pushes.cost[row], strict=True):
            if np.isfinite(cost):
                # The pusher's own group is left as if it stayed: only the other one changes.
                moved = without.copy()
                moved[row], moved[other] = labels[other], alone + 1
                assert cost == pytest.approx(sse(x, moved) - left, abs=1e-9)
                assert labels[other] != labels[row]
        for into, cost in zip(pushes.into[row], pushes.joining[row], strict=True):
            if np.isfinite(cost):
                moved = labels.copy()
                moved[row] = labels[into]
                left = sse(x, without)
                assert cost == pytest.approx(sse(x, moved) - left, abs=1e-9)
    assert sse(x, labels) == before


@given(start=starts(high=30))
def test_pushes_are_the_cheapest_ones_in_order(start):
    x, labels, k = start
    groups, near = searched(x, labels, k)
    pushes = EjectionCosts(groups, near)
    assert (np.diff(np.nan_to_num(pushes.cost, posinf=1e300), axis=1) >= 0).all()
    for row in range(len(x)):
        real = pushes.replaced[row][np.isfinite(pushes.cost[row])]
        assert len(set(real.tolist())) == len(real)


# --- What is carried out ----------------------------------------------------------------------


@tries(200)
@given(start=starts(), length=st.sampled_from([2, 3, 5, 8]))
def test_chains_lower_the_sum_of_squares_and_keep_the_tables_right(start, length):
    x, labels, k = start
    groups, near = searched(x, labels, k)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ejection_chains, "LENGTH", length)
        changed = eject_records(groups, EjectionCosts(groups, near), np.arange(len(x)))
    assert_whole(groups)
    before, after = sse(x, labels), sse(x, groups.labels)
    assert after <= before * (1 + 1e-12)
    assert (after < before) == bool(len(changed))
    touched = set(labels[labels != groups.labels]) | set(groups.labels[labels != groups.labels])
    assert touched <= set(changed.tolist())


@tries(100)
@given(start=starts())
def test_each_chain_changes_the_sum_of_squares_as_told_and_the_best_one_is_made(start):
    x, labels, k = start
    groups, near = searched(x, labels, k)
    pushes = EjectionCosts(groups, near)
    found, ends = ejection_chains._BestChains(groups, pushes, np.arange(len(x))).run()
    told, _ = ejection_chains._changes(groups, found, ends)
    before = sse(x, labels)
    for i in range(len(found)):
        one = Groups(x, labels, k)
        ejection_chains._apply(one, found[i : i + 1], ends[i : i + 1])
        assert_whole(one)
        assert sse(x, one.labels) - before == pytest.approx(told[i], abs=1e-9)
    eject_records(groups, pushes, np.arange(len(x)))
    assert sse(x, groups.labels) <= before + min(told, default=0.0) + 1e-9


def test_a_ring_of_three_worked_by_hand():
    # Three pairs on a triangle, each with one record of the next corner: turning all at once
    # brings every record home. The corners are 0.1 wide, so afterwards 3 (0.1^2 / 2) is left.
    corner = np.array([[0.0, 0.0], [4.0, 0.0], [2.0, 3.0]])
    x = np.concatenate((corner, corner[[1, 2, 0]] + [0.1, 0.0]))
    labels = np.array([0, 1, 2, 0, 1, 2])
    groups, near = searched(x, labels, 2, count=5)
    changed = eject_records(groups, EjectionCosts(groups, near), np.arange(6))
    assert sorted(changed.tolist()) == [0, 1, 2]
    assert sse(x, groups.labels) == pytest.approx(3 * 0.1**2 / 2)


def test_a_path_worked_by_hand():
    # {0, 1, 5}, {6, 10}, {11, 12}: 5 takes the place of 10, which joins 11 and 12. 14 and 8 and
    # 0.5 become 0.5 and 0.5 and 2.
    x = np.array([[0.0], [1.0], [5.0], [6.0], [10.0], [11.0], [12.0]])
    groups, near = searched(x, np.array([0, 0, 0, 1, 1, 2, 2]), 2, count=6)
    assert len(eject_records(groups, EjectionCosts(groups, near), np.array([2]))) == 3
    assert sse(x, groups.labels) == pytest.approx(0.5 + 0.5 + 2.0)
    assert np.bincount(groups.labels).tolist() == [2, 2, 3]


@tries(60)
@given(rng=seeds, k=st.integers(2, 3), ties=st.booleans())
@pytest.mark.usefixtures("wide")
def test_no_ring_of_three_is_left(rng, k, ties):
    n = 4 * k
    x = rng.integers(0, 4, (n, 2)).astype(float) if ties else rng.normal(size=(n, 2))
    labels = rng.permutation(np.repeat(np.arange(4), k))
    groups, near = searched(x - x.mean(axis=0), labels, k, count=n - 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ejection_chains, "LENGTH", 3)
        for _ in range(100):
            pushes = EjectionCosts(groups, near)
            if not len(eject_records(groups, pushes, np.arange(n))):
                break
    best = sse(x, groups.labels)
    for ring in itertools.permutations(range(n), 3):
        own = groups.labels[list(ring)]
        if len(set(own.tolist())) == 3:
            moved = groups.labels.copy()
            moved[list(ring)] = own[[1, 2, 0]]
            assert sse(x, moved) >= best - 1e-9


def test_chains_find_what_exchanges_do_not():
    rng = np.random.default_rng(0)
    losses = []
    for _ in range(8):
        x = rng.normal(size=(120, 3))
        labels = mdav(x, k=3).labels
        one, near = searched(x, labels, 3)
        exchange(one, near)
        two, _ = searched(x, labels, 3)
        improve(two, near)
        losses.append(sse(x, two.labels) / sse(x, one.labels))
    assert max(losses) <= 1.0
    assert np.mean(losses) < 0.97


@tries(60)
@given(one=starts(), data=st.data())
def test_what_is_done_in_one_stratum_does_not_depend_on_the_other(one, data):
    x, first, k = one
    y, second, _ = data.draw(starts(ks=[k], columns=[x.shape[1]]))
    together = Groups(np.concatenate((x, y)), np.concatenate((first, second + first.max() + 1)), k)
    near = neighbour_lists(together.x[:-1], np.array([len(x), len(y)]), 2 * k + 4)
    improve(together, near)
    alone, near = searched(x, first, k)
    improve(alone, near)
    here = together.labels[: len(x)]
    assert ((here[:, None] == here) == (alone.labels[:, None] == alone.labels)).all()
