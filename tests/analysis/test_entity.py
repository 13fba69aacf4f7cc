"""Measures of persons at the doors of `assess`, `compare` and the functions of metrics."""

import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.errors import InvalidDataError, InvalidParameterError

# 1 and 2 become 1.5, 9 and 10 become 9.5: each record is one of two. One person has the first two.
BEFORE = pl.DataFrame({"x": [1.0, 2.0, 9.0, 10.0], "who": ["a", "a", "b", "c"], "id": [1, 2, 3, 4]})
AFTER = BEFORE.select(x=pl.Series([1.5, 1.5, 9.5, 9.5]))
LINKED = (75 + 50 + 50) / 3


@pytest.mark.parametrize(
    "who",
    [
        pl.col("who"),
        pl.col("who").cast(pl.Categorical),
        pl.Series([7, 7, 8, 9]),
        pl.Series([7.5, 7.5, float("nan"), 9.5]),
        pl.Series([b"a", b"a", b"b", b"c"]),
        pl.Series([[1], [1], [], [2]]),
    ],
)
def test_persons_are_told_apart_by_columns_of_any_type(who):
    before = BEFORE.with_columns(who.alias("^who$"))
    found = mg.assess(before, AFTER, "x", entity="^who$")
    assert found["dld"].item() == pytest.approx(50)
    assert found["dld_entity"].item() == pytest.approx(LINKED)
    assert found.columns.index("dld_entity") == found.columns.index("dld") + 1


def test_persons_are_told_apart_by_several_columns():
    before = BEFORE.with_columns(first=pl.Series([1, 1, 1, 2]), last=pl.Series([1, 1, 2, 2]))
    assert mg.dld_entity(before, AFTER, "x", entity=["first", "last"]) == pytest.approx(LINKED)
    assert mg.dld_entity(before, AFTER, "x", entity="last") == pytest.approx(75)


def test_without_an_entity_persons_are_not_measured():
    assert "dld_entity" not in mg.assess(BEFORE, AFTER, "x").columns
    assert "dld_entity" not in mg.compare(BEFORE, "x", methods="mdav", ks=2, entity="who").columns


def test_an_entity_of_numbers_is_not_measured_as_a_column():
    before = BEFORE.with_columns(who=pl.Series([7, 7, 8, 9])).drop("id")
    after = AFTER.with_columns(before["who"])
    plain = mg.assess(before, after, ["x"], entity="who")
    assert mg.assess(before, after, entity="who").equals(plain)
    assert mg.dld_entity(before, after, entity="who") == pytest.approx(LINKED)


def test_rows_keep_their_persons_where_they_are_matched_by_a_key():
    after = AFTER.with_columns(BEFORE["id"])[[2, 0, 3, 1]]
    found = mg.assess(BEFORE, after, "x", key="id", entity="who", metrics=["dld_entity"])
    assert found.item() == pytest.approx(LINKED)


def test_persons_are_counted_in_each_part():
    before = BEFORE.with_columns(side=pl.Series(["low", "low", "high", "high"]))
    found = mg.assess(before, AFTER, "x", by="side", entity="who", metrics="dld_entity")
    assert found.rows() == [("low", pytest.approx(75)), ("high", pytest.approx(50))]


def test_methods_are_compared_and_recommended_by_persons():
    compared = mg.compare(
        BEFORE, "x", methods="mdav", ks=2, entity="who", metrics="dld_entity", seed=1
    )
    masked = mg.mdav(BEFORE, "x", 2, entity="who", entity_mode="rows")
    expected = mg.dld_entity(BEFORE, masked, "x", entity="who")
    assert compared["dld_entity"].item() == pytest.approx(expected)
    told = mg.recommend(compared, require="dld_entity<=90")["reason"].item()
    assert f"dld_entity {expected:.3g} %" in told


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: mg.dld_entity(BEFORE, AFTER, "x"), InvalidParameterError, "needs entity"),
        (lambda: mg.dld(BEFORE, AFTER, "x", entity="who"), InvalidParameterError, "no option"),
        (
            lambda: mg.assess(BEFORE, AFTER, "x", metrics="dld_entity"),
            InvalidParameterError,
            "metrics='dld_entity' was given without entity",
        ),
        (
            lambda: mg.compare(BEFORE, "x", ks=2, metrics="dld_entity"),
            InvalidParameterError,
            "metrics='dld_entity' was given without entity",
        ),
        (
            lambda: mg.assess(BEFORE, AFTER, "x", entity="whose"),
            InvalidParameterError,
            "entity names 'whose'",
        ),
        (
            lambda: mg.dld_entity(
                BEFORE.with_columns(who=pl.Series([None, "a", "b", "c"])), AFTER, "x", entity="who"
            ),
            InvalidDataError,
            "'who' has 1 null",
        ),
    ],
)
def test_what_is_refused(call, error, said):
    with pytest.raises(error, match=said):
        call()
