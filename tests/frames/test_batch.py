"""The check of the promise by itself: what is counted, where, and what passes."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.core.partition import Grouping, Members, Strata
from polars_microagg.core.plan import Plan
from polars_microagg.frames.attributes import entity_of
from polars_microagg.frames.batch import BatchMasker, _alike

pytestmark = pytest.mark.whole


def check(columns, labels, k, strata=None, **options):
    """Hold emitted columns against the promise; strata are lists of rows."""
    masker = BatchMasker(
        Plan.make("mdav", k, **options).bind([[str(i) for i in range(len(columns))]])
    )
    here = Strata.whole(len(labels))
    if strata is not None:
        order = np.array([row for rows in strata for row in rows], dtype=np.intp)
        here = Strata(order, np.array([len(rows) for rows in strata], dtype=np.intp))
    groups = Grouping.by_label(np.array(labels, np.intp), max(labels) + 1)
    masker.keep_promise([pl.Series("^a$", c) for c in columns], groups, here)


def refused(smallest, *given, **options):
    with pytest.raises(mg.GuaranteeError, match=rf"class of {smallest} record\(s\)"):
        check(*given, **options)


def test_groups_whose_records_are_alike_are_not_counted_again():
    assert _alike([pl.Series([1, 1, 2, 2])], np.array([0, 0, 1, 1]))
    assert _alike([pl.Series([1, 1, 2, 2])], np.array([3, 3, 7, 7]))
    assert _alike([pl.Series([None, 1, None, 1])], np.array([-1, 0, -1, 0]))
    assert not _alike([pl.Series([1, 1, 2, 1])], np.array([0, 0, 1, 1]))
    assert not _alike([pl.Series([1, 2, 2, 2])], np.array([0, 0, 1, 1]))
    assert not _alike([pl.Series([1] * 4), pl.Series([1, 1, 1, 2])], np.array([0, 0, 1, 1]))
    assert not _alike([pl.Series([None, 1, 1, 1])], np.array([-1, 0, -1, 0]))


def test_groups_of_alike_records_that_are_too_small_are_counted():
    check([[1, 1, 2, 2]], [0, 0, 1, 1], 2)
    check([[1, 1, 1, 1]], [0, 0, 1, 1], 3)  # two groups are one class
    refused(2, [[1, 1, 2, 2]], [0, 0, 1, 1], 3)
    refused(1, [[1, 1, 2]], [0, 0, 1], 2)


def test_classes_are_counted_where_groups_are_not_alike():
    check([[1, 2, 1, 2]], [0, 0, 1, 1], 2)
    check([[1, 2, 1, 2], [0, 0, 0, 0]], [0, 0, 1, 1], 2)
    refused(1, [[1, 2, 1, 2], [0, 0, 0, 1]], [0, 0, 1, 1], 2)
    refused(2, [[1, 2, 1, 2]], [0, 0, 1, 1], 3)
    refused(1, [[1, 2, 2, 2]], [0, 0, 1, 1], 2)
    refused(1, [[None, 2, 2, 2]], [0, 0, 0, 0], 2)


def test_classes_are_counted_in_each_stratum():
    values, labels = [[1, 1, 1, 1]], [0, 1, 1, 1]
    check(values, labels, 2)
    check(values, labels, 2, [[0, 1], [2, 3]])
    refused(1, values, labels, 2, [[0], [1, 2, 3]])
    refused(2, values, labels, 3, [[0, 3], [1, 2]])


def test_entities_whose_rows_are_those_of_too_few_are_counted():
    plan = Plan.make("mdav", 2, entity="who", entity_mode="alike").bind([["0"]])
    block, labels = [pl.Series([1, 1, 2, 2, 3, 3])], np.array([0, 0, 1, 1, 2, 2], np.intp)
    for who, broken in ((list("ababab"), False), (list("abbcca"), True)):
        rule = plan.rule(entity_of([pl.Series(who)], ["who"]))
        given = block, Grouping.by_label(labels, 3), Strata.whole(6), rule
        if not broken:
            BatchMasker(plan).keep_promise(*given)
            continue
        with pytest.raises(mg.GuaranteeError, match=r"class of 1 entities alike"):
            BatchMasker(plan).keep_promise(*given)


def listed(order, sizes, n):
    """Groups as a method lists them, with the labels that they claim."""
    members = Members(np.array(order, np.intp), np.array(sizes, np.intp))
    return Grouping.by_list(members, n)


@pytest.mark.parametrize(
    ("emitted", "order", "sizes", "smallest"),
    [
        ([1, 2, 1, 2], [0, 2, 1, 3], [2, 2], None),
        ([1, 2, 1, 2], [0, 1, 2, 3], [2, 2], None),  # other groups, but every class has two
        ([1, 1, 1, 1], [0, 1, 2, 3], [2, 2], None),
        ([None, 2, None, 2], [0, 2, 1, 3], [2, 2], None),
        ([1, 1, 2, 3], [0, 1, 0, 1], [2, 2], 1),  # rows listed twice
        ([1, 1, 2, 2, 3], [0, 1, 2, 3], [2, 2], 1),  # a row left out
        ([1, 1, 2, 2, 3], [0, 1, 2, 3, 3], [2, 3], 1),
        ([1, 2, 2, 2], [1, 2, 3, 0], [2, 2], 1),  # groups of two that are not alike
        ([1, 2, 2, 2], [1, 2, 3, 0], [4], 1),
        ([1, 2, 2, 2], [1, 2, 3, 0], [3, 1], 1),  # a group of one
        ([1, 2, 2, 2], [1, 2, 3, 0], [3, 0, 1], 1),
        ([1, 2, 2, 2], [1, 2, 3, 0], [2, 3], 1),  # more records than there are
        ([None, 2, 2, 2], [1, 2, 3, 0], [4], 1),
    ],
)
def test_a_list_of_groups_is_held_against_what_is_emitted(emitted, order, sizes, smallest):
    masker = BatchMasker(Plan.make("univariate", 2).bind([["0"]]))
    for dtype in (pl.Float64, pl.Int8, pl.String, pl.Date):
        column = pl.Series([v if dtype != pl.String else v and str(v) for v in emitted])
        given = [column.cast(dtype)], listed(order, sizes, len(emitted)), Strata.whole(len(emitted))
        if smallest is None:
            masker.keep_promise(*given)
            continue
        with pytest.raises(mg.GuaranteeError, match=rf"class of {smallest} record\(s\)"):
            masker.keep_promise(*given)


def test_a_list_of_groups_is_held_against_what_is_emitted_in_each_stratum():
    masker = BatchMasker(Plan.make("univariate", 2).bind([["0"]]))
    block, strata = [pl.Series([1, 1, 1, 1])], Strata(np.array([0, 2, 1, 3]), np.array([2, 2]))
    masker.keep_promise(block, listed([0, 2, 1, 3], [2, 2], 4), strata)
    masker.keep_promise(block, listed([0, 1, 2, 3], [2, 2], 4), strata)
    strata = Strata(np.array([0, 1, 2, 3]), np.array([3, 1]))
    with pytest.raises(mg.GuaranteeError, match=r"class of 1 record\(s\)"):
        masker.keep_promise(block, listed([0, 1, 2, 3], [2, 2], 4), strata)


@pytest.mark.parametrize("small_strata", ["raise", "null"])
def test_records_that_are_emptied_are_a_class_of_a_stratum_of_their_own(small_strata):
    options = {"small_strata": small_strata}
    check([[1, 1, None, None]], [0, 0, -1, -1], 2, [[0, 1]], **options)
    refused(1, [[1, 1, 1, None]], [0, 0, 0, -1], 2, [[0, 1, 2]], **options)
    # Records that were without any value before are no company for it.
    refused(1, [[None] * 4], [0, 0, 0, -1], 2, [[0, 1, 2]], **options)


def test_records_that_are_dropped_are_not_counted():
    check([[1, 1, 1, None]], [0, 0, 0, -1], 2, [[0, 1, 2]], small_strata="drop")
    check([[1, 2, 1, 2, None]], [0, 0, 1, 1, -1], 2, [[0, 1, 2, 3]], small_strata="drop")
    check([[None, None]], [-1, -1], 3, [], small_strata="drop")
    refused(1, [[1, 1, 2, None]], [0, 0, 1, -1], 2, [[0, 1, 2]], small_strata="drop")
    # Where nothing is dropped, a record without a group is a record.
    refused(1, [[1, 1, None]], [0, 0, -1], 2, [[0, 1, 2]], small_strata="drop")


def test_records_are_ordered_by_the_last_columns_and_come_back():
    masker = BatchMasker(Plan.make("mdav", 2).bind([["a"]]), strata=1, order=2)
    given = pl.DataFrame(
        {
            "a": range(6),
            "s": [5, 4, 3, 2, 1, 0],
            "o": [1, 0, 1, None, 0, 1],
            "p": [2, 1, 0, 0, 1, 2],
        }
    )
    batch, back = masker._ordered(given)
    # By o, nulls last, then p; among equals the first comes first.
    assert batch.to_series(0).to_list() == [1, 4, 2, 0, 5, 3]
    assert batch[back].rows() == given.rows()
    batch, _ = BatchMasker(masker.plan, strata=2, order=1)._ordered(given)
    assert batch.to_series(0).to_list() == [2, 3, 1, 4, 0, 5]
    same, back = BatchMasker(masker.plan, strata=1)._ordered(given)
    assert (same.rows(), back) == (given.rows(), None)


def test_strata_are_numbered_by_their_first_record():
    masker = BatchMasker(Plan.make("mdav", 2).bind([["a"]]), strata=2)
    keys = {"s": ["y", "x", "y", None, "x", "y"] * 40, "^a$": [1, 1, 1, 2, 2, 1] * 40}
    strata = masker._strata(pl.DataFrame({"a": range(240), **keys}))
    firsts = [rows[0] for rows in strata.rows()]
    assert firsts == [0, 1, 3, 4]
    assert [rows.tolist() for rows in strata.rows()][3] == list(range(4, 240, 6))
    plain = BatchMasker(masker.plan)
    assert (plain.strata, plain.order) == (0, 0)
    assert plain._strata(pl.DataFrame({"a": [1, 2]})).rows()[0].tolist() == [0, 1]


def test_equal_records_stay_in_order():
    masker = BatchMasker(Plan.make("mdav", 2).bind([["a"]]), order=2)
    n = 20_000
    keys = {"o": [i * 7 % 3 for i in range(n)], "p": [i * 5 % 2 for i in range(n)]}
    batch, _ = masker._ordered(pl.DataFrame({"a": range(n), **keys}))
    rows = sorted(range(n), key=lambda i: (keys["o"][i], keys["p"][i]))
    assert batch.to_series(0).to_list() == rows


def test_a_batch_without_records_has_the_types_of_the_others():
    masker = BatchMasker(Plan.make("mdav", 2, dtype="float").bind([["a"]]))
    empty = pl.DataFrame({"a": []}, schema={"a": pl.Int8})
    (column,) = masker.mask(empty).columns
    assert (column.dtype, len(column)) == (pl.Float64, 0)
    assert masker.mask(empty).flags(0).to_list() == []
    assert masker.groups(empty).dtype == pl.UInt32


def test_what_is_suppressed_comes_back_in_the_order_of_the_records():
    options = {"small_strata": "drop"}
    masker = BatchMasker(Plan.make("mdav", 2, **options).bind([["a"]]), strata=1, order=1)
    given = pl.DataFrame({"a": [9.0, 1.0, 5.0, 3.0], "s": ["x", "y", "x", "x"], "o": [4, 3, 2, 1]})
    released = masker.mask(given)
    assert released.columns[0].to_list() == [17 / 3, None, 17 / 3, 17 / 3]
    assert released.suppressed.to_list() == [False, True, False, False]
    assert masker.find_suppressed(given).to_list() == [False, True, False, False]
    alike = given.with_columns(s=pl.lit("x"))
    assert masker.mask(alike).suppressed is None
    assert masker.mask(alike).columns[0].to_list() == [7.0, 2.0, 7.0, 2.0]


def test_records_that_are_suppressed_have_no_group():
    options = {"small_strata": "null"}
    masker = BatchMasker(Plan.make("mdav", 2, **options).bind([["a"]]), strata=1, order=1)
    given = pl.DataFrame(
        {"a": [9, 1, 5, 3, 7, 2], "s": ["x", "y", "x", "x", "x", "z"], "o": [6, 5, 4, 3, 2, 1]}
    )
    numbers = masker.groups(given)
    assert numbers.dtype == pl.UInt32
    assert numbers.to_list() == [0, None, 1, 1, 0, None]
    assert masker.groups(given.with_columns(s=pl.lit("x"))).null_count() == 0
