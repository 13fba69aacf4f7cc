"""Measures are published with few digits, and judged and checked with that in mind."""

import math

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from tests.publishing.manifest.edits import KEY, found_out, leaves, publish, put, rehashed, states


def people(up):
    """A table whose loss is above itself when it is rounded, or below, and its loss."""
    for seed in range(40):
        frame = pl.DataFrame({"age": np.random.default_rng(seed).normal(size=120)})
        exact = mg.loss(frame, mg.mdav(frame, "age", 3), "age")
        if (round(exact) > exact) == up and round(exact) != exact:
            return frame, exact
    raise AssertionError


def test_no_number_from_the_original_has_more_digits_than_are_told(tmp_path):
    _, _, told = publish(tmp_path)
    numbers = [
        value
        for path, value in leaves(told)
        if isinstance(value, float) and path[0] not in ("config", "times")
    ]
    assert len(numbers) > 20
    assert all(value == float(f"{value:.3e}") for value in numbers)
    found = {r["requirement"]: r["found"] for r in told["verdict"]["requirements"]}
    assert found["dld<=90"] == told["measures"]["dld"]


def test_a_bound_is_held_against_all_digits(tmp_path):
    frame, exact = people(up=True)
    told = mg.publish(frame, tmp_path / "o.parquet", "age", 3, require=f"loss<={exact!r}")
    (result,) = told["verdict"]["requirements"]
    assert result["met"]
    assert result["found"] > exact  # it looks missed, and was met
    frame.write_parquet(tmp_path / "in.parquet")
    assert "WRONG" not in states(tmp_path / "o.parquet").values()
    assert "WRONG" not in states(tmp_path / "o.parquet", original=tmp_path / "in.parquet").values()
    frame, exact = people(up=False)
    bound = math.nextafter(exact, 0)
    assert round(exact) < bound  # it looks met, and was missed
    with pytest.raises(mg.RequirementError):
        mg.publish(frame, tmp_path / "p.parquet", "age", 3, require=f"loss<={bound!r}")


def test_a_bound_that_was_missed_is_found_out_with_the_original(tmp_path):
    source, target, told = publish(tmp_path, key=None)
    value = told["measures"]["score"]
    asked = {"metrics": "score", "strata": told["roles"]["stratum"]}
    exact = mg.assess(source.read(), target.read(), told["roles"]["mask"], **asked).item()
    assert told["digits"] == 3  # so half of the last digit is 0.05
    for bound, alone in ((min(exact, value) - 0.01, False), (value - 0.2, True)):
        require = [*told["config"]["require"][:3], f"score<={bound!r}"]
        other = rehashed(told, require=require)
        other["verdict"]["requirements"][3]["requirement"] = require[3]
        assert found_out(target, other) == alone
        assert found_out(target, other, original=source)


@pytest.mark.parametrize(("steps", "wrong"), [(1, False), (3, True)])
def test_one_in_the_last_digit_is_another_machine_and_three_are_an_edit(steps, wrong, tmp_path):
    source, target, told = publish(tmp_path)
    value = told["measures"]["mean_sd"]
    step = 0.001
    changed = put(
        told, ("measures", "mean_sd"), lambda inner, key: inner.update({key: value + steps * step})
    )
    assert found_out(target, changed, original=source) == wrong
    assert found_out(target, changed, original=source, hash_key=KEY)
