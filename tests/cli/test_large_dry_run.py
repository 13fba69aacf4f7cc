"""Dry runs of tables that are said not to fit into memory: quick, and what rests on the first rows says so."""

import json
import re
import types

import polars as pl
import pytest

from polars_microagg.publishing import any_size, memory, preview
from polars_microagg.publishing.large import preview as large_preview
from polars_microagg.publishing.large import release

from .conftest import ROLES, called
from .test_large import given, small_memory

__all__ = ["given", "small_memory"]


@pytest.fixture
def few_are_looked_at(monkeypatch):
    """Of large tables a dry run looks at forty rows."""
    for room in (any_size, large_preview):
        monkeypatch.setattr(room, "FIRST", 40)


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_a_dry_run_says_what_rests_on_the_first_rows(
    form, people, tmp_path, microagg, few_are_looked_at
):
    place = tmp_path / f"in.{form}"
    people = people.with_columns(net=pl.col("income") * 0.7 + 1)
    people = people.with_columns(age=pl.when(pl.int_range(pl.len()) >= 3).then("age"))
    getattr(people, f"write_{form}")(place)
    call = ["protect", place, "-o", tmp_path / "o.parquet", *ROLES, "--keep", "net"]
    call += ["--memory", "2GB", "--dry-run"]
    done = microagg(*call)
    assert done.code == 3
    about = "" if form == "parquet" else "about "
    size = people.height if form == "parquet" else r"\d+"
    seen = rf"This was seen in the first 40 of {about}{size} rows\."
    nulls, revealing = (
        next(line for line in done.err.splitlines() if word in line)
        for word in ("Column 'age' has 3 null", "'net' reveals")
    )
    assert re.search(seen, nulls)
    assert re.search(seen, revealing)
    # What is wrong with the call is so whatever rows there are.
    done = microagg(*call, "--columns", "agee")
    assert done.code == 3
    assert "which is not a column of the table" in done.err
    assert "This was seen" not in done.err
    done = microagg(*call, "--nulls", "impute", "--center", "median")
    assert done.code == 0, done.err
    released = next(line for line in done.err.splitlines() if "released as it was" in line)
    assert "This was seen" not in released


@pytest.mark.parametrize("form", ["parquet", "csv"])
@pytest.mark.parametrize(("require", "code"), [("dld_entity<=20", 2), ("pld<=20", 4)])
def test_what_will_have_no_value_is_refused_before_anything_is_masked(
    require, code, form, people, tmp_path, microagg, few_are_looked_at, monkeypatch
):
    def masked(*_, **__):
        raise AssertionError

    monkeypatch.setattr(release, "mask_source", masked)
    place = tmp_path / f"in.{form}"
    getattr(pl.concat([people] * 334), f"write_{form}")(place)
    call = ["protect", place, "-o", tmp_path / "o.parquet", *ROLES[:-4], "--k", "5"]
    call += ["--entity", "name", "--require", require, "--memory", "2GB"]
    real, dry_run = microagg(*call), microagg(*call, "--dry-run")
    assert (real.code, dry_run.code) == (code, code), (real.err, dry_run.err)
    (said,) = (line for line in real.err.splitlines() if require in line)
    (foreseen,) = (line for line in dry_run.err.splitlines() if require in line)
    # The rows of a text are an estimate before they are read.
    estimated = form == "csv" and require == "pld<=20"
    assert foreseen.startswith(said.partition(", and there are")[0] if estimated else said)
    assert ("of about" in foreseen) == (form == "csv")


def test_a_dry_run_of_a_large_table_measures_nothing(given, tmp_path, microagg, monkeypatch):
    def measured(*_, **__):
        raise AssertionError

    monkeypatch.setattr(preview, "assess", measured)
    call = ["protect", given, "-o", tmp_path / "o.parquet", *ROLES, "--memory", "2GB", "--dry-run"]
    told = json.loads(microagg(*call, "--json").out)
    assert told["estimate"]["measuring_seconds"] >= 0


@pytest.mark.parametrize("keys", [False, True])
@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_what_it_takes_to_set_a_folder_down_is_said_as_by_the_release(
    form, keys, people, tmp_path, microagg
):
    for number in range(2):
        part = tmp_path / "in" / (f"year={number}" if keys else ".")
        part.mkdir(parents=True, exist_ok=True)
        getattr(people, f"write_{form}")(part / f"{number}.{form}")
    call = ["protect", tmp_path / "in", "-o", tmp_path / "o.parquet", *ROLES, "--memory", "300MB"]
    call += ["--keep", "year"] if keys else []
    dry_run, real = microagg(*call, "--dry-run"), microagg(*call)
    assert (dry_run.code, real.code) == (0, 0), (dry_run.err, real.err)
    said = "To set it down as Parquet takes up to"
    # Files of Parquet are read where they are, but for keys in the names of their folders.
    assert (said in real.err, said in dry_run.out) == (form == "csv" or keys,) * 2


def test_strata_of_the_first_rows_are_not_those_of_the_table(
    people, tmp_path, microagg, few_are_looked_at
):
    many = pl.concat([people.with_columns(region=pl.int_range(pl.len()))] * 6)
    many.write_parquet(tmp_path / "in.parquet")
    call = ["protect", tmp_path / "in.parquet", "-o", tmp_path / "o.parquet", *ROLES]
    done = microagg(*call, "--memory", "2GB", "--dry-run", "--json")
    told = json.loads(done.out)
    assert (done.code, told["problems"]) == (0, []), done.err
    assert "strata" not in told
    assert not [said for said in told["warnings"] if "strata" in said]


def test_a_dry_run_says_that_a_model_cannot_be_reached_in_the_first_rows(
    people, tmp_path, microagg, few_are_looked_at
):
    place = tmp_path / "in.parquet"
    first = pl.int_range(pl.len()) < 60
    people.with_columns(
        alike=pl.when(first).then(0).otherwise(pl.int_range(pl.len()))
    ).write_parquet(place)
    call = ["protect", place, "-o", tmp_path / "o.parquet", "--columns", "age", "-k", "3"]
    call += ["--confidential", "alike", "--l", "2", "--drop", "name,region,income"]
    call += ["--memory", "2GB", "--dry-run"]
    done = microagg(*call)
    assert done.code == 4
    assert "--l 2 cannot be reached" in done.err
    assert "first 40 of" in done.err
    assert "got 0" not in done.err


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_a_run_looks_for_room_on_the_disk_before_it_masks_as_its_dry_run_does(
    tmp_path, monkeypatch, ending
):
    frame = pl.DataFrame({"age": range(2000), "pay": range(2000, 4000)})
    getattr(frame, f"write_{ending}")(tmp_path / f"in.{ending}")
    monkeypatch.setattr(memory, "BASE", 10**15)
    room = types.SimpleNamespace(free=50_000)
    monkeypatch.setattr(large_preview.shutil, "disk_usage", lambda folder: room)
    words = [
        "protect",
        tmp_path / f"in.{ending}",
        "-o",
        tmp_path / "out.parquet",
        "--memory",
        "2GB",
    ]
    words += ["--columns", "age,pay", "--k", "5"]
    said = []
    for more in (["--dry-run"], []):
        code, err = called(tmp_path, *words, *more)
        assert code == 5
        said += [line for line in err.splitlines() if "Make room" in line]
    assert len(said) == 2
    assert all("MB are free. Make room, or name another folder." in line for line in said)
    assert [path.name for path in tmp_path.iterdir()] == [f"in.{ending}"]
    monkeypatch.setattr(room, "free", 10**9)
    assert called(tmp_path, *words)[0] == 0
