"""Measures of tables that cannot be measured, and wrong calls of measures."""

import re

import numpy as np
import polars as pl
import polars.selectors as cs
import pytest

import polars_microagg as mg
from polars_microagg.core import registry
from polars_microagg.wording import listed
from tests.refusals import DATA, PEOPLE, K, given, refused

MASKED = PEOPLE.with_columns(income=1.0, age=2)
SEMI = "leave them out of original, too, by a column that identifies a row: original.join(masked, on=..."
EYES = [pytest.param(lambda frame: frame, id="eager"), pytest.param(pl.DataFrame.lazy, id="lazy")]


@pytest.mark.parametrize("as_given", EYES)
@pytest.mark.parametrize(
    ("columns", "strata", "text"),
    [
        (
            ["income", "age"],
            None,
            "The table is not 2-anonymous on 'income', 'age': 5 class(es) with 5 record(s) in all "
            "are smaller than k=2 (the smallest has 1). Mask these columns together with this k "
            "before releasing the table.",
        ),
        (
            cs.by_name("age"),
            "name",
            "The table is not 2-anonymous on 'age' within strata of 'name': 5 class(es) with 5 "
            "record(s) in all are smaller than k=2 (the smallest has 1). Mask these columns together "
            "with this k and these strata before releasing the table.",
        ),
    ],
)
def test_a_table_that_is_not_anonymous_is_counted_and_not_shown(as_given, columns, strata, text):
    with refused(mg.NotAnonymousError, text):
        mg.verify(as_given(PEOPLE), columns, 2, strata=strata)


@pytest.mark.parametrize("as_given", EYES)
def test_rows_that_cannot_be_matched_are_counted_and_not_shown(as_given):
    with refused(
        mg.InvalidDataError,
        "original has 4 rows and masked has 5; rows are matched by position. Give two tables of "
        "the same rows in the same order, or name a key column with key=.",
    ):
        mg.assess(as_given(PEOPLE[:4]), as_given(MASKED), ["age"])
    for key, begins in (
        (None, "original has 5 rows and masked has 4; "),
        ("name", "key=['name'] finds"),
    ):
        with pytest.raises(mg.InvalidDataError, match=re.escape(SEMI)) as error:
            mg.assess(as_given(PEOPLE), as_given(MASKED[:4]), ["age"], key=key)
        assert str(error.value).startswith(begins)


def test_the_way_to_compare_after_rows_were_dropped_works():
    frame = pl.DataFrame({"id": range(20), "s": ["a"] * 18 + ["b"] * 2, "x": np.arange(20.0)})
    masked = mg.mdav(frame, "x", k=3, strata="s", small_strata="drop")
    released = frame.join(masked, on="id", how="semi")
    one = mg.assess(released, masked, "x", key="id")
    assert one.equals(mg.assess(frame[:18], masked, "x"))


KEYS = {
    "repeated in masked": (PEOPLE, MASKED[[0, 1, 2, 3, 3]], "1 row(s) of masked repeat a key"),
    "repeated in original": (PEOPLE[[0, 0, 1]], MASKED, "1 row(s) of original repeat a key"),
    "missing": (PEOPLE[:4], MASKED, "4 of 4 and 5 rows match"),
    "other": (PEOPLE[:3], MASKED[2:], "1 of 3 and 3 rows match"),
}


@pytest.mark.parametrize("as_given", EYES)
@pytest.mark.parametrize("what", list(KEYS))
def test_keys_that_do_not_match_are_counted_and_not_shown(as_given, what):
    original, masked, found = KEYS[what]
    with refused(
        mg.InvalidDataError,
        f"key='name' does not match the rows of original and masked one to one: {found}. Name "
        "columns that identify a row in both tables.".replace("key='name'", "key=['name']"),
    ):
        mg.sse(as_given(original), as_given(masked), ["age"], key="name")


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: mg.verify(PEOPLE, "age", 1), mg.InvalidParameterError, K.format(1)),
        (
            lambda: mg.verify(PEOPLE, "age", PEOPLE["age"]),
            mg.InvalidParameterError,
            K.format("<Series>"),
        ),
        (
            lambda: mg.verify(PEOPLE, "agee", 2),
            mg.InvalidParameterError,
            "columns names 'agee', which is not a column of the table. Did you mean 'age'?",
        ),
        (
            lambda: mg.anonymity(PEOPLE, "age", strata="nam"),
            mg.InvalidParameterError,
            "strata names 'nam', which is not a column of the table. Did you mean 'name'?",
        ),
        (
            lambda: mg.anonymity(PEOPLE, cs.boolean()),
            mg.InvalidParameterError,
            "No column was given to mask; at least one is needed. Name it, as in "
            "['age', 'income'].",
        ),
        (
            lambda: mg.assess(PEOPLE, MASKED, metrics="los"),
            mg.InvalidParameterError,
            f"metrics='los' is not known; it must be one of {listed(registry.metrics())}. "
            "Did you mean 'loss'?",
        ),
        (
            lambda: mg.assess(PEOPLE, MASKED, ["photo"]),
            mg.NotNumericError,
            DATA["text"].text,
        ),
        (
            lambda: mg.loss(PEOPLE, MASKED.drop("age"), ["age"]),
            mg.InvalidParameterError,
            "columns names 'age', which is not a column of the masked table. Choose from 'name', "
            "'income', 'born', 'photo', 'debt', 'rate'.",
        ),
        (
            lambda: mg.loss(PEOPLE, MASKED, ["rate"]),
            mg.MissingValuesError,
            DATA["not finite"].text,
        ),
        (
            lambda: mg.sse(PEOPLE, MASKED, ["age"], key=PEOPLE["name"]),
            mg.InvalidParameterError,
            given("key", "<Series>", "a column name or a list of names"),
        ),
        (
            lambda: mg.k_min(PEOPLE, MASKED, ["age"], known="ag"),
            mg.InvalidParameterError,
            "known names 'ag', which is not a column of the masked table. Did you mean 'age'?",
        ),
        (
            lambda: mg.sse(PEOPLE["age"], MASKED),
            mg.InvalidParameterError,
            "original is of type polars.Series; it must be a polars DataFrame or LazyFrame, or a "
            "table that exports Arrow. Convert it, as in pl.DataFrame(original).",
        ),
    ],
)
def test_wrong_calls_of_measures_are_refused(call, error, text):
    with refused(error, text):
        call()
