"""Rows that are matched by position though the tables are in different orders: a warning says so."""

import logging

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg

RNG = np.random.default_rng(0)
BEFORE = pl.DataFrame(
    {
        "id": [f"n{i}" for i in range(200)],
        "age": RNG.integers(18, 90, 200),
        "pay": RNG.lognormal(8, 0.5, 200),
        "tags": [[i] for i in range(200)],
    }
)
AFTER = mg.mdav(BEFORE, ["age", "pay"], 3)
SHUFFLED = AFTER.sample(fraction=1, shuffle=True, seed=1)
CALLS = {
    "assess": lambda *tables, **o: mg.assess(*tables, ["age", "pay"], **o),
    "assess, lazy": lambda a, b, **o: mg.assess(a.lazy(), b.lazy(), ["age", "pay"], **o),
    "loss": lambda *tables, **o: mg.loss(*tables, ["age", "pay"], **o),
    "dld": lambda *tables, **o: mg.dld(*tables, ["age", "pay"], **o),
}


@pytest.fixture
def warned(caplog):
    def of(call):
        caplog.clear()
        with caplog.at_level(logging.WARNING, "polars_microagg"):
            call()
        return [record.getMessage() for record in caplog.records]

    return of


@pytest.mark.parametrize("call", CALLS)
def test_a_kept_column_in_another_order_is_named(warned, call):
    (said,) = warned(lambda: CALLS[call](BEFORE, SHUFFLED))
    assert said == (
        "The rows of original and masked were matched by position, and column 'id' has the same values "
        "in another order: the tables seem to be in different orders. Name columns that identify a row "
        "with key."
    )
    assert not warned(lambda: CALLS[call](BEFORE, SHUFFLED, key="id"))
    assert not warned(lambda: CALLS[call](BEFORE, AFTER))


@pytest.mark.parametrize("options", [{}, {"memory": "500MB"}])
def test_a_loss_above_all_there_is_says_so_where_no_column_is_kept(warned, options):
    tables = [table.select("age", "pay") for table in (BEFORE, SHUFFLED)]
    (said,) = warned(lambda: mg.assess(*tables, **options))
    assert "the loss is above 100 %: the tables seem to be in different orders" in said
    assert mg.loss(*tables) > 100
    assert not warned(lambda: mg.assess(tables[0], AFTER.select("age", "pay"), **options))


def test_a_column_with_other_values_is_no_other_order(warned):
    other = AFTER.with_columns(id=pl.lit("x"), tags=pl.col("tags").reverse())
    assert not warned(lambda: mg.assess(BEFORE, other, ["age", "pay"]))
    assert not warned(lambda: mg.compare(BEFORE, ["age", "pay"], methods="mdav", ks=3))


def test_categories_that_changed_and_are_not_measured_are_named(warned):
    before = BEFORE.select(
        "age", sex=pl.Series(["f", "m"] * 100), job=pl.Series(["a", "b", "c", "d"] * 50)
    )
    after = mg.mdav(before, ["age", "sex", "job"], 20)
    (said,) = warned(lambda: mg.assess(before, after))
    assert said == (
        "Without columns only numbers are measured: 'job' was changed and not measured. Name every "
        "masked column in columns, with the kinds of the mask."
    )
    assert not warned(lambda: mg.assess(before, after, "age"))
    assert not warned(lambda: mg.assess(before, after, nominal=["sex", "job"]))


def test_numbers_are_not_compared_with_categories():
    before = pl.DataFrame({"grade": [1, 2, 3, 1, 2, 3]})
    after = before.select(pl.col("grade").cast(pl.String).cast(pl.Categorical))
    for tables in ((before, after), (after, before)):
        for call in (mg.assess, mg.loss):
            with pytest.raises(
                mg.InvalidDataError, match="numbers are not compared with categories"
            ):
                call(*tables, "grade")
    assert mg.loss(before, after.cast(pl.String).cast(pl.Int64), "grade", nominal="grade") == 0
