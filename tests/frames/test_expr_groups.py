"""Expressions that number groups, and that count them."""

from __future__ import annotations

import polars as pl
import pytest

import polars_microagg as mg
from tests.versions import planned

from .doors import BOTH, COLUMNWISE, ENGINES, GROUPING, NARROW

# Numbers of groups.


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("method", GROUPING)
def test_groups_number_the_groups_of_the_frame_function(method: str, engine: str) -> None:
    expected = mg.groups(NARROW, ["a", "b"], 3, method=method)["microagg_group"]
    numbered = NARROW.lazy().select(BOTH.microagg.groups(3, method=method).alias("g"))
    got = numbered.collect(engine=engine)["g"]
    assert got.dtype == pl.UInt32
    assert got.equals(expected)


@pytest.mark.parametrize("method", GROUPING)
def test_groups_over_number_from_zero_in_each_stratum(method: str) -> None:
    over = BOTH.microagg.groups(3, method=method).over("region").alias("g")
    strata = mg.groups(NARROW, ["a", "b"], 3, method=method, strata="region", name="whole")
    got = strata.with_columns(over)
    for (_,), part in got.group_by("region", maintain_order=True):
        assert part["g"].unique(maintain_order=True).to_list() == list(range(part["g"].n_unique()))
        pairs = part.select("g", "whole").unique()
        assert pairs.height == part["g"].n_unique() == part["whole"].n_unique()
    lists = NARROW.group_by("region", maintain_order=True).agg(
        "id", g=BOTH.microagg.groups(3, method=method)
    )
    by_agg = lists.explode("id", "g").sort("id")["g"]
    assert by_agg.equals(got["g"])


@pytest.mark.parametrize("method", COLUMNWISE)
def test_groups_of_one_plain_column(method: str) -> None:
    expected = mg.groups(NARROW, "a", 3, method=method)["microagg_group"]
    got = NARROW.select(pl.col("a").microagg.groups(3, method=method)).to_series()
    assert got.equals(expected)
    with pytest.raises(mg.InvalidParameterError, match="more than one block of columns"):
        planned(NARROW.lazy().select(BOTH.microagg.groups(3, method=method)))


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
    row = mg.anonymity(NARROW, ["a", "b"]).select("k_prime", "k_min").row(0)
    assert NARROW.select(counts(BOTH)).row(0) == row


def test_k_min_of_a_masked_struct_is_at_least_k() -> None:
    masked = BOTH.microagg.mdav(4)
    assert NARROW.select(masked.microagg.k_min()).item() >= 4
    assert (
        NARROW.select(masked.over("region").microagg.k_min().over("region")).to_series().min() >= 4
    )
    lists = NARROW.group_by("region").agg(masked.microagg.k_min())
    assert lists["a"].min() >= 4
