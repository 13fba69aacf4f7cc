"""Options are checked when a call is typed, and reach the method as given."""

import re
from decimal import Decimal
from typing import Annotated, Literal

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.core import registry
from polars_microagg.core.options import CHOICES, COMMON
from polars_microagg.core.partition import Partition
from polars_microagg.core.plan import Plan
from polars_microagg.core.registry import Axis, Option, Range

pytestmark = pytest.mark.whole

NAN = float("nan")


@pytest.fixture
def heard(toys):
    """A method with an option of every kind; what it is called with is kept."""
    calls = []

    @toys(cite="Nobody (2000)")
    def toy(
        x,
        /,
        *,
        k: int,
        at: Axis | Literal["all"] = "all",
        mode: Literal["fast", "slow"] = "fast",
        rounds: Literal[1, 2] = 1,
        gamma: Annotated[float, Range(0, 2)] = 0.2,
        steps: Annotated[int, Range(1)] = 3,
        weight: float = 1.0,
        most: int | None = None,
        flip: bool = False,
        seed: int = 0,
    ) -> Partition:
        """Put all records in one group."""
        given = {"at": at, "mode": mode, "rounds": rounds, "gamma": gamma, "steps": steps}
        calls.append(given | {"weight": weight, "most": most, "flip": flip, "seed": seed, "k": k})
        return Partition.from_labels(np.zeros(len(x), dtype=np.intp))

    return calls


TABLE = pl.DataFrame({"a": [1, 2, 8, 9], "b": [4.0, 3.0, 2.0, 1.0], "s": ["x", "x", "y", "y"]})


# --- k ----------------------------------------------------------------------------------------

NOT_A_SIZE = [1, 0, -3, None, True, False, 2.0, 5.5, "5", NAN, 2 + 0j, [5], Decimal(5)]
NOT_A_SIZE += [np.float64(3), np.bool_(True), np.int64(1), float("inf"), b"5"]


@pytest.mark.parametrize("k", NOT_A_SIZE, ids=repr)
def test_k_must_be_an_integer_of_at_least_2(k):
    with pytest.raises(mg.InvalidParameterError, match="k must be an integer of at least 2"):
        Plan.make("mdav", k)


@pytest.mark.parametrize("k", [2, 3, 10**9, np.int8(5), np.uint64(5), np.int64(2)], ids=repr)
def test_any_integer_of_at_least_2_is_a_k(k):
    assert type(Plan.make("mdav", k).k) is int
    assert Plan.make("mdav", k).k == int(k)


# --- Options that all methods share -----------------------------------------------------------

WRONG = {
    "scale": ["zscor", "ZSCORE", "z"],
    "center": ["medain", "Mean", "mode"],
    "nulls": ["imput", "RAISE", "drop"],
    "small_strata": ["nul", "Raise", "merge"],
    "dtype": ["kep", "Float", "f64"],
}


@pytest.mark.parametrize(
    ("name", "value"), [(n, v) for n, wrong in WRONG.items() for v in [*wrong, "", None, 5, True]]
)
def test_a_value_outside_a_closed_list_is_refused_with_the_list(name, value):
    listed = ", ".join(map(repr, CHOICES[name]))
    wanted = re.escape(f"{name}={value!r} is not known; it must be one of {listed}.")
    with pytest.raises(mg.InvalidParameterError, match=wanted):
        Plan.make("mdav", 5, **{name: value})


@pytest.mark.parametrize(
    "value", [["mean"], np.array(["mean"]), pl.Series(["mean"]), NAN, {"mean"}], ids=type
)
@pytest.mark.parametrize("name", list(CHOICES))
def test_what_is_no_text_is_no_choice(name, value):
    with pytest.raises(mg.InvalidParameterError, match=f"{name}=.* is not known; it must be one"):
        Plan.make("mdav", 5, **{name: value})


@pytest.mark.parametrize(
    ("option", "hint"),
    [
        ({"scale": "zscor"}, "Did you mean 'zscore'?"),
        ({"scale": "ROBUST"}, "Did you mean 'robust'?"),
        ({"center": "medain"}, "Did you mean 'median'?"),
        ({"nulls": "patern"}, "Did you mean 'pattern'?"),
        ({"center": "mode5"}, "it must be one of 'mean', 'median'."),
        ({"centre": "mean"}, "mdav has no option 'centre'. Did you mean 'center'?"),
        ({"sead": 3}, "mdav has no option 'sead'. Did you mean 'seed'?"),
        ({"stratum": "s"}, "mdav has no option 'stratum'. Did you mean 'strata'?"),
        ({"orderby": "s"}, "mdav has no option 'orderby'. Did you mean 'order_by'?"),
        ({"Scale": "none"}, "mdav has no option 'Scale'. Did you mean 'scale'?"),
        ({"xyzzy": 1}, "mdav has no option 'xyzzy'. Choose from 'strata', 'order_by', 'scale'"),
    ],
    ids=str,
)
def test_a_misspelt_option_or_value_gets_a_hint(option, hint):
    with pytest.raises(mg.InvalidParameterError, match=re.escape(hint)):
        Plan.make("mdav", 5, **option)


@pytest.mark.parametrize(
    ("method", "hint"),
    [
        ("mdva", "There is no method 'mdva'. Did you mean 'mdav'?"),
        ("MDAV", "There is no method 'MDAV'. Did you mean 'mdav'?"),
        (None, "There is no method None. Choose from"),
        (5, "There is no method 5. Choose from"),
        (["mdav"], "There is no method ['mdav']."),
        ("", "There is no method ''. Choose from"),
    ],
    ids=repr,
)
def test_an_unknown_method_gets_a_hint(method, hint):
    with pytest.raises(mg.UnknownMethodError, match=re.escape(hint)):
        Plan.make(method, 5)


@pytest.mark.parametrize("seed", [-1, 1.5, 0.0, True, None, "0", NAN, np.float64(1)], ids=repr)
def test_a_seed_is_a_whole_number_of_at_least_0(seed):
    wanted = re.escape(f"seed={seed!r} was given; it must be a whole number of at least 0")
    with pytest.raises(mg.InvalidParameterError, match=wanted):
        Plan.make("mdav", 5, seed=seed)


@pytest.mark.parametrize("seed", [0, 7, np.int64(7), np.uint8(0), 2**64])
def test_any_whole_number_is_a_seed(seed):
    assert type(Plan.make("mdav", 5, seed=seed).seed) is int


@pytest.mark.parametrize("method", [m for m in registry.methods().values() if m.unit == "value"])
def test_refine_is_refused_where_no_records_are_grouped(method):
    wanted = f"^{method.name} cannot honour refine=True, which exchanges records. Leave refine out"
    with pytest.raises(mg.InvalidParameterError, match=wanted):
        Plan.make(method.name, 5, refine=True)
    assert Plan.make("mdav", 5, refine=True).refine is True


@pytest.mark.parametrize("refine", [1, 0, None, "yes", NAN, np.array([True])], ids=repr)
def test_refine_is_true_or_false(refine):
    with pytest.raises(mg.InvalidParameterError, match=r"refine=.* it must be True or False"):
        Plan.make("mdav", 5, refine=refine)


def test_defaults_are_those_of_the_contract():
    plan = Plan.make("mdav", 5)
    assert {name: getattr(plan, name) for name in list(COMMON)[:7]} == {
        "scale": "zscore",
        "center": "mean",
        "nulls": "raise",
        "small_strata": "raise",
        "dtype": "keep",
        "refine": False,
        "seed": 0,
    }


@pytest.mark.parametrize("method", list(registry.methods()))
def test_every_option_may_be_given_its_own_default(method):
    options = registry.methods()[method].options
    assert Plan.make(method, 5, **{name: option.default for name, option in options.items()})


# --- Options of a method ----------------------------------------------------------------------


def test_options_are_read_from_the_signature(heard):
    entry = registry.methods()["toy"]
    assert entry.seeded
    assert entry.summary == "Put all records in one group."
    assert entry.options == {
        "at": Option("at", "all", choices=("all",), axis=True),
        "mode": Option("mode", "fast", choices=("fast", "slow")),
        "rounds": Option("rounds", 1, choices=(1, 2)),
        "gamma": Option("gamma", 0.2, kind=float, range=Range(0, 2)),
        "steps": Option("steps", 3, kind=int, range=Range(1)),
        "weight": Option("weight", 1.0, kind=float),
        "most": Option("most", None, kind=int),
        "flip": Option("flip", False, kind=bool),
    }


@pytest.mark.parametrize(
    ("name", "value", "need"),
    [
        ("mode", "fats", "it must be one of 'fast', 'slow'. Did you mean 'fast'?"),
        ("mode", None, "it must be one of 'fast', 'slow'"),
        ("mode", 1, "it must be one of 'fast', 'slow'"),
        ("rounds", 3, "it must be one of 1, 2"),
        ("rounds", True, "it must be one of 1, 2"),
        ("rounds", 1.0, "it must be one of 1, 2"),
        ("rounds", "1", "it must be one of 1, 2"),
        ("gamma", -0.1, "it must be a number from 0 to 2"),
        ("gamma", 2.1, "it must be a number from 0 to 2"),
        ("gamma", NAN, "it must be a number from 0 to 2"),
        ("gamma", "1", "it must be a number from 0 to 2"),
        ("gamma", True, "it must be a number from 0 to 2"),
        ("gamma", None, "it must be a number from 0 to 2"),
        ("steps", 0, "it must be a whole number at least 1"),
        ("steps", 1.0, "it must be a whole number at least 1"),
        ("steps", True, "it must be a whole number at least 1"),
        ("steps", "3", "it must be a whole number at least 1"),
        ("steps", NAN, "it must be a whole number at least 1"),
        ("weight", NAN, "it must be a number"),
        ("weight", "1.0", "it must be a number"),
        ("most", 1.5, "it must be a whole number"),
        ("flip", 1, "it must be True or False"),
        ("flip", "yes", "it must be True or False"),
        ("flip", None, "it must be True or False"),
        ("at", 0, "it must be one of 'all'"),
        ("at", None, "it must be one of 'all'"),
    ],
)
def test_a_wrong_option_of_a_method_is_refused_when_the_call_is_typed(heard, name, value, need):
    with pytest.raises(mg.InvalidParameterError, match=f"^{name}=.*{re.escape(need)}"):
        mg.mask(TABLE.lazy(), ["a", "b"], 2, method="toy", **{name: value})
    assert heard == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mode", "slow"),
        ("rounds", 2),
        ("gamma", 0),
        ("gamma", 2.0),
        ("gamma", np.float32(0.5)),
        ("steps", 1),
        ("steps", np.int64(9)),
        ("weight", -7),
        ("most", 4),
        ("most", None),
        ("flip", True),
    ],
)
def test_a_right_option_reaches_the_method(heard, name, value):
    mg.mask(TABLE, ["a", "b"], 2, method="toy", **{name: value})
    assert heard[0][name] == value


def test_options_that_are_not_given_keep_their_defaults(heard):
    mg.mask(TABLE, ["a", "b"], 2, method="toy")
    default = {"at": "all", "mode": "fast", "rounds": 1, "gamma": 0.2, "steps": 3, "weight": 1.0}
    assert heard == [default | {"most": None, "flip": False, "seed": 0, "k": 2}]


def test_an_option_of_another_method_is_refused(heard):
    with pytest.raises(mg.InvalidParameterError, match=r"toy has no option 'gama'\. Did you mean"):
        Plan.make("toy", 2, gama=0.1)
    with pytest.raises(mg.InvalidParameterError, match="mdav has no option 'gamma'"):
        Plan.make("mdav", 2, gamma=0.1)


@pytest.mark.parametrize(("at", "received"), [("a", 0), ("b", 1), ("all", "all")])
def test_an_option_that_names_a_column_becomes_its_position(heard, at, received):
    mg.mask(TABLE, ["a", "b"], 2, method="toy", at=at)
    assert heard[0]["at"] == received


def test_a_choice_goes_before_a_column_of_the_same_name(heard):
    mg.mask(TABLE.rename({"a": "all"}), ["b", "all"], 2, method="toy", at="all")
    assert heard[0]["at"] == "all"


@pytest.mark.parametrize("columns", [["a", "b"], [["a"], ["b"]]], ids=str)
@pytest.mark.parametrize("at", ["s", "c", ""])
def test_an_option_names_a_column_among_those_masked(heard, at, columns):
    with pytest.raises(mg.InvalidParameterError, match=f"at='{at}' is not known; .* 'all', 'a'"):
        mg.mask(TABLE, columns, 2, method="toy", at=at)


def test_an_option_names_a_column_of_every_block(heard):
    with pytest.raises(mg.InvalidParameterError, match=r"at='a' is not known; .* 'all', 'b'"):
        mg.mask(TABLE, [["a"], ["b"]], 2, method="toy", at="a")


def test_a_wrong_column_of_an_option_waits_for_the_schema_and_not_for_the_data(heard):
    lazy = mg.mask(TABLE.lazy(), ["a", "b"], 2, method="toy", at="c")
    with pytest.raises(mg.InvalidParameterError, match="at='c' is not known"):
        lazy.collect_schema()
    assert heard == []


# --- Seeds and strata -------------------------------------------------------------------------


def test_the_seed_reaches_every_stratum_and_only_methods_that_draw(heard):
    mg.mask(TABLE, ["a", "b"], 2, method="toy", seed=np.int32(11), strata="s")
    assert [call["seed"] for call in heard] == [11, 11]
    seeded, plain = (mg.mdav(TABLE, ["a", "b"], 2, **given) for given in ({"seed": 11}, {}))
    assert seeded.equals(plain)


def test_what_is_drawn_in_a_stratum_does_not_depend_on_the_others(toys):
    @toys(cite="Nobody (2000)")
    def shuffled(x, /, *, k: int, seed: int = 0) -> Partition:
        """Group records at random."""
        order = np.random.default_rng(seed).permutation(len(x))
        return Partition.from_labels(np.minimum(order // k, len(x) // k - 1))

    frame = pl.DataFrame({"s": [0] * 7 + [1] * 9 + [2] * 4, "a": np.arange(20.0) ** 2})
    whole = mg.mask(frame, "a", 2, method="shuffled", seed=5, strata="s")
    parts = [
        mg.mask(part, "a", 2, method="shuffled", seed=5) for part in frame.partition_by("s")[::-1]
    ]
    assert whole.equals(pl.concat(parts[::-1]))
    lazy = mg.mask(frame.lazy(), "a", 2, method="shuffled", seed=5, strata="s")
    assert whole.equals(lazy.collect(engine="streaming"))
    other = mg.mask(frame, "a", 2, method="shuffled", seed=6, strata="s")
    assert not whole.equals(other)
