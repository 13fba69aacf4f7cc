"""Histograms that show no single value."""

from datetime import date, datetime, time, timedelta

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polars_microagg.charts.histograms import histogram

finite = st.floats(-1e9, 1e9) | st.floats(allow_nan=False, allow_infinity=False)
columns = st.lists(finite, min_size=1, max_size=80) | st.lists(
    st.integers(-(2**62), 2**62) | st.integers(0, 30), min_size=1, max_size=80
)


def counted(table, column, when):
    """Count again, from the edges as they are drawn; the outer ones are open."""
    inner = table["low"].to_numpy()[1:]
    values = column.to_physical().cast(pl.Float64).to_numpy()
    counts = [
        int(((values >= a) & (values < b)).sum())
        for a, b in zip([-np.inf, *inner], [*inner, np.inf], strict=True)
    ]
    assert table[when].to_list() == counts


@given(columns, st.integers(2, 12), st.data())
def test_every_bin_has_k_original_records(values, k, data):
    before = pl.Series(values)
    after = (
        data.draw(st.permutations(values).map(pl.Series))
        if k % 2
        else pl.Series([before.mean()] * len(before))
    )
    table = histogram(before, after, k)
    if len(before) < k:
        assert table.is_empty()
        return
    assert table["before"].min() >= k
    assert table["before"].sum() == table["after"].sum() == len(before)
    counted(table, before, "before")
    assert (table["low"] < table["high"]).all()


@given(st.lists(st.integers(0, 10**9), min_size=20, max_size=60, unique=True))
def test_no_edge_that_is_written_is_an_extreme(values):
    column = pl.Series(values)
    table = histogram(column, column, 5)
    for extreme in (min(values), max(values)):
        for label in [*table["label"], *table["tick"].drop_nulls()]:
            words = label.replace(",", "").split()
            assert str(extreme) not in words or extreme % 10 == 0, (
                "only a round value may be an edge"
            )
    assert table["tick"][0] is None


def test_edges_are_round_and_ends_are_open():
    values = np.arange(1003, 9000, 61)
    table = histogram(pl.Series(values), pl.Series(values), 5)
    assert table["label"][0] == "below 1,500"
    assert table["label"][-1] == "8,500 or more"
    assert all(int(tick.replace(",", "")) % 500 == 0 for tick in table["tick"].drop_nulls())


def test_a_lone_value_hides_in_its_bin():
    column = pl.Series([10] * 50 + [20] * 50 + [1_000_003])
    table = histogram(column, column, 5)
    assert table["before"].to_list() in ([50, 51], [101])
    assert not any("1,000" in label for label in table["label"])


@pytest.mark.parametrize(
    ("values", "dtype", "label"),
    [
        ([date(2024, 1, 1) + timedelta(days=i) for i in range(366)], pl.Date, "2024-03 to 2024-04"),
        ([date(1900 + i, 5, 4) for i in range(100)], pl.Date, "1970 to 1990"),
        (
            [datetime(2024, 5, 1) + timedelta(minutes=i) for i in range(600)],
            pl.Datetime("ns", "Europe/Berlin"),
            "2024-05-01 02:00 to 2024-05-01 03:00",
        ),
        ([timedelta(hours=2 * i) for i in range(100)], pl.Duration("ms"), "1.5 day to 2.0 day"),
        ([time(i // 4, i % 4) for i in range(96)], pl.Time, "4 h to 6 h"),
        ([f"{i / 100:.2f}" for i in range(100)], pl.Decimal(9, 2), "0.4 to 0.5"),
        ([i < 50 for i in range(100)], pl.UInt8, "1 or more"),
    ],
)
def test_each_type_has_its_own_edges(values, dtype, label):
    column = pl.Series(values).cast(dtype)
    table = histogram(column, column, 5)
    assert label in table["label"].to_list()
    assert table["before"].sum() == len(values)


def test_masked_values_of_another_type_are_in_the_same_units():
    before = pl.Series([date(2024, 1, 1) + timedelta(days=i) for i in range(100)])
    for after in (before.cast(pl.Datetime("ms")), before.to_physical().cast(pl.Float64)):
        assert histogram(before, after, 5).equals(histogram(before, before, 5))
    decimal = pl.Series([f"{i / 10}" for i in range(100)]).cast(pl.Decimal(9, 1))
    assert histogram(decimal, decimal.cast(pl.Float64), 5).equals(histogram(decimal, decimal, 5))


def test_absent_values_are_not_counted():
    column = pl.Series([1, 2, None, 4] * 5)
    assert histogram(column, column, 5)["before"].sum() == 15
    assert histogram(column, pl.Series([None] * 20, dtype=pl.Int64), 5).is_empty()
