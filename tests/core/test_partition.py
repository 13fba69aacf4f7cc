"""Groups and strata."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polars_microagg.core.partition import Members, Partition, Strata

NAN = np.nan
seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)


@pytest.mark.parametrize(
    ("given_labels", "labels", "sizes"),
    [
        ([7, 2, 7, 2, 2], [0, 1, 0, 1, 1], [2, 3]),
        ([0, 1, 2], [0, 1, 2], [1, 1, 1]),
        ([2, 1, 0], [0, 1, 2], [1, 1, 1]),
        ([5, 5, 5], [0, 0, 0], [3]),
        ([1, 0, 0, 1, 9], [0, 1, 1, 0, 2], [2, 2, 1]),
        ([], [], []),
    ],
)
@pytest.mark.parametrize("dtype", [np.int8, np.uint32, np.int64])
def test_groups_are_numbered_by_their_first_record(dtype, given_labels, labels, sizes):
    partition = Partition.from_labels(np.array(given_labels, dtype=dtype))
    assert partition.labels.tolist() == labels
    assert partition.sizes.tolist() == sizes
    assert len(partition) == len(sizes)
    assert partition.smallest == min(sizes, default=0)


@pytest.mark.parametrize("labels", [[-1, 0, 0], [0, -2], [-1], [-3, -3]])
def test_a_record_of_no_group_is_refused(labels):
    with pytest.raises(ValueError, match="negative"):
        Partition.from_labels(np.array(labels))


@given(labels=st.lists(st.integers(0, 12), max_size=40), rng=seeds)
def test_the_same_groups_have_the_same_labels_whatever_they_are_called(labels, rng):
    labels = np.array(labels, dtype=np.intp)
    renamed = rng.permutation(13)[labels]
    one, other = Partition.from_labels(labels), Partition.from_labels(renamed)
    assert np.array_equal(one.labels, other.labels)
    assert np.array_equal(one.sizes, other.sizes)
    assert np.array_equal(np.bincount(one.labels), one.sizes)
    firsts = [one.labels.tolist().index(g) for g in range(len(one))]
    assert firsts == sorted(firsts)


def rows(strata):
    return [part.tolist() for part in strata.rows()]


def test_the_whole_is_one_stratum_and_nothing_is_none():
    assert rows(Strata.whole(3)) == [[0, 1, 2]]
    assert rows(Strata.whole(0)) == []
    assert Strata.whole(0).sizes.tolist() == []


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        ([[NAN], [1], [NAN]], [[1], [0, 2]]),
        ([[1], [2]], [[0, 1]]),
        ([[NAN], [NAN]], [[0, 1]]),
        # Patterns in ascending order: complete, second absent, first absent, both absent.
        ([[NAN, NAN], [NAN, 1], [1, NAN], [1, 1], [NAN, 2]], [[3], [2], [1, 4], [0]]),
    ],
)
def test_strata_are_split_by_what_is_absent(x, expected):
    assert rows(Strata.whole(len(x)).by_pattern(np.array(x, dtype=float))) == expected


def test_each_stratum_is_split_on_its_own():
    x = np.array([[1.0], [NAN], [2.0], [NAN], [NAN]])
    strata = Strata(np.array([1, 2, 3, 0, 4]), np.array([3, 2]))
    assert rows(strata.by_pattern(x)) == [[2], [1, 3], [0], [4]]


@given(rng=seeds)
def test_a_split_keeps_every_row_once_in_its_stratum_and_in_order(rng):
    n = int(rng.integers(1, 40))
    key = rng.integers(0, 3, n)
    order = np.argsort(key, kind="stable")
    sizes = np.bincount(key)
    strata = Strata(order, sizes[sizes > 0])
    x = np.where(rng.random((n, 2)) < 0.4, NAN, 1.0)
    parts = rows(strata.by_pattern(x))
    assert sorted(row for part in parts for row in part) == list(range(n))
    for part in parts:
        assert part == sorted(part)
        assert len(set(key[part])) == 1
        assert len({tuple(pattern) for pattern in np.isnan(x[part])}) == 1
    marks = {(key[part[0]], *np.isnan(x[part[0]])) for part in parts}
    assert len(marks) == len(parts)


def test_only_some_strata_are_kept_with_their_first_rows():
    strata = Strata(np.array([4, 0, 1, 2, 3]), np.array([2, 1, 2]))
    assert strata.firsts.tolist() == [4, 1, 2]
    assert rows(strata.only(np.array([True, False, True]))) == [[4, 0], [2, 3]]
    assert rows(strata.only(np.array([False, False, False]))) == []
    assert rows(strata.only(np.array([True, True, True]))) == rows(strata)


@pytest.mark.parametrize("n", range(1, 9))
def test_members_are_listed_group_by_group_in_the_order_of_their_rows(n):
    rows, labels = np.arange(n)[::-1] * 3, np.arange(n) * 5 % 3
    members = Members.of(rows, labels, 4)
    by_hand = [
        [int(row) for row, at in zip(rows, labels, strict=True) if at == g] for g in range(4)
    ]
    assert members.order.tolist() == [row for group in by_hand for row in group]
    assert members.sizes.tolist() == [len(group) for group in by_hand]
    assert members.starts.tolist() == [sum(map(len, by_hand[:g])) for g in range(4)]
    assert members.sizes.dtype == np.intp


@pytest.mark.parametrize("chosen", [[], [1], [3, 0], [2, 2, 1], [0, 1, 2, 3]])
def test_members_of_some_groups_are_theirs_in_that_order(chosen):
    rows = [[7, 9], [], [3], [1, 0, 5]]
    members = Members(np.array([7, 9, 3, 1, 0, 5]), np.array([2, 0, 1, 3]))
    taken = members.take(np.array(chosen, dtype=np.intp))
    assert taken.order.tolist() == [row for group in chosen for row in rows[group]]
    assert taken.sizes.tolist() == [len(rows[group]) for group in chosen]


def test_members_of_no_rows_are_none():
    none = Members.of(np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp), 2)
    assert (none.order.tolist(), none.sizes.tolist(), none.starts.tolist()) == ([], [0, 0], [0, 0])


def test_rows_that_are_left_out_take_empty_strata_with_them():
    strata = Strata(np.array([0, 2, 1, 3]), np.array([2, 1, 1]))
    left = strata.without(np.array([False, True, True, False]))
    assert left.order.tolist() == [0, 3]
    assert left.sizes.tolist() == [1, 1]
    assert left.numbers(4).tolist() == [0, -1, -1, 1]
    assert rows(strata.without(np.ones(4, dtype=bool))) == []
    assert strata.without(np.zeros(4, dtype=bool)) is strata
