"""Types between themselves and float64, as they come out: every case worked by hand."""

import datetime as dt
from decimal import Decimal

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg

from .typed import NOW, SIGNED, UNSIGNED, series

TOP = 10**38 - 1


def one_group(steps, kind, **options):
    """What a single group of these values is replaced by; all records must agree."""
    frame = pl.DataFrame({"x": pl.Series(steps, dtype=kind)})
    masked = mg.mask(frame, "x", max(2, frame.height), method="mdav", **options)["x"]
    assert masked.n_unique() == 1
    assert masked.dtype == (pl.Float64 if options.get("dtype") == "float" else kind)
    return masked[0]


# --- Integers ---------------------------------------------------------------------------------

ODD_AND_EVEN = [
    ([1, 2], 2),  # 1.5, the anchor is odd
    ([2, 1], 2),  # 1.5, the anchor is even
    ([3, 4], 4),  # 3.5
    ([4, 3], 4),
    ([2, 3], 2),  # 2.5
    ([3, 2], 2),
    ([0, 1], 0),  # 0.5
    ([1, 1, 2], 1),  # 4/3
    ([1, 2, 2], 2),  # 5/3
    ([2, 3, 2, 3], 2),  # 2.5 from four
    ([7, 7, 7], 7),
]
NEGATIVE = [
    ([-1, -2], -2),  # -1.5
    ([-2, -1], -2),
    ([-3, -2], -2),  # -2.5
    ([-2, -3], -2),
    ([-3, -4], -4),  # -3.5
    ([-1, 0], 0),  # -0.5
    ([-1, 2], 0),  # 0.5
    ([-2, 1], 0),  # -0.5
    ([-2, 5], 2),  # 1.5
]


@pytest.mark.parametrize(("steps", "centre"), ODD_AND_EVEN)
@pytest.mark.parametrize("dtype", SIGNED + UNSIGNED, ids=str)
def test_halves_go_to_the_even_integer(dtype, steps, centre):
    assert one_group(steps, dtype) == centre


@pytest.mark.parametrize(("steps", "centre"), NEGATIVE)
@pytest.mark.parametrize("dtype", SIGNED, ids=str)
def test_negative_halves_go_to_the_even_integer(dtype, steps, centre):
    assert one_group(steps, dtype) == centre


@pytest.mark.parametrize(
    ("dtype", "steps", "centre"),
    [
        (pl.Int8, [-128, 127], 0),  # -0.5
        (pl.Int8, [-128, -127], -128),  # -127.5
        (pl.Int8, [127, 126], 126),  # 126.5
        (pl.Int8, [127] * 5, 127),
        (pl.UInt8, [255, 254], 254),  # 254.5
        (pl.Int64, [-(2**63), 2**63 - 1], 0),  # -0.5
        (pl.Int64, [2**63 - 1, 2**63 - 2], 2**63 - 2),  # ends in ...807 and ...806
        (pl.Int64, [-(2**63), -(2**63) + 2], -(2**63) + 1),
        (pl.Int64, [2**53 + 1, 2**53 + 2], 2**53 + 2),
        (pl.Int64, [2**53 + 2, 2**53 + 1], 2**53 + 2),
        (pl.Int64, [2**53 + 2, 2**53 + 3], 2**53 + 2),
        (pl.UInt64, [2**64 - 1, 2**64 - 3], 2**64 - 2),
        (pl.UInt64, [2**64 - 1, 2**64 - 2], 2**64 - 2),
        (pl.UInt64, [2**64 - 2, 2**64 - 3], 2**64 - 2),
        (pl.UInt64, [2**64 - 1] * 3, 2**64 - 1),
        (pl.UInt64, [2**64 - 1, 2**64 - 1, 2**64 - 4], 2**64 - 2),
        (pl.Int128, [2**127 - 1, 2**127 - 2], 2**127 - 2),
        (pl.Int128, [-(2**127), 2**127 - 1], 0),
        (pl.UInt128, [2**128 - 1, 2**128 - 2], 2**128 - 2),
        (pl.UInt128, [2**127, 2**127 + 1], 2**127),
        (pl.UInt128, [0, 2**128 - 1], 2**127),
    ],
)
def test_integers_at_the_ends_of_their_type_are_exact(dtype, steps, centre):
    assert one_group(steps, dtype) == centre


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [
        (pl.UInt64, 0, 2**64 - 2),
        (pl.Int64, -(2**63) + 5, 2**63 - 1),
        (pl.Int128, -(2**127) + 1, 2**126),
        (pl.Decimal(38, 0), -TOP, TOP),
        (pl.Datetime("ns"), -(2**63) + 1, 2**63 - 1),
    ],
    ids=str,
)
def test_a_range_past_2_to_the_53_is_as_exact_as_a_double(dtype, low, high):
    steps = [Decimal(low), Decimal(high)] if dtype == pl.Decimal else [low, high]
    column = pl.Series("x", steps, dtype=dtype)
    (emitted,) = set(mg.mdav(column.to_frame(), "x", k=2)["x"].to_physical().to_list())
    assert abs(emitted - (low + high) // 2) <= (high - low) / 2**52


@pytest.mark.parametrize(
    ("steps", "centre"),
    [([1, 2, 3, 100], 2), ([1, 2], 2), ([2, 3, 3, 4], 3), ([9, 1, 5], 5), ([0, 1, 2, 9], 2)],
)
def test_the_median_of_integers_goes_to_the_even_one(steps, centre):
    # The middles are 2.5, 1.5, 3, 5 and 1.5.
    assert one_group(steps, pl.Int32, center="median") == centre


# --- Decimals ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "steps", "centre"),
    [
        (pl.Decimal(10, 2), ["1.10", "1.11"], "1.10"),  # 110.5 hundredths
        (pl.Decimal(10, 2), ["1.11", "1.12"], "1.12"),  # 111.5
        (pl.Decimal(10, 2), ["-1.11", "-1.12"], "-1.12"),
        (pl.Decimal(10, 2), ["-1.11", "-1.10"], "-1.10"),
        (pl.Decimal(10, 2), ["0.01", "0.01", "0.02"], "0.01"),
        (pl.Decimal(10, 2), ["99999999.99", "-99999999.99"], "0.00"),
        (pl.Decimal(10, 2), ["99999999.99", "99999999.98"], "99999999.98"),
        (pl.Decimal(9, 0), ["1", "2"], "2"),
        (pl.Decimal(38, 0), [str(TOP), str(TOP - 2)], str(TOP - 1)),
        (pl.Decimal(38, 10), ["1.0000000001", "1.0000000003"], "1.0000000002"),
        (pl.Decimal(38, 38), ["0." + "0" * 37 + "1", "0." + "0" * 37 + "3"], "0." + "0" * 37 + "2"),
        (pl.Decimal(38, 38), ["0." + "9" * 38, "0." + "9" * 37 + "7"], "0." + "9" * 37 + "8"),
    ],
)
def test_decimals_are_rounded_half_to_even_at_their_scale(dtype, steps, centre):
    emitted = one_group([Decimal(step) for step in steps], dtype)
    assert emitted == Decimal(centre)
    assert -emitted.as_tuple().exponent == dtype.scale


def test_decimals_as_float_are_the_unrounded_mean():
    emitted = one_group([Decimal("1.10"), Decimal("1.11")], pl.Decimal(10, 2), dtype="float")
    assert emitted == pytest.approx(1.105, rel=1e-15)


# --- Dates and times --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("days", "centre"),
    [
        # 2024-01-01 is day 19723, an odd number, 1970-01-01 is day 0.
        ([dt.date(2024, 1, 1), dt.date(2024, 1, 2)], dt.date(2024, 1, 2)),
        ([dt.date(2023, 12, 31), dt.date(2024, 1, 1)], dt.date(2023, 12, 31)),
        ([dt.date(1969, 12, 31), dt.date(1970, 1, 1)], dt.date(1970, 1, 1)),
        ([dt.date(1969, 12, 31), dt.date(1969, 12, 30)], dt.date(1969, 12, 30)),
        ([dt.date(2024, 2, 28), dt.date(2024, 3, 1)], dt.date(2024, 2, 29)),
        ([dt.date(1, 1, 1), dt.date(1, 1, 3)], dt.date(1, 1, 2)),
    ],
)
def test_dates_are_rounded_to_the_even_day(days, centre):
    assert one_group(days, pl.Date) == centre


def test_dates_as_float_are_days_since_1970():
    days = [dt.date(2024, 1, 1), dt.date(2024, 1, 2)]
    assert one_group(days, pl.Date, dtype="float") == 19723.5


@pytest.mark.parametrize(
    ("offsets", "centre"),
    [
        ([0, 2], 1),
        ([1, 2, 6], 3),
        ([0, 1], 0),  # 0.5 above an even number
        ([1, 2], 2),  # 1.5 above an even number
        ([5, 5, 5], 5),
    ],
)
@pytest.mark.parametrize("start", [NOW, -NOW], ids=["2023", "1916"])
def test_nanoseconds_keep_their_last_digit(start, offsets, centre):
    frame = pl.DataFrame({"x": series([start + o for o in offsets], pl.Datetime("ns"))})
    masked = mg.mdav(frame, "x", k=len(offsets))["x"]
    assert masked.cast(pl.Int64).to_list() == [start + centre] * len(offsets)


def test_nanoseconds_that_differ_by_one_are_told_apart():
    # Groups {0, 1} and {40, 41, 42}: the means are 0.5 -> 0 and 41 after a base that is even.
    frame = pl.DataFrame({"x": series([NOW + o for o in (41, 0, 40, 1, 42)], pl.Datetime("ns"))})
    masked = mg.mdav(frame, "x", k=2)["x"].cast(pl.Int64) - NOW
    assert masked.to_list() == [41, 0, 41, 0, 41]


@pytest.mark.parametrize(
    "dtype",
    [
        pl.Datetime("ms"),
        pl.Datetime("us"),
        pl.Datetime("ns"),
        pl.Datetime("us", "Europe/Madrid"),
        pl.Datetime("ns", "UTC"),
        pl.Duration("ms"),
        pl.Duration("us"),
        pl.Duration("ns"),
        pl.Time,
    ],
    ids=str,
)
def test_times_are_rounded_to_the_even_step(dtype):
    frame = pl.DataFrame({"x": series([1001, 1002, 1002, 1003, 5000, 5001], dtype)})
    masked = mg.univariate(frame, "x", k=2)
    # The optimal pairs have the means 1001.5, 1002.5 and 5000.5.
    assert masked.schema == frame.schema
    assert masked["x"].to_physical().to_list() == [1002, 1002, 1002, 1002, 5000, 5000]


def test_a_mean_across_a_change_of_clocks_is_taken_in_utc():
    # Madrid, 2024-03-31: 01:30 is 00:30 UTC, 03:30 is 01:30 UTC; halfway is 01:00 UTC, 03:00.
    local = pl.Series([dt.datetime(2024, 3, 31, 1, 30), dt.datetime(2024, 3, 31, 3, 30)])
    frame = pl.DataFrame({"x": local.dt.replace_time_zone("Europe/Madrid")})
    masked = mg.mdav(frame, "x", k=2)["x"].dt.replace_time_zone(None)
    assert masked.to_list() == [dt.datetime(2024, 3, 31, 3)] * 2


def test_the_ends_of_a_day_meet_at_noon():
    # 0 and 86399999999999 ns: 43199999999999.5, whose even neighbour is 43200000000000.
    frame = pl.DataFrame({"x": series([0, 86_399_999_999_999], pl.Time)})
    assert mg.mdav(frame, "x", k=2)["x"].to_list() == [dt.time(12)] * 2


# --- Floats -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "steps", "centre"),
    [
        (pl.Float64, [0.1, 0.1, 0.1], 0.1),
        (pl.Float64, [1.0, 2.0], 1.5),
        (pl.Float64, [1e16, 1e16 + 2, 1e16 + 4], 1e16 + 2),
        (pl.Float64, [1e308, -1e308, 1e308], 1e308 / 3),
        (pl.Float64, [5e-324, 15e-324], 1e-323),
        (pl.Float32, [1.0, 2.0], 1.5),
        (pl.Float32, [2.0**24, 2.0**24 + 2, 2.0**24 + 4], 2.0**24 + 2),
        (pl.Float16, [1.0, 2.0], 1.5),
    ],
)
def test_floats_are_not_rounded_to_integers(dtype, steps, centre):
    assert one_group(steps, dtype) == pytest.approx(centre, rel=1e-15, abs=0)


def test_a_constant_float32_keeps_its_bits():
    tenth = float(np.float32(0.1))
    assert one_group([tenth] * 3, pl.Float32) == tenth


@pytest.mark.parametrize(
    ("dtype", "steps", "centre"),
    [
        (pl.Int8, [1, 2], 1.5),
        (pl.UInt64, [2**64 - 1] * 2, float(2**64)),
        (pl.Float32, [1.0, 2.0], 1.5),
        (pl.Duration("ms"), [dt.timedelta(seconds=1), dt.timedelta(seconds=2)], 1500.0),
        (pl.Time, [dt.time(0, 0, 1), dt.time(0, 0, 2)], 1.5e9),
    ],
)
def test_float_output_is_not_rounded(dtype, steps, centre):
    assert one_group(steps, dtype, dtype="float") == centre
