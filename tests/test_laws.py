"""Laws that every method obeys: groups and classes, and the values emitted."""

import re
from fractions import Fraction
from math import ulp
from operator import attrgetter
from statistics import median

import numpy as np
import polars as pl
import polars.selectors as cs
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import polars_microagg as mg
from polars_microagg.core.partition import Partition
from tests.laws import (
    EXACT_SHAPES,
    GROUPING,
    METHODS,
    Table,
    assert_k_holds,
    bits,
    blocks,
    every_grouping,
    every_method,
    every_unseeded,
    labels,
    mask,
    seeds,
    tables,
    tenth,
    tie_free,
    ties,
)


@every_grouping
@given(table=tables())
def test_every_class_has_k_records(method, table):
    masked = mask(method, table.frame, table.columns, table.k)
    assert_k_holds(method, masked, table.columns, table.k)


@every_grouping
@given(table=tables())
def test_labels_are_dense_and_total_and_number_groups_by_their_first_record(method, table):
    for found in labels(method, table.frame, table.columns, table.k):
        assert len(found) == table.frame.height
        assert np.array_equal(found, Partition.from_labels(found).labels)
        assert np.bincount(found).min() >= table.k


BOUNDED = [m for m in GROUPING if re.fullmatch(r"k(\.\.\d*k-1)?", m.sizes)]


@pytest.mark.parametrize("method", BOUNDED, ids=attrgetter("name"))
@given(table=tables())
def test_no_group_is_larger_than_the_registry_says(method, table):
    k, n = table.k, table.frame.height
    bound = re.fullmatch(r"k\.\.(\d*)k-1", method.sizes)
    most = int(bound[1] or 1) * k - 1 if bound else k + n % k
    for found in labels(method, table.frame, table.columns, k):
        assert np.bincount(found).max() <= most


@every_grouping
@given(table=tables())
def test_records_of_a_group_are_emitted_alike(method, table):
    masked = mask(method, table.frame, table.columns, table.k, dtype="float")
    found = labels(method, table.frame, table.columns, table.k)
    for block, group in zip(blocks(method, table.columns), found, strict=True):
        pairs = masked.select(pl.col(block), pl.Series("g", group)).unique()
        assert pairs.height == group.max() + 1


@every_grouping
@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("size", ["k", "2k-1", "2k", "3k-1"])
def test_k_holds_at_every_edge_of_the_group_sizes(method, k, size):
    n = {"k": k, "2k-1": 2 * k - 1, "2k": 2 * k, "3k-1": 3 * k - 1}[size]
    rng = np.random.default_rng(n)
    for make in (tie_free, ties):
        frame = pl.DataFrame({"a": make(rng, n), "b": make(rng, n)})
        assert_k_holds(method, mask(method, frame, ["a", "b"], k), ["a", "b"], k)
    if n < 2 * k:
        assert all((found == 0).all() for found in labels(method, frame, ["a", "b"], k))


@every_method
@pytest.mark.parametrize("dtype", ["keep", "float"])
def test_no_rows_stay_no_rows(method, dtype):
    frame = pl.DataFrame(schema={"a": pl.Int16, "b": pl.Date, "c": pl.String})
    masked = mask(method, frame, ["a", "b"], 3, dtype=dtype)
    ab = {"a": pl.Int16, "b": pl.Date} if dtype == "keep" else {"a": pl.Float64, "b": pl.Float64}
    assert masked.schema == {**ab, "c": pl.String}
    assert masked.height == 0


@every_grouping
@pytest.mark.parametrize(("k", "n"), [(2, 1), (3, 1), (3, 2), (5, 4)])
def test_fewer_than_k_records_are_refused(method, k, n):
    frame = pl.DataFrame({"a": np.arange(n), "b": np.arange(n)})
    with pytest.raises(mg.TooFewRecordsError, match=f"k={k} needs at least {k} records, got {n}"):
        mask(method, frame, ["a", "b"], k)


@st.composite
def orderly(draw):
    """Tables without any tie: all columns rise together, so that sums of ranks differ too."""
    table = draw(tables(shapes={"tie_free": tie_free}))
    order = draw(seeds).permutation(table.frame.height)
    risen = [table.frame[name].sort()[order.argsort()].alias(name) for name in table.columns]
    return Table(table.frame.with_columns(risen), table.columns, table.k)


@every_unseeded
@given(table=orderly(), rng=seeds)
def test_a_permutation_of_rows_permutes_the_groups(method, table, rng):
    order = rng.permutation(table.frame.height)
    before = labels(method, table.frame, table.columns, table.k)
    after = labels(method, table.frame[order], table.columns, table.k)
    for found, moved in zip(before, after, strict=True):
        assert np.array_equal(Partition.from_labels(found[order]).labels, moved)


@every_grouping
@given(table=tables(), rng=seeds)
def test_order_by_makes_the_row_order_irrelevant_whatever_the_ties(method, table, rng):
    order = rng.permutation(table.frame.height)
    plain = mask(method, table.frame, table.columns, table.k, order_by="row")
    moved = mask(method, table.frame[order], table.columns, table.k, order_by="row")
    assert bits(plain[order]) == bits(moved)


@every_grouping
@given(
    table=tables(shapes=EXACT_SHAPES),
    shift=st.integers(-(2**30), 2**30),
    power=st.integers(-300, 300),
)
def test_exact_shifts_and_powers_of_two_change_no_group(method, table, shift, power):
    moved = table.frame.with_columns((pl.col(table.columns) + float(shift)) * 2.0**power)
    before = labels(method, table.frame, table.columns, table.k)
    after = labels(method, moved, table.columns, table.k)
    for found, again in zip(before, after, strict=True):
        assert np.array_equal(found, again)


@every_unseeded
@given(
    table=tables(shapes={"tie_free": tie_free}, columns=(1, 2)),
    constant=st.sampled_from([0.0, -7.5, 1e300, 0.1]),
)
def test_a_constant_column_changes_no_group(method, table, constant):
    wider = table.frame.with_columns(constant=pl.lit(constant))
    before = labels(method, table.frame, table.columns, table.k)
    after = labels(method, wider, [*table.columns, "constant"], table.k)
    for found, again in zip(before, after, strict=False):
        assert np.array_equal(found, again)


# --- Values -----------------------------------------------------------------------------------


@every_grouping
@given(table=tables())
def test_column_means_are_kept(method, table):
    masked = mask(method, table.frame, table.columns, table.k, dtype="float")
    for name in table.columns:
        before, after = (list(map(Fraction, f[name].to_list())) for f in (table.frame, masked))
        # An emitted value is a double: what the last digit of the largest one allows.
        digit = Fraction(ulp(table.frame[name].abs().max()))
        error = abs(sum(before) - sum(after)) / len(before)
        assert error <= (max(before) - min(before)) / 10**9 + digit


@every_grouping
@given(table=tables())
def test_values_stay_between_the_smallest_and_the_largest_of_their_column(method, table):
    masked = mask(method, table.frame, table.columns, table.k)
    for name in table.columns:
        assert masked[name].is_between(table.frame[name].min(), table.frame[name].max()).all()


@every_method
@given(table=tables())
def test_the_same_call_twice_gives_the_same_bits(method, table):
    once, again = (mask(method, table.frame, table.columns, table.k) for _ in range(2))
    assert bits(once) == bits(again)


@every_method
@given(table=tables())
def test_other_columns_and_all_orders_are_untouched(method, table):
    before = bits(table.frame)
    masked = mask(method, table.frame, table.columns, table.k)
    assert masked.schema == table.frame.schema
    assert masked.columns == table.frame.columns
    others = ~cs.by_name(table.columns)
    assert bits(masked.select(others)) == bits(table.frame.select(others))
    assert bits(table.frame) == before


@every_grouping
@given(table=tables())
def test_the_median_of_each_group_is_emitted(method, table):
    masked = mask(method, table.frame, table.columns, table.k, center="median", dtype="float")
    found = labels(method, table.frame, table.columns, table.k, center="median")
    for block, group in zip(blocks(method, table.columns), found, strict=True):
        for name in block:
            values, emitted = table.frame[name].to_numpy(), masked[name].to_numpy()
            digit = ulp(np.abs(values).max())
            for g in range(group.max() + 1):
                middle = float(median(map(Fraction, values[group == g])))
                assert emitted[group == g] == pytest.approx(middle, rel=1e-12, abs=digit)


@every_grouping
@pytest.mark.parametrize("scale", ["zscore", "minmax", "robust", "none"])
@settings(tenth(0.3))
@given(table=tables())
def test_k_holds_on_every_scale(method, scale, table):
    masked = mask(method, table.frame, table.columns, table.k, scale=scale)
    assert_k_holds(method, masked, table.columns, table.k)


@pytest.mark.parametrize(
    "method", [m for m in METHODS if m.unit == "record"], ids=attrgetter("name")
)
@settings(tenth(0.3))
@given(table=tables(shapes={"tie_free": tie_free, "ties": ties}))
def test_refining_keeps_k_and_never_loses_more(method, table):
    plain, refined = (
        mask(method, table.frame, table.columns, table.k, refine=refine) for refine in (False, True)
    )
    assert_k_holds(method, refined, table.columns, table.k)
    before, after = (mg.sse(table.frame, masked, table.columns) for masked in (plain, refined))
    assert after <= before + 1e-9


def values_of(option, columns):
    """Legal values of one option of a method."""
    quickly = option.range.quick if option.range else None
    legal = [st.just(option.default if quickly is None else quickly)]
    if option.choices:
        legal.append(st.sampled_from(option.choices))
    if option.axis:
        legal.append(st.sampled_from(columns))
    if option.kind is bool:
        legal.append(st.booleans())
    if option.range is not None and option.kind is not None:
        low, high = option.range.low, min(option.range.high, option.range.low + 5)
        numbers = st.integers(int(low), int(high)) if option.kind is int else st.floats(low, high)
        legal.append(numbers)
    return st.one_of(legal)


@pytest.mark.parametrize("method", [m for m in GROUPING if m.options], ids=attrgetter("name"))
@settings(tenth(0.6))
@given(data=st.data(), table=tables())
def test_k_holds_with_every_option(method, data, table):
    options = {
        name: data.draw(values_of(option, table.columns), name)
        for name, option in method.options.items()
        if not (method.columnwise and option.axis)
    }
    try:
        masked = mask(method, table.frame, table.columns, table.k, **options)
    except mg.InvalidParameterError:  # options that a method refuses together
        reject()
    assert_k_holds(method, masked, table.columns, table.k)


def test_every_registered_method_is_a_function_of_the_package():
    assert {m.name for m in METHODS} <= set(dir(mg))
