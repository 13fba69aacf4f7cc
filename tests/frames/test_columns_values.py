"""Types on their way into float64 and out of it, and the units of both: worked by hand."""

import datetime as dt

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.core.masked import Cells, Centres, Masked
from polars_microagg.core.partition import Grouping, Members, Strata
from polars_microagg.frames import columns
from polars_microagg.frames.columns import can_mask, kind_for, numbers, require, unit, values

from .typed import NOW, SIGNED, UNSIGNED, series

# --- The way in -------------------------------------------------------------------------------


def test_integers_that_float64_cannot_hold_count_from_the_smallest_of_their_stratum():
    column = pl.Series([2**60 + 5, 7, 2**60 + 2, 11])
    strata = Strata(np.array([0, 2, 1, 3]), np.array([2, 2]))
    assert numbers(column, strata).tolist() == [3.0, 0.0, 0.0, 4.0]
    assert numbers(pl.Series([3, 9]), Strata.whole(2)).tolist() == [3.0, 9.0]


@pytest.mark.parametrize(
    ("column", "found"),
    [
        (pl.Series(["1.10", "-0.01"]).cast(pl.Decimal(5, 2)), [110.0, -1.0]),
        (pl.Series([dt.date(1970, 1, 3)]), [2.0]),
        (series([2], pl.Datetime("ms")), [2.0]),
        (series([-3], pl.Duration("us")), [-3.0]),
        (pl.Series([1.5], dtype=pl.Float32), [1.5]),
        (pl.Series([], dtype=pl.Int64), []),
    ],
)
def test_numbers_are_the_steps_of_the_type(column, found):
    assert numbers(column, Strata.whole(len(column))).tolist() == found


def test_nulls_become_nan():
    assert np.isnan(numbers(pl.Series([None, 4]), Strata.whole(2))).tolist() == [True, False]
    assert np.isnan(numbers(pl.Series([None, 2**60]), Strata.whole(2))).tolist() == [True, False]
    assert np.isnan(numbers(pl.Series([None], dtype=pl.Date), Strata.whole(1))).all()


def test_the_unit_of_a_decimal_is_its_last_digit():
    assert unit(pl.Decimal(10, 2)) == 0.01
    assert unit(pl.Decimal(38, 0)) == unit(pl.Int8()) == unit(pl.Date()) == 1.0


MASKABLE = [*SIGNED, *UNSIGNED, pl.Float32, pl.Float64, pl.Decimal(9, 2), pl.Date, pl.Time]
MASKABLE += [pl.Datetime("ms"), pl.Datetime("ns", "UTC"), pl.Duration("us")]
MASKABLE += [pl.Boolean, pl.String, pl.Categorical, pl.Enum(["a"])]
OTHERS = [pl.Binary, pl.Null]
OTHERS += [pl.List(pl.Int8), pl.Array(pl.Int8, 2), pl.Struct({"a": pl.Int8}), pl.Object]


@pytest.mark.parametrize("dtype", MASKABLE, ids=str)
def test_what_has_a_kind_can_be_masked(dtype):
    assert can_mask(pl.Series([], dtype=dtype).dtype)


@pytest.mark.parametrize("dtype", OTHERS, ids=str)
@pytest.mark.parametrize("lazy", [False, True])
def test_what_has_no_centroid_is_refused_by_column_and_type(dtype, lazy):
    frame = pl.DataFrame(schema={"x": pl.Int8, "y": dtype})
    assert not can_mask(frame.schema["y"])
    with pytest.raises(mg.NotNumericError, match=r"Column 'y' is of type .* has no centroid"):
        mg.mdav(frame.lazy() if lazy else frame, ["x", "y"], 2).lazy().collect_schema()


@pytest.mark.parametrize("nulls", ["raise", "impute", "pattern"])
@pytest.mark.parametrize("dtype", [pl.Float32, pl.Float64])
def test_nan_is_refused_under_every_policy_and_told_from_null(nulls, dtype):
    column = pl.Series([1.0, float("nan"), None, float("inf")], dtype=dtype)
    what = "1 null value" if nulls == "raise" else "2 NaN or infinite value"
    with pytest.raises(mg.MissingValuesError, match=f"Column 'x' has {what}"):
        require(column, "x", nulls)


# --- The way out ------------------------------------------------------------------------------


def emit(column, masked, j, dtype):
    return columns.emit(column, masked, j, dtype, kind_for("x", column.dtype))


def centred(labels, order, sizes, how="mean"):
    members = Members(np.array(order), np.array(sizes))
    groups = Grouping.by_label(np.array(labels), len(sizes))
    return Masked(("x",), groups, (Centres(groups, members, how),))


def one_a_record(values):
    labels = np.where(np.isnan(values), -1, np.arange(len(values)))
    groups = Grouping.by_label(labels, len(values))
    return Masked(("x",), groups, (Cells(np.array(values), Strata.whole(len(values))),))


def test_a_label_of_minus_one_becomes_null():
    column = pl.Series("x", [10, 20, 29, 40])
    masked = centred([0, -1, 0, -1], [0, 2], [2])
    # 19.5 goes to 20.
    assert emit(column, masked, 0, pl.Int64()).to_list() == [20, None, 20, None]
    assert emit(column, masked, 0, pl.Float64()).to_list() == [19.5, None, 19.5, None]
    long = pl.Series("x", [2**60, 2**60 + 3])
    whole = emit(long, centred([0, -1], [0, 1], [2]), 0, pl.Int64())
    assert whole.to_list() == [2**60 + 2, None]


def test_the_median_of_long_integers_is_found_by_their_last_digits():
    column = pl.Series("x", [2**62 + 3, 2**62, 2**62 + 1, -(2**62)])
    masked = centred([0, 0, 0, -1], [0, 1, 2], [3], "median")
    assert emit(column, masked, 0, pl.Int64()).to_list() == [2**62 + 1] * 3 + [None]


def test_values_of_single_records_are_rounded_to_their_type():
    masked = one_a_record([1.5, 2.5, np.nan])
    column = pl.Series("x", [1, 2, 3], dtype=pl.Int16)
    assert emit(column, masked, 0, pl.Int16()).to_list() == [2, 2, None]
    assert emit(column.cast(pl.Float64), masked, 0, pl.Float64()).to_list() == [1.5, 2.5, None]


def test_values_of_single_records_stay_within_the_column_and_the_type():
    column = pl.Series("x", [-128, 127], dtype=pl.Int8)
    assert emit(column, one_a_record([-128.0, 127.0]), 0, pl.Int8()).to_list() == [-128, 127]
    long = pl.Series("x", [2**64 - 1, 2**64 - 2], dtype=pl.UInt64)
    held = emit(long, one_a_record([2.0**64, 2.0**63]), 0, pl.UInt64())
    assert held.to_list() == [2**64 - 1, 2**64 - 2]
    single = pl.Series("x", [1.0, 2.0], dtype=pl.Float32)
    assert emit(single, one_a_record([1e308, -0.0]), 0, pl.Float32())[0] == pytest.approx(
        3.4e38, 0.01
    )


# --- Before and after in the same units -------------------------------------------------------

DAYS = pl.Series([dt.date(1970, 1, 1), dt.date(1970, 1, 4)])
PRICES = pl.Series(["1.10", "1.30"]).cast(pl.Decimal(10, 2))


@pytest.mark.parametrize(
    ("original", "masked", "before", "after"),
    [
        (pl.Series([1, 2]), pl.Series([1.5, 1.5]), [1.0, 2.0], [1.5, 1.5]),
        (DAYS, pl.Series([1.5, 1.5]), [0.0, 3.0], [1.5, 1.5]),
        (PRICES, pl.Series([1.2, 1.2]), [1.1, 1.3], [1.2, 1.2]),
        (PRICES, pl.Series(["1.2", "1.2"]).cast(pl.Decimal(10, 1)), [1.1, 1.3], [1.2, 1.2]),
        (pl.Series([1, 2], dtype=pl.Int8), pl.Series([300, 300]), [1.0, 2.0], [300.0, 300.0]),
        (pl.Series([1.5, None]), pl.Series([None, 2.5]), [1.5, None], [None, 2.5]),
        (
            pl.Series([2**60, 2**60 + 4]),
            pl.Series([2**60 + 2, 2**60 + 2]),
            [0.0, 4.0],
            [2.0, 2.0],
        ),
        (
            series([NOW, NOW + 4000], pl.Datetime("ns")),
            series([NOW // 1000 + 2] * 2, pl.Datetime("us")),
            [0.0, 4000.0],
            [2000.0, 2000.0],
        ),
        (
            pl.Series([2**128 - 1, 2**128 - 1], dtype=pl.UInt128),
            pl.Series([2**128 - 1, 2**128 - 1], dtype=pl.UInt128),
            [2.0**128] * 2,
            [2.0**128] * 2,
        ),
        (
            pl.Series([-(2**127), 2**127 - 1], dtype=pl.Int128),
            pl.Series([0, 0], dtype=pl.Int128),
            [-(2.0**127), 2.0**127],
            [0.0, 0.0],
        ),
    ],
    ids=str,
)
def test_a_column_before_and_after_is_in_the_same_units(original, masked, before, after):
    *found, places = values(original, masked)
    assert places is None
    for column, expected in zip(found, (before, after), strict=True):
        assert column == pytest.approx(
            [np.nan if v is None else v for v in expected], nan_ok=True, rel=1e-14
        )
