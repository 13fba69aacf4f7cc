"""One file adds one privacy model, and every door holds groups against it."""

import subprocess
import sys
from dataclasses import dataclass

import duckdb
import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
import polars_microagg.duckdb as mgd
from polars_microagg.core import model as register
from polars_microagg.core.model import GroupSizes, broken_by, models, models_of
from polars_microagg.core.plan import Plan
from polars_microagg.models.k import K

TABLE = pl.DataFrame({"a": [1, 2, 3, 40, 50, 60, 70]})


def test_k_is_a_model_like_any_other():
    assert models() == {"k": K}
    assert models_of({"k": 5}) == (K(5),)
    assert models_of({}) == models_of({"k": None}) == ()
    assert Plan.make("mdav", 3).models == (K(3),)


def test_models_are_found_by_a_process_that_imported_none():
    asked = "from polars_microagg.core.model import models_of; print(*models_of({'k': 5}))"
    found = subprocess.run(
        [sys.executable, "-c", asked], capture_output=True, text=True, check=True
    )
    assert found.stdout == "K(k=5)\n"


@pytest.mark.parametrize(("labels", "fails"), [([0, 0, 1, 1], False), ([0, 0, 1, 0], True)])
def test_k_counts_the_records_of_each_group(labels, fails):
    assert (broken_by([K(2)], GroupSizes.of(np.array(labels))) is not None) == fails


def test_records_of_no_group_are_one_group():
    assert GroupSizes.of(np.array([3, -1, 3, -1, -1, 0])).sizes.tolist() == [3, 1, 2]
    assert broken_by([K(3)], GroupSizes.of(np.array([-1, -1]))) == K(3)


def test_a_union_of_groups_that_satisfy_k_does_too():
    rng = np.random.default_rng(0)
    for _ in range(50):
        labels = rng.integers(0, 6, 40)
        if broken_by([K(3)], GroupSizes.of(labels)) is None:
            assert broken_by([K(3)], GroupSizes.of(labels // 2)) is None


@pytest.fixture
def pairs_only():
    """A model that is gone after the test: at most three records, which mdav cannot promise."""

    @register.model
    @dataclass(frozen=True)
    class AtMost:
        """Every group has at most three records."""

        def failing(self, groups):
            return groups.sizes > 3

        def broken(self, method, groups):
            return mg.BrokenPromiseError(f"{method} made a group of {groups.sizes.max()}")

    yield
    del register._MODELS["atmost"]


def test_every_door_holds_groups_against_a_model_that_is_added(pairs_only):
    with mgd.register(duckdb.connect()) as con:
        con.register("people", TABLE)
        doors = (
            lambda: mg.mdav(TABLE, "a", 3),
            lambda: mg.groups(TABLE, "a", 3),
            lambda: mg.mdav(TABLE.lazy(), "a", 3).collect(),
            lambda: TABLE.select(pl.struct("a").microagg.mdav(3)),
            lambda: con.sql("FROM microagg.mdav('people', 'a', 3)").fetchall(),
            lambda: con.sql("FROM microagg.groups('people', 'a', 3)").fetchall(),
            lambda: mgd.mask(con, "people", "a", 3),
        )
        for door in doors:
            with pytest.raises(Exception, match="mdav made a group of 4"):
                door()
        assert mg.mdav(TABLE[:6], "a", 3)["a"].to_list() == [2, 2, 2, 50, 50, 50]


def test_it_is_asked_again_about_what_is_emitted(pairs_only, monkeypatch):
    from polars_microagg.frames import batch

    # Groups of three each; as emitted, four records are alike and two.
    emitted = pl.Series([0, 0, 0, 0, 1, 1])
    monkeypatch.setattr(batch, "emit", lambda *_: emitted)
    assert mg.groups(TABLE[:6], "a", 3)["microagg_group"].to_list() == [0, 0, 0, 1, 1, 1]
    with pytest.raises(mg.BrokenPromiseError, match="mdav made a group of 4"):
        mg.mdav(TABLE[:6], "a", 3)


def test_nothing_is_released_without_a_model(monkeypatch):
    monkeypatch.setattr("polars_microagg.core.model._MODELS", {})
    with pytest.raises(mg.BrokenPromiseError, match="No privacy model is registered"):
        mg.mdav(pl.DataFrame({"a": [1, 2, 3, 4]}), "a", k=2)
