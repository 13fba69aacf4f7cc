"""Every error: its class, its whole sentence, and nothing of the data in it."""

import datetime as dt
import re
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import polars.selectors as cs
import pytest

import polars_microagg as mg
from polars_microagg import errors, registry
from polars_microagg.partition import Partition

PEOPLE = pl.DataFrame(
    {
        "name": ["Zelda-Secret", "Yorick-Secret", "Xenia-Secret", "Walt-Secret", "Vera-Secret"],
        "income": [987654321.125, 41.4242, -777.5353, 271.8281, 314.1592],
        "age": [31337, 24601, 80486, 90210, 65537],
        "born": [dt.date(1871, 11, day) for day in (3, 5, 7, 11, 13)],
        "debt": [Decimal("666.13"), Decimal("867.53"), Decimal("525.96"), None, None],
        "rate": [6.0221, float("nan"), float("inf"), 1.3806, None],
    }
)
SECRETS = [
    *("Zelda", "Yorick", "Xenia", "Walt", "Vera", "Secret"),
    *("98765432", "9.8765", "41.42", "777.53", "271.82", "314.15"),
    *("31337", "24601", "80486", "90210", "65537", "1871"),
    *("666.13", "66613", "867.53", "86753", "525.96", "52596", "6.0221", "1.3806"),
]


@contextmanager
def refused(error: type[Exception], text: str):
    """Expect this very error with this very text, and no data in it or in what led to it."""
    # Polars keeps the class and the text, and adds where in its plan that was.
    with pytest.raises(error, match=rf"\A{re.escape(text)}(\n\n|\Z)") as caught:
        yield
    assert caught.type is error
    said: BaseException | None = caught.value
    while said is not None:
        assert not [secret for secret in SECRETS if secret in f"{said} {said.args}"]
        said = said.__cause__ or said.__context__


# --- The tree ---------------------------------------------------------------------------------

TREE = {
    "InvalidParameterError": "MicroaggError",
    "UnknownMethodError": "InvalidParameterError",
    "InvalidDataError": "MicroaggError",
    "TooFewRecordsError": "InvalidDataError",
    "MissingValuesError": "InvalidDataError",
    "NotNumericError": "InvalidDataError",
    "NotAnonymousError": "InvalidDataError",
    "BrokenPromiseError": "MicroaggError",
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


@dataclass(frozen=True)
class Case:
    """A call that must be refused."""

    error: type[Exception]
    text: str
    columns: Any
    k: Any = 2
    options: dict[str, Any] = field(default_factory=dict)
    rows: int = 5


def on_a_frame(case: Case) -> None:
    mg.mask(PEOPLE[: case.rows], case.columns, case.k, method="mdav", **case.options)


def on_a_namespace(case: Case) -> None:
    PEOPLE[: case.rows].microagg.mdav(case.columns, case.k, **case.options)


def lazily(engine: Any) -> Callable[[Case], None]:
    def call(case: Case) -> None:
        lazy = PEOPLE[: case.rows].lazy()
        mg.mdav(lazy, case.columns, case.k, **case.options).collect(engine=engine)

    return call


def in_an_expression(case: Case) -> None:
    columns = [case.columns] if isinstance(case.columns, str) else case.columns
    frame = PEOPLE[: case.rows]
    frame.select(pl.struct(columns).microagg.mdav(case.k, **case.options))


every_door = pytest.mark.parametrize(
    "door",
    [
        pytest.param(on_a_frame, id="DataFrame"),
        pytest.param(on_a_namespace, id="namespace"),
        pytest.param(lazily("in-memory"), id="LazyFrame in-memory"),
        pytest.param(lazily("streaming"), id="LazyFrame streaming"),
        pytest.param(in_an_expression, id="Expr"),
    ],
)

DATA = {
    "nulls": Case(
        mg.MissingValuesError,
        "Column 'debt' has 2 null value(s). Use nulls='impute' to fill them with the centroid of "
        "their group, nulls='pattern' to keep them, or drop those rows first.",
        ["income", "debt"],
    ),
    "not finite": Case(
        mg.MissingValuesError,
        "Column 'rate' has 2 NaN or infinite value(s), which have no centroid. Replace them by "
        "null (fill_nan(None)) or by a number, or drop those rows first.",
        ["income", "rate"],
        options={"nulls": "impute"},
    ),
    "too few": Case(
        mg.TooFewRecordsError,
        "k=7 needs at least 7 records, got 5. Lower k, or use small_strata='null' to make the "
        "masked cells null.",
        ["income", "age"],
        k=7,
    ),
    "too few of a pattern": Case(
        mg.TooFewRecordsError,
        "2 of 2 strata have fewer than k=4 records (the smallest has 2). Lower k, merge strata, "
        "or use small_strata='null' to make their masked cells null.",
        ["income", "debt"],
        k=4,
        options={"nulls": "pattern"},
    ),
    "text": Case(
        mg.NotNumericError,
        "Column 'name' is of type String, which has no centroid; numbers, decimals, dates and "
        "times can be masked. Leave it out, cast it, or use it as a stratum.",
        ["name", "income"],
    ),
}


@every_door
@pytest.mark.parametrize("what", list(DATA))
def test_data_that_cannot_be_masked_are_refused_without_showing_them(door, what):
    case = DATA[what]
    with refused(case.error, case.text):
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
    with refused(mg.BrokenPromiseError, text):
        door(Case(mg.BrokenPromiseError, text, ["income", "age"]))


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
        "or use small_strata='null' to make their masked cells null."
    )
    with refused(mg.TooFewRecordsError, text):
        door(Case(mg.TooFewRecordsError, text, ["income", "age"], options={"strata": "name"}))


def test_the_error_of_an_over_is_the_error():
    masked = pl.struct("income", "age").microagg.mdav(2).over("name")
    with refused(mg.TooFewRecordsError, DATA["too few"].text.replace("7", "2").replace("5", "1")):
        PEOPLE.select(masked)


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_a_plain_column_of_an_expression_is_named(engine):
    lazy = PEOPLE.lazy().select(pl.col("debt").microagg.univariate(2))
    with refused(mg.MissingValuesError, DATA["nulls"].text):
        lazy.collect(engine=engine)


# --- Calls that are wrong ---------------------------------------------------------------------

K = (
    "k={} is not a group size; k must be an integer of at least 2. Give the smallest number of "
    "records that may share a value, for example k=5."
)
BLOCKS = "a column name, a selector, a list of them, or a list of lists"


def given(name, got, need):
    return f"{name}={got} was given; it must be {need}. Change it or leave it out for the default."


TYPED = {
    "k": Case(mg.InvalidParameterError, K.format(1), "age", k=1),
    "k is data": Case(mg.InvalidParameterError, K.format("<Series>"), "age", k=PEOPLE["age"]),
    "k is a frame": Case(mg.InvalidParameterError, K.format("<DataFrame>"), "age", k=PEOPLE),
    "k is an array": Case(
        mg.InvalidParameterError, K.format("<ndarray>"), "age", k=PEOPLE["age"].to_numpy()
    ),
    "choice": Case(
        mg.InvalidParameterError,
        "scale='zscor' is not known; it must be one of 'zscore', 'minmax', 'robust', 'none'. Did "
        "you mean 'zscore'?",
        "age",
        options={"scale": "zscor"},
    ),
    "choice is data": Case(
        mg.InvalidParameterError,
        "center=<Series> is not known; it must be one of 'mean', 'median'. Choose from 'mean', "
        "'median'.",
        "age",
        options={"center": PEOPLE["name"]},
    ),
    "option": Case(
        mg.InvalidParameterError,
        "mdav has no option 'centre'. Did you mean 'center'?",
        "age",
        options={"centre": "mean"},
    ),
    "seed": Case(
        mg.InvalidParameterError,
        given("seed", -1, "a whole number of at least 0"),
        "age",
        options={"seed": -1},
    ),
    "refine": Case(
        mg.InvalidParameterError,
        given("refine", "'yes'", "True or False"),
        "age",
        options={"refine": "yes"},
    ),
}
FRAMES_ONLY = {
    "no k": Case(
        mg.InvalidParameterError,
        "mdav needs k, the smallest group size, and none was given. Add k=5.",
        "age",
        k=None,
    ),
    "no columns": Case(
        mg.InvalidParameterError,
        "No column was given to mask; at least one is needed. Name it, as in ['age', 'income'].",
        [],
    ),
    "columns are data": Case(
        mg.InvalidParameterError, given("columns", "'Series'", BLOCKS), PEOPLE["name"]
    ),
    "column is data": Case(
        mg.InvalidParameterError, given("columns", "'Series'", BLOCKS), ["age", PEOPLE["income"]]
    ),
    "strata are data": Case(
        mg.InvalidParameterError,
        given("strata", "<Series>", "a column name or a list of names"),
        "age",
        options={"strata": PEOPLE["name"]},
    ),
    "order is data": Case(
        mg.InvalidParameterError,
        given("order_by", "[<Series>]", "a column name or a list of names"),
        "age",
        options={"order_by": [PEOPLE["income"]]},
    ),
    "twice": Case(
        mg.InvalidParameterError,
        "columns lists 'age' more than once. Name each column once.",
        ["age", "income", "age"],
    ),
    "twice in strata": Case(
        mg.InvalidParameterError,
        "strata lists 'name' more than once. Name each column once.",
        "age",
        options={"strata": ["name", "name"]},
    ),
    "unknown column": Case(
        mg.InvalidParameterError,
        "columns names 'incom', which is not a column of the table. Did you mean 'income'?",
        ["incom"],
    ),
    "unknown stratum": Case(
        mg.InvalidParameterError,
        "strata names 'x', which is not a column of the table. Choose from 'name', 'income', "
        "'age', 'born', 'debt', 'rate'.",
        "age",
        options={"strata": "x"},
    ),
    "unknown order": Case(
        mg.InvalidParameterError,
        "order_by names 'AGE', which is not a column of the table. Did you mean 'age'?",
        "income",
        options={"order_by": ["AGE"]},
    ),
    "overlap": Case(
        mg.InvalidParameterError,
        "'age' is masked and is in strata as well; a column has one role. Take it out of the "
        "masked columns or out of strata.",
        ["income", "age"],
        options={"strata": "age"},
    ),
}


@every_door
@pytest.mark.parametrize("what", list(TYPED))
def test_a_wrong_parameter_is_refused_and_what_may_be_data_is_not_shown(door, what):
    case = TYPED[what]
    with refused(case.error, case.text):
        door(case)


@pytest.mark.parametrize("door", [on_a_frame, lazily("in-memory"), lazily("streaming")])
@pytest.mark.parametrize("what", list(FRAMES_ONLY))
def test_wrong_columns_are_refused(door, what):
    case = FRAMES_ONLY[what]
    with refused(case.error, case.text):
        door(case)


@pytest.mark.parametrize("frame", [PEOPLE, PEOPLE.lazy()], ids=type)
def test_an_unknown_method_is_refused(frame):
    with refused(
        mg.UnknownMethodError,
        "There is no method 'mdva'. Did you mean 'mdav'? mg.methods() lists them all.",
    ):
        mg.mask(frame, "age", 2, method="mdva")
    with refused(
        mg.UnknownMethodError,
        "There is no method <Series>. Choose from "
        + errors._names(registry.methods())
        + ". mg.methods() lists them all.",
    ):
        mg.groups(frame, "age", 2, method=PEOPLE["name"])


def test_a_plain_column_where_records_are_grouped_is_refused():
    with refused(
        mg.InvalidParameterError,
        "microagg.mdav groups records by several columns at once and was called on a plain "
        "column of type Float64: each column would be masked alone and records would not be "
        'k-anonymous. Write pl.struct("a", "b").microagg.mdav(...).',
    ):
        PEOPLE.select(pl.col("income").microagg.mdav(2))


@pytest.mark.parametrize(
    ("option", "instead"),
    [
        ("strata", "Write .over(...) after it, or use the frame function."),
        ("order_by", "Use the frame function, which takes order_by."),
    ],
)
def test_what_an_expression_cannot_honour_is_refused(option, instead):
    with refused(mg.InvalidParameterError, f"An expression cannot honour {option}. {instead}"):
        pl.struct("income", "age").microagg.mask(2, **{option: "name"})


def test_groups_refuse_a_taken_name_and_several_blocks():
    with refused(
        mg.InvalidParameterError,
        "The table already has a column 'born', which the result needs. Rename that column, or "
        "give another name.",
    ):
        mg.groups(PEOPLE, "age", 2, name="born")
    with refused(mg.InvalidParameterError, given("name", "<Series>", "a column name")):
        mg.groups(PEOPLE, "age", 2, name=PEOPLE["name"])
    with refused(
        mg.InvalidParameterError,
        "mdav cannot honour groups of records for more than one block of columns. Ask for the "
        "groups of one block, or of one column, at a time.",
    ):
        mg.groups(PEOPLE, [["age"], ["income"]], 2)


@pytest.mark.parametrize("frame", [PEOPLE["income"], PEOPLE["name"].to_list(), PEOPLE.to_dicts()])
def test_what_is_no_table_is_refused_by_its_type(frame):
    need = "a polars DataFrame or LazyFrame, or a table that exports Arrow"
    with refused(mg.InvalidParameterError, given("frame", repr(type(frame).__name__), need)):
        mg.mdav(frame, "income", 2)


def test_a_long_list_is_shown_in_part():
    names = [f"c{i}" for i in range(12)]
    shown = ", ".join(f"'c{i}'" for i in range(10))
    frame = pl.DataFrame(dict.fromkeys(names, 1))
    with refused(
        mg.InvalidParameterError,
        "columns names 'zzzz', which is not a column of the table. Choose from "
        f"{shown} and 2 more.",
    ):
        mg.mdav(frame, "zzzz", 2)
    with refused(
        mg.InvalidParameterError,
        given("strata", f"[{shown}, ...]", "a column name or a list of names"),
    ):
        mg.mdav(frame, "c1", 2, strata=[*names, 1])


# --- Measures ---------------------------------------------------------------------------------

MASKED = PEOPLE.with_columns(income=1.0, age=2)
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
            "The table is not 2-anonymous on 'age': 5 class(es) with 5 record(s) in all are "
            "smaller than k=2 (the smallest has 1). Mask these columns together with this k "
            "before releasing the table.",
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
        "original has 5 rows and masked has 4; rows are matched by position. Give two tables of "
        "the same rows in the same order, or name a key column with key=.",
    ):
        mg.assess(as_given(PEOPLE), as_given(MASKED[:4]), ["age"])


KEYS = {
    "repeated in masked": (PEOPLE, MASKED[[0, 1, 2, 3, 3]], "1 row(s) of masked repeat a key"),
    "repeated in original": (PEOPLE[[0, 0, 1]], MASKED, "1 row(s) of original repeat a key"),
    "missing": (PEOPLE, MASKED[:4], "4 of 5 and 4 rows match"),
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
            f"metrics='los' is not known; it must be one of {errors._names(registry.metrics())}. "
            "Did you mean 'loss'?",
        ),
        (
            lambda: mg.assess(PEOPLE, MASKED, ["name"]),
            mg.NotNumericError,
            DATA["text"].text,
        ),
        (
            lambda: mg.loss(PEOPLE, MASKED.drop("age"), ["age"]),
            mg.InvalidParameterError,
            "columns names 'age', which is not a column of the table. Choose from 'name', "
            "'income', 'born', 'debt', 'rate'.",
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
            "known names 'ag', which is not a column of the table. Did you mean 'age'?",
        ),
        (
            lambda: mg.sse(PEOPLE["age"], MASKED),
            mg.InvalidParameterError,
            given(
                "frame",
                "'Series'",
                "a polars DataFrame or LazyFrame, or a table that exports Arrow",
            ),
        ),
    ],
)
def test_wrong_calls_of_measures_are_refused(call, error, text):
    with refused(error, text):
        call()


# --- The way out is one -----------------------------------------------------------------------


def test_the_ways_out_that_the_messages_name_are_ways_out():
    kept = mg.mdav(PEOPLE, ["income", "debt"], 2, nulls="pattern")
    assert kept["debt"].null_count() == 2
    assert mg.mdav(PEOPLE, ["income", "debt"], 2, nulls="impute")["debt"].null_count() == 0
    assert mg.mdav(PEOPLE, "age", 7, small_strata="null")["age"].null_count() == 5
    clean = PEOPLE.with_columns(pl.col("rate").replace([float("inf")], None).fill_nan(None))
    assert mg.mdav(clean, "rate", 2, nulls="impute")["rate"].null_count() == 0
    assert mg.mdav(PEOPLE, "age", 5, strata=[]).height == 5
