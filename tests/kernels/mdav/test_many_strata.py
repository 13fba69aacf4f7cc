"""Many strata side by side have the groups that each has alone."""

import itertools

import numpy as np
import pytest

import polars_microagg.kernels.mdav.many_strata as many_strata
from polars_microagg.core.partition import Partition
from polars_microagg.methods.mdav import mdav

KINDS = {
    "gaussian": lambda rng, shape: rng.normal(size=shape),
    "ties": lambda rng, shape: rng.integers(0, 3, shape).astype(float),
    "integers": lambda rng, shape: rng.integers(0, 10, shape).astype(float),
    "equal": lambda rng, shape: np.zeros(shape),
    "rounded": lambda rng, shape: np.round(rng.lognormal(size=shape), 1),
    "mostly zero": lambda rng, shape: rng.integers(0, 2, shape) * rng.normal(size=shape),
}


def alone(x, sizes, k):
    """The groups of each stratum by itself, each numbered by first record."""
    ends = np.cumsum(sizes)
    return [mdav(x[end - size : end], k=k).labels for size, end in zip(sizes, ends, strict=True)]


def side_by_side(x, sizes, k):
    labels, groups = many_strata.mdav_of_strata(x, sizes, k=k)
    assert sorted(set(labels.tolist())) == list(range(groups))
    parts = np.split(labels, np.cumsum(sizes)[:-1])
    for one, other in itertools.pairwise(parts):
        assert not set(one) & set(other)
    return [Partition.from_labels(part).labels for part in parts]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cells", [1, 1 << 18])
def test_strata_side_by_side_have_the_groups_of_each_alone(kind, cells, monkeypatch):
    monkeypatch.setattr(many_strata, "CELLS", cells)
    rng = np.random.default_rng(7)
    for _ in range(60):
        k = int(rng.integers(2, 7))
        sizes = rng.integers(k, 60, int(rng.integers(1, 12)))
        x = np.asfortranarray(KINDS[kind](rng, (int(sizes.sum()), int(rng.integers(1, 6)))))
        for ours, theirs in zip(side_by_side(x, sizes, k), alone(x, sizes, k), strict=True):
            assert ours.tolist() == theirs.tolist()


def test_a_record_swallowed_by_the_first_group_is_replaced_by_the_next_farthest():
    # All six records are equal: r = 0 and s = 0, which r's group takes; the record now farthest
    # from r is 2, the lowest left.
    labels, _ = many_strata.mdav_of_strata(np.zeros((6, 1)), np.array([6]), k=2)
    assert labels.tolist() == [0, 0, 1, 1, 2, 2]
