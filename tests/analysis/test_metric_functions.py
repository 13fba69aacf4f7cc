"""Measures of a table, before and after: four rows of two columns, worked by hand."""

from decimal import Decimal

import numpy as np
import polars as pl
import polars.selectors as cs
import pytest
from hypothesis import given
from hypothesis import strategies as st

import polars_microagg as mg
from polars_microagg.core import registry
from tests.reference import MDAV_LOSSES, reference_frame

EYES = [pytest.param(lambda frame: frame, id="eager"), pytest.param(pl.DataFrame.lazy, id="lazy")]
as_given = pytest.mark.parametrize("as_given", EYES)

# Column a has mean 4 and variance (9 + 1 + 1 + 9) / 4 = 5; column b has mean 3 and variance 1.
BEFORE = pl.DataFrame({"id": ["p", "q", "r", "s"], "a": [1, 3, 5, 7], "b": [2.0, 2.0, 4.0, 4.0]})
# Differences 1, 1, 1, 1 in a: 4 / 5. None in b. Of 8 in all: 10 per cent. Two classes of 2.
AFTER = BEFORE.with_columns(a=pl.Series([2, 2, 6, 6]))
# And 1, 1, 1, 1 in b: 4 / 1 more. 4.8 of 8: 60 per cent.
FLAT = AFTER.with_columns(b=pl.lit(3.0))

# --- assess and the single measures -----------------------------------------------------------

WORKED = {
    "nothing changed": (BEFORE, (0.0, 8.0, 0.0, 1, 1.0)),
    "one column": (AFTER, (0.8, 8.0, 10.0, 2, 2.0)),
    "both columns": (FLAT, (4.8, 8.0, 60.0, 2, 2.0)),
    # All at the mean: the whole variance is lost.
    "means": (BEFORE.with_columns(a=pl.lit(4), b=pl.lit(3.0)), (8.0, 8.0, 100.0, 4, 4.0)),
    # More than all can be lost: differences of 2 in b cost 4 * 4.
    "worse": (BEFORE.with_columns(b=6.0 - pl.col("b")), (16.0, 8.0, 200.0, 1, 1.0)),
}
NAMES = ["sse", "sst", "loss", "k_min", "k_prime"]


@as_given
@pytest.mark.parametrize("what", list(WORKED))
def test_measures_by_hand(as_given, what):
    masked, (sse, sst, loss, k_min, k_prime) = WORKED[what]
    before, after = as_given(BEFORE), as_given(masked)
    found = mg.assess(before, after, ["a", "b"], metrics=NAMES)
    assert found.columns == NAMES
    assert found.row(0) == pytest.approx((sse, sst, loss, k_min, k_prime), rel=1e-14)
    for name, value in zip(NAMES, found.row(0), strict=True):
        assert getattr(mg, name)(before, after, ["a", "b"]) == value
    assert before.microagg.assess(after, ["a", "b"], metrics=NAMES).equals(found)


def test_assess_gives_the_metrics_asked_for_in_that_order_and_type():
    found = mg.assess(BEFORE, AFTER, metrics=["k_min", "loss"])
    assert found.schema == {"k_min": pl.Int64, "loss": pl.Float64}
    assert mg.assess(BEFORE, AFTER, metrics="sse").columns == ["sse"]
    assert mg.assess(BEFORE, AFTER).columns == list(registry.assessed())
    assert mg.assess(BEFORE, AFTER).height == 1
    with pytest.raises(mg.InvalidParameterError, match="metrics lists 'sse' more than once"):
        mg.assess(BEFORE, AFTER, metrics=["sse", "sse"])


@pytest.mark.parametrize(
    ("columns", "loss"),
    [
        ("a", 20.0),  # 0.8 of 4
        ("b", 0.0),
        (cs.integer(), 20.0),
        ([["a"], ["b"]], 10.0),
        (["b", "a"], 10.0),
        (None, 10.0),  # id is text and cannot be measured
    ],
    ids=str,
)
def test_only_the_columns_asked_for_are_measured(columns, loss):
    assert mg.loss(BEFORE, AFTER, columns) == pytest.approx(loss, rel=1e-14)


def test_by_default_the_columns_that_both_have_are_measured():
    assert mg.loss(BEFORE, AFTER.drop("b")) == pytest.approx(20)
    assert mg.loss(BEFORE.drop("a"), AFTER) == 0
    extra = AFTER.with_columns(c=pl.Series([1, 2, 3, 4]))
    assert mg.loss(BEFORE, extra) == pytest.approx(10)
    with pytest.raises(mg.InvalidParameterError, match="No column was given"):
        mg.loss(BEFORE, AFTER.select("id"))


def test_what_an_intruder_knows_may_be_other_columns():
    # FLAT: a is 2, 2, 6, 6 and b is 3 for all; id is different for all.
    assert mg.k_min(BEFORE, FLAT, "a", known="b") == 4
    assert mg.k_prime(BEFORE, FLAT, ["a", "b"], known=["b"]) == 4
    assert mg.k_prime(BEFORE, FLAT, known=["id", "a"]) == 1
    assert mg.assess(BEFORE, FLAT, "a", metrics=["k_min", "loss"], known="id").row(0) == (
        1,
        pytest.approx(20),
    )


# --- Rows that are matched by a key -----------------------------------------------------------


@as_given
@pytest.mark.parametrize("order", [[3, 1, 0, 2], [1, 0, 3, 2], [0, 1, 2, 3]], ids=str)
def test_rows_are_matched_by_key_in_any_order(as_given, order):
    shuffled = AFTER[order]
    assert mg.loss(as_given(BEFORE), as_given(shuffled), key="id") == pytest.approx(10)
    assert mg.loss(as_given(BEFORE[order]), as_given(AFTER), ["a", "b"], key=["id"]) == (
        pytest.approx(10)
    )


def test_without_a_key_rows_are_matched_by_position():
    # 2, 6, 2, 6 for 1, 3, 5, 7: differences 1, 3, 3, 1, so 20 / 5 of 4.
    assert mg.loss(BEFORE, AFTER[[0, 2, 1, 3]], "a") == pytest.approx(100)


def test_a_key_may_be_several_columns_with_nulls():
    keys = pl.DataFrame({"x": [1, 1, None, None], "y": ["u", None, "u", None]})
    before, after = (pl.concat([keys, f], how="horizontal") for f in (BEFORE, AFTER))
    assert mg.loss(before, after[[2, 3, 1, 0]], ["a", "b"], key=["x", "y"]) == pytest.approx(10)


def test_a_key_is_not_measured_by_default():
    before, after = (f.with_columns(id=pl.Series([4, 3, 2, 1])) for f in (BEFORE, AFTER))
    assert mg.loss(before, after, key="id") == pytest.approx(10)
    assert mg.loss(before, after) == pytest.approx(0.8 / 12 * 100)


@as_given
@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        (BEFORE, AFTER[[0, 1, 2, 2]], r"1 row\(s\) of masked repeat a key"),
        (BEFORE, AFTER[[0, 0, 0, 1]], r"2 row\(s\) of masked repeat a key"),
        (BEFORE[[0, 0]], AFTER, r"1 row\(s\) of original repeat a key"),
        (BEFORE[:3], AFTER, "3 of 3 and 4 rows match"),
        (BEFORE[:2], AFTER, "2 of 2 and 4 rows match"),
        (BEFORE[:2], AFTER[2:], "0 of 2 and 2 rows match"),
    ],
)
def test_keys_must_match_one_to_one(as_given, before, after, found):
    with pytest.raises(mg.InvalidDataError, match=rf"key=\['id'\] does not match .*: {found}"):
        mg.loss(as_given(before), as_given(after), ["a"], key="id")


@pytest.mark.parametrize("table", [0, 1])
def test_a_key_must_be_a_column_of_both(table):
    tables = [BEFORE, AFTER]
    tables[table] = tables[table].drop("id")
    with pytest.raises(mg.InvalidParameterError, match="key names 'id', which is not a column"):
        mg.loss(*tables, ["a"], key="id")


# --- Types, nulls and edges -------------------------------------------------------------------

STEPS = [1, 3, 5, 7]
CENTRES = [2.5, 2.5, 5.5, 5.5]  # Differences 1.5, 0.5, 0.5, 1.5: 5 / 5 = 1 of 4, 25 per cent.
UNITS = {
    "Int8": (pl.Series(STEPS, dtype=pl.Int8), 1.0),
    "UInt64": (pl.Series(STEPS, dtype=pl.UInt64), 1.0),
    "Float32": (pl.Series(STEPS, dtype=pl.Float32), 1.0),
    "Decimal": (pl.Series([Decimal(s) / 100 for s in STEPS], dtype=pl.Decimal(10, 2)), 0.01),
    "Date": (pl.Series(STEPS, dtype=pl.Int32).cast(pl.Date), 1.0),
    "Datetime": (pl.Series(STEPS).cast(pl.Datetime("ms", "UTC")), 1.0),
    "Duration": (pl.Series(STEPS).cast(pl.Duration("ns")), 1.0),
    "Time": (pl.Series(STEPS).cast(pl.Time), 1.0),
}


@pytest.mark.parametrize("dtype", list(UNITS))
def test_float_centres_of_any_type_are_measured_in_its_units(dtype):
    column, step = UNITS[dtype]
    before = pl.DataFrame({"a": column})
    after = pl.DataFrame({"a": [centre * step for centre in CENTRES]})
    assert mg.loss(before, after) == pytest.approx(25, rel=1e-12)
    assert mg.loss(before, before) == 0


@pytest.mark.parametrize("dtype", list(UNITS))
def test_what_was_masked_as_float_and_as_it_was_is_measured_alike(dtype):
    # Pairs {1, 3} and {5, 7} have whole means 2 and 6: differences 1, 4 / 5 of 4.
    before = pl.DataFrame({"a": UNITS[dtype][0]})
    losses = [mg.loss(before, mg.mdav(before, "a", 2, dtype=kind)) for kind in ("keep", "float")]
    assert losses == pytest.approx([20, 20], rel=1e-12)


@pytest.mark.parametrize("start", [2**60, 2**63 - 10, -(2**63)])
def test_long_integers_are_measured_to_the_last_digit(start):
    before = pl.DataFrame({"a": [start + step for step in STEPS]})
    after = pl.DataFrame({"a": [start + step for step in (2, 2, 6, 6)]})
    assert mg.loss(before, after) == pytest.approx(20, rel=1e-14)


@pytest.mark.parametrize("factor", [1e300, 2e307, 1e-300, 5e-324, 1e15])
def test_the_size_of_the_numbers_does_not_matter(factor):
    before, after = (
        pl.DataFrame({"a": [step * factor for step in steps]}) for steps in (STEPS, [2, 2, 6, 6])
    )
    assert mg.loss(before, after) == pytest.approx(20, rel=1e-9)


def test_cells_that_are_null_before_or_after_are_passed_over():
    # Present before: 1, 3, 5, mean 3, variance 8 / 3. Present in both: differences 1 and 1.
    before = pl.DataFrame({"a": [1, 3, None, 5]})
    after = pl.DataFrame({"a": [2, 2, 2, None]})
    found = mg.assess(before, after, metrics=["sse", "sst", "loss"])
    assert found.row(0) == pytest.approx((0.75, 3.0, 25.0), rel=1e-14)
    # As classes they are values: 2 three times and null once.
    assert mg.k_min(before, after) == 1


@pytest.mark.parametrize("constant", [[7, 7, 7, 7], [None] * 4, [7, None, 7, None]], ids=str)
def test_a_column_that_does_not_vary_weighs_nothing(constant):
    extra = pl.Series("c", constant, dtype=pl.Int64)
    after = AFTER.with_columns(extra + 1)
    assert mg.loss(BEFORE.with_columns(extra), after, ["a", "b", "c"]) == pytest.approx(10)
    alone = mg.assess(pl.DataFrame(extra), after, ["c"], metrics=["sse", "sst", "loss"])
    assert alone.row(0) == (0.0, 0.0, 0.0)


@as_given
def test_no_rows_have_no_loss_and_no_anonymity(as_given):
    before, after = as_given(BEFORE.clear()), as_given(AFTER.clear())
    assert mg.assess(before, after, metrics=NAMES).row(0) == (0.0, 0.0, 0.0, None, None)
    assert mg.assess(before, after, metrics=NAMES, key="id").schema["k_min"] == pl.Int64


@pytest.mark.parametrize("table", ["original", "masked"])
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_what_is_not_finite_is_refused_on_either_side(table, bad):
    tables = {"original": BEFORE, "masked": AFTER}
    tables[table] = tables[table].with_columns(b=pl.Series([1.0, bad, 2.0, bad]))
    with pytest.raises(mg.MissingValuesError, match="Column 'b' has 2 NaN or infinite"):
        mg.loss(**tables)


@given(rng=st.integers(0, 2**32 - 1).map(np.random.default_rng))
def test_the_loss_of_means_is_the_share_of_variance_within_groups(rng):
    n, k = int(rng.integers(4, 40)), int(rng.integers(2, 4))
    frame = pl.DataFrame({name: rng.standard_normal(n) for name in "ab"})
    masked = mg.mdav(frame, ["a", "b"], k)
    assert 0 <= mg.loss(frame, masked) <= 100 + 1e-9
    group = mg.groups(frame, ["a", "b"], k)["microagg_group"].to_numpy()
    x = frame.to_numpy() / frame.to_numpy().std(axis=0)
    within = sum(len(x[group == g]) * x[group == g].var(axis=0).sum() for g in set(group))
    assert mg.sse(frame, masked) == pytest.approx(within, rel=1e-9)
    assert mg.sst(frame, masked) == pytest.approx(2 * n, rel=1e-12)


# --- The tables of the literature -------------------------------------------------------------


@pytest.mark.parametrize(("name", "k", "loss"), MDAV_LOSSES)
def test_the_loss_of_plain_mdav_on_the_reference_files(name, k, loss):
    frame = reference_frame(name)
    masked = mg.mdav(frame, cs.all(), k, dtype="float")
    assert mg.loss(frame, masked) == pytest.approx(loss, abs=5e-5)
    mg.verify(masked, cs.all(), k)
    assert mg.k_min(frame, masked) >= k
