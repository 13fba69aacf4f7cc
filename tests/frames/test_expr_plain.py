"""Expressions on plain columns, and calls of expressions that are wrong."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest

import polars_microagg as mg
from tests.versions import POLARS_2, planned

from .doors import BOTH, COLUMNWISE, ENGINES, JOINT, METHODS, NARROW, call, same

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
        planned(PLACES[place](NARROW.lazy(), wrong))
    with pytest.raises(mg.InvalidParameterError, match=way_out):
        PLACES[place](NARROW.lazy(), wrong).collect()
    # Polars runs them side by side, and either may be the first to be refused.
    any_type = way_out.replace("Int64", "(Int64|Float64)")
    eager = {
        "select": lambda: NARROW.select(wrong),
        "with_columns": lambda: NARROW.with_columns(wrong),
        "over": lambda: NARROW.with_columns(wrong.over("region")),
        "agg": lambda: NARROW.group_by("region").agg(wrong),
        "filter": lambda: NARROW.filter(wrong.is_not_null()),
    }
    with pytest.raises(mg.InvalidParameterError, match=any_type):
        eager[place]()
    assert seen == []


def test_groups_of_a_plain_column_are_refused_where_records_are_grouped() -> None:
    with pytest.raises(mg.InvalidParameterError, match=r"Write pl\.struct"):
        NARROW.select(pl.col("a", "b").microagg.groups(5))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("method", COLUMNWISE)
def test_a_columnwise_method_takes_plain_columns(method: str, engine: str) -> None:
    lazy = NARROW.lazy()
    one = mg.mask(NARROW, "a", 3, method=method)
    same(lazy.with_columns(call(pl.col("a"), method, 3)).collect(engine=engine), one)
    two = mg.mask(NARROW, ["a", "b"], 3, method=method)
    same(lazy.with_columns(call(pl.col("a", "b"), method, 3)).collect(engine=engine), two)
    strata = mg.mask(NARROW, ["a", "b"], 3, method=method, strata="region")
    over = call(pl.col("a", "b"), method, 3).over("region")
    same(lazy.with_columns(over).collect(engine=engine), strata)
    lists = lazy.group_by("region").agg("id", call(pl.col("a", "b"), method, 3))
    got = lists.collect(engine=engine).explode("id", "a", "b").sort("id")
    same(got.select(NARROW.columns), strata)
    float_ = lazy.select(call(pl.col("a"), method, 3, dtype="float"))
    assert float_.collect_schema() == {"a": pl.Float64}
    expected = mg.mask(NARROW, "a", 3, method=method, dtype="float").select("a")
    same(float_.collect(engine=engine), expected)


@pytest.mark.parametrize("method", COLUMNWISE)
def test_a_columnwise_method_takes_computed_columns_and_any_name(method: str) -> None:
    expected = mg.mask(NARROW.select(c=pl.col("a") * 2), "c", 3, method=method)
    same(NARROW.select(call(pl.col("a") * 2, method, 3).alias("c")), expected)
    for name in ("", "*", "^a$") if POLARS_2 else ("",):
        frame = pl.DataFrame({name: NARROW["a"]})
        got = frame.select(call(pl.nth(0), method, 3))
        assert got.columns == [name]
        assert got.to_series().equals(mg.mask(NARROW, "a", 3, method=method)["a"])


@pytest.mark.parametrize("method", COLUMNWISE)
def test_the_error_of_a_plain_column_names_it(method: str) -> None:
    frame = NARROW.with_columns(pl.when(pl.col("id") > 0).then("a").alias("a"))
    with pytest.raises(mg.MissingValuesError, match="Column 'a' has 1 null value"):
        frame.select(call(pl.col("a"), method, 3))


@pytest.mark.parametrize("method", METHODS)
def test_a_type_without_centroid_is_refused_with_the_schema(method: str) -> None:
    raw = pl.col("region").cast(pl.Binary)
    lazy = NARROW.lazy().select(call(pl.struct("a", raw), method, 3))
    with pytest.raises(mg.NotNumericError, match="Column 'region' is of type Binary"):
        planned(lazy)


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
