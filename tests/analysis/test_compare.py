"""Methods side by side."""

import re

import numpy as np
import polars as pl
import polars.selectors as cs
import pytest

import polars_microagg as mg
from polars_microagg.analysis.compare import _pareto
from polars_microagg.analysis.time_budget import TimeBudget
from polars_microagg.core import registry

FRAME = pl.DataFrame(
    {
        "id": [f"r{i}" for i in range(40)],
        "a": [(i * 17) % 41 for i in range(40)],
        "b": [((i * i * 7) % 53) / 2 for i in range(40)],
    }
)
BYTES = FRAME.with_columns(pl.col("id").cast(pl.Binary))
MEASURES = ["loss", "il", "dld", "pld", "interval_disclosure", "dr", "score", "k_prime", "k_min"]
COLUMNS = ["method", "k", *MEASURES, "suppressed", "seconds", "pareto", "note"]


@pytest.mark.parametrize("as_given", [lambda f: f, pl.DataFrame.lazy], ids=["eager", "lazy"])
def test_one_row_a_method_and_k(as_given):
    found = mg.compare(as_given(FRAME), ["a", "b"], methods=["mdav", "mic1d"], ks=[4, 2])
    assert found.columns == COLUMNS
    assert found.select("method", "k").rows() == [
        (method, k) for k in (4, 2) for method in ("mdav", "mic1d")
    ]
    for row in found.iter_rows(named=True):
        masked = mg.mask(FRAME, ["a", "b"], row["k"], method=row["method"])
        alone = mg.assess(FRAME, masked, ["a", "b"], metrics=MEASURES).row(0, named=True)
        assert {name: row[name] for name in alone} == alone
        assert row["seconds"] > 0
        assert row["note"] is None


def test_all_methods_that_group_records_by_default():
    found = mg.compare(FRAME, cs.numeric())
    expected = [
        name for name, m in registry.methods().items() if m.unit == "record" and not m.columnwise
    ]
    assert found.filter(k=5)["method"].to_list() == expected
    assert found["k"].unique(maintain_order=True).to_list() == [3, 5, 10]
    assert (found["k_prime"] >= found["k"]).all()
    assert found["pareto"].any()
    assert not found["pareto"].all()


def test_pareto_by_hand():
    points = [(10, 5), (20, 3), (15, 5), (10, 5), (20, 4), (30, None), (None, None)]
    rows = [{"loss": loss, "dr": risk} for loss, risk in points]
    # The third loses more than the first at the same risk, the fifth risks more than the second.
    assert _pareto(rows).to_list() == [True, True, False, True, False, None, None]


def test_options_reach_the_methods_and_the_measures():
    table = FRAME.with_columns(s=pl.Series([0, 1] * 20))
    found = table.lazy().microagg.compare(
        ["a", "b"], methods="genetic", ks=3, strata="s", known=1, seed=4, generations=5
    )
    masked = mg.genetic(table, ["a", "b"], 3, strata="s", seed=4, generations=5)
    assert found["loss"].item() == mg.loss(table, masked, ["a", "b"])
    assert found["dld"].item() == mg.dld(table, masked, ["a", "b"], known=1, strata="s")
    # A stratum is known and not masked.
    found = mg.compare(table, "a", methods="mdav", ks=3, strata="s", known=["a", "s"])
    masked = mg.mdav(table, "a", 3, strata="s")
    assert found["k_prime"].item() == mg.k_prime(table, masked, "a", known=["a", "s"])


def test_what_cannot_run_says_why():
    found = mg.compare(FRAME, ["a", "b"], methods=["mdav", "genetic"], ks=[3, 41], generations=3)
    assert found.schema == mg.compare(FRAME, "a", methods="mdav").schema
    notes = found["note"].to_list()
    assert notes[0] == "mdav has no option 'generations'. " + notes[0].partition("'. ")[2]
    assert notes[1] is None
    assert notes[2] == notes[0]
    assert notes[3] == "k=41 needs at least 41 records, got 40. " + notes[3].partition("40. ")[2]
    numbers = found.select(*MEASURES, "seconds", "pareto")
    assert [set(numbers.row(i)) for i in (0, 2, 3)] == [{None}] * 3
    assert None not in numbers.row(1)


def test_too_many_records_for_a_method():
    table = pl.DataFrame({"a": range(6_000)})
    found = mg.compare(table, "a", methods=["fuzzy", "fixed_size"], ks=3)
    assert found["note"].to_list()[0].startswith("fuzzy takes at most 5000 records")
    assert found["loss"].is_null().to_list() == [True, False]


def test_no_method_is_begun_that_has_not_the_time():
    values = [(i * 7919) % 100_003 for i in range(100_000)]
    table = pl.DataFrame({"a": values, "b": values[::-1]})
    found = mg.compare(table, ["a", "b"], methods=["lowloss", "fixed_size"], ks=5, seconds=10)
    assert found["method"].to_list() == ["lowloss", "fixed_size"]
    late = found["note"][0]
    assert late.startswith("lowloss was not begun: it is expected to take ")
    assert "of seconds=10 there were " in late
    assert found["loss"].is_null().to_list() == [True, False]
    with pytest.raises(mg.InvalidParameterError, match="seconds=1e-09 was given") as caught:
        mg.compare(FRAME, "a", ks=5, seconds=1e-9)
    enough = int(re.search(r"must be at least (\d+), in which one", str(caught.value))[1])
    assert mg.compare(FRAME, "a", ks=5, seconds=enough)["loss"].count() > 0


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: mg.compare(FRAME, "a", methods="mdaw"), mg.UnknownMethodError, "mdaw"),
        (lambda: mg.compare(FRAME, "a", methods=[]), mg.InvalidParameterError, "at least one"),
        (lambda: mg.compare(FRAME, "a", ks=1), mg.InvalidParameterError, "k=1"),
        (lambda: mg.compare(FRAME, "a", ks=2.5), mg.InvalidParameterError, "k=2.5"),
        (
            lambda: mg.compare(FRAME, "a", ks=[]),
            mg.InvalidParameterError,
            r"ks=\[\] .* at least one",
        ),
        (lambda: mg.compare(FRAME, "a", known=[]), mg.InvalidParameterError, r"known=\[\]"),
        (lambda: mg.compare(FRAME, "c"), mg.InvalidParameterError, "'c'"),
        (
            lambda: mg.compare(FRAME, "a", methods="mdav", known="c"),
            mg.InvalidParameterError,
            "'c'",
        ),
        (lambda: mg.compare(FRAME, ["a", "b"], knwon=1), mg.InvalidParameterError, "knwon"),
        (lambda: mg.compare(FRAME, "a", ks=41), mg.TooFewRecordsError, "got 40"),
        (lambda: mg.compare(BYTES, "a", known="id"), mg.NotNumericError, "'id'"),
        (lambda: mg.compare(FRAME, "a", seconds=0), mg.InvalidParameterError, "seconds=0"),
    ],
)
def test_wrong_calls_are_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_entities_and_confidential_columns_are_held_by_every_method(monkeypatch):
    rng = np.random.default_rng(5)
    table = pl.DataFrame(
        {
            "a": rng.normal(size=90),
            "b": rng.normal(size=90),
            "who": rng.integers(0, 40, 90),
            "sick": rng.choice(["flu", "cold", "gout"], 90),
        }
    )
    methods, asked = ["mdav", "fixed_size"], {"entity": "who", "confidential": "sick", "l": 3}
    found = mg.compare(table, ["a", "b"], methods=methods, ks=4, **asked)
    for method, loss in found.select("method", "loss").rows():
        masked = mg.mask(table, ["a", "b"], 4, method=method, entity_mode="rows", **asked)
        mg.verify(masked, ["a", "b"], 4, **asked)
        assert loss == mg.loss(table, masked, ["a", "b"])
    out_of_reach = asked | {"l": 4}
    with pytest.raises(mg.InvalidDataError, match="l=4 cannot be reached.*at most 3"):
        mg.compare(table, ["a", "b"], methods=methods, ks=4, **out_of_reach)

    class Tried(TimeBudget):
        """Masks a sample by itself, where nothing suppresses an error."""

        def __init__(self, seconds, frame, strata, run, k, **models):
            run(frame.head(60), "mdav")
            super().__init__(seconds, frame, strata, run, k, **models)

    monkeypatch.setattr("polars_microagg.analysis.compare.TimeBudget", Tried)
    timed = mg.compare(table, ["a", "b"], methods=methods, ks=4, seconds=60, **asked)
    assert timed["loss"].equals(found["loss"])
