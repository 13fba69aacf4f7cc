"""The one judge of parameters, and what it makes of a method's result."""

import re
from decimal import Decimal
from typing import Annotated, Literal

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg import registry
from polars_microagg.parameters import CHOICES, COMMON
from polars_microagg.partition import Partition, Strata, ValueMasking
from polars_microagg.plan import Plan
from polars_microagg.registry import Axis, Option, Range

NAN = float("nan")


@pytest.fixture
def toys():
    """Register methods that are gone after the test."""
    before = dict(registry.methods())
    yield registry.method
    registry._METHODS.clear()
    registry._METHODS.update(before)


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
        ({"center": "mode5"}, "Choose from 'mean', 'median'."),
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
    assert {name: getattr(plan, name) for name in COMMON} == {
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


# --- Methods that group values ----------------------------------------------------------------


@pytest.fixture
def grand(toys):
    """A method that gives every cell the mean of all cells."""

    @toys(cite="Nobody (2000)", unit="value")
    def grand(x, /, *, k: int) -> ValueMasking:
        """Replace all by the mean of all."""
        return ValueMasking(np.full(x.shape, x.mean()))


def both(frame, columns, k, **options):
    """The same call on a DataFrame and on a LazyFrame."""
    eager = mg.mask(frame, columns, k, method="grand", **options)
    lazy = mg.mask(frame.lazy(), columns, k, method="grand", **options)
    assert lazy.collect_schema() == eager.schema
    for engine in ("in-memory", "streaming"):
        assert lazy.collect(engine=engine).equals(eager)
    return eager


def test_values_are_masked_through_the_door_in_their_own_types(grand):
    # All eight cells: (1 + 2 + 8 + 9 + 4 + 3 + 2 + 1) / 8 = 3.75, as an integer 4.
    masked = both(TABLE, ["a", "b"], 2)
    assert masked.to_dict(as_series=False) == {"a": [4] * 4, "b": [3.75] * 4, "s": [*"xxyy"]}
    assert masked.schema == TABLE.schema
    assert both(TABLE, ["a", "b"], 2, dtype="float")["a"].to_list() == [3.75] * 4


def test_values_are_masked_by_stratum_and_by_block(grand):
    # x: (1 + 2 + 4 + 3) / 4 = 2.5; y: (8 + 9 + 2 + 1) / 4 = 5. The integer goes to the even one,
    # and no further than the integers of its stratum, 8 and 9.
    masked = both(TABLE, ["a", "b"], 2, strata="s")
    assert masked["b"].to_list() == [2.5, 2.5, 5.0, 5.0]
    assert masked["a"].to_list() == [2, 2, 8, 8]
    apart = both(TABLE, [["a"], ["b"]], 2)
    assert apart.row(0) == (5, 2.5, "x")


def test_values_keep_their_nulls_by_pattern(grand):
    frame = pl.DataFrame({"a": [1.0, None, 3.0, None, None], "b": [2.0, 4.0, 6.0, 8.0, None]})
    # Complete rows: (1 + 3 + 2 + 6) / 4 = 3; rows with b only: 6; the last has nothing.
    masked = both(frame, ["a", "b"], 2, nulls="pattern")
    assert masked["a"].to_list() == [3.0, None, 3.0, None, None]
    assert masked["b"].to_list() == [3.0, 6.0, 3.0, 6.0, None]


def test_values_of_different_types_meet_in_their_units(grand):
    # (1.10 + 1.31 + 2 + 4) / 4 = 2.1025, and not 110 and 131 hundredths.
    prices = pl.Series("a", [Decimal("1.10"), Decimal("1.31")], dtype=pl.Decimal(10, 2))
    frame = pl.DataFrame([prices, pl.Series("b", [2.0, 4.0])])
    assert both(frame, ["a", "b"], 2)["b"].to_list() == pytest.approx([2.1025] * 2)
    assert both(frame, ["a", "b"], 2, dtype="float")["a"].to_list() == pytest.approx([2.1025] * 2)
    assert both(frame, "a", 2)["a"].to_list() == [Decimal("1.20")] * 2  # 120.5 hundredths


def test_long_integers_keep_their_size_where_values_are_grouped(grand):
    stamps = pl.Series("t", [1_700_000_000 * 10**9, 1_700_000_010 * 10**9]).cast(pl.Datetime("ns"))
    masked = both(stamps.to_frame(), "t", 2)["t"]
    assert masked.cast(pl.Int64).to_list() == [1_700_000_005 * 10**9] * 2


def test_k_counts_values_where_values_are_grouped(grand):
    # Two rows of two columns are four values.
    assert both(TABLE.head(2), ["a", "b"], 4)["b"].to_list() == [2.5, 2.5]
    with pytest.raises(mg.TooFewRecordsError, match="k=5 needs at least"):
        mg.mask(TABLE.head(2), ["a", "b"], 5, method="grand")
    frame = TABLE.with_columns(s=pl.Series(["x", "y", "y", "y"]))
    masked = both(frame, ["a", "b"], 4, strata="s", small_strata="null")
    assert masked["a"].is_null().to_list() == [True, False, False, False]


@pytest.mark.parametrize(
    ("options", "what"),
    [({"center": "median"}, "center='median'"), ({"nulls": "impute"}, "nulls='impute'")],
)
def test_what_a_method_cannot_honour_is_refused_when_the_call_is_typed(grand, options, what):
    with pytest.raises(mg.InvalidParameterError, match=f"^grand cannot honour {what}"):
        mg.mask(TABLE.lazy(), ["a", "b"], 2, method="grand", **options)


@pytest.mark.parametrize(
    ("method", "columns"), [("grand", ["a", "b"]), ("mdav", [["a"], ["b"]]), ("univariate", "ab")]
)
def test_groups_of_more_than_one_grouping_are_refused(grand, method, columns):
    columns = list(columns)
    with pytest.raises(mg.InvalidParameterError, match=f"{method} cannot honour groups of records"):
        mg.groups(TABLE, columns, 2, method=method)


# --- Methods that break their promise ---------------------------------------------------------

BROKEN = {
    "one of k-1": (lambda n: [0] * (n - 1) + [1], r"made a class of 1 record\(s\) where k=2"),
    "each alone": (lambda n: list(range(n)), r"made a class of 1 record\(s\) where k=2"),
    "too short": (lambda n: [0] * (n - 1), "labelled 3 of 4 records"),
    "too long": (lambda n: [0] * (n + 1), "labelled 5 of 4 records"),
    "none": (lambda n: [], "labelled 0 of 4 records"),
}


@pytest.mark.parametrize("columnwise", [False, True])
@pytest.mark.parametrize("broken", list(BROKEN))
@pytest.mark.parametrize("how", ["mask", "groups"])
def test_a_broken_promise_releases_nothing(toys, broken, columnwise, how):
    labels, said = BROKEN[broken]

    @toys(cite="Nobody (2000)", columnwise=columnwise)
    def liar(x, /, *, k: int) -> Partition:
        """Break the promise, and claim that all groups are large."""
        found = np.array(labels(len(x)), dtype=np.intp)
        return Partition(found, np.array([10] * len(set(labels(len(x))))))

    door = getattr(mg, how)
    wanted = f"^liar {said}.*Nothing was released. This is a bug of polars_microagg"
    with pytest.raises(mg.BrokenPromiseError, match=wanted):
        door(TABLE, ["a"], 2, method="liar")
    lazy = door(TABLE.lazy(), ["a"], 2, method="liar")
    for engine in ("in-memory", "streaming"):
        with pytest.raises(mg.BrokenPromiseError, match=wanted):
            lazy.collect(engine=engine)


@pytest.mark.parametrize("rows", [3, 5, 1])
def test_values_of_the_wrong_shape_are_not_released(toys, rows):
    @toys(cite="Nobody (2000)", unit="value")
    def liar(x, /, *, k: int) -> ValueMasking:
        """Return other rows than were given."""
        return ValueMasking(np.zeros((rows, x.shape[1])))

    with pytest.raises(mg.BrokenPromiseError, match=f"^liar labelled {rows} of 4 records"):
        mg.mask(TABLE, ["a", "b"], 2, method="liar")


def test_the_promise_is_counted_in_each_stratum(toys):
    @toys(cite="Nobody (2000)")
    def uneven(x, /, *, k: int) -> Partition:
        """Leave one record of a larger stratum alone."""
        return Partition.from_labels(np.arange(len(x)) // (len(x) - 1 if len(x) > 2 else 2))

    frame = pl.DataFrame({"a": [1, 1, 1, 1, 1], "s": [0, 0, 1, 1, 1]})
    # All five records hold the same value, so only a count within the strata finds the one.
    with pytest.raises(mg.BrokenPromiseError, match=r"^uneven made a class of 1 record\(s\)"):
        mg.mask(frame, "a", 2, method="uneven", strata="s")


def test_the_promise_is_counted_on_what_is_emitted(monkeypatch):
    from polars_microagg.frames import batch

    def different(column, masked, j, dtype):
        return pl.Series(column.name, range(len(column)), dtype=dtype)

    monkeypatch.setattr(batch, "emit", different)
    with pytest.raises(mg.BrokenPromiseError, match=r"^mdav made a class of 1 record\(s\)"):
        mg.mdav(TABLE, ["a", "b"], 2)


def test_impute_by_hand():
    # The nulls of a stand at its mean, 6, and are a group that has none: it takes the mean.
    frame = pl.DataFrame({"a": [1.0, 2.0, None, None, 10.0, 11.0]})
    masked = mg.univariate(frame, "a", 2, nulls="impute")
    assert masked["a"].to_list() == [1.5, 1.5, 6.0, 6.0, 10.5, 10.5]
    # The null of b is completed by the row nearest in a, and its group's mean of b fills it.
    frame = pl.DataFrame({"a": [0, 1, 2, 50, 51, 52], "b": [4, None, 8, 90, 94, 92]})
    masked = mg.mdav(frame, ["a", "b"], 3, nulls="impute")
    assert masked["a"].to_list() == [1, 1, 1, 51, 51, 51]
    assert masked["b"].to_list() == [6, 6, 6, 92, 92, 92]


def test_a_plan_masks_a_matrix_without_any_frame():
    # Groups {1, 2} and {8, 9}, then the mean of each: the anchor plus half.
    plan = Plan.make("univariate", 2).bind([["a"]])
    x = np.array([[1.0], [9.0], [2.0], [8.0]], order="F")
    (masked,) = plan.mask(x, np.ones(1), Strata.whole(4))
    assert masked.columns == ("a",)
    assert masked.labels.tolist() == [0, 1, 0, 1]
    assert masked.anchors.tolist() == [[0], [1]]
    assert masked.differences.tolist() == [[0.5], [-0.5]]
