"""Records that are in no group."""

from __future__ import annotations

import numpy as np
import pytest

from polars_microagg.kernels.leftover_records import join_last, join_leftover
from tests.methods import plain
from tests.methods.test_mdav import DRAWS


@pytest.mark.parametrize("kind", DRAWS)
def test_each_joins_the_nearest_group_as_in_the_plain_version(kind: str) -> None:
    rng = np.random.default_rng(len(kind))
    for _ in range(40):
        k, n, d = int(rng.integers(2, 6)), int(rng.integers(12, 50)), int(rng.integers(1, 5))
        plainly = plain.Plain(DRAWS[kind](rng, n, d), k)
        order, grouped = rng.permutation(n), n - int(rng.integers(0, k))
        plainly.groups = [sorted(rows.tolist()) for rows in np.array_split(order[:grouped], n // k)]
        plainly.left = sorted(order[grouped:].tolist())
        groups = [np.array(group) for group in plainly.groups]
        found = join_leftover(np.ascontiguousarray(plainly.z.T, dtype=np.float64), groups)
        joined = plainly.join()
        for number, group in enumerate(joined):
            assert np.flatnonzero(found == number).tolist() == sorted(group)


def test_centroids_are_those_before_any_record_is_added() -> None:
    # 4 is nearer to 1 than to 10, and 5.6 nearer to 10, though not to 2, the mean of 0 2 4.
    columns = np.array([[0.0, 2.0, 9.0, 11.0, 4.0, 5.6]])
    groups = [np.array([0, 1]), np.array([2, 3])]
    assert join_leftover(columns, groups).tolist() == [0, 0, 1, 1, 0, 1]


def test_of_equally_near_groups_it_is_the_one_formed_first() -> None:
    columns = np.array([[0.0, 0.0, 8.0, 8.0, 4.0]])
    groups = [np.array([2, 3]), np.array([0, 1])]
    assert join_leftover(columns, groups).tolist() == [1, 1, 0, 0, 0]
    assert join_last(columns, groups, 2).tolist() == [1, 1, 0, 0, 0]


def test_together_they_join_one_of_the_last() -> None:
    # 1 and 7 have the mean 4: nearest is 3.5 of the group formed first, then 8, then 20.
    columns = np.array([[3.0, 4.0, 8.0, 8.0, 20.0, 20.0, 1.0, 7.0]])
    groups = [np.array([0, 1]), np.array([2, 3]), np.array([4, 5])]
    assert join_last(columns, groups, 2).tolist() == [0, 0, 1, 1, 2, 2, 1, 1]
    assert join_last(columns, groups, 3).tolist() == [0, 0, 1, 1, 2, 2, 0, 0]
    assert join_last(columns, groups, 1).tolist() == [0, 0, 1, 1, 2, 2, 2, 2]


def test_nothing_is_left() -> None:
    columns = np.array([[0.0, 1.0, 9.0]])
    groups = [np.array([2]), np.array([0, 1])]
    assert join_leftover(columns, groups).tolist() == [1, 1, 0]
    assert join_last(columns, groups, 2).tolist() == [1, 1, 0]
