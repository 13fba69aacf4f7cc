"""Groups by label, and the same groups listed one after the other."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polars_microagg.core.grouping import group_strata
from polars_microagg.core.partition import Grouping, Members, Partition
from polars_microagg.core.registry import methods
from polars_microagg.errors import GuaranteeError


def same_groups(one, other):
    """Return whether labels make the same groups, whatever their numbers; -1 is none."""
    assert ((one < 0) == (other < 0)).all()
    here = one >= 0
    renumbered = [Partition.from_labels(labels[here]).labels for labels in (one, other)]
    return np.array_equal(*renumbered)


@given(sizes=st.lists(st.integers(1, 4), min_size=1, max_size=9), seed=st.integers(0, 2**32 - 1))
def test_runs_along_an_order_are_the_partition_of_their_labels(sizes, seed):
    order = np.random.default_rng(seed).permutation(sum(sizes))
    labels = np.empty(len(order), dtype=np.intp)
    labels[order] = np.repeat(np.arange(len(sizes)), sizes)
    made, wanted = Partition.along(order, np.array(sizes)), Partition.from_labels(labels)
    assert np.array_equal(made.labels, wanted.labels)
    assert np.array_equal(made.sizes, wanted.sizes)
    assert (len(made), made.smallest) == (len(wanted), wanted.smallest)


@given(
    sizes=st.lists(st.integers(1, 4), max_size=9), more=st.integers(0, 5), seed=st.integers(0, 999)
)
def test_a_list_and_its_labels_are_the_same_groups(sizes, more, seed):
    rng = np.random.default_rng(seed)
    n = sum(sizes) + more
    rows = rng.permutation(n)[: sum(sizes)]
    listed = Grouping.by_list(Members(rows, np.array(sizes, dtype=np.intp)), n)
    labelled = Grouping.by_label(listed.labels, listed.count)
    assert listed.members is listed.listed
    assert sorted(np.flatnonzero(listed.labels < 0)) == sorted(set(range(n)) - set(rows.tolist()))
    for mine, theirs in zip(
        np.split(rows, np.cumsum(sizes)[:-1]),
        np.split(labelled.members.order, np.cumsum(labelled.sizes)[:-1]),
        strict=True,
    ):
        assert sorted(mine) == sorted(theirs)
    order = rng.permutation(n + 3)[:n]
    moved = labelled.rows(order, n + 3)
    assert same_groups(listed.rows(order, n + 3).labels, moved.labels)
    assert np.array_equal(moved.labels[order], labelled.labels)
    assert np.array_equal(listed.sizes, labelled.sizes)


def test_rows_are_all_if_each_is_listed_once():
    for order, sizes, n, wanted in (
        ([1, 0, 2], [2, 1], 3, True),
        ([], [], 0, True),
        ([1, 0, 1], [2, 1], 3, False),
        ([1, 0, 3], [2, 1], 3, False),
        ([1, 0, -1], [2, 1], 3, False),
        ([1, 0], [2], 3, False),
        ([1, 0, 2, 2], [4], 3, False),
        ([1, 0, 2], [2], 3, False),
        ([1, 0, 2], [2, 2], 3, False),
    ):
        listed = Members(np.array(order, dtype=np.intp), np.array(sizes, dtype=np.intp))
        assert listed.are_all(n) is wanted, (order, sizes)


def test_a_method_that_leaves_a_record_without_a_group_is_refused():
    def incomplete(x, /, *, k):
        labels = np.arange(len(x)) // k
        labels[-k:] = -1
        return Partition(labels, np.bincount(labels[labels >= 0]))

    method = replace(methods()["mdav"], name="incomplete", function=incomplete, lockstep=None)
    with pytest.raises(GuaranteeError, match="incomplete"):
        group_strata(method, np.zeros((9, 1)), np.array([9]), {"k": 3}, None)
