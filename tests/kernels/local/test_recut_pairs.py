"""Two groups cut anew: never worse, never below k, and no other cut along their line is better."""

import numpy as np
import pytest
from hypothesis import given

from polars_microagg.kernels.local import local_search
from polars_microagg.kernels.local.groups import Groups
from polars_microagg.kernels.local.local_search import refined, squares_within
from polars_microagg.kernels.local.recut_pairs import recut_pairs
from polars_microagg.kernels.neighbour_lists import neighbour_lists
from polars_microagg.methods.lowloss import lowloss
from polars_microagg.methods.mdav import mdav
from tests.kernels.local.test_moves_and_swaps import assert_whole, sse, starts
from tests.kernels.local.test_rules import rule_of
from tests.loop import tries


def least_cut(x, labels, one, two, k, most):
    """The least sum of squares of two groups cut along the line of their centres, by trying all cuts."""
    rows = np.flatnonzero((labels == one) | (labels == two))
    line = x[labels == one].mean(axis=0) - x[labels == two].mean(axis=0)
    rows = rows[np.argsort(x[rows] @ line)]
    cuts = [m for m in range(k, len(rows) - k + 1) if max(m, len(rows) - m) <= most]
    return min(sse(x[rows], np.arange(len(rows)) < m) for m in cuts)


@tries(100)
@given(start=starts())
def test_no_pair_of_neighbours_has_a_better_cut_afterwards(start):
    x, labels, k = start
    groups = Groups(x, labels, k)
    near = neighbour_lists(x, np.array([len(x)]), len(x) - 1)
    changed = recut_pairs(groups, near)
    assert_whole(groups)
    before, after = sse(x, labels), sse(x, groups.labels)
    assert after <= before * (1 + 1e-12)
    assert not len(changed) or after < before
    for two in np.unique(groups.labels):
        for one in range(two):
            # Where centres meet there is no line.
            apart = groups.centres[one] - groups.centres[two]
            if apart @ apart > 1e-9:
                own = (groups.labels == one) | (groups.labels == two)
                least = least_cut(x, groups.labels, one, two, k, groups.most)
                assert sse(x[own], groups.labels[own]) <= least + 1e-9


def test_a_cut_worked_by_hand():
    # {0, 9, 1} and {8, 2, 10} have the means 10/3 and 20/3; cut at the middle they cost 2 each.
    x = np.array([[0.0], [9.0], [1.0], [8.0], [2.0], [10.0]])
    groups = Groups(x - 5.0, np.array([0, 0, 0, 1, 1, 1]), 3)
    assert recut_pairs(groups, neighbour_lists(x, np.array([6]), 5)).tolist() == [0, 1]
    assert groups.labels.tolist() == [0, 1, 0, 1, 0, 1]
    assert groups.squares().sum() == pytest.approx(4.0)


def test_a_rule_is_kept():
    # The same records; each group needs two of the codes, which the cut at the middle would part.
    x = np.array([[0.0], [9.0], [1.0], [8.0], [2.0], [10.0]])
    rule = rule_of(np.array([0, 1, 0, 1, 0, 1]), 2)
    groups = Groups(x - 5.0, np.array([0, 0, 0, 1, 1, 1]), 3, rule)
    assert not len(recut_pairs(groups, neighbour_lists(x, np.array([6]), 5)))
    assert groups.labels.tolist() == [0, 0, 0, 1, 1, 1]


def forbidden(*_):
    raise AssertionError("single exchanges of large groups take time quadratic in k")


def test_large_groups_of_many_records_are_cut_and_not_exchanged_one_by_one(monkeypatch):
    for name in ("move_records", "swap_records", "eject_records", "EjectionCosts"):
        monkeypatch.setattr(local_search, name, forbidden)
    rng = np.random.default_rng(0)
    for n, k in ((20_010, 6_000), (3000, 900)):
        x = rng.normal(size=(n, 2))
        before = squares_within(x, mdav(x, k=k).labels).sum()
        found = lowloss(x, k=k, effort=0.2)
        assert k <= found.smallest <= found.sizes.max() < 2 * k
        assert squares_within(x, found.labels).sum() < 0.99 * before


@pytest.mark.parametrize("k", [70, 260])
def test_groups_larger_than_the_known_neighbours_are_improved(k):
    x = np.random.default_rng(k).normal(size=(1000, 3))
    x -= x.mean(axis=0)
    labels = mdav(x, k=k).labels
    found, _ = refined(x, labels, np.array([1000]), k)
    assert sse(x, found) < 0.97 * sse(x, labels)
    assert np.bincount(found).min() >= k
    assert np.bincount(found).max() < 2 * k
