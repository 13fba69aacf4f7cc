"""Fuzzy c-means until every cluster has k records."""

from __future__ import annotations

import numpy as np
import pytest

from polars_microagg.core.registry import methods
from polars_microagg.methods._fuzzy_means import _degrees, fuzzy_means
from polars_microagg.methods.fuzzy import fuzzy
from polars_microagg.methods.mdav import mdav
from tests.methods.test_mdav import DRAWS


@pytest.mark.parametrize("kind", DRAWS)
def test_groups_have_k_to_2k_less_1_records(kind):
    rng = np.random.default_rng(len(kind))
    for seed in range(10):
        n, d, k = (int(rng.integers(*bounds)) for bounds in ((1, 60), (1, 4), (2, 6)))
        x = DRAWS[kind](rng, n, d)
        found = fuzzy(x, k=k, seed=seed, m=float(rng.choice([1.05, 1.1, 2.0])))
        assert n < 2 * k or k <= found.sizes.min() <= found.sizes.max() < 2 * k


def test_by_hand():
    # Far apart and tight, three clusters of k: c = 7 / 2 is 3, and every start that is spread out finds
    # them. 8, 9, 10 stay together, being fewer than 4.
    x = np.array([0.0, 1.0, 8.0, 9.0, 10.0, 20.0, 21.0])[:, None]
    assert fuzzy(x, k=2).labels.tolist() == [0, 0, 1, 1, 1, 2, 2]


def test_degrees_by_hand():
    # m = 2 and centres 0 and 3: a record at 1 has squared distances 1 and 4, so it belongs to the first
    # to the degree (1 / 1) / (1 / 1 + 1 / 4) = 4 / 5, and one at 2 to the degree 1 / 5. To the power m
    # these are 16 / 25 and 1 / 25. A record at a centre belongs to it alone.
    columns, centres = np.array([[0.0, 1.0, 2.0, 3.0]]), np.array([[0.0, 3.0]])
    nearest, weights = _degrees(columns, centres, 2.0, 1e-300)
    assert nearest.tolist() == [0, 0, 1, 1]
    expected = [(1, 0), (16 / 25, 1 / 25), (1 / 25, 16 / 25), (0, 1)]
    np.testing.assert_allclose(weights, expected, rtol=1e-12, atol=1e-12)


def test_two_passes_of_the_definition():
    # The same steps written out with all arrays in full.
    rng = np.random.default_rng(3)
    columns = rng.normal(size=(2, 40))
    columns -= columns.mean(axis=1, keepdims=True)
    m, clusters = 1.4, 5
    found = fuzzy_means(columns, clusters, m, 30, np.random.default_rng(1))
    start = np.random.default_rng(1)
    seeds = [int(start.integers(40))]
    for _ in range(clusters - 1):
        near = ((columns[:, :, None] - columns[:, None, seeds]) ** 2).sum(axis=0).min(axis=1)
        seeds.append(int(np.searchsorted(np.cumsum(near), start.random() * near.sum(), "right")))
    centres, labels = columns[:, seeds], None
    for _ in range(30):
        far = ((columns[:, :, None] - centres[:, None, :]) ** 2).sum(axis=0)
        new = far.argmin(axis=1)
        far = np.maximum(far, 1e-12 * (columns**2).sum(axis=0).max())
        if labels is not None and np.array_equal(new, labels):
            break
        labels = new
        ratio = (far[:, :, None] / far[:, None, :]) ** (1 / (m - 1))
        degrees = (1 / ratio.sum(axis=2)) ** m
        centres = columns @ degrees / degrees.sum(axis=0)
    assert np.array_equal(found, labels)


def test_equal_records_are_left_to_mdav():
    x = np.ones((23, 3))
    assert fuzzy(x, k=4).labels.tolist() == mdav(x, k=4).labels.tolist()


def test_the_same_seed_gives_the_same_groups_and_another_seed_others():
    x = np.random.default_rng(0).normal(size=(120, 3))
    first, again, other = (fuzzy(x, k=3, seed=s).labels for s in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_registered():
    entry = methods()["fuzzy"]
    assert (entry.seeded, entry.limit, entry.sizes) == (True, 5_000, "k..2k-1")
