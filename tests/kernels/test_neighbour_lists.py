"""Neighbours of every record: the nearest of its stratum, ties to the lowest row."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polars_microagg.kernels.neighbour_lists import neighbour_lists
from tests.loop import tries

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
