"""Two groupings crossed: never worse than either, and made of groups of the two."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from polars_microagg.kernels.local.crossover import crossed
from tests.kernels.local.test_moves_and_swaps import sse

seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)


def sets(labels):
    return {tuple(np.flatnonzero(labels == g)) for g in np.unique(labels)}


def joined(one, two):
    """The parts that neither grouping cuts, by following the links of one record at a time."""
    left, parts = set(range(len(one))), []
    while left:
        part = {left.pop()}
        while True:
            more = {j for j in left for i in part if one[i] == one[j] or two[i] == two[j]}
            if not more:
                break
            part |= more
            left -= more
        parts.append(np.array(sorted(part)))
    return parts


@given(rng=seeds, n=st.integers(1, 30), groups=st.integers(1, 9))
def test_of_each_part_the_better_grouping_is_taken(rng, n, groups):
    x = rng.integers(0, 9, (n, 2)).astype(float)
    one, two = rng.integers(0, groups, n), rng.integers(0, groups, n)
    # Some records grouped alike, so that there is more than one part.
    two = np.where(x[:, 0] < 5, one, two + groups)
    found = crossed(x, one, two)
    assert sets(found) <= sets(one) | sets(two)
    least = sum(min(sse(x[p], one[p]), sse(x[p], two[p])) for p in joined(one, two))
    assert abs(sse(x, found) - least) < 1e-9
    assert np.array_equal(np.unique(found), np.arange(found.max() + 1))


def test_of_two_groupings_alike_the_first_is_kept():
    x = np.arange(4.0)[:, None]
    assert crossed(x, np.array([3, 3, 1, 1]), np.array([0, 0, 1, 1])).tolist() == [0, 0, 1, 1]
