"""The expression door: a struct of columns in, the same struct masked out."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.frames.mask import MaskNode
from tests.loop import share

from .doors import BOTH, ENGINES, METHODS, NARROW, call, same

# The same bits as the frame function.


@pytest.mark.parametrize("method", METHODS)
def test_select_gives_what_the_frame_function_gives(method: str) -> None:
    expected = mg.mask(NARROW, ["a", "b"], 3, method=method).select("a", "b")
    same(NARROW.select(call(BOTH, method, 3)).unnest("a"), expected)
    same(NARROW.select(BOTH.microagg.mask(3, method=method)).unnest("a"), expected)
    for engine in ENGINES:
        got = NARROW.lazy().select(call(BOTH, method, 3).alias("m"))
        same(got.collect(engine=engine).unnest("m"), expected)


@pytest.mark.parametrize("method", METHODS)
def test_with_columns_gives_what_the_frame_function_gives(method: str) -> None:
    expected = mg.mask(NARROW, ["a", "b"], 3, method=method)
    for engine in ENGINES:
        masked = NARROW.lazy().with_columns(call(BOTH, method, 3).alias("m"))
        fields = [pl.col("m").struct.field(name) for name in ("a", "b")]
        same(masked.with_columns(fields).drop("m").collect(engine=engine), expected)


@pytest.mark.parametrize("method", share(METHODS, 3, 1))
def test_over_gives_what_strata_gives_and_null_is_a_stratum(method: str) -> None:
    assert NARROW["region"].null_count() >= 3
    expected = mg.mask(NARROW, ["a", "b"], 3, method=method, strata="region").select("a", "b")
    assert not expected.equals(mg.mask(NARROW, ["a", "b"], 3, method=method).select("a", "b"))
    over = call(BOTH, method, 3).over("region").alias("m")
    same(NARROW.select(over).unnest("m"), expected)
    same(NARROW.with_columns(over).select("m").unnest("m"), expected)
    for engine in ENGINES:
        same(NARROW.lazy().select(over).collect(engine=engine).unnest("m"), expected)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("method", METHODS)
def test_agg_gives_what_strata_gives(method: str, engine: str) -> None:
    expected = mg.mask(NARROW, ["a", "b"], 3, method=method, strata="region")
    groups = NARROW.lazy().group_by("region").agg("id", call(BOTH, method, 3).alias("m"))
    got = groups.collect(engine=engine).explode("id", "m").unnest("m").sort("id")
    same(got.select("id", "region", "a", "b"), expected)


def test_over_several_columns_and_a_computed_key() -> None:
    frame = NARROW.with_columns(even=pl.col("id") % 2)
    expected = mg.mdav(frame, ["a", "b"], 3, strata=["region", "even"]).select("a", "b")
    over = BOTH.microagg.mdav(3).over("region", pl.col("id") % 2)
    same(frame.select(over).unnest("a"), expected)


def test_over_in_an_order_gives_what_order_by_gives() -> None:
    options = {"strata": "region", "order_by": "b"}
    expected = mg.mdav(NARROW, ["a", "b"], 3, **options).select("a", "b")
    over = BOTH.microagg.mdav(3).over("region", order_by="b")
    same(NARROW.select(over).unnest("a"), expected)


def test_a_stratum_that_is_too_small_raises() -> None:
    frame = NARROW.with_columns(
        region=pl.when(pl.col("id") < 2).then(pl.lit("tiny")).otherwise("region")
    )
    with pytest.raises(mg.TooFewRecordsError, match="k=3 needs at least 3 records, got 2"):
        frame.select(BOTH.microagg.mdav(3).over("region"))
    # An expression cannot empty the key that it is over.
    with pytest.raises(mg.TooFewRecordsError, match="would empty 2 record"):
        frame.select(BOTH.microagg.mdav(3, small_strata="null").over("region"))


@pytest.mark.parametrize("nulls", ["impute", "pattern"])
def test_nulls_are_treated_as_in_the_frame_function(nulls: str) -> None:
    gap = pl.when(pl.col("id") % 4 > 0)
    frame = NARROW.with_columns(gap.then("a").alias("a"))
    with pytest.raises(mg.MissingValuesError, match="Column 'a' has 18 null value"):
        frame.select(BOTH.microagg.mdav(3))
    expected = mg.mdav(frame, ["a", "b"], 3, nulls=nulls).select("a", "b")
    same(frame.select(BOTH.microagg.mdav(3, nulls=nulls)).unnest("a"), expected)


@pytest.mark.parametrize("method", METHODS)
def test_dtype_float_gives_float64(method: str) -> None:
    expected = mg.mask(NARROW, ["a", "b"], 3, method=method, dtype="float").select("a", "b")
    assert expected.schema == {"a": pl.Float64, "b": pl.Float64}
    lazy = NARROW.lazy().select(call(BOTH, method, 3, dtype="float").alias("m"))
    assert lazy.collect_schema() == {"m": pl.Struct(expected.schema)}
    same(lazy.collect().unnest("m"), expected)
    over = call(BOTH, method, 3, dtype="float").over("region").alias("m")
    in_strata = mg.mask(NARROW, ["a", "b"], 3, method=method, strata="region", dtype="float")
    same(NARROW.select(over).unnest("m"), in_strata.select("a", "b"))


@pytest.mark.parametrize("name", ["", "*", "^a$", "^.*$", "a.b", '"', "0", "row"])
def test_a_field_may_have_any_name(name: str) -> None:
    frame = pl.DataFrame({name: NARROW["a"], "b": NARROW["b"]})
    masked = mg.mdav(NARROW, ["a", "b"], 3)
    expected = pl.DataFrame({name: masked["a"], "b": masked["b"]})
    batch = pl.DataFrame({"x": frame.to_struct()})
    got = batch.select(pl.col("x").microagg.mdav(3)).to_series()
    assert got.struct.fields == [name, "b"]
    same(got.struct.unnest(), expected)
    numbers = batch.select(pl.col("x").microagg.groups(3)).to_series()
    assert numbers.equals(mg.groups(NARROW, ["a", "b"], 3)["microagg_group"])


# What comes later stays above an expression as well.

AFTER: dict[str, Callable[[pl.LazyFrame], pl.LazyFrame]] = {
    "filter": lambda t: t.filter(pl.col("id") < 9),
    "filter stratum": lambda t: t.filter(pl.col("region") == "s"),
    "head": lambda t: t.head(4),
    "slice": lambda t: t.slice(5, 3),
    "semi join": lambda t: t.join(pl.LazyFrame({"id": [1, 2]}), on="id", how="semi"),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("after", AFTER)
def test_what_comes_after_does_not_reach_below_an_expression(
    after: str, engine: str, seen: list[int]
) -> None:
    masked = NARROW.lazy().with_columns(BOTH.microagg.mdav(3).alias("m"))
    expected = AFTER[after](masked.collect().lazy()).collect()
    seen.clear()
    same(AFTER[after](masked).collect(engine=engine).sort("id"), expected)
    assert seen == [NARROW.height]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("after", AFTER)
def test_what_comes_after_leaves_whole_strata_to_over(
    after: str, engine: str, seen: list[int]
) -> None:
    masked = NARROW.lazy().with_columns(BOTH.microagg.mdav(3).over("region").alias("m"))
    expected = AFTER[after](masked.collect().lazy()).collect()
    seen.clear()
    same(AFTER[after](masked).collect(engine=engine).sort("id"), expected)
    sizes = NARROW.group_by("region").len()["len"].to_list()
    assert seen
    assert set(seen) <= set(sizes)


def test_an_expression_calls_nothing_for_its_schema(seen: list[int]) -> None:
    lazy = NARROW.lazy().select(
        BOTH.microagg.mdav(3).alias("m"), BOTH.microagg.groups(3).alias("g")
    )
    kinds = {"m": pl.Struct({"a": pl.Int64, "b": pl.Float64}), "g": pl.UInt32}
    assert lazy.collect_schema() == kinds
    assert seen == []


def test_fields_that_are_taken_in_a_second_step_are_masked_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What docs/polars.md says: in one step the values are the same, and the time is multiplied."""
    calls = []
    mask = MaskNode.__call__

    def counted(self: MaskNode, batch: pl.Series) -> pl.Series:
        calls.append(len(batch))
        return mask(self, batch)

    monkeypatch.setattr(MaskNode, "__call__", counted)
    record, lazy = BOTH.microagg.mdav(3), NARROW.lazy()
    expected = NARROW.with_columns(mg.mdav(NARROW, ["a", "b"], 3).select("a", "b"))
    calls.clear()
    for engine in ENGINES:
        steps = lazy.with_columns(record.alias("m")).with_columns(pl.col("m").struct.unnest())
        same(steps.drop("m").collect(engine=engine), expected)
        assert calls == [NARROW.height]
        calls.clear()
        # In one step once for each field, unless Polars sees that they are of one node.
        same(lazy.with_columns(record.struct.unnest()).collect(engine=engine), expected)
        assert calls in ([NARROW.height], [NARROW.height] * 2)
        calls.clear()
