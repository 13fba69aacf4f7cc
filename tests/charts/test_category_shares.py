"""Shares of categories: none of few records is named, unless it is released."""

import polars as pl

from polars_microagg.charts.category_shares import MOST, category_shares


def shares(before, after, k=3, who=None):
    return category_shares(pl.Series(before), pl.Series(after), k, who).rows()


def test_categories_of_k_are_listed_and_the_others_summed():
    before = ["a"] * 4 + ["b"] * 3 + ["x", "y", "z"]
    assert shares(before, ["a"] * 10) == [("a", 4, 10), ("b", 3, 0), (None, 3, 0)]


def test_others_that_are_too_few_together_are_left_out():
    assert shares(["a"] * 4 + ["x", "y"], ["a"] * 6) == [("a", 4, 6)]


def test_a_class_that_is_released_is_listed_and_few_records_before_are_not_counted():
    before = ["a"] * 4 + ["*"]
    assert shares(before, ["*"] * 5) == [("*", 0, 5), ("a", 4, 0)]


def test_rows_of_one_person_are_one():
    who = pl.Series([1, 1, 1, 2, 3, 4])
    assert shares(["x"] * 3 + ["a"] * 3, ["a"] * 6, who=who) == [("a", 3, 6)]


def test_nothing_is_shown_of_what_is_not_released():
    assert shares(["a"] * 4, pl.Series([None] * 4, dtype=pl.String)) == []
    assert shares(["a"] * 2 + [None] * 9, [None] * 11) == []


def test_of_many_the_commonest_are_listed():
    many = [f"c{i:02d}" for i in range(40) for _ in range(3 + (i < 2))]
    table = shares(many, many)
    assert len(table) == MOST + 1
    assert [row[0] for row in table[:2]] == ["c00", "c01"]
    assert table[-1] == (None, 38 * 3 - (MOST - 2) * 3, 38 * 3 - (MOST - 2) * 3)


def test_booleans_and_codes_are_written_as_text():
    assert shares([True] * 3 + [False] * 3, [True] * 6) == [("true", 3, 6), ("false", 3, 0)]
    assert shares([7] * 3, [7] * 3) == [("7", 3, 3)]
