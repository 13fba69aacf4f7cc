"""Local search: exact deltas, never worse, never below k, the optimum never beaten."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import polars_microagg as mg
from polars_microagg.core import registry
from polars_microagg.core.partition import Partition
from polars_microagg.kernels.local import local_search
from polars_microagg.kernels.local.dissolve_split import (
    create_groups,
    creations,
    dissolutions,
    dissolve_groups,
    split_groups,
)
from polars_microagg.kernels.local.groups import Groups, disjoint
from polars_microagg.kernels.local.local_search import (
    cut_large_groups,
    improve,
    refined,
    squares_within,
)
from polars_microagg.kernels.local.moves_and_swaps import move_records, swap_records
from polars_microagg.kernels.neighbour_lists import neighbour_lists
from polars_microagg.methods.mdav import mdav
from tests.loop import tries
from tests.reference import loss, reference

seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)


def sse(x, labels):
    """The sum of squares, group by group."""
    parts = [x[labels == g] for g in np.unique(labels)]
    return sum(float(((part - part.mean(axis=0)) ** 2).sum()) for part in parts)


def whole(n):
    return np.array([n])


@st.composite
def starts(draw, high=40, ks=(2, 3, 4), columns=(1, 2, 3)):
    """Records and a random grouping of them in groups of k to 2k + 2."""
    k, rng = draw(st.sampled_from(ks)), draw(seeds)
    n, d = draw(st.integers(k, high)), draw(st.sampled_from(columns))
    kind = draw(st.sampled_from(["normal", "integers", "skewed", "equal"]))
    x = {
        "normal": lambda: rng.normal(size=(n, d)),
        "integers": lambda: rng.integers(0, 4, (n, d)).astype(float),
        "skewed": lambda: np.exp(2 * rng.normal(size=(n, d))),
        "equal": lambda: np.full((n, d), 0.1),
    }[kind]()
    ends = [0]
    while n - ends[-1] > 2 * k + 2:
        ends.append(ends[-1] + int(rng.integers(k, min(2 * k + 2, n - ends[-1] - k) + 1)))
    labels = np.empty(n, dtype=np.intp)
    labels[rng.permutation(n)] = np.searchsorted(ends, np.arange(n), side="right") - 1
    return x - x.mean(axis=0), labels, k


def assert_whole(groups):
    """Check that tables, sizes and centres say the same as the labels."""
    n = len(groups)
    for g in range(len(groups.sizes)):
        rows = np.flatnonzero(groups.labels == g)
        members = groups.members[g]
        assert sorted(members[: len(rows)].tolist()) == rows.tolist()
        assert (members[len(rows) :] == n).all()
        assert groups.sizes[g] == len(rows)
        if len(rows):
            assert groups.centres[g] == pytest.approx(groups.x[rows].mean(axis=0), abs=1e-12)
            assert len(rows) >= groups.k


EXCHANGES = {
    "move": lambda g, near: move_records(g, near, np.arange(len(g))),
    "swap": lambda g, near: swap_records(g, near, np.arange(len(g))),
    "dissolve": lambda g, near: dissolve_groups(g, near, np.unique(g.labels)),
    "create": lambda g, near: create_groups(g, near, np.arange(len(g))),
    "split": lambda g, near: split_groups(g, np.unique(g.labels)),
}


@pytest.mark.parametrize("name", list(EXCHANGES))
@tries(100)
@given(start=starts())
def test_each_exchange_lowers_the_sum_of_squares_and_keeps_the_tables_right(name, start):
    x, labels, k = start
    groups = Groups(x, labels, k)
    near = neighbour_lists(x, whole(len(x)), 2 * k + 4)
    changed = EXCHANGES[name](groups, near)
    assert_whole(groups)
    before, after = sse(x, labels), sse(x, groups.labels)
    assert after <= before * (1 + 1e-12)
    if len(changed) and name != "split":
        assert after < before


@tries(100)
@given(start=starts())
def test_the_cost_of_dissolving_a_group_is_exact(start):
    x, labels, k = start
    groups = Groups(x, labels, k)
    near = neighbour_lists(x, whole(len(x)), 2 * k + 4)
    for g in np.unique(labels):
        gain, _, targets = dissolutions(groups, near, np.array([g]))
        if np.isfinite(gain[0]):
            moved = labels.copy()
            moved[groups.members[g, : groups.sizes[g]]] = targets[0]
            assert gain[0] == pytest.approx(sse(x, moved) - sse(x, labels), abs=1e-9)
            assert np.bincount(moved).max() <= groups.most


@tries(100)
@given(start=starts())
def test_the_cost_of_creating_a_group_is_exact(start):
    x, labels, k = start
    groups = Groups(x, labels, k)
    near = neighbour_lists(x, whole(len(x)), 2 * k + 4)
    rows = np.flatnonzero(np.bincount(labels)[labels] > k)
    gains, _, members = creations(groups, near, rows)
    for gain, chosen in zip(gains, members, strict=True):
        moved = labels.copy()
        moved[chosen] = labels.max() + 1
        assert len(set(chosen.tolist())) == k
        assert gain == pytest.approx(sse(x, moved) - sse(x, labels), abs=1e-9)
        assert np.bincount(moved)[np.unique(moved)].min() >= k


def test_a_move_worked_by_hand():
    # 4 leaves {0, 1, 4} (mean 5/3) for {5, 6}: 2/3 (4-5.5)^2 - 3/2 (4-5/3)^2 = 1.5 - 8.1667.
    x = np.array([[0.0], [1.0], [4.0], [5.0], [6.0]])
    groups = Groups(x, np.array([0, 0, 0, 1, 1]), 2)
    assert sorted(move_records(groups, neighbour_lists(x, whole(5), 4), np.arange(5))) == [0, 1]
    assert groups.labels.tolist() == [0, 0, 1, 1, 1]
    assert groups.squares().sum() == pytest.approx(0.5 + 2.0)


def test_a_swap_worked_by_hand():
    # {0, 9} and {1, 8}: 2 * 4.5^2 + 2 * 3.5^2 = 65; after the swap 1/2 + 1/2.
    x = np.array([[0.0], [9.0], [1.0], [8.0]])
    groups = Groups(x, np.array([0, 0, 1, 1]), 2)
    swap_records(groups, neighbour_lists(x, whole(4), 3), np.arange(4))
    assert groups.labels[0] == groups.labels[2] != groups.labels[1] == groups.labels[3]
    assert groups.squares().sum() == 1.0


@given(start=starts())
def test_chosen_proposals_touch_no_group_twice_and_all_others_are_blocked(start):
    _, labels, _ = start
    rng = np.random.default_rng(len(labels))
    touched = rng.integers(0, 8, (len(labels), 2))
    gains = -rng.integers(1, 5, len(labels)).astype(float)
    kept = disjoint(gains, touched, 8)
    sets = [set(touched[i].tolist()) for i in kept]
    assert sum(map(len, sets)) == len(set().union(*sets))
    for i in range(len(gains)):
        blockers = [j for j in kept if set(touched[i]) & set(touched[j])]
        assert i in kept or min((gains[j], j) for j in blockers) < (gains[i], i)


# --- The search -------------------------------------------------------------------------------


def optimum(x, k):
    """The least sum of squares: of all sets of records, the best group of the first of them."""
    every = np.arange(1 << len(x))
    member = (every[:, None] >> np.arange(len(x)) & 1).astype(float)
    sizes = member.sum(axis=1)
    means = member @ x / np.maximum(sizes, 1)[:, None]
    costs = (member * ((x - means[:, None]) ** 2).sum(axis=2)).sum(axis=1)
    best = np.where(every, np.inf, 0.0)
    for rest in every[1:]:
        inside = (every & rest == every) & (every & rest & -rest > 0) & (sizes >= k)
        groups = every[inside]
        best[rest] = (costs[groups] + best[rest ^ groups]).min(initial=np.inf)
    return best[-1]


def test_the_optimum_of_the_tests_worked_by_hand():
    # {0, 1, 2} and {9, 10}: 2 + 1/2. Of at least 3 records there is one group of all five.
    x = np.array([[0.0], [9.0], [1.0], [10.0], [2.0]])
    assert optimum(x, 2) == pytest.approx(2.5)
    assert optimum(x, 3) == pytest.approx(186 - 22**2 / 5)


@tries(100)
@given(start=starts())
def test_the_search_never_ends_higher_and_groups_have_k_to_2k_less_1(start):
    x, labels, k = start
    found, groups = refined(x, labels, whole(len(x)), k)
    assert sse(x, found) <= sse(x, labels) * (1 + 1e-12)
    sizes = np.bincount(found)
    assert len(sizes) == groups
    assert sizes.min() >= k
    assert sizes.max() <= 2 * k - 1
    again, _ = refined(x, labels, whole(len(x)), k)
    assert np.array_equal(found, again)


@tries(25)
@given(rng=seeds, k=st.integers(2, 3), n=st.integers(4, 9), ties=st.booleans())
def test_the_search_never_beats_the_optimum(rng, k, n, ties):
    x = rng.integers(0, 3, (n, 2)).astype(float) if ties else rng.normal(size=(n, 2))
    labels = np.minimum(np.arange(n) // k, n // k - 1)
    found, _ = refined(x, labels, whole(n), k)
    assert sse(x, found) >= optimum(x, k) - 1e-9


@given(start=starts(), rng=seeds)
def test_groups_of_any_size_are_cut_and_it_costs_nothing(start, rng):
    x, _, k = start
    labels = np.zeros(len(x), dtype=np.intp)
    found = cut_large_groups(x, labels, k)
    sizes = np.bincount(found)[np.unique(found)]
    assert sizes.min() >= k
    assert sizes.max() <= 2 * k + 1
    assert sse(x, found) <= sse(x, labels) * (1 + 1e-12)


def test_a_search_that_has_ended_finds_nothing_more():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(300, 3))
    groups = Groups(x, mdav(x, k=3).labels, 3)
    near = neighbour_lists(x, whole(300), 12)
    improve(groups, near)
    once = groups.labels.copy()
    improve(groups, near)
    assert np.array_equal(once, groups.labels)
    for name, exchange in EXCHANGES.items():
        assert not len(exchange(groups, near)), name


@tries(40)
@given(parts=st.lists(starts(high=25), min_size=2, max_size=4))
def test_each_stratum_is_refined_as_if_alone(parts):
    k = parts[0][2]
    parts = [(x[:, :1], labels) for x, labels, own in parts if own == k]
    x = np.concatenate([part for part, _ in parts])
    sizes = np.array([len(part) for part, _ in parts])
    offset = np.cumsum([0, *[labels.max() + 1 for _, labels in parts]])
    labels = np.concatenate([labels + o for (_, labels), o in zip(parts, offset, strict=False)])
    together, _ = refined(x, labels, sizes, k)
    alone = [refined(part, labels, whole(len(part)), k)[0] for part, labels in parts]
    for first, size, found in zip(np.cumsum(sizes) - sizes, sizes, alone, strict=True):
        assert np.array_equal(Partition.from_labels(together[first : first + size]).labels, found)


def test_large_strata_are_refined_in_patches(monkeypatch):
    rng = np.random.default_rng(12)
    x = rng.normal(size=(2600, 2))
    sizes = np.array([100, 1500, 40, 960])
    ends = np.cumsum(sizes)
    parts = [mdav(x[end - size : end], k=3).labels for end, size in zip(ends, sizes, strict=True)]
    labels = np.concatenate([part + end for part, end in zip(parts, ends, strict=True)])
    whole_search, _ = refined(x, labels, sizes, 3)
    monkeypatch.setattr(local_search, "WHOLE", 500)
    found, groups = refined(x, labels, sizes, 3)
    assert np.bincount(found).min() >= 3
    assert np.bincount(found).max() <= 5
    assert groups == found.max() + 1
    for end, size in zip(ends, sizes, strict=True):
        part = slice(end - size, end)
        assert sse(x[part], found[part]) < sse(x[part], labels[part])
        assert not set(found[part]) & set(np.delete(found, np.arange(end - size, end)))
    assert sse(x, found) < 1.05 * sse(x, whole_search)


LIMITS = {
    "tarragona": {3: 15.2, 4: 17.9, 5: 20.9, 10: 31.0},
    "census": {3: 5.3, 4: 6.9, 5: 8.15, 10: 12.3},
    "eia": {3: 0.372, 4: 0.511, 5: 0.78, 10: 2.07},
}


@pytest.mark.deep
@pytest.mark.parametrize(("name", "k"), [(name, k) for name in LIMITS for k in LIMITS[name]])
def test_reference_data_lose_this_little(name, k):
    x = reference(name)
    found, _ = refined(x, mdav(x, k=k).labels, whole(len(x)), k)
    assert loss(x, found) <= LIMITS[name][k]
    assert np.bincount(found).min() >= k


# --- Through the doors ------------------------------------------------------------------------

RECORD = [m.name for m in registry.methods().values() if m.unit == "record"]


@pytest.mark.parametrize("method", RECORD)
def test_every_record_method_is_refined_and_loses_no_more(method):
    rng = np.random.default_rng(6)
    frame = pl.DataFrame(rng.lognormal(size=(120, 2)), schema=["a", "b"])
    plain, better = (
        mg.mask(frame, ["a", "b"], 4, method=method, refine=better) for better in (False, True)
    )
    assert mg.loss(frame, better) <= mg.loss(frame, plain) * (1 + 1e-12)
    mg.verify(better, ["a", "b"], 4)


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_all_doors_refine_alike(engine):
    rng = np.random.default_rng(7)
    frame = pl.DataFrame(rng.normal(size=(90, 2)), schema=["a", "b"])
    eager = mg.mdav(frame, ["a", "b"], 3, refine=True)
    assert mg.loss(frame, eager) < mg.loss(frame, mg.mdav(frame, ["a", "b"], 3))
    lazy = mg.mdav(frame.lazy(), ["a", "b"], 3, refine=True).collect(engine=engine)
    bound = frame.microagg.mdav(["a", "b"], 3, refine=True)
    field = pl.struct("a", "b").microagg.mdav(3, refine=True).struct.unnest()
    assert eager.equals(lazy)
    assert eager.equals(bound)
    assert eager.equals(frame.select(field))


def test_strata_blocks_and_nulls_are_refined():
    rng = np.random.default_rng(8)
    frame = pl.DataFrame(rng.normal(size=(120, 4)), schema=["a", "b", "c", "d"])
    frame = frame.with_columns(s=pl.Series(rng.integers(0, 3, 120)))
    masked = mg.mdav(frame, [["a", "b"], ["c", "d"]], 3, strata="s", refine=True)
    alone = [mg.mdav(part, ["a", "b"], 3, refine=True) for part in frame.partition_by("s")]
    assert masked.sort("s", maintain_order=True)["a"].equals(
        pl.concat(alone).sort("s", maintain_order=True)["a"]
    )
    holes = frame.with_columns(pl.when(pl.col("a") > 0).then("b").alias("b"))
    for nulls in ("impute", "pattern"):
        mg.verify(mg.mdav(holes, ["a", "b"], 3, nulls=nulls, refine=True), ["a", "b"], 3)


def test_a_thousand_small_strata_take_no_time():
    import time

    rng = np.random.default_rng(9)
    frame = pl.DataFrame(rng.normal(size=(20_000, 3)), schema=["a", "b", "c"])
    frame = frame.with_columns(s=pl.Series(np.arange(20_000) % 1000))
    start = time.process_time()
    masked = mg.mdav(frame, ["a", "b", "c"], 3, strata="s", refine=True)
    assert time.process_time() - start < 5
    mg.verify(masked, ["a", "b", "c"], 3, strata="s")


def test_within_groups_the_squares_add_up():
    x = np.array([[0.0, 1.0], [2.0, 1.0], [5.0, 5.0]])
    assert squares_within(x, np.array([0, 0, 2])).tolist() == [1.0, 1.0, 0.0]
