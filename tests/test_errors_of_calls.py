"""Calls that are wrong: every message says what was received and the way out."""

import re

import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.core import registry
from polars_microagg.wording import listed
from tests.refusals import BLOCKS, PEOPLE, Case, K, every_door, given, lazily, on_a_frame, refused

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
        "center=<Series> is not known; it must be one of 'mean', 'median'.",
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
        "'age', 'born', 'photo', 'debt', 'rate'.",
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
        + listed(registry.methods())
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


def test_small_strata_under_over_are_sent_to_the_frame_function_which_takes_them():
    frame = pl.DataFrame({"s": ["a"] * 8 + ["b"] * 2 + ["c"] * 2, "x": range(12), "y": range(12)})
    way = (
        "Lower k, or add records; where .over(...) parts them, the frame function with strata= and "
    )
    for option in ({}, {"small_strata": "null"}):
        for record in (
            pl.struct("x", "y").microagg.mdav(3, **option),
            pl.col("x").microagg.univariate(3, **option),
        ):
            with pytest.raises(mg.TooFewRecordsError, match=re.escape(way)) as error:
                frame.select(record.over("s"))
            assert "small_strata='drop'" not in str(error.value)
    with pytest.raises(mg.TooFewRecordsError, match=re.escape(way)):
        frame.select(pl.struct("x", "y").microagg.groups(3).over("s"))
    instead = re.escape("Use the frame function, with strata= in place of .over(...).")
    with pytest.raises(mg.InvalidParameterError, match=f"small_strata='drop'. {instead}"):
        pl.struct("x", "y").microagg.mdav(3, small_strata="drop")
    with pytest.raises(mg.InvalidParameterError, match=f"strata. {instead}"):
        pl.struct("x", "y").microagg.mdav(3, strata="s", small_strata="null")
    assert mg.mdav(frame, ["x", "y"], 3, strata="s", small_strata="drop").height == 8
    emptied = mg.mdav(frame, ["x", "y"], 3, strata="s", small_strata="null")
    assert emptied["x"].null_count() == 4


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
    name = "polars.Series" if isinstance(frame, pl.Series) else "list"
    with refused(
        mg.InvalidParameterError,
        f"frame is of type {name}; it must be a polars DataFrame or LazyFrame, or a table that "
        "exports Arrow. Convert it, as in pl.DataFrame(frame).",
    ):
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


MISSPELT = {
    "verify": (lambda o: mg.verify(PEOPLE, "age", 2, **o), {"stratum": "name"}, "strata"),
    "anonymity": (lambda o: mg.anonymity(PEOPLE, "age", **o), {"strat": "name"}, "strata"),
    "publish": (lambda o: mg.publish(PEOPLE, "no", "age", 2, **o), {"requires": "k>=2"}, "require"),
    "compare": (lambda o: mg.compare(PEOPLE, "age", **o), {"method": "mdav"}, "methods"),
    "assess": (lambda o: mg.assess(PEOPLE, PEOPLE, "age", **o), {"metric": "loss"}, "metrics"),
    "lower_bound": (lambda o: mg.lower_bound(PEOPLE, "age", 2, **o), {"efort": 1}, "effort"),
}


@pytest.mark.parametrize("function", MISSPELT)
def test_a_misspelt_parameter_is_that_of_the_function_called(function):
    call, options, meant = MISSPELT[function]
    said = f"{function} has no option '{next(iter(options))}'. Did you mean '{meant}'?"
    with pytest.raises(mg.InvalidParameterError) as caught:
        call(options)
    assert str(caught.value) == said


OTHER_WORDS = {
    "mask": (lambda o: mg.mdav(PEOPLE, "age", 2, **o), "mdav", "'strata'", "'entity'"),
    "verify": (lambda o: mg.verify(PEOPLE, "age", 2, **o), "verify", "'strata'", "'entity'"),
    "publish": (
        lambda o: mg.publish(PEOPLE, "no", "age", 2, **o),
        *("publish", "'strata'", "'entity'"),
    ),
    "leaves": (lambda o: mg.fit_leaves(PEOPLE, "age", 2, **o), "mdav", "'strata'", "'entity'"),
    "dld": (lambda o: mg.dld(PEOPLE, PEOPLE, "age", **o), "dld", None, "'key'"),
    "dld_entity": (
        lambda o: mg.dld_entity(PEOPLE, PEOPLE, "age", entity="name", **o),
        *("dld_entity", None, "'entity' or 'key'"),
    ),
}


@pytest.mark.parametrize("call", OTHER_WORDS)
def test_parameters_of_other_libraries_are_those_of_the_same_meaning(call):
    run, name, divided, person = OTHER_WORDS[call]
    cases = {"id": person} | ({} if divided is None else dict.fromkeys(["by", "over"], divided))
    for word, meant in cases.items():
        with refused(
            mg.InvalidParameterError, f"{name} has no option '{word}'. Did you mean {meant}?"
        ):
            run({word: "name"})


def test_an_expression_that_is_given_strata_by_another_name_points_to_over():
    said = "An expression cannot honour by. Write .over(...) after it, or use the frame function."
    with refused(mg.InvalidParameterError, said):
        pl.struct("income", "age").microagg.mask(2, by="name")


def test_own_parameters_are_listed_before_those_of_methods():
    with pytest.raises(
        mg.InvalidParameterError, match="verify has no option 'xyz'. Choose"
    ) as caught:
        mg.verify(PEOPLE, "age", 2, xyz=1)
    for name in ("strata", "entity", "entity_mode", "confidential", "memory", "l", "t_scale"):
        assert repr(name) in str(caught.value)
    with pytest.raises(mg.InvalidParameterError, match="mdav has no option 'gamma'"):
        mg.publish(PEOPLE, "no", "age", 2, gamma=0.2)


@pytest.mark.parametrize("owner", [PEOPLE.microagg, PEOPLE.lazy().microagg, pl.col("age").microagg])
def test_an_attribute_that_is_not_there_names_the_near_one(owner):
    with pytest.raises(AttributeError, match="has no attribute 'mdva'. Did you mean 'mdav'[?]$"):
        getattr(owner, "mdva")  # noqa: B009
    with pytest.raises(AttributeError, match="has no attribute 'xyzxyz'$"):
        getattr(owner, "xyzxyz")  # noqa: B009
    assert not hasattr(owner, "_repr_xyz_")
