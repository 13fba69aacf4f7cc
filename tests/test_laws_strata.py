"""Laws that every method obeys: strata, blocks and nulls."""

from operator import attrgetter

import numpy as np
import polars as pl
import polars.selectors as cs
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import polars_microagg as mg
from polars_microagg.core.partition import Partition
from tests.laws import (
    CELLWISE,
    NOW,
    SHAPES,
    Table,
    assert_k_holds,
    bits,
    blocks,
    every_grouping,
    every_method,
    labels,
    mask,
    seeds,
    tables,
    tenth,
    tie_free,
    typed,
)

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
def test_small_strata_are_emptied_or_dropped_and_the_others_are_as_without_them(method, table, rng):
    k, columns, keys = table.k, table.columns, ["region", "sex"]
    few = k - 1 if method not in CELLWISE else (k - 1) // len(columns)
    assume(few > 0)
    small = [
        table.frame[:few].with_columns(region=pl.lit(f"small {i}"), row=pl.lit(NEW, pl.UInt32))
        for i in range(-(-k // few))
    ]
    frame = pl.concat([table.frame, *small])
    frame = frame[rng.permutation(frame.height)]
    masked = mask(method, frame, columns, k, strata=keys, small_strata="null")
    gone = masked.filter(row=NEW).select(pl.col(*columns, *keys).is_null())
    assert gone.to_numpy().all()
    old = pl.col("row") != NEW
    alone = mask(method, frame.filter(old), columns, k, strata=keys)
    assert bits(masked.filter(old)) == bits(alone)
    others = ~cs.by_name(*columns, *keys)
    assert bits(masked.select(others)) == bits(frame.select(others))
    dropped = mask(method, frame, columns, k, strata=keys, small_strata="drop")
    assert bits(dropped) == bits(alone)
    with pytest.raises(mg.TooFewRecordsError, match=rf"strata have fewer than k={k} records"):
        mask(method, frame, columns, k, strata=keys)
    few_left = frame.filter(old | (pl.col("region") == "small 0"))
    with pytest.raises(mg.TooFewRecordsError, match=rf"would empty {few} record"):
        mask(method, few_left, columns, k, strata=keys, small_strata="null")


@every_grouping
@given(table=strata())
def test_records_of_a_small_stratum_have_no_group(method, table):
    frame = table.frame.with_columns(
        region=pl.when(pl.col("row") < table.k - 1).then(pl.lit("s")).otherwise(pl.lit("big")),
        sex=pl.when(pl.col("row") == table.k - 1).then(2).otherwise(1),
    )
    assume(frame.height >= 2 * table.k)
    options = {"strata": ["region", "sex"], "small_strata": "null"}
    for found in labels(method, frame, table.columns, table.k, **options):
        assert np.array_equal(found < 0, (frame["row"] < table.k).to_numpy())


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
    """A table whose patterns of nulls all have k records."""
    table = draw(tables(columns=(2, 3)))
    p = len(table.columns)
    rng = draw(seeds)
    patterns = draw(st.lists(st.integers(0, 2**p - 1), min_size=1, max_size=4, unique=True))
    sizes = [draw(st.integers(table.k, 12)) for _ in patterns]
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
        assert group.min() >= 0
        pairs = np.unique(np.column_stack([group, null]), axis=0)
        assert len(pairs) == len(np.unique(group))
