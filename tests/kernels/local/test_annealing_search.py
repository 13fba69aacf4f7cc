"""Annealing keeps k and its tables; blocks and patches hold every record once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polars_microagg.core.partition import Partition
from polars_microagg.kernels.local import patches
from polars_microagg.kernels.local.annealing import (
    COOLEST,
    HOTTEST,
    Schedule,
    anneal,
    melting_point,
    temperature_units,
)
from polars_microagg.kernels.local.annealing_search import block_start, tail_and_core
from polars_microagg.kernels.local.groups import Groups
from polars_microagg.kernels.local.local_search import improve, neighbour_count
from polars_microagg.kernels.local.patches import in_patches
from polars_microagg.kernels.neighbour_blocks import equal_blocks, mdav_in_blocks, random_parts
from polars_microagg.kernels.neighbour_lists import neighbour_lists
from polars_microagg.methods.mdav import mdav
from tests.kernels.local.test_moves_and_swaps import assert_whole, sse, starts
from tests.loop import tries

seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)


# --- Annealing --------------------------------------------------------------------------------


@tries(40)
@given(start=starts(), hot=st.sampled_from([0.1, 10.0, 1e6]))
def test_annealing_keeps_k_and_its_tables_right_however_hot(start, hot):
    x, labels, k = start
    groups = Groups(x, labels, k)
    near = neighbour_lists(x, np.array([len(x)]), 2 * k + 4)
    told = []
    schedule = Schedule(60_000, hot, hot / 10)
    rng = np.random.default_rng(0)
    anneal(groups, near, temperature_units(x, near, k), schedule, rng, told.append)
    assert_whole(groups)
    assert told == sorted(told)
    assert told[-1] >= 60_000


def test_a_cold_annealing_only_goes_down():
    x = np.random.default_rng(3).normal(size=(200, 2))
    groups = Groups(x, mdav(x, k=3).labels, 3)
    near = neighbour_lists(x, np.array([200]), 12)
    before = sse(x, groups.labels)
    warmth = temperature_units(x, near, 3)
    for _ in range(20):
        rng = np.random.default_rng(4)
        anneal(groups, near, warmth, Schedule(20_000, 1e-12, 1e-13), rng)
        after = sse(x, groups.labels)
        assert after <= before * (1 + 1e-12)
        before = after


@tries(20)
@given(start=starts(), scale=st.sampled_from([-300, 300]))
def test_melting_keeps_k_and_does_not_depend_on_the_unit(start, scale):
    x, labels, k = start
    near = neighbour_lists(x, np.array([len(x)]), 2 * k + 4)
    points = []
    for own in (x, np.ldexp(x, scale)):
        groups = Groups(own, labels, k)
        rng = np.random.default_rng(0)
        points.append(melting_point(groups, near, temperature_units(own, near, k), rng))
        assert np.bincount(groups.labels)[np.unique(groups.labels)].min() >= k
    assert COOLEST <= points[0] == points[1] <= HOTTEST


def searched(columns, k):
    x = np.random.default_rng(columns).normal(size=(400, columns))
    x -= x.mean(axis=0)
    near = neighbour_lists(x, np.array([len(x)]), neighbour_count(k))
    groups = Groups(x, mdav(x, k=k).labels, k)
    improve(groups, near)
    return groups, near, temperature_units(x, near, k)


@pytest.mark.parametrize(("columns", "k"), [(2, 5), (5, 3), (5, 10), (12, 10)])
def test_at_the_melting_point_a_grouping_costs_a_kth_more_and_well_below_it_hardly(columns, k):
    groups, near, units = searched(columns, k)
    solid, labels = groups.squares().sum(), groups.labels.copy()
    point = melting_point(groups, near, units, np.random.default_rng(0))
    assert groups.squares().sum() >= (1 + 1 / k) * solid
    assert COOLEST < point < HOTTEST
    costs = []
    for share in (0.25, 1.0):
        groups.reset(labels)
        schedule = Schedule(1_000_000, share * point, share * point)
        anneal(groups, near, units, schedule, np.random.default_rng(1))
        costs.append(groups.squares().sum() / solid - 1)
    # A little less than a k-th would do, as costs vary by chance.
    assert costs[0] < 0.25 / k < 0.9 / k < costs[1]


def test_records_with_more_columns_melt_sooner():
    points = [melting_point(*searched(d, 5), np.random.default_rng(0)) for d in (2, 4, 8, 16)]
    assert points == sorted(points, reverse=True)
    assert points[0] > 3 * points[-1]


# --- Many records -----------------------------------------------------------------------------


def test_blocks_are_equal_and_of_neighbours():
    x = np.random.default_rng(5).normal(size=(4096, 3))
    blocks = equal_blocks(x, 16)
    assert np.array_equal(np.sort(blocks.ravel()), np.arange(4096))
    within = sum(((x[b] - x[b].mean(axis=0)) ** 2).sum() for b in blocks)
    assert within < 0.5 * (x**2).sum()


@pytest.mark.parametrize(("size", "k"), [(64, 3), (50, 5), (12, 5), (7, 4), (4, 4)])
def test_blocks_are_grouped_as_mdav_does(size, k):
    # Without ties and with the seed of the second group still free the groups are the same.
    x = np.random.default_rng(6).normal(size=(8 * size, 2))
    blocks = equal_blocks(x, 8)
    labels = mdav_in_blocks(x, blocks, k)
    assert np.bincount(labels).min() >= k
    assert np.bincount(labels).max() <= 2 * k - 1
    for block in blocks:
        wanted = mdav(x[block], k=k)
        if wanted.sizes.max() < 2 * k:
            alike = Partition.from_labels(labels[block])
            assert sse(x[block], alike.labels) <= 1.3 * sse(x[block], wanted.labels) + 1e-9
            assert len(alike) == len(wanted)


@given(rng=seeds, n=st.integers(1, 300), size=st.integers(1, 40))
def test_parts_of_near_points_are_all_of_them(rng, n, size):
    parts = random_parts(rng.integers(0, 3, (n, 2)).astype(float), size, rng)
    assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(n))
    assert max(map(len, parts)) <= size


@pytest.mark.parametrize(("n", "k"), [(5000, 3), (20_001, 7), (3000, 100), (40, 3)])
def test_the_tail_holds_the_farthest_and_the_core_whole_blocks(n, k):
    x = np.random.default_rng(7).lognormal(size=(n, 3))
    x -= x.mean(axis=0)
    tail, core = tail_and_core(x, k)
    assert np.array_equal(np.sort(np.concatenate((tail, core.ravel()))), np.arange(n))
    if core.size:
        norms = (x**2).sum(axis=1)
        assert norms[tail].min() >= norms[core].max()
    labels = block_start(x, k, lambda part: mdav(part, k=k).labels)
    sizes = np.bincount(labels)
    assert sizes.min() >= k
    assert sizes.max() <= 2 * k - 1


@pytest.mark.parametrize("ties", [False, True])
def test_patches_give_every_record_a_group_and_keep_k(ties):
    rng = np.random.default_rng(8)
    x = rng.integers(0, 9, (3000, 3)).astype(float) if ties else rng.normal(size=(3000, 3))
    labels = mdav(x, k=4).labels
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(patches, "PATCH", 900)
        seen = []
        same = in_patches(x, labels, 4, 12, rng, lambda g, *_: seen.append(len(g)))
    assert sum(seen) == 3000
    assert len(seen) >= 3
    assert np.array_equal(Partition.from_labels(same).labels, labels)
