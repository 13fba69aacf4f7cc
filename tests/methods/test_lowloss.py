"""The lowest loss: never beaten by its starts, never better than the optimum, the same twice."""

import threading

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import polars_microagg as mg
from polars_microagg.kernels import lowest, recut
from polars_microagg.kernels.anneal import Schedule, anneal, heat
from polars_microagg.kernels.blocks import equal_blocks, mdav_in_blocks, nearby
from polars_microagg.kernels.candidates import candidates
from polars_microagg.kernels.groups import Groups
from polars_microagg.kernels.lowest import block_start, steps_for, tail_of
from polars_microagg.kernels.recut import in_patches
from polars_microagg.methods import lowloss as module
from polars_microagg.methods.lowloss import lowloss
from polars_microagg.methods.mdav import mdav
from polars_microagg.methods.univariate import univariate
from polars_microagg.partition import Partition
from tests.kernels.test_exchange import assert_whole, optimum, sse, starts
from tests.reference import loss, reference

seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)


def assert_grouping(partition, n, k):
    assert len(partition.labels) == n
    assert partition.smallest >= k
    assert partition.sizes.max() <= 2 * k - 1
    assert np.array_equal(np.bincount(partition.labels), partition.sizes)


# --- Small tables -----------------------------------------------------------------------------


@settings(max_examples=40)
@given(rng=seeds, k=st.integers(2, 4), n=st.integers(4, 9), ties=st.booleans())
def test_the_optimum_is_never_beaten_and_mostly_found(rng, k, n, ties):
    x = rng.integers(0, 4, (n, 2)).astype(float) if ties else rng.normal(size=(n, 2))
    found, best = sse(x, lowloss(x, k=k).labels), optimum(x, k)
    assert found >= best - 1e-9
    assert found <= sse(x, mdav(x, k=k).labels) + 1e-9


def test_the_optimum_of_toy_tables_is_found():
    hits = 0
    for seed in range(15):
        rng = np.random.default_rng(seed)
        k, n = 2 + seed % 2, 9 + seed % 3
        x = rng.normal(size=(n, 2))
        hits += sse(x, lowloss(x, k=k, effort=5).labels) <= optimum(x, k) * (1 + 1e-9)
    assert hits >= 13


@settings(max_examples=40)
@given(rng=seeds, k=st.integers(2, 5), n=st.integers(2, 90), kind=st.integers(0, 3))
def test_sizes_hold_and_no_start_is_better(rng, k, n, kind):
    x = [
        lambda: rng.normal(size=(n, 3)),
        lambda: rng.integers(0, 3, (n, 2)).astype(float),
        lambda: np.zeros((n, 2)),
        lambda: np.exp(4 * rng.normal(size=(n, 2))),
    ][kind]()
    if n < k:
        return
    found = lowloss(x, k=k)
    assert_grouping(found, n, k)
    assert sse(x, found.labels) <= sse(x, mdav(x, k=k).labels) * (1 + 1e-12) + 1e-12
    if n < 2 * k:
        assert len(found) == 1


@settings(max_examples=20)
@given(rng=seeds, k=st.integers(2, 5), n=st.integers(10, 200))
def test_a_single_column_is_grouped_as_well_as_can_be(rng, k, n):
    x = np.exp(rng.normal(size=(n, 1)))
    best = sse(x, univariate(x, k=k).labels)
    assert sse(x, lowloss(x, k=k).labels) == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("n", [60, 1500])
def test_the_seed_decides_and_nothing_else(n):
    x = np.random.default_rng(1).normal(size=(n, 3))
    one, two = lowloss(x, k=3, effort=0.2, seed=1), lowloss(x, k=3, effort=0.2, seed=1)
    assert np.array_equal(one.labels, two.labels)
    if n > 60:
        other = lowloss(x, k=3, effort=0.2, seed=2)
        assert not np.array_equal(one.labels, other.labels)
    found = []
    work = [
        threading.Thread(target=lambda: found.append(lowloss(x, k=3, effort=0.2, seed=1).labels))
        for _ in range(3)
    ]
    for thread in work:
        thread.start()
    for thread in work:
        thread.join()
    assert all(np.array_equal(one.labels, labels) for labels in found)


def test_more_effort_loses_less():
    x = np.random.default_rng(2).lognormal(size=(600, 4))
    losses = [loss(x, lowloss(x, k=3, effort=e).labels) for e in (0, 0.1, 2)]
    assert losses[0] > losses[1] > losses[2]
    assert losses[0] < loss(x, mdav(x, k=3).labels)


def test_steps_grow_with_the_effort_and_hardly_with_the_records():
    assert steps_for(1000, 1) == steps_for(4000, 1) == lowest.STEPS
    assert steps_for(1000, 10) == 10 * lowest.STEPS
    assert steps_for(1000, 0) == 0
    assert steps_for(20, 1) == lowest.LEAST
    assert 1 < steps_for(100_000, 1) / lowest.STEPS < 25


LIMITS = {
    "tarragona": {4: 17.4, 10: 30.6},
    "census": {3: 4.92},
    "eia": {5: 0.755},
}
LEAST = {("tarragona", 4): 17.043, ("census", 3): 4.646}


@pytest.mark.parametrize("name", list(LIMITS))
def test_reference_data_lose_this_little(name):
    x = reference(name)
    for k, limit in LIMITS[name].items():
        found = lowloss(x, k=k)
        assert_grouping(found, len(x), k)
        assert LEAST.get((name, k), 0) <= loss(x, found.labels) <= limit


# --- Annealing --------------------------------------------------------------------------------


@settings(max_examples=40)
@given(start=starts(), hot=st.sampled_from([0.1, 10.0, 1e6]))
def test_annealing_keeps_k_and_its_tables_right_however_hot(start, hot):
    x, labels, k = start
    groups = Groups(x, labels, k)
    near = candidates(x, np.array([len(x)]), 2 * k + 4)
    told = []
    schedule = Schedule(60_000, hot, hot / 10)
    rng = np.random.default_rng(0)
    anneal(groups, near, heat(x, near, k), schedule, rng, told.append)
    assert_whole(groups)
    assert told == sorted(told)
    assert told[-1] >= 60_000


def test_a_cold_annealing_only_goes_down():
    x = np.random.default_rng(3).normal(size=(200, 2))
    groups = Groups(x, mdav(x, k=3).labels, 3)
    near = candidates(x, np.array([200]), 12)
    before = sse(x, groups.labels)
    warmth = heat(x, near, 3)
    for _ in range(20):
        rng = np.random.default_rng(4)
        anneal(groups, near, warmth, Schedule(20_000, 1e-12, 1e-13), rng)
        after = sse(x, groups.labels)
        assert after <= before * (1 + 1e-12)
        before = after


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
    parts = nearby(rng.integers(0, 3, (n, 2)).astype(float), size, rng)
    assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(n))
    assert max(map(len, parts)) <= size


@pytest.mark.parametrize(("n", "k"), [(5000, 3), (20_001, 7), (3000, 100), (40, 3)])
def test_the_tail_holds_the_farthest_and_the_core_whole_blocks(n, k):
    x = np.random.default_rng(7).lognormal(size=(n, 3))
    x -= x.mean(axis=0)
    tail, core = tail_of(x, k)
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
        patch.setattr(recut, "LEAF", 200)
        patch.setattr(recut, "PATCH", 900)
        seen = []
        same = in_patches(x, labels, 4, 12, rng, lambda g, near: seen.append(len(g)))
    assert sum(seen) == 3000
    assert len(seen) >= 3
    assert np.array_equal(Partition.from_labels(same).labels, labels)


@pytest.mark.parametrize("kind", ["normal", "skewed", "integers", "equal"])
def test_the_way_for_many_records_holds_for_all(monkeypatch, kind):
    rng = np.random.default_rng(9)
    x = {
        "normal": rng.normal(size=(4000, 3)),
        "skewed": rng.lognormal(sigma=2, size=(4000, 3)),
        "integers": rng.integers(0, 5, (4000, 3)).astype(float),
        "equal": np.ones((4000, 3)),
    }[kind]
    monkeypatch.setattr(module, "WHOLE", 1000)
    monkeypatch.setattr(module, "EXACT", 1000)
    monkeypatch.setattr(recut, "PATCH", 1500)
    found = lowloss(x, k=3, effort=0.2)
    assert_grouping(found, 4000, 3)
    assert np.array_equal(found.labels, lowloss(x, k=3, effort=0.2).labels)
    start = block_start(x - x.mean(axis=0), 3, lambda part: mdav(part, k=3).labels)
    assert sse(x, found.labels) <= sse(x, start) * (1 + 1e-12)
    if kind in ("normal", "skewed"):
        assert sse(x, found.labels) < 0.99 * sse(x, mdav(x, k=3).labels)


def test_thirty_thousand_records_lose_less_than_by_mdav():
    x = np.random.default_rng(10).lognormal(size=(30_000, 3))
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    found = lowloss(x, k=5, effort=0.1)
    assert_grouping(found, 30_000, 5)
    assert loss(x, found.labels) < 0.95 * loss(x, mdav(x, k=5).labels)


# --- Through the doors ------------------------------------------------------------------------


def test_effort_and_seed_go_through_all_doors():
    rng = np.random.default_rng(11)
    frame = pl.DataFrame(rng.normal(size=(300, 2)), schema=["a", "b"])
    eager = mg.lowloss(frame, ["a", "b"], 3, effort=2, seed=5)
    lazy = frame.lazy().microagg.lowloss(["a", "b"], 3, effort=2.0, seed=5)
    for engine in ("in-memory", "streaming"):
        assert eager.equals(lazy.collect(engine=engine))
    assert mg.loss(frame, eager) < mg.loss(frame, mg.mdav(frame, ["a", "b"], 3, refine=True))
    refined = mg.lowloss(frame, ["a", "b"], 3, effort=2, seed=5, refine=True)
    assert mg.loss(frame, refined) <= mg.loss(frame, eager)


@pytest.mark.parametrize("effort", [-1, 1001, float("nan"), "1", None, True])
def test_an_effort_has_bounds(effort):
    with pytest.raises(mg.InvalidParameterError, match="effort=.* a number from 0 to 1000"):
        mg.lowloss(pl.DataFrame({"a": [1, 2]}), "a", 2, effort=effort)
