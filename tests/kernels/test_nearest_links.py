"""The search for records linked to their own centroid, against all distances."""

import numpy as np
import pytest

from polars_microagg.kernels.equal_records import distinct
from polars_microagg.kernels.risk import nearest_links
from polars_microagg.kernels.risk.centroid_tree import CentroidTree

SLACK = 1e-12


def records(rng):
    """Records of many kinds: ties, duplicates, constants, tails, tight clusters far apart."""
    n, d = int(rng.integers(1, 301)), int(rng.integers(1, 9))
    normal = rng.standard_normal((n, d))
    clusters = rng.integers(0, 30, (n, 1)) * 1000.0
    kinds = (
        normal,
        rng.integers(0, 4, (n, d)).astype(float),
        np.exp(3 * normal),
        normal.round(1),
        np.repeat(normal[: -(-n // 3)], 3, axis=0)[:n],
        clusters + normal * 10.0 ** -rng.integers(0, 9),
        np.arange(n * d).reshape(n, d) % rng.integers(2, 50) * 1.0,
    )
    x = kinds[rng.integers(len(kinds))].copy()
    if rng.random() < 0.2:
        x[:, rng.integers(d)] = 7.0
    if rng.random() < 0.1:
        x[rng.random(x.shape) < 0.2] = -0.0
    return x


def release(rng, x):
    """Means of groups along an order, noise, or the records shuffled."""
    n, k, kind = len(x), int(rng.integers(2, 11)), rng.integers(4)
    if kind == 0:
        return x + rng.standard_normal(x.shape) * 10.0 ** -rng.integers(0, 6)
    if kind == 1:
        return rng.permutation(x)
    order = rng.permutation(n) if kind == 2 else np.argsort(x @ rng.standard_normal(x.shape[1]))
    labels = np.empty(n, dtype=np.intp)
    labels[order] = np.minimum(np.arange(n) // k, max(1, n // k) - 1)
    sums = np.stack([np.bincount(labels, column) for column in x.T], axis=1)
    return (sums / np.bincount(labels)[:, None])[labels]


def plainly(x, centroids, weights, own, slack):
    """The weight of the centroids at the least distance, if the own one is among them."""
    distances = np.sqrt(((x[:, None] - centroids) ** 2).sum(axis=2))
    tied = distances <= distances.min(axis=1)[:, None] + slack
    return np.where(tied[np.arange(len(x)), own], tied @ weights, 0.0)


def found(x, centroids, weights, own, slack):
    tree = CentroidTree(np.ascontiguousarray(centroids.T))
    return nearest_links.tied_weights(tree, weights, np.ascontiguousarray(x.T), own, slack)


def compare(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    # Small parts, so that tables of some hundred records have all levels.
    choices = {"REGION": (1, 16, 4096), "BLOCK": (1, 2, 8), "LEAF": (1, 2), "FAN": (2, 4)}
    choices |= {"ROWS": (4, 128), "PRODUCTS": (64, 2**22)}
    for name, values in choices.items():
        monkeypatch.setattr(nearest_links, name, int(rng.choice(values)))
    x = records(rng)
    y = release(rng, x)
    first, own = distinct(y)
    weights = np.bincount(own).astype(float)
    slack = SLACK * max(1.0, np.abs(x).max(), np.abs(y).max())
    arguments = x, y[first], weights, own, slack
    assert np.array_equal(found(*arguments), plainly(*arguments)), seed


@pytest.mark.parametrize("start", range(0, 100, 20))
def test_the_search_agrees_with_all_distances(start, monkeypatch):
    for seed in range(start, start + 20):
        compare(seed, monkeypatch)


@pytest.mark.deep
@pytest.mark.parametrize("start", range(1000, 2600, 200))
def test_the_search_agrees_with_all_distances_of_many_tables(start, monkeypatch):
    for seed in range(start, start + 200):
        compare(seed, monkeypatch)


@pytest.mark.parametrize("scale", [1e-150, 1e-30, 1e30, 1e150])
def test_what_single_precision_cannot_hold_is_decided_in_double(scale):
    rng = np.random.default_rng(1)
    x = rng.integers(0, 5, (200, 2)) * scale
    y = np.sort(x, axis=0)
    first, own = distinct(y)
    arguments = x, y[first], np.bincount(own).astype(float), own, 0.0
    assert np.array_equal(found(*arguments), plainly(*arguments))


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize(
    "far", [1e10, 1e15, 1e18, 1e19, 2e19, 1e20, 1e38, 1e100, 1e153, 1e160, 1e307]
)
def test_centroids_far_outside_change_nothing_of_what_is_near(far):
    """Part of the release lies so far away that squares overflow, in single precision or in double."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        x = rng.standard_normal((200, 1 + seed % 4))
        y = x.copy()
        moved = rng.random(200) < (0.02, 0.5, 0.98)[seed % 3]
        y[moved] = far * (1 + 0.1 * rng.standard_normal(y[moved].shape))
        if seed % 2:
            x[::5] = y[::5]
        first, own = distinct(y)
        arguments = x, y[first], np.bincount(own).astype(float), own, SLACK * far
        assert np.array_equal(found(*arguments), plainly(*arguments))


@pytest.mark.parametrize("g", [1, 2, 3, 7, 8, 9, 100, 1025])
def test_every_centroid_has_one_place_in_a_cell_whose_box_holds_it(g):
    columns = np.random.default_rng(g).integers(0, 9, (3, g)).astype(float)
    tree = CentroidTree(columns)
    assert np.array_equal(np.sort(tree.members[tree.real]), np.arange(g))
    assert np.array_equal(tree.members[tree.cell, tree.slot], np.arange(g))
    assert (np.concatenate([columns, -columns]) >= tree.bounds[:, tree.cell]).all()
    assert np.ptp(tree.real.sum(axis=1)) <= 1
    assert set(tree.cells_at(columns)) <= set(range(tree.count))
