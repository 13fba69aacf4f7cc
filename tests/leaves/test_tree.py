"""Trees, their cuts and merges, against plain walks and by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polars_microagg.leaves.cuts import CUTS, best_of, tree_of_cuts, with_distance
from polars_microagg.leaves.merge import merge_small
from polars_microagg.leaves.tree import Tree, blocks_by_rank, grow_tree


def walked(tree, record):
    """The leaf of one record, node by node."""
    at = 0 if len(tree.columns) else -1
    while at >= 0:
        low = record[tree.columns[at]] <= tree.thresholds[at]
        at = tree.below[at] if low else tree.above[at]
    return -1 - at


def drawn(seed, n, p, kind):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 4, (n, p)).astype(float) if kind == "tied" else rng.lognormal(0, 1, (n, p))
    weights = 1 / np.where(x.std(axis=0) > 0, x.std(axis=0), 1)
    return with_distance(x, x.mean(axis=0), weights), weights


@pytest.mark.parametrize("how", CUTS)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 120),
    kind=st.sampled_from(["tied", "tails"]),
    capacity=st.integers(1, 40),
)
def test_a_tree_sends_each_record_where_a_walk_sends_it(how, seed, n, kind, capacity):
    values, weights = drawn(seed, n, 3, kind)
    tree = tree_of_cuts(values, weights, capacity, how)
    leaf = tree.assign(values)
    assert leaf.tolist() == [walked(tree, record) for record in values]
    assert np.bincount(leaf, minlength=len(tree)).tolist() == tree.expected.tolist()
    for number in np.flatnonzero(tree.expected > capacity):
        assert len(np.unique(values[leaf == number, :-1], axis=0)) == 1


def test_leaves_are_numbered_from_left_to_right_and_spans_say_which():
    tree = grow_tree(
        np.arange(16.0)[:, None], 2, lambda x: (0, float(np.sort(x[:, 0])[len(x) // 2 - 1]))
    )
    assert tree.assign(np.arange(16.0)[:, None]).tolist() == np.repeat(np.arange(8), 2).tolist()
    first, last = tree.spans()
    assert (first[0], last[0]) == (0, 8)
    for node in range(len(first)):
        inside = [walked(tree, [value]) for value in np.arange(16.0)]
        under = {leaf for leaf in inside if first[node] <= leaf < last[node]}
        assert under == set(range(first[node], last[node]))


def test_values_that_came_in_pieces_have_the_same_leaves():
    values, weights = drawn(3, 70_000, 3, "tails")
    tree = tree_of_cuts(values, weights, 500, "tail+gain")
    pieces = [tree.assign(part) for part in np.array_split(values, 7)]
    assert np.array_equal(np.concatenate(pieces), tree.assign(values))
    assert len(tree) > 100


def test_the_middle_is_cut_where_values_change():
    values, weights = (
        with_distance(np.array([[0.0]] * 9 + [[1.0]]), np.zeros(1), np.ones(1)),
        np.ones(1),
    )
    tree = tree_of_cuts(values, weights, 2, "median")
    assert tree.thresholds.tolist() == [0.5]
    assert tree.expected.tolist() == [9, 1]


def test_the_gain_is_the_largest_fall_of_the_sum_of_squares():
    x = np.random.default_rng(8).lognormal(0, 1, (40, 2))
    weights = np.ones(2)
    tree = tree_of_cuts(with_distance(x, x.mean(axis=0), weights), weights, 21, "gain")
    left = {}
    for j in range(2):
        for at in range(5, 36):
            order = np.argsort(x[:, j])
            parts = x[order[:at]], x[order[at:]]
            middle = (x[order[at - 1], j] + x[order[at], j]) / 2
            left[j, middle] = sum(((p - p.mean(axis=0)) ** 2).sum() for p in parts)
    column, middle = min(left, key=left.get)
    assert tree.columns[0] == column
    assert tree.thresholds[0] == pytest.approx(middle)


def test_the_tail_is_a_twentieth_and_farthest_away():
    values, weights = drawn(5, 1000, 3, "tails")
    tree = tree_of_cuts(values, weights, 400, "tail+median")
    tail = tree.assign(values) == len(tree) - 1
    assert tail.sum() == 50
    assert values[tail, -1].min() > values[~tail, -1].max()


@pytest.mark.parametrize("how", ["far+median", "far+gain"])
@pytest.mark.parametrize(("capacity", "tail"), [(20, 50), (30, 30), (60, 50)])
def test_one_leaf_of_the_farthest_is_set_apart_in_a_tail_of_several(how, capacity, tail):
    values, weights = drawn(5, 1000, 3, "tails")
    tree = tree_of_cuts(values, weights, capacity, how)
    apart = np.sort(values[:, -1])[::-1]
    last = tree.assign(values) == len(tree) - 1
    assert last.sum() == min(capacity, 50)
    assert values[last, -1].min() == apart[min(capacity, 50) - 1]
    # The tail is cut first, unless less than a leaf would be left of it.
    first, _ = tree.spans()
    beyond = tree.assign(values) >= first[tree.above[0]] if tree.above[0] >= 0 else last
    assert beyond.sum() == tail


def test_a_tail_is_taken_where_a_trial_of_a_part_hardly_tells():
    losses = {"median": 1.0, "gain": 1.2, "tail+median": 1.004, "tail+gain": 1.003}
    assert best_of(losses, whole=False) == "tail+gain"
    assert best_of(losses, whole=True) == "median"
    assert best_of({**losses, "median": 0.99}, whole=False) == "median"


@given(st.lists(st.integers(0, 7), min_size=16, max_size=16), st.integers(1, 12))
def test_merged_leaves_have_enough_and_the_others_stay(counts, least):
    tree = grow_tree(
        np.arange(16.0)[:, None], 1, lambda x: (0, float(np.sort(x[:, 0])[(len(x) - 1) // 2]))
    )
    into = merge_small(tree, np.array(counts), least)
    after = np.zeros(16, dtype=int)
    for leaf, count in enumerate(counts):
        after[into.get(leaf, leaf)] += count
    assert sum(counts) < least or after[after > 0].min(initial=99) >= least
    assert not set(into) & set(into.values())
    for leaf in into:
        assert counts[leaf]
    if min(count for count in [*counts, 99] if count) >= least:
        assert into == {}


def test_a_small_leaf_goes_to_its_neighbour_by_hand():
    tree = grow_tree(
        np.arange(4.0)[:, None], 1, lambda x: (0, float(np.sort(x[:, 0])[(len(x) - 1) // 2]))
    )
    assert merge_small(tree, np.array([5, 1, 9, 9]), 3) == {1: 0}
    assert merge_small(tree, np.array([1, 1, 9, 9]), 3) == {0: 2, 1: 2}
    assert merge_small(tree, np.array([9, 9, 0, 1]), 3) == {3: 1}


def test_blocks_by_rank_part_equal_records_too():
    x = np.zeros((1000, 2))
    x[:10, 1] = 5.0
    block = blocks_by_rank(x, 60)
    assert np.bincount(block).min() > 30
    assert np.bincount(block).max() <= 60
    assert len(set(block[:10])) == 1


def test_a_tree_of_no_cuts_is_one_leaf():
    tree = grow_tree(np.ones((9, 2)), 2, lambda x: None)
    assert isinstance(tree, Tree)
    assert len(tree) == 1
    assert tree.assign(np.zeros((3, 2))).tolist() == [0, 0, 0]


@pytest.mark.parametrize("seed", range(6))
def test_columns_of_classes_are_cut_as_any_column_of_two_values(seed):
    rng = np.random.default_rng(seed)
    sides = (rng.random((400, 5)) < rng.random(5)) * 0.5
    x = np.asfortranarray(np.column_stack([sides, rng.normal(size=400)]))
    weights = rng.uniform(0.5, 2, 6)
    values = with_distance(x, x.mean(axis=0), weights)
    plain = tree_of_cuts(values, weights, 30, "gain")
    named = tree_of_cuts(values, weights, 30, "gain", np.arange(5))
    assert set(plain.columns) & set(range(5))
    assert np.array_equal(plain.assign(values), named.assign(values))
