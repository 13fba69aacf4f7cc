"""One number at every interface where strata are known: in memory and out of core, before and after."""

import json

import duckdb
import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
import polars_microagg.duckdb as mgd
from polars_microagg.cli.main import main
from polars_microagg.errors import RequirementError
from polars_microagg.publishing.formats.files import Location
from polars_microagg.publishing.manifest.check import check
from polars_microagg.publishing.manifest.precision import published

RNG = np.random.default_rng(8)
PEOPLE = pl.DataFrame(
    {
        "who": RNG.integers(0, 700, 1200),
        "age": RNG.integers(18, 90, 1200),
        "pay": RNG.normal(size=1200),
        "sex": RNG.choice(["f", "m"], 1200).tolist(),
        "region": RNG.choice(["n", "s", "w", None], 1200).tolist(),
        "year": RNG.integers(2000, 2006, 1200),
    }
)
MASKED, STRATA = ["age", "pay", "sex"], ["region", "year"]
NAMES = ("dld", "dld_entity", "pld", "interval_disclosure", "dr", "score", "k_min", "k_prime")


@pytest.fixture(scope="module")
def release():
    return mg.mdav(PEOPLE, MASKED, 5, strata=STRATA)


@pytest.fixture(scope="module")
def expected(release):
    options = {"entity": "who", "strata": STRATA, "metrics": [*NAMES, "dld_without_strata"]}
    return mg.assess(PEOPLE, release, MASKED, **options).row(0, named=True)


def test_strata_raise_what_an_attacker_finds(expected):
    assert expected["dld"] > 3 * expected["dld_without_strata"]


def test_out_of_core_it_is_the_same(release, expected):
    options = {"entity": "who", "strata": STRATA, "metrics": [*expected], "memory": "512MB"}
    found = mg.assess(PEOPLE.lazy(), release.lazy(), MASKED, **options).row(0, named=True)
    assert {n: found[n] for n in expected} == pytest.approx(expected)
    assert found["dld_low"] == found["dld"] == found["dld_high"]


def test_of_a_sample_it_is_that_of_the_records_drawn(release, expected, monkeypatch):
    """Of 300 records the interval has the share of all 1,200."""
    monkeypatch.setattr(
        "polars_microagg.out_of_core.measures.assessed.__kwdefaults__",
        {
            **mg.assess.__globals__["assessed"].__kwdefaults__,
            "sample": 300,
        },
    )
    options = {"strata": STRATA, "metrics": ["dld", "dld_without_strata"], "memory": "512MB"}
    found = mg.assess(PEOPLE.lazy(), release.lazy(), MASKED, **options).row(0, named=True)
    assert found["dld_sampled"] == 300
    assert found["dld_low"] <= expected["dld"] <= found["dld_high"]
    assert found["dld"] > 3 * found["dld_without_strata"]


def test_in_sql_it_is_the_same(release, expected):
    with duckdb.connect() as con:
        mgd.register(con)
        con.register("people", PEOPLE.with_row_index("id"))
        con.register("masked", release.with_row_index("id").reverse())
        names = ", ".join(expected)
        query = f"""SELECT {names} FROM microagg.assess('people', 'masked', $columns, key := 'ID',
            strata := ['Region', 'year'], entity := 'who', metrics := $metrics)"""
        row = con.execute(query, {"columns": MASKED, "metrics": [*expected]}).fetchall()
        assert dict(zip(expected, *row, strict=True)) == pytest.approx(expected)
        asked = {"entity": "who", "strata": ["REGION", "Year"], "metrics": [*expected], "key": "id"}
        found = mgd.assess(con, "people", "masked", MASKED, **asked).fetchall()
        assert found[0] == pytest.approx(tuple(expected.values()))
        counted = con.sql(
            """SELECT k_min, k_prime FROM microagg.assess('people', 'masked', ['age'], key := 'id',
            strata := ['region', 'year'], known := ['age', 'sex'])"""
        ).fetchall()
    sizes = release.group_by("age", "sex", *STRATA).len()["len"]
    assert counted == [(sizes.min(), pytest.approx(sizes.mean()))]


def test_compare_and_its_recommendation_know_strata(release, expected):
    options = {"entity": "who", "entity_mode": "rows", "metrics": ["dld_entity"], "seed": 0}
    masked = mg.mdav(PEOPLE, MASKED, 5, strata=STRATA, entity="who", entity_mode="rows")
    found = mg.compare(PEOPLE, MASKED, methods="mdav", ks=5, strata=STRATA, **options)
    own = mg.assess(PEOPLE, masked, MASKED, strata=STRATA, entity="who").row(0, named=True)
    names = ("dld", "pld", "dr", "score", "k_min", "k_prime", "dld_entity")
    row = found.row(0, named=True)
    assert {n: row[n] for n in names} == pytest.approx({n: own[n] for n in names})
    assert row["dld"] == pytest.approx(expected["dld"], rel=0.5)
    bound = f"dld<={(expected['dld'] + expected['dld_without_strata']) / 2}"
    assert not mg.recommend(found, require=bound)["met"].item()


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_a_release_is_published_and_checked_by_it(ending, expected, tmp_path, capsys):
    source, target = tmp_path / f"in.{ending}", tmp_path / f"out.{ending}"
    getattr(PEOPLE.drop("who"), f"write_{ending}")(source)
    roles = {"strata": STRATA, "overwrite": True}
    told = mg.publish(str(source), target, MASKED, 5, **roles)
    again = {n: v for n, v in expected.items() if n in told["measures"]}
    assert {n: told["measures"][n] for n in again} == published(again, told["digits"])
    assert "dld_without_strata" not in told["measures"]
    assert "'region', 'year'" in told["attack"]["intruder"]
    findings = check(Location.of(str(target)), original=Location.of(str(source)))
    assert all(found.holds is not False for found in findings)
    capsys.readouterr()
    for memory in ([], ["--memory", "512MB"]):
        call = ["risk", str(target), "--original", str(source), "--json", *memory]
        assert main(call) == 0
        assert json.loads(capsys.readouterr().out)["dld"] == pytest.approx(expected["dld"])
        # The same without its manifest, with the strata that are named.
        typed = ["--columns", ",".join(MASKED), "--strata", ",".join(STRATA)]
        assert main([*call, *typed]) == 0
        assert json.loads(capsys.readouterr().out)["pld"] == pytest.approx(expected["pld"])


def test_a_bound_on_linkage_is_one_within_strata(expected, tmp_path):
    between = (expected["dld"] + expected["dld_without_strata"]) / 2
    roles = {"strata": STRATA, "drop": "who"}
    with pytest.raises(RequirementError, match="dld<="):
        mg.publish(PEOPLE, tmp_path / "out.csv", MASKED, 5, require=f"dld<={between}", **roles)
    bound = f"dld_without_strata<={between}"
    told = mg.publish(PEOPLE, tmp_path / "out.csv", MASKED, 5, require=bound, **roles)
    assert told["verdict"]["requirements"][0]["met"]


def test_a_large_release_is_measured_within_strata(tmp_path, monkeypatch):
    """Of 2,500 records 2,000 are linked: their links, and the checks of them, are within strata."""
    rows = RNG.integers(0, PEOPLE.height, 2500)
    many = PEOPLE[rows].drop("who").with_columns(pay=pl.Series(RNG.normal(size=2500)))
    source, target = tmp_path / "in.parquet", tmp_path / "out.parquet"
    many.write_parquet(source)
    monkeypatch.setattr("polars_microagg.publishing.any_size.whole_bytes", lambda *_, **__: 10**12)
    asked = {"strata": STRATA, "memory": "512MB", "require": "dld_without_strata<=5"}
    told = mg.publish(str(source), target, MASKED, 5, **asked)
    sampled = told["how"]["sampled"]
    assert sampled["linked"] == 2000
    release = pl.read_parquet(target)
    within, without = (mg.dld(many, release, MASKED, **known) for known in ({"strata": STRATA}, {}))
    assert sampled["dld_low"] - 0.05 <= within <= sampled["dld_high"] + 0.05
    assert without < sampled["dld_low"] / 3
    for memory in (None, "512MB"):
        findings = check(Location.of(str(target)), original=Location.of(str(source)), memory=memory)
        assert [found.says for found in findings if found.holds is False] == []
