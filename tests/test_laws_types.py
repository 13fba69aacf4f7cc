"""Laws that every method obeys: types and chunks."""

from collections import Counter
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import polars_microagg as mg
from tests.laws import (
    NOW,
    assert_k_holds,
    bits,
    chunked,
    every_grouping,
    every_method,
    labels,
    mask,
    seeds,
    tables,
    tenth,
    typed,
)


def integers(low, high):
    return {
        "few": lambda rng, n: [max(low, -2) + int(v) for v in rng.integers(0, 5, n)],
        "near_the_top": lambda rng, n: [high - int(v) for v in rng.integers(0, 9, n)],
        "near_the_bottom": lambda rng, n: [low + int(v) for v in rng.integers(0, 9, n)],
        "ends": lambda rng, n: [(low, high)[v] for v in rng.integers(0, 2, n)],
        "anywhere": lambda rng, n: [
            low + int(v * (2**53)) * (high - low) // 2**53 for v in rng.random(n)
        ],
    }


TYPES = {
    pl.Int8: integers(-(2**7), 2**7 - 1),
    pl.Int16: integers(-(2**15), 2**15 - 1),
    pl.Int32: integers(-(2**31), 2**31 - 1),
    pl.Int64: integers(-(2**63), 2**63 - 1),
    pl.Int128: integers(-(2**127), 2**127 - 1),
    pl.UInt8: integers(0, 2**8 - 1),
    pl.UInt16: integers(0, 2**16 - 1),
    pl.UInt32: integers(0, 2**32 - 1),
    pl.UInt64: integers(0, 2**64 - 1),
    pl.UInt128: integers(0, 2**128 - 1),
    pl.Decimal(10, 2): integers(-(10**10) + 1, 10**10 - 1),
    pl.Decimal(38, 0): integers(-(10**38) + 1, 10**38 - 1),
    pl.Decimal(38, 10): integers(-(10**38) + 1, 10**38 - 1),
    pl.Decimal(38, 38): integers(-(10**38) + 1, 10**38 - 1),
    pl.Date: integers(-700_000, 2_900_000),
    pl.Datetime("ms"): integers(NOW * 10**3 - 10**13, NOW * 10**3 + 10**13),
    pl.Datetime("us"): integers(NOW * 10**6 - 10**16, NOW * 10**6),
    pl.Datetime("ns"): integers(NOW * 10**9 - 10**18, NOW * 10**9),
    pl.Datetime("us", "Europe/Madrid"): integers(NOW * 10**6 - 10**15, NOW * 10**6),
    pl.Datetime("ns", "UTC"): integers(NOW * 10**9 - 10**18, NOW * 10**9),
    pl.Duration("ms"): integers(-(10**12), 10**12),
    pl.Duration("ns"): integers(-(2**63) + 1, 2**63 - 1),
    pl.Time: integers(0, 86_399_999_999_999),
}


every_type = pytest.mark.parametrize("dtype", list(TYPES), ids=str)


@every_grouping
@every_type
@settings(tenth())
@given(data=st.data())
def test_k_and_the_type_hold_in_every_type_and_chunking(method, dtype, data):
    k, size = data.draw(st.integers(2, 4)), data.draw(st.sampled_from([1, 7, 2048]))
    n, rng = data.draw(st.integers(k, 30)), data.draw(seeds)
    shapes = TYPES[dtype]
    columns = [data.draw(st.sampled_from(sorted(shapes))) for _ in range(2)]
    frame = pl.DataFrame(
        {f"{j}": typed(shapes[shape](rng, n), dtype) for j, shape in enumerate(columns)}
    )
    masked = mask(method, chunked(frame, size), frame.columns, k)
    assert masked.schema == frame.schema
    assert_k_holds(method, masked, frame.columns, k)
    assert bits(masked) == bits(mask(method, frame, frame.columns, k))
    for before, after in zip(frame.get_columns(), masked.get_columns(), strict=True):
        inside = after.to_physical()
        assert inside.min() >= before.to_physical().min()
        assert inside.max() <= before.to_physical().max()


@every_grouping
@every_type
@settings(tenth())
@given(data=st.data())
def test_whole_steps_are_the_exact_mean_rounded_half_to_even(method, dtype, data):
    k, rng = data.draw(st.integers(2, 4)), data.draw(seeds)
    shape = data.draw(st.sampled_from(["few", "near_the_top", "near_the_bottom"]))
    steps = TYPES[dtype][shape](rng, data.draw(st.integers(k, 24)))
    frame = pl.DataFrame({"a": typed(steps, dtype)})
    emitted = mask(method, frame, ["a"], k)["a"].to_physical().to_list()
    (found,) = labels(method, frame, ["a"], k)
    totals, sizes = Counter(), Counter(found.tolist())
    for group, step in zip(found.tolist(), steps, strict=True):
        totals[group] += step
    assert emitted == [round(Fraction(totals[g], sizes[g])) for g in found.tolist()]


@every_grouping
@pytest.mark.parametrize("size", [1, 7, 2048])
@settings(tenth(0.3))
@given(table=tables())
def test_k_holds_in_float32_and_every_chunking(method, size, table):
    with np.errstate(over="ignore"):
        narrow = table.frame.with_columns(pl.col(table.columns).clip(-3e38, 3e38).cast(pl.Float32))
    masked = mask(method, chunked(narrow, size), table.columns, table.k)
    assert masked.schema == narrow.schema
    assert_k_holds(method, masked, table.columns, table.k)
    for name in table.columns:
        assert masked[name].is_between(narrow[name].min(), narrow[name].max()).all()


@every_method
@pytest.mark.parametrize("size", [1, 7, 2048])
@settings(tenth(0.3))
@given(table=tables())
def test_chunking_changes_no_bit(method, size, table):
    whole = mask(method, table.frame, table.columns, table.k)
    parts = mask(method, chunked(table.frame, size), table.columns, table.k)
    assert bits(whole) == bits(parts)


@every_method
@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("dtype", [pl.Float32, pl.Float64])
@pytest.mark.parametrize("nulls", ["raise", "pattern"])
def test_what_is_not_finite_is_refused_by_column_and_count(method, bad, dtype, nulls):
    frame = pl.DataFrame({"a": [1.0] * 9, "b": [2.0] * 6 + [bad] * 3}).cast(dtype)
    with pytest.raises(mg.MissingValuesError, match=r"Column 'b' has 3 NaN or infinite value"):
        mask(method, frame, ["a", "b"], 3, nulls=nulls)


@every_method
def test_nulls_are_refused_by_column_and_count(method):
    frame = pl.DataFrame({"a": [1, 2, 3, 4], "b": [1, None, None, 4]})
    with pytest.raises(mg.MissingValuesError, match=r"Column 'b' has 2 null value"):
        mask(method, frame, ["a", "b"], 2)
