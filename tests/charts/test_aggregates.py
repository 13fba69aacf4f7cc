"""What charts and reports show, counted again by hand or by numpy."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import polars_microagg as mg
from polars_microagg.charts.aggregates import (
    class_table,
    correlation_table,
    linkage_table,
    loss_table,
)

RNG = np.random.default_rng(4)
BEFORE = pl.DataFrame(
    {"a": RNG.normal(size=60), "b": RNG.normal(size=60), "c": RNG.gamma(2, size=60)}
)
AFTER = mg.mdav(BEFORE, ["a", "b", "c"], k=4)
NAMES = ["a", "b", "c"]


def groups_of(sizes):
    return pl.DataFrame({"a": [i for i, size in enumerate(sizes) for _ in range(size)]})


@pytest.mark.parametrize(
    ("sizes", "k", "expected"),
    [
        ([2, 2, 3], 2, [("2", 2, 4), ("3", 1, 3)]),
        ([1, 5, 5, 9], 5, [("1", 1, 1), ("5", 2, 10), ("9", 1, 9)]),
        ([2, 30, 8, 9], 2, [("2", 1, 2), ("8 or more", 3, 47)]),
        ([20, 21, 23, 39], 20, [("20-21", 2, 41), ("22-23", 1, 23), ("38-39", 1, 39)]),
        ([19, 18, 1, 60], 20, [("1", 1, 1), ("17-19", 2, 37), ("59-61", 1, 60)]),
        ([], 3, []),
    ],
)
def test_groups_by_size(sizes, k, expected):
    table = class_table(groups_of(sizes).cast(pl.Int64), ["a"], k)
    assert table.select("label", "groups", "records").rows() == expected


@given(st.lists(st.integers(1, 90), max_size=30), st.integers(2, 60))
def test_no_group_is_lost_and_none_crosses_k(sizes, k):
    table = class_table(groups_of(sizes).cast(pl.Int64), ["a"], k)
    assert table["groups"].sum() == len(sizes)
    assert table["records"].sum() == sum(sizes)
    small = table.filter(pl.col("low") < k)
    assert small["groups"].sum() == sum(size < k for size in sizes)
    assert len(table) <= 40


def test_records_without_a_value_are_a_group_like_any_other():
    table = pl.DataFrame({"a": [1, 1, None, None, None], "s": ["x"] * 5})
    assert class_table(table, ["a"], 2, ["s"]).select("groups", "records").rows() == [
        (1, 2),
        (1, 3),
    ]


def test_loss_and_spread_of_each_column():
    found = loss_table(BEFORE, AFTER, NAMES)
    assert found["column"].to_list() == NAMES
    for name, loss, spread in found.rows():
        x, y = BEFORE[name].to_numpy(), AFTER[name].to_numpy()
        assert loss == pytest.approx(100 * ((x - y) ** 2).sum() / ((x - x.mean()) ** 2).sum())
        assert spread == pytest.approx(100 * y.std() / x.std())


def test_a_constant_column_loses_nothing_that_could_be_told():
    same = pl.DataFrame({"a": [3.0] * 9})
    assert loss_table(same, same, ["a"]).row(0) == ("a", None, None)


def test_each_pair_of_columns_once():
    found = correlation_table(BEFORE, AFTER, NAMES)
    assert set(found.select("second", "first").rows()) == {("a", "b"), ("a", "c"), ("b", "c")}
    for row in found.to_dicts():
        for when, table in (("before", BEFORE), ("after", AFTER)):
            expected = np.corrcoef(table[row["first"]], table[row["second"]])[0, 1]
            assert row[when] == pytest.approx(expected)
        assert row["change"] == row["after"] - row["before"]
        assert (NAMES[row["i"]], NAMES[row["j"]]) == (row["first"], row["second"])


def test_linkage_by_the_number_of_columns_known():
    found = linkage_table(BEFORE, AFTER, NAMES)
    assert found["sets"].to_list() == [3, 3, 1]
    one = [mg.dld(BEFORE, AFTER, NAMES, known=name) for name in NAMES]
    assert found["dld"][0] == pytest.approx(np.mean(one))
    assert found["dld"][2] == mg.dld(BEFORE, AFTER, NAMES)


def test_of_many_columns_some_sets_are_tried():
    many = pl.DataFrame({f"c{i}": RNG.normal(size=30) for i in range(9)})
    after = mg.mdav(many, many.columns, k=3)
    found = linkage_table(many, after, many.columns)
    assert found["sets"].to_list() == [9, 30, 30, 30, 30, 30, 30, 9, 1]
    assert found.equals(linkage_table(many, after, many.columns))
    wide = pl.DataFrame({f"c{i}": RNG.normal(size=8) for i in range(40)})
    known = linkage_table(wide, mg.mdav(wide, wide.columns, k=4), wide.columns)["known"].to_list()
    assert len(known) == 10
    assert (known[0], known[-1]) == (1, 40)
