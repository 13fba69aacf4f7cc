"""A release beside its original: rows that are left, kept columns, centres, and types."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import polars as pl
import pytest

from polars_microagg.publishing.manifest.compare_original import (
    aligned,
    differing,
    exchanged,
    mistyped,
    off_centre,
)

OPTIONS = {"method": "mdav", "k": 2, "columns": [["a"]], "require": [], "strata": ["s"]}


def told_of(emptied=0, mask=("a",), stratum=("s",), keep=("n",), types=None, **config):
    roles = {"mask": list(mask), "stratum": list(stratum), "keep": list(keep), "drop": []}
    config = {"method": "mdav", **config}
    return {
        "config": config,
        "roles": roles,
        "rows": {"emptied": emptied},
        "output": {"columns": types or {}},
    }


def test_rows_that_were_dropped_are_left_out():
    before = pl.DataFrame({"a": [1, 2, 3, 4, 5], "s": ["x", "y", "x", "y", "z"]})
    drop = told_of(mask=["a"], types={"a": "Int64", "s": "String"})
    drop["config"] = {**OPTIONS, "small_strata": "drop"}
    assert aligned(drop, before)["a"].to_list() == [1, 2, 3, 4]
    text = before.with_columns(pl.col("a").cast(pl.String))
    assert aligned(drop, text)["a"].to_list() == ["1", "2", "3", "4"]
    for policy in ("null", "raise"):
        assert aligned({"config": {**OPTIONS, "small_strata": policy}}, before) is before
    assert aligned({"config": {"method": None}}, before) is before


def test_columns_that_differ_are_named():
    before = pl.DataFrame({"n": [1, None], "t": ["1", "x"], "f": [0.5, 2.0]})
    assert differing(before, before, ["n", "t", "f"]) == []
    changed = before.with_columns(n=pl.Series([1, 1]), f=pl.Series([2.0, 0.5]))
    assert differing(before, changed, ["n", "t", "f"]) == ["n", "f"]
    assert differing(before, before.with_columns(m=1), ["m", "t"]) == ["m"]
    assert differing(before, before.head(1), ["n"]) == ["n"]
    assert differing(before, before, []) == []


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        ([1, 2], ["1", "2"], True),
        ([1, 2], ["1", "3"], False),
        ([1, 2], [1.0, 2.0], True),
        (["1", "2"], [1, 2], True),
        ([" 1", "2"], [1, 2], True),
        ([" 1", "2"], [1, 3], False),
        (["1", "2"], [1, 3], False),
        (["01", "2"], ["01", "2"], True),
        (["1", "2"], [1.0, 2.0], True),
        (["2024-02-28"], [dt.date(2024, 2, 28)], True),
        (["2024-02-28"], [dt.date(2024, 2, 27)], False),
        ([dt.date(2024, 2, 28)], ["2024-02-28"], True),
        (["x", "y"], [1, 2], False),
        ([True, False], ["true", "false"], True),
        ([1, None], [1.0, None], True),
        ([1, None], [1.0, 0.0], False),
        ([Decimal("1.5")], [1.5], True),
    ],
)
def test_values_of_two_types_are_compared_as_they_are_read(before, after, same):
    one, other = pl.DataFrame({"^a$": before}), pl.DataFrame({"^a$": after})
    assert (differing(one, other, ["^a$"]) == []) == same


def test_strata_are_compared_where_a_row_was_not_emptied():
    before = pl.DataFrame({"a": [1, 2, 3], "s": ["x", "x", "z"], "n": [7, 8, 9]})
    after = pl.DataFrame({"a": [1, 1, None], "s": ["x", "x", None], "n": [7, 8, 9]})
    assert exchanged(told_of(1), before, after) == []
    assert exchanged(told_of(0), before, after) == ["s"]
    other = after.with_columns(s=pl.Series(["x", "y", None]))
    assert exchanged(told_of(1), before, other) == ["s"]
    # What was kept is compared in all rows.
    other = after.with_columns(n=pl.Series([7, 8, 1]))
    assert exchanged(told_of(1), before, other) == ["n"]
    assert exchanged(told_of(0), before, other) == ["s", "n"]
    # A row with one value left was not emptied.
    other = after.with_columns(a=pl.Series([1, 1, 1]))
    assert exchanged(told_of(1), before, other) == ["s"]
    assert exchanged(told_of(1), before[:2], after) == ["s", "n"]


# --- Centres ---------------------------------------------------------------------------------------


def moved(before, after, **config):
    frames = pl.DataFrame({"a": before}), pl.DataFrame({"a": after})
    return off_centre(told_of(**config), *frames) == ["a"]


def test_a_mean_is_that_of_its_records():
    assert not moved([1.0, 2.0, 6.0], [3.0] * 3)
    assert moved([1.0, 2.0, 6.0], [3.001] * 3)
    assert moved([1.0, 2.0, 6.0], [2.999] * 3)
    assert not moved([1.0, 2.0, 6.0, 8.0], [1.5, 1.5, 7.0, 7.0])
    assert moved([1.0, 2.0, 6.0, 8.0], [1.5, 1.5, 7.1, 7.1])
    # Rounding of doubles is allowed for, and of singles more.
    assert not moved([1e6, 3e6], [2e6 + 0.002] * 2)
    assert moved([1e6, 3e6], [2e6 + 0.01] * 2)
    single = [pl.Series(values, dtype=pl.Float32) for values in ([1e6, 3e6], [2e6 + 2] * 2)]
    assert not moved(*single)
    assert not moved(single[0], [2e6 + 2] * 2)
    assert not moved([1e6, 3e6], single[1])
    assert moved(pl.Series([1e6, 3e6], dtype=pl.Float32), [2e6 + 5] * 2)


def test_a_whole_number_is_half_a_step_from_its_mean_at_most():
    assert not moved([1, 2], [1, 1])
    assert not moved([1, 2], [2, 2])
    assert moved([1, 2], [3, 3])
    assert moved([1, 2], [0, 0])
    assert moved([1, 2, 3], [3, 3, 3])
    price = pl.Decimal(10, 2)
    assert not moved(pl.Series(["1.00", "1.01"]).cast(price), pl.Series(["1.00"] * 2).cast(price))
    assert moved(pl.Series(["1.00", "1.01"]).cast(price), pl.Series(["1.02"] * 2).cast(price))
    assert moved([100, 101], pl.Series(["1.00"] * 2).cast(price))
    assert not moved(pl.Series(["1.00", "2.00"]).cast(price), [1.5, 1.5])
    assert moved(pl.Series(["1.00", "2.00"]).cast(price), [1.6, 1.6])
    days = [dt.date(2024, 1, 1), dt.date(2024, 1, 3)]
    assert not moved(days, [dt.date(2024, 1, 2)] * 2)
    assert moved(days, [dt.date(2024, 1, 3)] * 2)


def test_a_median_lies_between_its_records():
    assert not moved([1.0, 2.0, 60.0], [2.0] * 3, center="median")
    assert not moved([1.0, 2.0, 60.0], [60.0] * 3, center="median")
    assert not moved([1.0, 2.0, 60.0], [1.0] * 3, center="median")
    assert moved([1.0, 2.0, 60.0], [60.1] * 3, center="median")
    assert moved([1.0, 2.0, 60.0], [0.9] * 3, center="median")
    assert moved([1.0, 2.0, 60.0], [2.0] * 3, center="mean")
    assert not moved([1, 2], [1, 1], center="median")
    assert moved([1, 2], [3, 3], center="median")
    assert moved([1, 2], [0, 0], center="median")


def at(*hours):
    return pl.Series([round(hour * 3600 * 10**9) for hour in hours]).cast(pl.Time)


def turned(before, after, **config):
    return moved(before, after, **{"circular": "a", **config})


def test_a_circular_time_is_the_mean_direction_of_its_records():
    assert not turned(at(23, 1, 12, 13), at(0, 0, 12.5, 12.5))
    # The mean of the numbers is on the other side of the clock.
    assert turned(at(23, 1), at(12, 12))
    assert not turned(at(23, 1), at(12, 12), circular=None)
    assert turned(at(23, 1), at(0.001, 0.001))
    assert not turned(at(22, 2, 0.5, 23.5), at(0, 0, 0, 0))
    # Formats keep microseconds.
    assert not turned(at(23, 1), at(2e-10, 2e-10))
    # The mean direction of unlike distances is not the mean of the hours.
    assert turned(at(0, 3, 0), at(1, 1, 1))
    mean = np.arctan2(2**0.5 / 2, 2 + 2**0.5 / 2) * 12 / np.pi
    assert not turned(at(0, 3, 0), at(mean, mean, mean))
    assert not turned(at(0, 3, 0), at(mean, mean, mean), center="median")
    # Times that cancel each other out get their lower median.
    assert not turned(at(5, 17), at(5, 5))
    assert turned(at(5, 17), at(4, 4))
    assert not turned(at(23, 1), at(7, 7), entity_mode="mean")
    assert not turned(at(23, 1), at(0, 0).cast(pl.Float64))
    assert turned(at(23, 1), at(1, 1).cast(pl.Float64))
    assert turned(at(23, 1), at(0))
    assert not turned(at(23, 1), at(0, 0).scatter(0, None).scatter(1, None))


def test_nulls_and_other_lengths():
    assert not moved([1.0, None, 3.0], [2.0, 2.0, 2.0])
    assert not moved([1.0, None, 3.0], [2.0, None, 2.0])
    assert not moved([1.0, 3.0, 9.0], [2.0, 2.0, None])
    assert moved([1.0, 3.0], [2.0, 2.0, 2.0])
    assert moved(["x", "y"], ["x"])
    assert not moved(["x", "y"], ["x", "x"])
    assert not moved([1, 2], ["x", "x"])
    assert not moved(["x", "x"], [1, 2])


def test_only_centres_of_known_groups_of_records_are_held():
    wrong = [1.0, 2.0], [7.0, 7.0]
    for method in ("mdav", "univariate", "individual_ranking"):
        assert moved(*wrong, method=method)
    for method in (None, "later", "mic1d"):
        assert not moved(*wrong, method=method)
    both = pl.DataFrame({"a": [1.0, 2.0], "b": [1.0, 2.0]})
    after = pl.DataFrame({"a": [1.5, 1.5], "b": [2.0, 2.0]})
    assert off_centre(told_of(mask=("a", "b")), both, after) == ["b"]


# --- Types -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "types", "expected"),
    [
        ("float", {"a": "Float64", "b": "Float64"}, []),
        ("float", {"a": "Int64", "b": "Float64"}, ["a"]),
        ("float", {"a": "Int64", "b": "Float32"}, ["a", "b"]),
        ("keep", {"a": "Int64", "b": "Float64"}, []),
        ("keep", {"a": "Float64", "b": "Float64"}, ["a"]),
        ("keep", {"a": "Int8", "b": "Int8"}, []),
        (None, {"a": "Float64", "b": "Int8"}, []),
    ],
)
def test_masked_columns_have_the_types_of_the_option(dtype, types, expected):
    before = pl.DataFrame({"a": [1], "b": [1.0]})
    told = told_of(mask=("a", "b"), types=types, **({"dtype": dtype} if dtype else {}))
    assert mistyped(told, before) == expected
    assert mistyped(told, None) == (expected if dtype == "float" else [])
    # An original of text has no types.
    text = pl.DataFrame({"a": ["1"], "b": ["1"]})
    assert mistyped(told, text) == (expected if dtype == "float" else [])


@pytest.mark.parametrize("center", ["mean", "median"])
def test_zeros_are_the_centres_of_zeros(center):
    before = pl.DataFrame({"a": [0.0, 0.0, 5.0, 7.0]})
    manifest = told_of(center=center)
    assert off_centre(manifest, before, pl.DataFrame({"a": [0.0, 0.0, 6.0, 6.0]})) == []
    assert off_centre(manifest, before, pl.DataFrame({"a": [1.0, 1.0, 6.0, 6.0]})) == ["a"]


def test_a_category_must_be_that_of_k_originals_of_its_stratum():
    before = pl.DataFrame({"j": ["a", "a", "b", "c", "b", "b"], "s": [1, 1, 1, 2, 2, 2]})

    def off(values, strata=(), original=before, **config):
        told = told_of(mask=["j"], stratum=strata, types={"j": "String"}, k=2, **config)
        told["categories"] = [{"column": "j", "kind": "nominal", "rare": None}]
        return off_centre(told, original, original.with_columns(j=pl.Series(values)))

    assert off(["a", "a", "a", "b", "b", None]) == []
    assert off(["a", "a", "a", "c", "c", "c"]) == ["j"]
    assert off(["b", "b", "b", "b", "b", "b"]) == []
    assert off(["b", "b", "b", "b", "b", "b"], ["s"]) == ["j"]
    assert off(["a"] * 6, original=before.with_columns(j=pl.lit("z"))) == ["j"]
    # Several rows of one person are one holder.
    whose = before.with_columns(who=pl.Series([1, 1, 2, 3, 4, 5]))
    told = told_of(mask=["j"], stratum=[], types={"j": "String"}, k=2)
    told["categories"] = [{"column": "j", "kind": "nominal", "rare": None}]
    told["roles"]["entity"] = ["who"]
    assert off_centre(told, whose, whose.with_columns(j=pl.lit("b"))) == []
    assert off_centre(told, whose, whose.with_columns(j=pl.lit("a"))) == ["j"]
