"""The error tree, and what the data cannot do: every message is a sentence."""

import duckdb
import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg import errors
from polars_microagg.core import registry
from polars_microagg.core.partition import Partition
from tests.refusals import (
    DATA,
    PEOPLE,
    UNDER_OVER,
    Case,
    every_door,
    in_an_expression,
    lazily,
    on_a_frame,
    refused,
)

TREE = {
    "InvalidParameterError": "MicroaggError",
    "UnknownMethodError": "InvalidParameterError",
    "InvalidDataError": "MicroaggError",
    "TooFewRecordsError": "InvalidDataError",
    "UnreachableError": "InvalidDataError",
    "MissingValuesError": "InvalidDataError",
    "NotNumericError": "InvalidDataError",
    "NotAnonymousError": "InvalidDataError",
    "NotPublishedError": "MicroaggError",
    "RequirementError": "NotPublishedError",
    "OutputError": "NotPublishedError",
    "TargetExistsError": "OutputError",
    "WorkerError": "MicroaggError",
    "GuaranteeError": "MicroaggError",
}


@pytest.mark.parametrize(("name", "parent"), [*TREE.items(), ("MicroaggError", "ValueError")])
def test_the_tree_is_that_of_the_contract(name, parent):
    error = getattr(mg, name)
    assert error.__bases__ == (getattr(mg, parent, ValueError),)
    assert issubclass(error, ValueError)
    assert error is getattr(errors, name)
    assert error.__doc__


def test_there_is_no_error_outside_the_tree():
    found = {name for name in dir(mg) if name.endswith("Error")}
    assert found == set(errors.__all__) == {*TREE, "MicroaggError"}


# --- What the data cannot do, at every door ---------------------------------------------------


@every_door
@pytest.mark.parametrize("what", list(DATA))
def test_data_that_cannot_be_masked_are_refused_without_showing_them(door, what):
    case, text = DATA[what], DATA[what].text
    if door is in_an_expression:
        text = text.replace("or add records.", f"or add records; {UNDER_OVER}")
    with refused(case.error, text):
        door(case)


@every_door
@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ([0, 0, 0, 0, 1], "made a class of 1 record(s) where k=2 was promised."),
        ([0, 0, 0, 0], "labelled 4 of 5 records."),
    ],
    ids=["small class", "wrong length"],
)
def test_a_promise_of_ours_that_breaks_is_our_bug(monkeypatch, door, labels, said):
    def wrong(x, /, *, k):
        return Partition.from_labels(np.array(labels))

    entry = registry.methods()["mdav"]
    broken = {n: getattr(entry, n) for n in entry.__dataclass_fields__} | {"function": wrong}
    monkeypatch.setitem(registry._METHODS, "mdav", registry.Method(**broken))
    text = (
        f"mdav {said} Nothing was released. This is a bug of polars_microagg: please report the "
        "call and the versions."
    )
    with refused(mg.GuaranteeError, text):
        door(Case(mg.GuaranteeError, text, ["income", "age"]))


@pytest.mark.parametrize("door", [on_a_frame, lazily("in-memory"), lazily("streaming")])
def test_more_records_than_a_method_takes_are_counted(monkeypatch, door):
    entry = registry.methods()["mdav"]
    fields = {n: getattr(entry, n) for n in entry.__dataclass_fields__}
    limited = registry.Method(**fields | {"limit": 4, "cost": "n^3"})
    monkeypatch.setitem(registry._METHODS, "mdav", limited)
    with refused(
        mg.InvalidParameterError,
        "mdav takes at most 4 records at a time, as its time grows like n^3, and got 5. Use "
        "method mdav, or fixed_size for millions of records, or name strata of fewer records.",
    ):
        door(Case(mg.InvalidParameterError, "", ["income", "age"]))


@pytest.mark.parametrize("door", [on_a_frame, lazily("in-memory"), lazily("streaming")])
def test_small_strata_are_counted_and_not_named(door):
    text = (
        "5 of 5 strata have fewer than k=2 records (the smallest has 1). Lower k, merge strata, "
        "or use small_strata='null' to empty their masked cells and strata, or small_strata='drop' to "
        "leave their rows out."
    )
    with refused(mg.TooFewRecordsError, text):
        door(Case(mg.TooFewRecordsError, text, ["income", "age"], options={"strata": "name"}))


EXPRESSION = (
    "k=2 needs at least 2 records, got 1. Lower k, or add records; where .over(...) parts them, the frame "
    "function with strata= and small_strata= can empty or drop the small strata of all together."
)


def test_the_error_of_an_over_is_the_error():
    masked = pl.struct("income", "age").microagg.mdav(2).over("name")
    with refused(mg.TooFewRecordsError, EXPRESSION):
        PEOPLE.select(masked)


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_a_plain_column_of_an_expression_is_named(engine):
    lazy = PEOPLE.lazy().select(pl.col("debt").microagg.univariate(2))
    with refused(mg.MissingValuesError, DATA["nulls"].text):
        lazy.collect(engine=engine)


# --- The way out is one -----------------------------------------------------------------------


def test_the_ways_out_that_the_messages_name_are_ways_out():
    kept = mg.mdav(PEOPLE, ["income", "debt"], 2, nulls="pattern")
    assert kept["debt"].null_count() == 2
    assert mg.mdav(PEOPLE, ["income", "debt"], 2, nulls="impute")["debt"].null_count() == 0
    assert mg.mdav(PEOPLE, "age", 2, strata="name", small_strata="null")["name"].null_count() == 5
    assert mg.mdav(PEOPLE, "age", 2, strata="name", small_strata="drop").is_empty()
    finite = pl.when(pl.col("rate").is_finite()).then(pl.col("rate")).alias("rate")
    clean = PEOPLE.with_columns(finite)
    assert clean["rate"].null_count() == 3
    assert mg.mdav(clean, "rate", 2, nulls="impute")["rate"].null_count() == 0
    query = "SELECT CASE WHEN isfinite(rate) THEN rate END AS rate FROM people"
    same = duckdb.connect().register("people", PEOPLE.to_arrow()).sql(query).pl()
    assert same["rate"].to_list() == clean["rate"].to_list()
    assert mg.mdav(PEOPLE, "age", 5, strata=[]).height == 5
