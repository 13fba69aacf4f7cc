"""Neighbours of every record: the nearest of its stratum, ties to the lowest row."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polars_microagg.kernels import neighbour_lists as module
from polars_microagg.kernels.local import near_records
from polars_microagg.kernels.neighbour_lists import neighbour_lists
from tests.loop import rounds, tries

seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)


def whole(n):
    return np.array([n])


@tries(40)
@given(rng=seeds, ties=st.booleans(), data=st.data())
def test_neighbours_are_the_nearest_of_the_stratum_and_ties_go_to_the_lowest_row(rng, ties, data):
    sizes = np.array(data.draw(st.lists(st.integers(1, 40), min_size=1, max_size=6)))
    n, count = int(sizes.sum()), data.draw(st.integers(1, 12))
    x = rng.integers(0, 3, (n, 2)).astype(float) if ties else rng.normal(size=(n, 2))
    near = neighbour_lists(x, sizes, count)
    for first, size in zip(np.cumsum(sizes) - sizes, sizes, strict=True):
        for i in range(first, first + size):
            distances = (x[first : first + size, 0] - x[i, 0]) ** 2
            distances = distances + (x[first : first + size, 1] - x[i, 1]) ** 2
            distances[i - first] = np.inf
            wanted = first + np.argsort(distances, kind="stable")[: size - 1]
            wanted = np.append(wanted, [i] * count)[:count]
            assert near[i].tolist() == wanted.tolist()


@pytest.mark.parametrize("kind", ["normal", "integers", "equal"])
def test_neighbours_in_a_large_stratum_are_those_of_all_distances(kind):
    rng = np.random.default_rng(4)
    x = {
        "normal": rng.normal(size=(700, 3)),
        "integers": rng.integers(-3, 4, (700, 3)).astype(float),
        "equal": np.zeros((700, 3)),
    }[kind]
    near = neighbour_lists(x, whole(700), 9)
    every = ((x[:, None] - x[None]) ** 2).sum(axis=2)
    np.fill_diagonal(every, np.inf)
    found = np.take_along_axis(every, near, axis=1)
    assert found == pytest.approx(np.sort(every, axis=1)[:, :9], abs=1e-12)
    assert (near != np.arange(700)[:, None]).all()
    if kind == "integers":
        assert (near == np.argsort(every, axis=1, kind="stable")[:, :9]).all()


def hostile(rng, n, d):
    """Records with ties, crowds, far outliers, offsets, and of any scale."""
    x = rng.normal(size=(n, d))
    how = int(rng.integers(9))
    if how == 0:
        x = rng.integers(0, int(rng.integers(1, 9)), (n, d)).astype(float)
    elif how == 1:
        x = np.exp(4 * x)
    elif how == 2:
        x[rng.integers(0, n, 3)] *= 1e6
    elif how == 3:
        x = np.round(x, 1) + 1e8
    elif how == 4:
        x = x[rng.integers(0, 1 + n // 7, n)]
    elif how == 5:
        x *= 10.0 ** rng.integers(-150, 150)
    elif how == 6:
        x = x * 1e-4 + rng.integers(0, 3, (n, 1)) * 50
    elif how == 7:
        x[:, 0] = np.arange(n) % 5
        x[rng.random((n, d)) < 0.3] = -0.0
    return x


def plain(x, count):
    """The nearest records by all distances, equally near ones by row."""
    every = np.zeros((len(x), len(x)))
    for column in x.T:
        every += np.square(column - column[:, None])
    np.fill_diagonal(every, np.inf)
    return np.argsort(every, axis=1, kind="stable")[:, :count]


@pytest.mark.parametrize("seed", range(rounds(120)))
def test_blocks_that_may_be_near_have_all_neighbours(seed, monkeypatch):
    rng = np.random.default_rng([7, seed])
    n, d, count = int(rng.integers(257, 900)), int(rng.integers(1, 4)), int(rng.integers(1, 40))
    x = hostile(rng, n, d)
    x -= x.mean(axis=0)
    monkeypatch.setattr(module, "BLOCKED", 0)
    monkeypatch.setattr(near_records, "BLOCK", int(rng.integers(3, 30)))
    monkeypatch.setattr(near_records, "LEAST", int(rng.integers(2, 9)))
    monkeypatch.setattr(near_records, "EACH", 1)
    blocks, close = module._close_blocks(x, count)
    # However many blocks may be near, they have all neighbours.
    monkeypatch.setattr(module, "_close_blocks", lambda *_: (blocks, Few(close)))
    assert np.array_equal(neighbour_lists(x, whole(n), count), plain(x, count))


@pytest.mark.parametrize("seed", range(rounds(120)))
def test_all_neighbours_are_found_beside_far_ones(seed):
    rng = np.random.default_rng([8, seed])
    n, d, count = int(rng.integers(257, 700)), int(rng.integers(1, 7)), int(rng.integers(1, 40))
    x = hostile(rng, n, d)
    if seed % 2:
        x[rng.integers(0, n, 3)] += 10.0 ** rng.integers(2, 9) * np.abs(x).max()
    x -= x.mean(axis=0)
    assert np.array_equal(neighbour_lists(x, whole(n), count), plain(x, count))


class Few(np.ndarray):
    """Blocks that are taken to be few."""

    def __new__(cls, close):
        return close.view(cls)

    @property
    def size(self):
        return 2 * np.asarray(self).size


def test_most_blocks_are_not_looked_at():
    blocks, close = module._close_blocks(np.random.default_rng(1).normal(size=(6000, 3)), 16)
    assert len(blocks) > 50
    assert close.mean() < 1 / 3
