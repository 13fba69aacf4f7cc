"""The floor of tables with equal records: the same as from all distances, and as soon found."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polars_microagg.kernels.risk import lower_bound, neighbour_floors
from polars_microagg.kernels.risk.lower_bound import ROUNDING, neighbour_bound
from tests.loop import tries

seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)


def plain(x, k):
    """The floor from all distances."""
    every = np.sort(((x[:, None] - x[None]) ** 2).sum(axis=2), axis=1)
    return every[:, 1:k].sum() / (2 * k) * (1 - ROUNDING)


def few_values(rng, n, d, k):
    return rng.integers(0, 3, (n, d)).astype(float)


def one_crowd(rng, n, d, k):
    x = rng.normal(size=(n, d))
    x[rng.random(n) < rng.random()] = x[-1]
    return x


def crowds_of_about_k(rng, n, d, k):
    """Classes of k - 1, k and k + 1 records, where it matters how many are still missing."""
    return np.repeat(rng.normal(size=(n, d)), rng.integers(k - 1, k + 2, n), axis=0)[:n]


def far_apart(rng, n, d, k):
    return rng.integers(0, 2, (n, d)) * 1e8 + rng.integers(0, 3, (n, d)) * 1e-3


def zeros_of_both_signs(rng, n, d, k):
    x = np.where(rng.random((n, d)) < 0.5, -0.0, 0.0)
    return np.where(rng.random((n, d)) < 0.3, 1.0, x)


KINDS = [few_values, one_crowd, crowds_of_about_k, far_apart, zeros_of_both_signs]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@tries(60)
@given(rng=seeds, k=st.integers(2, 7), more=st.integers(0, 30), d=st.integers(1, 3))
def test_ties_change_no_floor(kind, rng, k, more, d):
    x = np.ascontiguousarray(kind(rng, k + more, d, k))
    wanted = plain(x, k)
    assert neighbour_bound(x, k) == pytest.approx(wanted, rel=1e-12, abs=0)
    mixed = np.ascontiguousarray(x[rng.permutation(len(x))])
    assert neighbour_bound(mixed, k) == pytest.approx(wanted, rel=1e-12, abs=0)


def test_by_hand():
    # Twice 0, once 1, four times 3; k = 3. A 0 misses one: 1. The 1 takes both 0: 1 + 1. A 3 has all.
    x = np.array([[0.0], [0.0], [1.0], [3.0], [3.0], [3.0], [3.0]])
    assert neighbour_bound(x, 3) == pytest.approx((1 + 1 + 2) / 6)
    assert neighbour_bound(np.zeros((9, 2)), 4) == 0


@pytest.mark.parametrize("k", [2, 5, 60])
def test_ties_among_many_records_never_raise_the_floor_too_far(monkeypatch, k):
    rng = np.random.default_rng(k)
    x = rng.normal(size=(2000, 2))
    x[:800] = x[rng.integers(800, 850, 800)]
    monkeypatch.setattr(neighbour_floors, "WHOLE", 100)
    monkeypatch.setattr(neighbour_floors, "LEAF", 64)
    found, wanted = neighbour_bound(x, k), plain(x, k)
    assert 0.5 * wanted < found <= wanted * (1 + 1e-12)


@pytest.mark.parametrize("k", [60, 120, 199, 200])
def test_a_leaf_has_as_many_others_as_a_large_k_wants(monkeypatch, k):
    monkeypatch.setattr(neighbour_floors, "WHOLE", 100)
    monkeypatch.setattr(neighbour_floors, "LEAF", 64)
    x = np.random.default_rng(k).normal(size=(1500, 3))
    found, wanted = neighbour_bound(x, k), plain(x, k)
    assert 0.2 * wanted < found <= wanted * (1 + 1e-12)


def test_equal_records_are_looked_at_once(monkeypatch):
    seen, found = [], lower_bound.listed_neighbours
    monkeypatch.setattr(
        lower_bound, "listed_neighbours", lambda x, count: seen.append(len(x)) or found(x, count)
    )
    x = np.random.default_rng(0).normal(size=(3000, 3))
    x[300:] = x[0]
    assert neighbour_bound(x, 5) > 0
    assert seen == [300]
