"""Laws that every registered method obeys, whatever it is called and whatever its algorithm.

A law reads what it needs from the registry (`unit`, `columnwise`, `options`, `sizes`, `seeded`),
so a method added tomorrow is held by all of them.
"""

import re
from collections import Counter
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from math import ulp
from operator import attrgetter
from statistics import median

import numpy as np
import polars as pl
import polars.selectors as cs
import pytest
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st

import polars_microagg as mg
from polars_microagg import registry
from polars_microagg.partition import Partition

METHODS = list(registry.methods().values())
CELLWISE = [m for m in METHODS if m.unit == "value" and not m.columnwise]
"""Methods that mix the values of several columns: no class of k records, no centroid a column."""
GROUPING = [m for m in METHODS if m not in CELLWISE]

every_method = pytest.mark.parametrize("method", METHODS, ids=attrgetter("name"))
every_grouping = pytest.mark.parametrize("method", GROUPING, ids=attrgetter("name"))
every_unseeded = pytest.mark.parametrize(
    "method", [m for m in GROUPING if not m.seeded], ids=attrgetter("name")
)


def tenth(share=0.1):
    """Settings for laws that are parametrised once more, or whose examples cost more."""
    return settings(max_examples=max(5, round(settings().max_examples * share)))


# --- What a method did ------------------------------------------------------------------------


def quick(method):
    """Options that only buy a better result with time, at values that take next to none."""
    ranges = {name: option.range for name, option in method.options.items()}
    return {name: r.quick for name, r in ranges.items() if r is not None and r.quick is not None}


def mask(method, frame, columns, k, **options):
    return mg.mask(frame, columns, k, method=method.name, **(quick(method) | options))


def blocks(method, columns):
    """Columns that share their groups."""
    return [[name] for name in columns] if method.columnwise else [list(columns)]


def labels(method, frame, columns, k, **options):
    """Groups of each block; a null group is -1."""
    return [
        mg.groups(frame, block, k, method=method.name, **(quick(method) | options))[
            "microagg_group"
        ]
        .cast(pl.Int64)
        .fill_null(-1)
        .to_numpy()
        for block in blocks(method, columns)
    ]


def classes(frame, columns):
    """Sizes of the classes of equal records."""
    return frame.group_by(columns).len()["len"]


def assert_k_holds(method, masked, columns, k, strata=()):
    for block in blocks(method, columns):
        assert classes(masked, [*block, *strata]).min() >= k


def bits(frame):
    """Everything in a frame that can be told apart, down to the sign of zero."""
    contents = []
    for column in frame.get_columns():
        values = column.to_physical()
        floats = values.fill_null(0).to_numpy().tobytes() if values.dtype.is_float() else None
        contents.append((column.name, column.dtype, column.is_null().to_list(), floats))
        if floats is None:
            contents.append(values.to_list())
    return contents


def chunked(frame, size):
    """The same rows in chunks of a given size."""
    return pl.concat([frame[i : i + size] for i in range(0, frame.height, size)], rechunk=False)


# --- Tables -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Table:
    frame: pl.DataFrame
    columns: list[str]
    k: int


def ties(rng, n):
    return rng.integers(0, 4, n).astype(float)


def tie_free(rng, n):
    """Dyadic fractions: shifts and powers of two leave them exact, and no two distances agree."""
    high = 2**38
    return np.unique(rng.integers(-high, high, 4 * n + 8))[rng.permutation(4 * n)[:n]] / 2.0**20


SHAPES = {
    "tie_free": tie_free,
    "ties": ties,
    "constant": lambda rng, n: np.full(n, 0.1),
    "two_values": lambda rng, n: rng.choice([0.1, 0.3], n),
    "skewed": lambda rng, n: np.exp(3.0 * rng.standard_normal(n)),
    "offset": lambda rng, n: 1e15 + rng.integers(0, 50, n),
    "subnormal": lambda rng, n: rng.integers(0, 9, n) * 5e-324,
    "huge": lambda rng, n: 1e300 * rng.standard_normal(n),
    "ends": lambda rng, n: rng.choice([-1.7976931348623157e308, 0.0, 1.7976931348623157e308], n),
    "one_far": lambda rng, n: np.where(np.arange(n) == 0, 1e12, rng.random(n)),
    "signed_zero": lambda rng, n: rng.choice([-0.0, 0.0], n),
    "whole_range": lambda rng, n: np.ldexp(rng.standard_normal(n), rng.integers(-1070, 1020, n)),
}
EXACT_SHAPES = {
    "tie_free": tie_free,
    "ties": ties,
    "constant": lambda rng, n: np.full(n, 3.0),
    "two_values": lambda rng, n: rng.choice([-2.5, 7.0], n),
}
seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)


@st.composite
def tables(draw, shapes=SHAPES, columns=(1, 3), rows=60):
    k = draw(st.integers(2, 5))
    n = draw(st.integers(k, rows))
    names = [f"x{j}" for j in range(draw(st.integers(*columns)))]
    kinds = [draw(st.sampled_from(sorted(shapes))) for _ in names]
    rng = draw(seeds)
    data = {name: shapes[kind](rng, n) for name, kind in zip(names, kinds, strict=True)}
    aside = {"row": np.arange(n), "note": [f"n{i}" for i in range(n)], "share": rng.random(n)}
    frame = pl.DataFrame(data | aside)
    return Table(frame.select(rng.permutation(frame.columns).tolist()), names, k)


# --- Groups and classes -----------------------------------------------------------------------


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


# --- Types and chunks -------------------------------------------------------------------------


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


NOW = 1_700_000_000
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
EXACT = Context(prec=80)


def typed(steps, dtype):
    """A series of a type from the integers behind it."""
    if isinstance(dtype, pl.Decimal):
        return pl.Series([EXACT.scaleb(Decimal(v), -dtype.scale) for v in steps], dtype=dtype)
    physical = pl.Series([], dtype=dtype).to_physical().dtype
    return pl.Series(steps, dtype=physical).cast(dtype)


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


# --- Strata and blocks ------------------------------------------------------------------------

KEYS = [("north", 1), ("south", 1), (None, 1), ("north", None)]
NEW = 10**6


def each_stratum(frame):
    return frame.partition_by("region", "sex", maintain_order=True)


@st.composite
def strata(draw):
    """Tables of several strata in any row order, each with shapes of its own."""
    k, p = draw(st.integers(2, 5)), draw(st.integers(1, 3))
    names = [f"x{j}" for j in range(p)]
    parts = []
    for region, sex in KEYS[: draw(st.integers(1, 4))]:
        n, rng = draw(st.integers(k, 18)), draw(seeds)
        data = {name: SHAPES[draw(st.sampled_from(sorted(SHAPES)))](rng, n) for name in names}
        schema = {"region": pl.String, "sex": pl.Int64}
        keys = pl.DataFrame({"region": [region] * n, "sex": [sex] * n}, schema=schema)
        parts.append(pl.DataFrame(data).hstack(keys))
    frame = pl.concat(parts)
    frame = frame[draw(seeds).permutation(frame.height)]
    return Table(frame.with_row_index("row"), names, k)


@every_method
@given(table=strata())
def test_strata_are_masked_as_if_each_were_alone(method, table):
    masked = mask(method, table.frame, table.columns, table.k, strata=["region", "sex"])
    alone = [mask(method, part, table.columns, table.k) for part in each_stratum(table.frame)]
    assert bits(masked) == bits(pl.concat(alone).sort("row"))


@every_grouping
@given(table=strata())
def test_groups_never_cross_strata_and_k_holds_within_each(method, table):
    keys = ["region", "sex"]
    for found in labels(method, table.frame, table.columns, table.k, strata=keys):
        assert np.array_equal(found, Partition.from_labels(found).labels)
        pairs = table.frame.select(*keys, pl.Series("g", found)).unique()
        assert pairs["g"].is_unique().all()
    masked = mask(method, table.frame, table.columns, table.k, strata=keys)
    assert_k_holds(method, masked, table.columns, table.k, keys)


@every_grouping
@settings(tenth(0.3))
@given(rng=seeds, k=st.integers(2, 4))
def test_strata_of_long_integers_are_masked_as_if_each_were_alone(method, rng, k):
    # The strata are decades apart, and within each of them single nanoseconds count.
    steps = [NOW * 10**9 + int(v) for v in rng.integers(0, 40, 4 * k)]
    frame = pl.DataFrame(
        {
            "row": range(4 * k),
            "region": ["a", "b"] * (2 * k),
            "t": typed([s - i % 2 * 10**18 for i, s in enumerate(steps)], pl.Datetime("ns")),
            "u": typed([2**64 - 1 - int(v) for v in rng.integers(0, 9, 4 * k)], pl.UInt64),
        }
    )
    masked = mask(method, frame, ["t", "u"], k, strata="region")
    alone = [mask(method, part, ["t", "u"], k) for part in frame.partition_by("region")]
    assert bits(masked) == bits(pl.concat(alone).sort("row"))


@every_method
@given(table=strata(), rng=seeds)
def test_a_small_stratum_becomes_null_and_the_others_are_as_without_it(method, table, rng):
    k, columns = table.k, table.columns
    few = k - 1 if method not in CELLWISE else (k - 1) // len(columns)
    assume(few > 0)
    small = table.frame[:few].with_columns(region=pl.lit("small"), row=pl.lit(NEW, pl.UInt32))
    frame = pl.concat([table.frame, small])
    frame = frame[rng.permutation(frame.height)]
    masked = mask(method, frame, columns, k, strata=["region", "sex"], small_strata="null")
    gone = masked.filter(row=NEW).select(pl.col(columns).is_null())
    assert gone.to_numpy().all()
    old = pl.col("row") != NEW
    alone = mask(method, frame.filter(old), columns, k, strata=["region", "sex"])
    assert bits(masked.filter(old)) == bits(alone)
    others = ~cs.by_name(columns)
    assert bits(masked.select(others)) == bits(frame.select(others))
    with pytest.raises(mg.TooFewRecordsError, match=rf"strata have fewer than k={k} records"):
        mask(method, frame, columns, k, strata=["region", "sex"])


@every_grouping
@given(table=strata())
def test_records_of_a_small_stratum_have_no_group(method, table):
    frame = table.frame.with_columns(
        region=pl.when(pl.col("row") < table.k - 1).then(pl.lit("s")).otherwise(pl.lit("big")),
        sex=pl.lit(1),
    )
    assume(frame.height - (table.k - 1) >= table.k)
    options = {"strata": ["region", "sex"], "small_strata": "null"}
    for found in labels(method, frame, table.columns, table.k, **options):
        assert np.array_equal(found < 0, (frame["region"] == "s").to_numpy())


@every_method
@given(table=tables(columns=(2, 3)), cut=st.integers(1, 2))
def test_blocks_are_masked_as_if_each_were_alone(method, table, cut):
    cut = min(cut, len(table.columns) - 1)
    parts = [table.columns[:cut], table.columns[cut:]]
    together = mask(method, table.frame, parts, table.k)
    step = table.frame
    for part in parts:
        step = mask(method, step, part, table.k)
    assert bits(together) == bits(step)


# --- Nulls ------------------------------------------------------------------------------------


def with_nulls(rng, frame, columns, share):
    """Take away each value with some probability."""
    return frame.with_columns(
        pl.when(pl.Series(rng.random(frame.height) >= share)).then(pl.col(name)).alias(name)
        for name in columns
    )


@every_grouping
@given(table=strata(), rng=seeds, share=st.sampled_from([0.05, 0.3, 0.7, 0.95]))
def test_impute_fills_every_cell_that_its_stratum_can_fill(method, table, rng, share):
    keys = ["region", "sex"]
    frame = with_nulls(rng, table.frame, table.columns, share)
    masked = mask(method, frame, table.columns, table.k, nulls="impute", strata=keys)
    assert_k_holds(method, masked, table.columns, table.k, keys)
    for before, after in zip(each_stratum(frame), each_stratum(masked), strict=True):
        for name in table.columns:
            empty = before[name].null_count() == before.height
            assert after[name].null_count() == (after.height if empty else 0)
            if not empty:
                assert after[name].is_between(before[name].min(), before[name].max()).all()


@every_grouping
@settings(tenth(0.5))
@given(table=tables(shapes={"tie_free": tie_free}), rng=seeds)
def test_impute_emits_the_mean_of_the_values_that_a_group_has(method, table, rng):
    frame = with_nulls(rng, table.frame, table.columns, 0.3)
    masked = mask(method, frame, table.columns, table.k, nulls="impute")
    found = labels(method, frame, table.columns, table.k, nulls="impute")
    for block, group in zip(blocks(method, table.columns), found, strict=True):
        for name in block:
            values, emitted = frame[name].to_numpy(), masked[name].to_numpy()
            for g in range(group.max() + 1):
                here = values[group == g]
                # A group without any value there takes the mean of all.
                here = here if not np.isnan(here).all() else values
                if not np.isnan(here).all():
                    mean = np.nanmean(here)
                    assert emitted[group == g] == pytest.approx(mean, rel=1e-12, abs=1e-9)


@every_grouping
@given(table=tables(), rng=seeds)
def test_impute_of_nothing_missing_changes_nothing(method, table, rng):
    plain = mask(method, table.frame, table.columns, table.k)
    imputed = mask(method, table.frame, table.columns, table.k, nulls="impute")
    assert bits(plain) == bits(imputed)


@pytest.mark.parametrize("method", CELLWISE, ids=attrgetter("name"))
@pytest.mark.parametrize("option", [{"nulls": "impute"}, {"center": "median"}], ids=str)
def test_what_a_cellwise_method_cannot_honour_is_refused(method, option):
    with pytest.raises(mg.InvalidParameterError, match="cannot honour"):
        mask(method, pl.DataFrame({"a": [1, 2], "b": [3, 4]}), ["a", "b"], 2, **option)


@st.composite
def patterned(draw):
    """A table whose patterns of nulls all have k records, or are entirely null."""
    table = draw(tables(columns=(2, 3)))
    p = len(table.columns)
    rng = draw(seeds)
    patterns = draw(st.lists(st.integers(0, 2**p - 1), min_size=1, max_size=4, unique=True))
    sizes = [draw(st.integers(1 if c == 2**p - 1 else table.k, 12)) for c in patterns]
    which = rng.permutation(np.repeat(patterns, sizes))
    rows = table.frame.sample(len(which), with_replacement=True, seed=int(rng.integers(2**31)))
    frame = rows.with_columns(
        *(
            pl.when(pl.Series((which >> j) & 1 == 0)).then(pl.col(name)).alias(name)
            for j, name in enumerate(table.columns)
        ),
        pattern=pl.Series(which),
        row=pl.int_range(len(which)),
    )
    return Table(frame, table.columns, table.k)


@every_method
@given(table=patterned())
def test_pattern_keeps_every_null_and_no_other(method, table):
    masked = mask(method, table.frame, table.columns, table.k, nulls="pattern")
    kept = pl.col(table.columns).is_null()
    assert masked.select(kept).equals(table.frame.select(kept))


@every_grouping
@given(table=patterned())
def test_pattern_masks_records_with_the_same_nulls_as_if_alone(method, table):
    masked = mask(method, table.frame, table.columns, table.k, nulls="pattern")
    for block in blocks(method, table.columns):
        null = pl.concat_list(pl.col(block).is_null()).alias("null")
        for _, part in table.frame.with_columns(null).group_by("null"):
            some = [name for name in block if part[name].null_count() < part.height]
            part = part.sort("row").drop("null")
            alone = mask(method, part, some, table.k) if some else part
            here = masked.filter(pl.col("row").is_in(part["row"].implode()))
            assert bits(alone.select(block)) == bits(here.select(block))


@every_grouping
@given(table=patterned())
def test_pattern_groups_only_records_with_the_same_nulls(method, table):
    found = labels(method, table.frame, table.columns, table.k, nulls="pattern")
    for block, group in zip(blocks(method, table.columns), found, strict=True):
        null = table.frame.select(pl.col(block).is_null()).to_numpy()
        assert np.array_equal(group < 0, null.all(axis=1))
        some = group >= 0
        pairs = np.unique(np.column_stack([group[some], null[some]]), axis=0)
        assert len(pairs) == len(np.unique(group[some]))


def test_every_registered_method_is_a_function_of_the_package():
    assert {m.name for m in METHODS} <= set(dir(mg))
