"""A quick search after MDAV: never worse, the same in any company, and k in every group."""

import tracemalloc

import numpy as np
import pytest

from polars_microagg.kernels.local import dissolve_split, worst_groups
from polars_microagg.kernels.local.dissolve_split import dissolve_groups
from polars_microagg.kernels.local.groups import Groups
from polars_microagg.kernels.local.local_search import squares_within
from polars_microagg.kernels.local.near_groups import BEYOND, _nearest, near_groups
from polars_microagg.kernels.local.worst_groups import improved_strata
from polars_microagg.kernels.neighbour_lists import neighbour_lists
from polars_microagg.methods.mdav import mdav


def grouped(x, k):
    return mdav(np.asfortranarray(x), k=k).labels


def records(kind, n, d, seed=0):
    rng = np.random.default_rng(seed)
    if kind == "integers":
        return rng.integers(0, 7, (n, d)).astype(float)
    return rng.lognormal(size=(n, d)) if kind == "lognormal" else rng.normal(size=(n, d))


@pytest.mark.parametrize("kind", ["gaussian", "lognormal", "integers"])
@pytest.mark.parametrize(("k", "d"), [(2, 1), (3, 2), (5, 4), (40, 3)])
def test_groups_keep_k_and_lose_no_more(kind, k, d):
    x = records(kind, 1500, d)
    before = grouped(x, k)
    after, groups = improved_strata(x, before, np.array([1500]), k)
    sizes = np.bincount(after)
    assert len(sizes) == groups
    assert k <= sizes.min() <= sizes.max() < 2 * k
    assert squares_within(x, after).sum() <= squares_within(x, before).sum() * (1 + 1e-12)


@pytest.mark.parametrize(("d", "most"), [(2, 0.95), (4, 0.93), (8, 0.95)])
def test_much_of_what_mdav_loses_is_won_back(d, most):
    x = records("gaussian", 4000, d)
    before = grouped(x, 5)
    after, _ = improved_strata(x, before, np.array([4000]), 5)
    assert squares_within(x, after).sum() < most * squares_within(x, before).sum()


def test_a_stratum_is_searched_as_alone():
    parts = [records(kind, n, 3, n) for kind, n in (("gaussian", 900), ("integers", 700))]
    parts.append(records("lognormal", 1100, 3))
    own = [grouped(part, 4) for part in parts]
    sizes = np.array([len(part) for part in parts])
    starts = np.cumsum(sizes) - sizes
    offsets = np.cumsum([0, *(labels.max() + 1 for labels in own)])
    labels = np.concatenate([one + off for one, off in zip(own, offsets, strict=False)])
    together, _ = improved_strata(np.asfortranarray(np.concatenate(parts)), labels, sizes, 4)
    for part, one, start in zip(parts, own, starts, strict=True):
        alone, _ = improved_strata(part, one, np.array([len(part)]), 4)
        found = together[start : start + len(part)]
        assert (found - found.min() == alone).all()


def test_strata_may_be_searched_in_any_order():
    x = records("gaussian", 1600, 3)
    sizes = np.array([700, 900])
    own = [grouped(x[:700], 4), grouped(x[700:], 4)]
    labels = np.concatenate((own[0], own[1] + own[0].max() + 1))
    backwards = improved_strata(
        x, labels, sizes, 4, each=lambda work, jobs: [work(job) for job in [*jobs][::-1]][::-1]
    )
    assert (backwards[0] == improved_strata(x, labels, sizes, 4)[0]).all()


def test_small_strata_and_equal_records_stay_as_they_are():
    x = records("gaussian", 200, 2)
    labels = grouped(x, 5)
    assert (improved_strata(x, labels, np.array([200]), 5)[0] == labels).all()
    x, labels = np.ones((600, 2)), np.arange(600) // 5
    assert (improved_strata(x, labels, np.array([600]), 5)[0] == labels).all()


def test_the_size_of_numbers_does_not_count():
    x = records("gaussian", 800, 3)
    labels = grouped(x, 5)
    found = improved_strata(x, labels, np.array([800]), 5)[0]
    for power in (-900, 900):
        far = np.ldexp(x, power)
        assert (improved_strata(far, labels, np.array([800]), 5)[0] == found).all()


def test_the_start_is_kept_where_the_search_ends_higher(monkeypatch):
    x = records("gaussian", 800, 3)
    labels = grouped(x, 5)
    # Groups that are dealt out and not followed by moves only cost.
    monkeypatch.setattr(worst_groups, "ROUNDS", 0)
    monkeypatch.setattr(worst_groups, "_worst", lambda *_: np.arange(len(labels) // 5))
    assert (improved_strata(x, labels, np.array([800]), 5)[0] == labels).all()


@pytest.mark.parametrize("d", [1, 2, 4])
def test_near_groups_are_mostly_the_nearest(d):
    rng = np.random.default_rng(d)
    x = rng.uniform(-1, 1, (3000, d))
    centres = rng.uniform(-1, 1, (600, d))
    found = near_groups(x, centres, 4)
    distances = np.square(x[:, None] - centres).sum(axis=2)
    true = np.argsort(distances, axis=1)[:, :4]
    assert (found == true).mean() > 0.95
    among = np.take_along_axis(distances, found, axis=1)
    assert (np.diff(among, axis=1) > -1e-5).all()


def test_near_groups_of_few_records_are_the_nearest():
    rng = np.random.default_rng(0)
    x, centres = rng.uniform(-1, 1, (70, 3)), rng.uniform(-1, 1, (9, 3))
    true = np.argsort(np.square(x[:, None] - centres).sum(axis=2), axis=1)
    assert (near_groups(x, centres, 9) == true).all()
    more = near_groups(x, centres, 11)
    assert (more[:, 9:] == true[:, :1]).all()


def test_near_groups_of_columns_without_width():
    x = np.zeros((500, 3))
    x[:, 1] = 5e-320 * np.arange(500)
    x[:, 2] = np.linspace(-1, 1, 500)
    centres = x.reshape(100, 5, 3).mean(axis=1)
    assert (near_groups(x, centres, 1)[:, 0] == np.arange(500) // 5).mean() > 0.9


def test_what_is_dissolved_does_not_depend_on_how_much_is_handled_at_a_time(monkeypatch):
    x = records("integers", 2000, 3)
    labels = grouped(x, 3)
    near = neighbour_lists(x - x.mean(axis=0), np.array([2000]), 12)

    def dissolved(cells):
        monkeypatch.setattr(dissolve_split, "CELLS", cells)
        groups = Groups(x - x.mean(axis=0), labels, 3)
        changed = dissolve_groups(groups, near, np.arange(labels.max() + 1))
        return len(changed), groups.labels.tolist()

    assert dissolved(1 << 19)[0] > 0
    assert dissolved(1 << 19) == dissolved(1 << 10)


def test_many_equal_records_take_no_more_memory_than_others():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(20_000, 2))
    x[rng.random(20_000) < 0.7] = 0.25
    centres = x[np.argsort(x[:, 0], kind="stable")[::5]]
    tracemalloc.start()
    try:
        near_groups(x / 8, centres / 8, 4)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # 0.6 GB where a block had room for all of its centres.
    assert peak < 200e6


def test_the_nearest_candidates_are_those_that_sorting_finds():
    rng = np.random.default_rng(7)
    for _ in range(300):
        b, c, w, count = rng.integers(1, [4, 97, 20, 9])
        distances = rng.integers(0, 50, (b, c, w)) * rng.choice([1e-30, 1.0, 0.25, 1e6])
        distances[rng.random(distances.shape) < rng.choice([0.0, 0.1, 0.9])] = BEYOND**2
        among = rng.permuted(np.tile(np.arange(c), (b, 1)), axis=1)
        order = np.argsort(distances, axis=1, kind="stable")[:, :count]
        single = np.ascontiguousarray(distances.swapaxes(0, 1), dtype=np.float32)
        found = _nearest(single, among.T, count)
        for i, r in np.ndindex(b, w):
            there = [among[i, j] for j in order[i, :, r] if distances[i, j, r] < BEYOND]
            nearest = there[0] if there else 0
            assert found[i, r].tolist() == there + [nearest] * (count - len(there))


@pytest.mark.parametrize("kind", ["gaussian", "integers", "lognormal"])
def test_records_whose_groups_stay_have_nothing_new_to_gain(monkeypatch, kind):
    x = records(kind, 1500, 3)
    labels = grouped(x, 3)
    found = improved_strata(x, labels, np.array([1500]), 3)[0]
    monkeypatch.setattr(worst_groups, "_beside", lambda groups, *_: np.arange(len(groups)))
    assert (improved_strata(x, labels, np.array([1500]), 3)[0] == found).all()
