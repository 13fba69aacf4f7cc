"""The genetic algorithm: Lemma 1, seeds, repair, and the optimum of small data."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polars_microagg.core.partition import Labels, Matrix
from polars_microagg.core.registry import methods
from polars_microagg.methods._evolution import Evolution, evolved, split_oversized
from polars_microagg.methods.genetic import genetic
from polars_microagg.methods.mdav import mdav
from tests.loop import tries
from tests.methods.plain import sse
from tests.methods.test_mdav import DRAWS
from tests.methods.test_univariate import all_groupings
from tests.reference import reference


def total(x: Matrix, labels: Labels) -> float:
    return sum(sse(x, np.flatnonzero(labels == g)) for g in range(labels.max() + 1))


@pytest.mark.parametrize("kind", DRAWS)
def test_two_steps_are_never_worse_than_mdav(kind):
    rng = np.random.default_rng(len(kind))
    for seed in range(12):
        n, d, k = (int(rng.integers(*bounds)) for bounds in ((1, 120), (1, 4), (2, 6)))
        x = DRAWS[kind](rng, n, d)
        found = genetic(
            x,
            k=k,
            macro=int(rng.integers(4, 40)),
            population=int(rng.integers(2, 12)),
            generations=int(rng.integers(0, 30)),
            seed=seed,
        )
        assert total(x, found.labels) <= total(x, mdav(x, k=k).labels) * (1 + 1e-12)
        assert n < 2 * k or k <= found.sizes.min() <= found.sizes.max() < 2 * k


@tries(60)
@given(st.data())
def test_any_options_make_groups_of_k(data):
    draw = data.draw
    n, d, k = draw(st.integers(1, 50)), draw(st.integers(1, 3)), draw(st.integers(2, 6))
    record = st.lists(st.integers(-3, 3), min_size=d, max_size=d)
    x = np.array(draw(st.lists(record, min_size=n, max_size=n)), dtype=np.float64)
    found = genetic(
        x,
        k=k,
        steps=draw(st.sampled_from([1, 2])),
        macro=draw(st.integers(4, 60)),
        population=draw(st.integers(2, 7)),
        generations=draw(st.integers(0, 5)),
        mutation=draw(st.sampled_from([0.0, 0.1, 1.0])),
        crossover=draw(st.sampled_from([0.0, 0.5, 1.0])),
        seed=draw(st.integers(0, 9)),
    )
    assert n < 2 * k or k <= found.sizes.min() <= found.sizes.max() < 2 * k


@pytest.mark.parametrize(("n", "k"), [(8, 2), (9, 3), (10, 3)])
def test_small_data_reach_the_optimum(n, k):
    groupings = all_groupings(n, k)
    for seed in range(4):
        x = np.random.default_rng(seed).normal(size=(n, 2))
        least = min(total(x, labels) for labels in groupings)
        for steps in (1, 2):
            labels = genetic(x, k=k, steps=steps, generations=600, seed=seed).labels
            assert total(x, labels) == pytest.approx(least, rel=1e-9)


def test_natural_groups_that_mdav_splits_come_together():
    # Natural groups of 4, 3 and 3, k = 3. MDAV takes 20 21 22 and 0 1 2, so that 3 goes with 8 9 10.
    x = np.array([0, 1, 2, 3, 8, 9, 10, 20, 21, 22.0])[:, None]
    assert mdav(x, k=3).labels.tolist() == [0, 0, 0, 1, 1, 1, 1, 2, 2, 2]
    for steps in (1, 2):
        labels = genetic(x, k=3, steps=steps, generations=300).labels
        assert labels.tolist() == [0, 0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_the_same_seed_gives_the_same_groups_and_another_seed_others():
    x = np.random.default_rng(0).normal(size=(200, 4))
    options = {"k": 3, "generations": 200}
    first, again, other = (genetic(x, **options, seed=s).labels for s in (5, 5, 6))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_more_generations_are_never_worse():
    x = np.random.default_rng(1).normal(size=(150, 3))
    losses = [total(x, genetic(x, k=3, generations=g).labels) for g in (0, 20, 200)]
    assert losses == sorted(losses, reverse=True)
    assert losses[2] < losses[0]


@pytest.mark.parametrize(("name", "k", "most"), [("census", 3, 799), ("eia", 3, 217)])
def test_it_improves_on_the_sse_of_table_2(name, k, most):
    x = reference(name)
    assert total(x, genetic(x, k=k, macro=12, generations=150).labels) < 0.99 * most


def test_macrogroups_evolve_as_if_each_were_first():
    # The random numbers differ, so the groups may; the best of each is at least as good as its start.
    rng = np.random.default_rng(2)
    records = [rng.normal(size=(size, 2)) for size in (12, 14, 15, 12)]
    start = [mdav(part, k=3).labels for part in records]
    how = Evolution(3, 10, 60, 0.1, 0.5)
    found = evolved(records, start, how, rng, lambda generations: None)
    for part, before, after in zip(records, start, found, strict=True):
        sizes = np.bincount(after)
        assert set(sizes[sizes > 0]) <= {3, 4, 5}
        assert len(after) == len(part)
        dense = np.unique(after, return_inverse=True)[1]
        assert total(part, dense) <= total(part, before) * (1 + 1e-9)


def test_large_groups_are_split_by_rank():
    # k = 2: the five records of group 0 in order of rank are 1, 3, 4 | 2, 0 cut after two: rows 1, 3
    # stay, the others take the number that is not used. Spare places, in group 2, stay.
    found = split_oversized(
        np.array([[0, 0, 0, 0, 0, 2]]), np.array([[5, 0, 1]]), np.array([[4, 0, 3, 1, 2, 5]]), 2
    )
    assert found.tolist() == [[1, 0, 1, 0, 1, 2]]
    for sizes in product((3, 5, 6, 9, 13), (4, 7)):
        group = np.repeat([0, 1], sizes)
        groups = len(group) // 3
        counts = np.bincount(group, minlength=groups + 1)[None]
        rank = np.random.default_rng(0).permutation(len(group))[None]
        split = np.bincount(split_oversized(group[None], counts, rank, 3)[0])
        assert set(split[split > 0]) <= {3, 4, 5}


def test_registered():
    entry = methods()["genetic"]
    assert entry.seeded
    paper = {"steps": 2, "macro": 27, "population": 10, "mutation": 0.1, "crossover": 0.5}
    assert {name: entry.options[name].default for name in paper} == paper
