"""The expression door: a struct of columns in, the same struct masked out."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_microagg as mg
from polars_microagg import registry
from polars_microagg.plan import Plan

ENGINES = ["in-memory", "streaming"]
METHODS = registry.methods()
JOINT = [name for name, method in METHODS.items() if not method.columnwise]
COLUMNWISE = [name for name, method in METHODS.items() if method.columnwise]
GROUPING = [name for name in JOINT if METHODS[name].unit == "record"]
BOTH = pl.struct("a", "b")


def table(n: int = 72) -> pl.DataFrame:
    random = np.random.default_rng(11)
    regions = np.array(["n", "s", None], dtype=object)[random.permutation(n) % 3]
    return pl.DataFrame(
        {
            "id": np.arange(n),
            "region": pl.Series(regions.tolist(), dtype=pl.String),
            "a": random.integers(0, 40, n),
            "b": random.normal(size=n).round(2),
        }
    )


TABLE = table()


def same(got: pl.DataFrame, expected: pl.DataFrame) -> None:
    assert_frame_equal(got, expected, check_exact=True)


def call(expression: pl.Expr, method: str, *arguments: Any, **options: Any) -> pl.Expr:
    return getattr(expression.microagg, method)(*arguments, **options)


# The same bits as the frame function.


@pytest.mark.parametrize("method", METHODS)
def test_select_gives_what_the_frame_function_gives(method: str) -> None:
    expected = mg.mask(TABLE, ["a", "b"], 3, method=method).select("a", "b")
    same(TABLE.select(call(BOTH, method, 3)).unnest("a"), expected)
    same(TABLE.select(BOTH.microagg.mask(3, method=method)).unnest("a"), expected)
    for engine in ENGINES:
        got = TABLE.lazy().select(call(BOTH, method, 3).alias("m"))
        same(got.collect(engine=engine).unnest("m"), expected)


@pytest.mark.parametrize("method", METHODS)
def test_with_columns_gives_what_the_frame_function_gives(method: str) -> None:
    expected = mg.mask(TABLE, ["a", "b"], 3, method=method)
    for engine in ENGINES:
        masked = TABLE.lazy().with_columns(call(BOTH, method, 3).alias("m"))
        fields = [pl.col("m").struct.field(name) for name in ("a", "b")]
        same(masked.with_columns(fields).drop("m").collect(engine=engine), expected)


@pytest.mark.parametrize("method", METHODS)
def test_over_gives_what_strata_gives_and_null_is_a_stratum(method: str) -> None:
    assert TABLE["region"].null_count() >= 3
    expected = mg.mask(TABLE, ["a", "b"], 3, method=method, strata="region").select("a", "b")
    assert not expected.equals(mg.mask(TABLE, ["a", "b"], 3, method=method).select("a", "b"))
    over = call(BOTH, method, 3).over("region").alias("m")
    same(TABLE.select(over).unnest("m"), expected)
    same(TABLE.with_columns(over).select("m").unnest("m"), expected)
    for engine in ENGINES:
        same(TABLE.lazy().select(over).collect(engine=engine).unnest("m"), expected)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("method", METHODS)
def test_agg_gives_what_strata_gives(method: str, engine: str) -> None:
    expected = mg.mask(TABLE, ["a", "b"], 3, method=method, strata="region")
    groups = TABLE.lazy().group_by("region").agg("id", call(BOTH, method, 3).alias("m"))
    got = groups.collect(engine=engine).explode("id", "m").unnest("m").sort("id")
    same(got.select("id", "region", "a", "b"), expected)


def test_over_several_columns_and_a_computed_key() -> None:
    frame = TABLE.with_columns(even=pl.col("id") % 2)
    expected = mg.mdav(frame, ["a", "b"], 3, strata=["region", "even"]).select("a", "b")
    over = BOTH.microagg.mdav(3).over("region", pl.col("id") % 2)
    same(frame.select(over).unnest("a"), expected)


def test_over_in_an_order_gives_what_order_by_gives() -> None:
    options = {"strata": "region", "order_by": "b"}
    expected = mg.mdav(TABLE, ["a", "b"], 3, **options).select("a", "b")
    over = BOTH.microagg.mdav(3).over("region", order_by="b")
    same(TABLE.select(over).unnest("a"), expected)


def test_a_stratum_that_is_too_small_raises_or_becomes_null() -> None:
    frame = TABLE.with_columns(
        region=pl.when(pl.col("id") < 2).then(pl.lit("tiny")).otherwise("region")
    )
    with pytest.raises(mg.TooFewRecordsError, match="k=3 needs at least 3 records, got 2"):
        frame.select(BOTH.microagg.mdav(3).over("region"))
    expected = mg.mdav(frame, ["a", "b"], 3, strata="region", small_strata="null")
    got = frame.select(BOTH.microagg.mdav(3, small_strata="null").over("region"))
    same(got.unnest("a"), expected.select("a", "b"))
    assert got.unnest("a").null_count().row(0) == (2, 2)


@pytest.mark.parametrize("nulls", ["impute", "pattern"])
def test_nulls_are_treated_as_in_the_frame_function(nulls: str) -> None:
    gap = pl.when(pl.col("id") % 4 > 0)
    frame = TABLE.with_columns(gap.then("a").alias("a"))
    with pytest.raises(mg.MissingValuesError, match="Column 'a' has 18 null value"):
        frame.select(BOTH.microagg.mdav(3))
    expected = mg.mdav(frame, ["a", "b"], 3, nulls=nulls).select("a", "b")
    same(frame.select(BOTH.microagg.mdav(3, nulls=nulls)).unnest("a"), expected)


@pytest.mark.parametrize("method", METHODS)
def test_dtype_float_gives_float64(method: str) -> None:
    expected = mg.mask(TABLE, ["a", "b"], 3, method=method, dtype="float").select("a", "b")
    assert expected.schema == {"a": pl.Float64, "b": pl.Float64}
    lazy = TABLE.lazy().select(call(BOTH, method, 3, dtype="float").alias("m"))
    assert lazy.collect_schema() == {"m": pl.Struct(expected.schema)}
    same(lazy.collect().unnest("m"), expected)
    over = call(BOTH, method, 3, dtype="float").over("region").alias("m")
    in_strata = mg.mask(TABLE, ["a", "b"], 3, method=method, strata="region", dtype="float")
    same(TABLE.select(over).unnest("m"), in_strata.select("a", "b"))


@pytest.mark.parametrize("name", ["", "*", "^a$", "^.*$", "a.b", '"', "0", "row"])
def test_a_field_may_have_any_name(name: str) -> None:
    frame = pl.DataFrame({name: TABLE["a"], "b": TABLE["b"]})
    masked = mg.mdav(TABLE, ["a", "b"], 3)
    expected = pl.DataFrame({name: masked["a"], "b": masked["b"]})
    batch = pl.DataFrame({"x": frame.to_struct()})
    got = batch.select(pl.col("x").microagg.mdav(3)).to_series()
    assert got.struct.fields == [name, "b"]
    same(got.struct.unnest(), expected)
    numbers = batch.select(pl.col("x").microagg.groups(3)).to_series()
    assert numbers.equals(mg.groups(TABLE, ["a", "b"], 3)["microagg_group"])


# What comes later stays above an expression as well.


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Rows of each batch that reached the kernel."""
    rows: list[int] = []
    mask = Plan.mask

    def counted(self: Plan, x: np.ndarray, *rest: Any) -> Any:
        rows.append(len(x))
        return mask(self, x, *rest)

    monkeypatch.setattr(Plan, "mask", counted)
    return rows


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
    masked = TABLE.lazy().with_columns(BOTH.microagg.mdav(3).alias("m"))
    expected = AFTER[after](masked.collect().lazy()).collect()
    seen.clear()
    same(AFTER[after](masked).collect(engine=engine).sort("id"), expected)
    assert seen == [TABLE.height]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("after", AFTER)
def test_what_comes_after_leaves_whole_strata_to_over(
    after: str, engine: str, seen: list[int]
) -> None:
    masked = TABLE.lazy().with_columns(BOTH.microagg.mdav(3).over("region").alias("m"))
    expected = AFTER[after](masked.collect().lazy()).collect()
    seen.clear()
    same(AFTER[after](masked).collect(engine=engine).sort("id"), expected)
    sizes = TABLE.group_by("region").len()["len"].to_list()
    assert seen
    assert set(seen) <= set(sizes)


def test_an_expression_calls_nothing_for_its_schema(seen: list[int]) -> None:
    lazy = TABLE.lazy().select(BOTH.microagg.mdav(3).alias("m"), BOTH.microagg.groups(3).alias("g"))
    kinds = {"m": pl.Struct({"a": pl.Int64, "b": pl.Float64}), "g": pl.UInt32}
    assert lazy.collect_schema() == kinds
    assert seen == []


# A plain column.

PLACES: dict[str, Callable[[pl.LazyFrame, pl.Expr], pl.LazyFrame]] = {
    "select": lambda t, e: t.select(e),
    "with_columns": lambda t, e: t.with_columns(e),
    "over": lambda t, e: t.with_columns(e.over("region")),
    "agg": lambda t, e: t.group_by("region").agg(e),
    "filter": lambda t, e: t.filter(e.is_not_null()),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("columns", [["a"], ["a", "b"]])
@pytest.mark.parametrize("method", JOINT)
def test_a_plain_column_is_refused_where_records_are_grouped(
    method: str, columns: list[str], place: str, seen: list[int]
) -> None:
    wrong = call(pl.col(columns), method, 5)
    way_out = rf'plain column of type Int64.*pl\.struct\("a", "b"\)\.microagg\.{method}\('
    with pytest.raises(mg.InvalidParameterError, match=way_out):
        PLACES[place](TABLE.lazy(), wrong).collect_schema()
    with pytest.raises(mg.InvalidParameterError, match=way_out):
        PLACES[place](TABLE.lazy(), wrong).collect()
    eager = {
        "select": lambda: TABLE.select(wrong),
        "with_columns": lambda: TABLE.with_columns(wrong),
        "over": lambda: TABLE.with_columns(wrong.over("region")),
        "agg": lambda: TABLE.group_by("region").agg(wrong),
        "filter": lambda: TABLE.filter(wrong.is_not_null()),
    }
    with pytest.raises(mg.InvalidParameterError, match=way_out):
        eager[place]()
    assert seen == []


def test_groups_of_a_plain_column_are_refused_where_records_are_grouped() -> None:
    with pytest.raises(mg.InvalidParameterError, match=r"Write pl\.struct"):
        TABLE.select(pl.col("a", "b").microagg.groups(5))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("method", COLUMNWISE)
def test_a_columnwise_method_takes_plain_columns(method: str, engine: str) -> None:
    lazy = TABLE.lazy()
    one = mg.mask(TABLE, "a", 3, method=method)
    same(lazy.with_columns(call(pl.col("a"), method, 3)).collect(engine=engine), one)
    two = mg.mask(TABLE, ["a", "b"], 3, method=method)
    same(lazy.with_columns(call(pl.col("a", "b"), method, 3)).collect(engine=engine), two)
    strata = mg.mask(TABLE, ["a", "b"], 3, method=method, strata="region")
    over = call(pl.col("a", "b"), method, 3).over("region")
    same(lazy.with_columns(over).collect(engine=engine), strata)
    lists = lazy.group_by("region").agg("id", call(pl.col("a", "b"), method, 3))
    got = lists.collect(engine=engine).explode("id", "a", "b").sort("id")
    same(got.select(TABLE.columns), strata)
    float_ = lazy.select(call(pl.col("a"), method, 3, dtype="float"))
    assert float_.collect_schema() == {"a": pl.Float64}
    expected = mg.mask(TABLE, "a", 3, method=method, dtype="float").select("a")
    same(float_.collect(engine=engine), expected)


@pytest.mark.parametrize("method", COLUMNWISE)
def test_a_columnwise_method_takes_computed_columns_and_any_name(method: str) -> None:
    expected = mg.mask(TABLE.select(c=pl.col("a") * 2), "c", 3, method=method)
    same(TABLE.select(call(pl.col("a") * 2, method, 3).alias("c")), expected)
    for name in ("", "*", "^a$"):
        frame = pl.DataFrame({name: TABLE["a"]})
        got = frame.select(call(pl.nth(0), method, 3))
        assert got.columns == [name]
        assert got.to_series().equals(mg.mask(TABLE, "a", 3, method=method)["a"])


@pytest.mark.parametrize("method", COLUMNWISE)
def test_the_error_of_a_plain_column_names_it(method: str) -> None:
    frame = TABLE.with_columns(pl.when(pl.col("id") > 0).then("a").alias("a"))
    with pytest.raises(mg.MissingValuesError, match="Column 'a' has 1 null value"):
        frame.select(call(pl.col("a"), method, 3))


@pytest.mark.parametrize("method", METHODS)
def test_a_type_without_centroid_is_refused_with_the_schema(method: str) -> None:
    lazy = TABLE.lazy().select(call(pl.struct("a", "region"), method, 3))
    with pytest.raises(mg.NotNumericError, match="Column 'region' is of type String"):
        lazy.collect_schema()


# Numbers of groups.


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("method", GROUPING)
def test_groups_number_the_groups_of_the_frame_function(method: str, engine: str) -> None:
    expected = mg.groups(TABLE, ["a", "b"], 3, method=method)["microagg_group"]
    numbered = TABLE.lazy().select(BOTH.microagg.groups(3, method=method).alias("g"))
    got = numbered.collect(engine=engine)["g"]
    assert got.dtype == pl.UInt32
    assert got.equals(expected)


@pytest.mark.parametrize("method", GROUPING)
def test_groups_over_number_from_zero_in_each_stratum(method: str) -> None:
    over = BOTH.microagg.groups(3, method=method).over("region").alias("g")
    strata = mg.groups(TABLE, ["a", "b"], 3, method=method, strata="region", name="whole")
    got = strata.with_columns(over)
    for (_,), part in got.group_by("region", maintain_order=True):
        assert part["g"].unique(maintain_order=True).to_list() == list(range(part["g"].n_unique()))
        pairs = part.select("g", "whole").unique()
        assert pairs.height == part["g"].n_unique() == part["whole"].n_unique()
    lists = TABLE.group_by("region", maintain_order=True).agg(
        "id", g=BOTH.microagg.groups(3, method=method)
    )
    by_agg = lists.explode("id", "g").sort("id")["g"]
    assert by_agg.equals(got["g"])


@pytest.mark.parametrize("method", COLUMNWISE)
def test_groups_of_one_plain_column(method: str) -> None:
    expected = mg.groups(TABLE, "a", 3, method=method)["microagg_group"]
    got = TABLE.select(pl.col("a").microagg.groups(3, method=method)).to_series()
    assert got.equals(expected)
    with pytest.raises(mg.InvalidParameterError, match="more than one block of columns"):
        TABLE.lazy().select(BOTH.microagg.groups(3, method=method)).collect_schema()


# k' and k_min, counted by hand.

CLASSES = pl.DataFrame(
    {
        "region": ["x", "x", "x", "y", "y", "y", None, None],
        "a": [1, 1, 2, 2, 2, 3, None, None],
        "b": [0.0, 0.0, 5.0, 5.0, 5.0, 5.0, 1.0, 1.0],
    }
)
COUNTED: dict[str, tuple[pl.Expr, tuple[float, int], dict[str | None, tuple[float, int]]]] = {
    # Classes of the whole table, then of x, y and null.
    "a and b": (BOTH, (8 / 4, 1), {"x": (3 / 2, 1), "y": (3 / 2, 1), None: (2.0, 2)}),
    "a": (pl.col("a"), (8 / 4, 1), {"x": (3 / 2, 1), "y": (3 / 2, 1), None: (2.0, 2)}),
    "b": (pl.col("b"), (8 / 3, 2), {"x": (3 / 2, 1), "y": (3.0, 3), None: (2.0, 2)}),
}


def counts(expression: pl.Expr) -> list[pl.Expr]:
    namespace = expression.microagg
    return [namespace.k_prime().alias("k_prime"), namespace.k_min().alias("k_min")]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("what", COUNTED)
def test_k_prime_and_k_min_count_the_classes_of_equal_records(what: str, engine: str) -> None:
    expression, whole, strata = COUNTED[what]
    lazy = CLASSES.lazy()
    assert lazy.select(counts(expression)).collect(engine=engine).row(0) == whole
    by_region = lazy.group_by("region").agg(counts(expression)).collect(engine=engine)
    assert {region: (prime, least) for region, prime, least in by_region.iter_rows()} == strata
    over = lazy.select("region", *[c.over("region") for c in counts(expression)])
    expected = [(region, *strata[region]) for region in CLASSES["region"]]
    assert over.collect(engine=engine).rows() == expected


def test_k_prime_and_k_min_agree_with_anonymity_and_verify() -> None:
    row = mg.anonymity(TABLE, ["a", "b"]).select("k_prime", "k_min").row(0)
    assert TABLE.select(counts(BOTH)).row(0) == row


def test_k_min_of_a_masked_struct_is_at_least_k() -> None:
    masked = BOTH.microagg.mdav(4)
    assert TABLE.select(masked.microagg.k_min()).item() >= 4
    assert (
        TABLE.select(masked.over("region").microagg.k_min().over("region")).to_series().min() >= 4
    )
    lists = TABLE.group_by("region").agg(masked.microagg.k_min())
    assert lists["a"].min() >= 4


# Wrong calls raise when they are typed.


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("option", "way_out"),
    [
        ({"strata": "region"}, r"cannot honour strata\. Write \.over\(\.\.\.\)"),
        ({"order_by": "id"}, r"cannot honour order_by\. Use the frame function"),
    ],
    ids=["strata", "order_by"],
)
def test_strata_and_order_by_are_refused_with_the_way_out(
    method: str, option: dict[str, str], way_out: str
) -> None:
    for expression in (BOTH, pl.col("a")):
        with pytest.raises(mg.InvalidParameterError, match=way_out):
            call(expression, method, 3, **option)
        with pytest.raises(mg.InvalidParameterError, match=way_out):
            expression.microagg.mask(3, method=method, **option)
        with pytest.raises(mg.InvalidParameterError, match=way_out):
            expression.microagg.groups(3, method=method, **option)


@pytest.mark.parametrize("k", [1, 0, -3, 2.0, "3", True, [3]])
@pytest.mark.parametrize("what", [*METHODS, "mask", "groups"])
def test_a_wrong_k_raises_when_the_expression_is_typed(what: str, k: object) -> None:
    with pytest.raises(mg.InvalidParameterError, match="is not a group size"):
        call(BOTH, what, k)


@pytest.mark.parametrize("what", [*METHODS, "mask", "groups"])
def test_an_expression_without_k_asks_for_it(what: str) -> None:
    with pytest.raises(mg.InvalidParameterError, match="needs k, the smallest group size"):
        call(BOTH, what, None)


@pytest.mark.parametrize("method", METHODS)
def test_a_wrong_option_raises_when_the_expression_is_typed(method: str) -> None:
    with pytest.raises(mg.InvalidParameterError, match="has no option 'stratas'"):
        call(BOTH, method, 3, stratas="region")
    with pytest.raises(mg.InvalidParameterError, match="dtype='whole' is not known"):
        call(BOTH, method, 3, dtype="whole")


def test_an_unknown_method_raises_when_the_expression_is_typed() -> None:
    with pytest.raises(mg.UnknownMethodError, match="no method 'mdavv'"):
        BOTH.microagg.mask(3, method="mdavv")
    with pytest.raises(mg.UnknownMethodError, match="no method 'mdavv'"):
        BOTH.microagg.groups(3, method="mdavv")


# The namespace keeps nothing alive.

CALLS: dict[str, Callable[[Any], object]] = {
    "mdav": lambda frame: frame.microagg.mdav(["a", "b"], 3),
    "mask": lambda frame: frame.microagg.mask("a", 3),
    "groups": lambda frame: frame.microagg.groups(["a", "b"], 3),
    "verify": lambda frame: frame.microagg.verify("zero", 3),
    "anonymity": lambda frame: frame.microagg.anonymity("a"),
    "assess": lambda frame: frame.microagg.assess(frame, "a", metrics="k_min"),
    "twice": lambda frame: (frame.microagg.mdav("a", 3), frame.microagg.mdav("b", 3)),
    "a name for the namespace": lambda frame: _by_name(frame.microagg),
    "a wrong call": lambda frame: _wrongly(frame),
}


def _by_name(namespace: Any) -> object:
    return namespace.mdav("a", 3), namespace.mask("b", 3)


def _wrongly(frame: Any) -> None:
    try:
        frame.microagg.mdav("a", 1)
    except mg.InvalidParameterError:
        return
    pytest.fail("k=1 was accepted")


@pytest.fixture
def without_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("without_collector")
@pytest.mark.parametrize("lazy", [False, True], ids=["DataFrame", "LazyFrame"])
@pytest.mark.parametrize("name", CALLS)
def test_the_namespace_does_not_keep_the_frame_alive(name: str, lazy: bool) -> None:
    frame: Any = TABLE.with_columns(zero=0)
    frame = frame.lazy() if lazy else frame
    frame_is = weakref.ref(frame)
    CALLS[name](frame)
    del frame
    assert frame_is() is None
