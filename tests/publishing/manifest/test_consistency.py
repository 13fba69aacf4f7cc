"""A manifest held against itself, check by check: configuration, intruder and times."""

from __future__ import annotations

import datetime as dt

import pytest

import polars_microagg as mg
from polars_microagg.publishing.manifest import consistency
from polars_microagg.publishing.manifest.precision import step
from tests.publishing.manifest.edits import rehashed
from tests.publishing.releases import edited, made, wrong

__all__ = ["made"]


@pytest.fixture
def told(made):
    return made["out.parquet"].manifest


@pytest.fixture
def change(made):
    return lambda path, value: edited(made["out.parquet"], path, value).manifest


# --- The configuration -------------------------------------------------------------------------------


def test_the_configuration(made, told):
    yes = (True, "The configuration is that of its hash, and agrees with the manifest.")
    for release in made.values():
        assert consistency.configuration(release.manifest) == yes
    wrong(consistency.configuration(told | {"config_sha256": "0" * 64}), "is not that of its hash.")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("k", 4),
        ("seed", 3),
        ("strata", []),
        ("columns", [["income", "age"]]),
        ("require", ["k >= 5"]),
    ],
)
def test_a_configuration_that_says_another(name, value, told):
    says = f"The configuration says another {name} than the manifest."
    assert consistency.configuration(rehashed(told, **{name: value})) == (False, says)


def test_a_configuration_that_says_two_others(told):
    says = "The configuration says another k and seed than the manifest."
    assert consistency.configuration(rehashed(told, k=4, seed=3)) == (False, says)


def less(told, *names):
    config = {key: value for key, value in told["config"].items() if key not in names}
    return rehashed(told | {"config": config})


def test_a_configuration_that_lacks_an_option(told):
    says = "The configuration lacks 'gamma'."
    assert consistency.configuration(less(told, "gamma")) == (False, says)
    older = less(told, "gamma") | {"tool": told["tool"] | {"polars_microagg": "0.0.1"}}
    assert consistency.configuration(older)[0] is True
    assert consistency.configuration(less(told, "seed"))[0] is False
    assert told["seed"] == 0


def test_a_method_that_is_not_known_here(told):
    says = "The configuration is that of its hash; its method is not known here."
    assert consistency.configuration(rehashed(told, method="later")) == (None, says)


def test_a_configuration_that_nobody_can_ask_for(made, told):
    for changes in ({"gamma": -1}, {"gamma": "x"}, {"method": 3}, {"scale": "none of them"}):
        with pytest.raises(mg.InvalidParameterError):
            consistency.configuration(rehashed(told, **changes))
    one = rehashed(told | {"k": told["k"] | {"asked": 1}}, k=1)
    with pytest.raises(mg.InvalidParameterError, match="k must be"):
        consistency.configuration(one)
    none = rehashed(told | {"roles": told["roles"] | {"mask": []}}, columns=[])
    with pytest.raises(mg.InvalidParameterError):
        consistency.configuration(none)
    elsewhere = made["elsewhere"].manifest
    one = rehashed(elsewhere | {"k": elsewhere["k"] | {"asked": 1}}, k=1)
    with pytest.raises(mg.InvalidParameterError, match="k must be"):
        consistency.configuration(one)
    none = rehashed(elsewhere | {"roles": elsewhere["roles"] | {"mask": []}}, columns=[])
    with pytest.raises(mg.InvalidParameterError):
        consistency.configuration(none)
    with pytest.raises(LookupError):
        consistency.configuration(rehashed(elsewhere, scale="zscore"))
    with pytest.raises(LookupError):
        consistency.configuration(less(elsewhere, "strata"))


# --- The intruder, the measures and the times -----------------------------------------------------------


def test_the_intruder(told, change):
    yes = (True, "The intruder is said to know the 2 masked column(s).")
    assert consistency.attacks(told) == yes
    says = "The intruder is said to know other columns than those that are masked."
    assert consistency.attacks(change("attack.known", ["age"])) == (False, says)
    other = change("attack.dld", "links them")
    says = "The intruder is described in other words than those of this version."
    assert consistency.attacks(other) == (False, says)
    other["tool"]["polars_microagg"] = "9.0"
    says = "The intruder is described in the words of another version of the library."
    assert consistency.attacks(other) == (None, says)


def test_measures_that_are_made_of_others(told, change):
    assert consistency.composed(told) == []
    parts = {"il": "loss", "dr": "dld", "score": "il"}
    measures, digits = told["measures"], told["digits"]
    for name in parts:
        if name not in measures:
            continue
        unit = step(name, measures[name], digits)
        assert name in consistency.composed(change(f"measures.{name}", measures[name] + 40 * unit))
        assert name in consistency.composed(change(f"measures.{name}", measures[name] - 40 * unit))
        assert consistency.composed(change(f"measures.{name}", measures[name] + unit / 2)) == []
        assert name not in consistency.composed(change(f"measures.{name}", None))
    assert set(parts) & set(measures)


@pytest.mark.parametrize(
    ("value", "differ"), [(31.5, []), (28.5, []), (31.6, ["dr"]), (28.4, ["dr"])]
)
def test_a_measure_may_be_off_by_its_last_digit_and_half_of_that_of_its_parts(value, differ):
    # Half of 40 and half of 20, each rounded to 1: 30, rounded to 1.
    measures = {"dld": 40.0, "pld": None, "interval_disclosure": 20.0, "dr": value}
    assert consistency.composed({"measures": measures, "digits": 2}) == differ


STARTED = "2024-02-28T10:00:00.000+00:00"


@pytest.mark.parametrize(
    ("finished", "seconds", "holds"),
    [
        ("2024-02-28T10:00:01.500+00:00", 1.5, True),
        ("2024-02-28T10:00:01.500+00:00", 1.5004, True),
        ("2024-02-28T10:00:01.500+00:00", 1.4996, True),
        ("2024-02-28T10:00:01.500+00:00", 1.5006, False),
        ("2024-02-28T10:00:01.500+00:00", 1.4994, False),
        ("2024-02-28T10:00:01.500+00:00", -1.5, False),
        ("2024-02-28T10:00:00.000+00:00", 0.0, True),
        ("2024-02-28T10:00:00.000+00:00", 0.0005, False),
        ("2024-02-28T09:59:59.000+00:00", -1.0, False),
        ("2024-02-28T11:00:01.500+01:00", 1.5, False),
        ("2024-02-28T10:00:01.5+00:00", 1.5, False),
        ("2024-02-28 10:00:01.500+00:00", 1.5, False),
    ],
)
def test_the_times(finished, seconds, holds, told):
    said = {"started": STARTED, "finished": finished, "seconds": seconds}
    says = (
        "The times are in order and add up." if holds else "The times are not in order and add up."
    )
    assert consistency.times(told | {"times": said}) == (holds, says)
    if dt.datetime.fromisoformat(finished).isoformat(timespec="milliseconds") != finished:
        turned = {"started": finished, "finished": STARTED, "seconds": -seconds}
        assert consistency.times(told | {"times": turned})[0] is False
