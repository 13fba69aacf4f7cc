"""The command line on tables that are said not to fit into memory."""

import io
import json
import sys

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.cli.main import main
from polars_microagg.publishing import memory

from .conftest import ROLES, SECRET


@pytest.fixture(autouse=True)
def small_memory(monkeypatch):
    """A process is said to take more than any memory before it reads anything."""
    monkeypatch.setattr(memory, "BASE", 10**15)


def text(people, folder):
    people.write_csv(folder / "in.csv")
    return folder / "in.csv"


@pytest.fixture(params=["in.parquet", "in.csv"])
def given(request, people, source, tmp_path):
    return source if request.param == "in.parquet" else text(people, tmp_path)


def test_a_large_table_is_released_and_verified(given, tmp_path, microagg):
    out = tmp_path / "out.parquet"
    done = microagg("protect", given, "-o", out, *ROLES, "--memory", "2GB", "--workers", "1")
    assert done.code == 0, done.err
    told, last = done.err.splitlines()
    assert "only 2 GB are allowed" in told
    assert "masked by leaves, out of core" in told
    assert last.startswith("Published ")
    assert microagg("verify", out, "--original", given).code == 0
    manifest = json.loads((tmp_path / "out.parquet.manifest.json").read_text())
    assert manifest["how"]["engine"] == "leaves"
    assert manifest["how"]["memory_limit"] == 2 * 10**9


def test_a_configuration_says_it_as_well(source, tmp_path, microagg):
    job = tmp_path / "job.toml"
    job.write_text('columns = ["age", "income"]\nstrata = ["region"]\ndrop = ["name"]\nk = 5\n'
                   'memory = "3GB"\nworkers = 1\n')  # fmt: skip
    done = microagg("protect", source, "-o", tmp_path / "o.parquet", "--config", job)
    assert done.code == 0, done.err
    assert "only 3 GB are allowed" in done.err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--memory", "9MB"], "--memory 9MB"),
        (["--memory", "much"], "--memory much"),
        (["--workers", "0"], "--workers 0"),
        (["--workers", "two"], "--workers two"),
    ],
    ids=str,
)
def test_wrong_amounts_are_one_sentence(options, words, source, tmp_path, microagg):
    done = microagg("protect", source, "-o", tmp_path / "out.parquet", *ROLES, *options)
    assert (done.code, done.err.count("\n")) == (2, 1), done.err
    assert words in done.err
    assert not (tmp_path / "out.parquet").exists()


def test_a_requirement_that_is_not_met_leaves_the_old_release(given, tmp_path, microagg):
    out = tmp_path / "out.parquet"
    out.write_bytes(b"old")
    extra = ["--overwrite", "--memory", "2GB", "--require", "loss<=0.01"]
    done = microagg("protect", given, "-o", out, *ROLES, *extra)
    assert done.code == 4
    assert "does not meet loss<=0.01" in done.err
    assert out.read_bytes() == b"old"
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("base", [0, 10**15])
def test_a_dry_run_tells_the_choice_and_writes_nothing(
    base, given, people, tmp_path, microagg, monkeypatch
):
    monkeypatch.setattr(memory, "BASE", base)
    before = sorted(tmp_path.iterdir())
    call = ["protect", given, "-o", tmp_path / "o.parquet", *ROLES, "--memory", "2GB", "--dry-run"]
    done = microagg(*call)
    assert done.code == 0, done.err
    assert ("masked by leaves, out of core" in done.out) == (base > 0)
    assert ("masked whole" in done.out) == (base == 0)
    told = json.loads(microagg(*call, "--json").out)
    assert told["how"]["engine"] == ("leaves" if base else "whole")
    assert abs(told["rows"] - people.height) <= people.height / 5
    assert told["estimate"]["masking_seconds"] >= 0
    # Without the process itself, whole, sixty rows take nothing; leaves take what they may.
    assert told["estimate"]["memory_megabytes"] == (2000 if base else 0)
    assert ("disk_megabytes" in told["estimate"]) == (base > 0)
    assert SECRET not in done.out
    assert sorted(tmp_path.iterdir()) == before


def test_a_report_of_a_large_release_has_its_figures(people, tmp_path, microagg):
    pytest.importorskip("jinja2")
    many = pl.concat([people] * 50).with_columns(income=pl.col("income") + pl.int_range(3000))
    many.write_parquet(tmp_path / "many.parquet")
    page = tmp_path / "page.html"
    call = ["protect", tmp_path / "many.parquet", "-o", tmp_path / "o.parquet", *ROLES]
    done = microagg(*call, "--memory", "2GB", "--report", page)
    assert done.code == 0, done.err
    html = page.read_text()
    assert "among 3,000 records" in html
    assert "What was seen on a sample" in html
    assert "tried for 2,000 of them" in html
    assert SECRET not in html


@pytest.mark.parametrize("base", [0, 10**15])
def test_several_files_are_released_with_a_report(base, people, tmp_path, microagg, monkeypatch):
    pytest.importorskip("jinja2")
    monkeypatch.setattr(memory, "BASE", base)
    for part in (1, 2):
        (tmp_path / "in" / f"year={part}").mkdir(parents=True)
        people.write_csv(tmp_path / "in" / f"year={part}" / "a.csv")
    page, out = tmp_path / "page.html", tmp_path / "o.parquet"
    call = ["protect", tmp_path / "in", "-o", out, *ROLES, "--keep", "year", "--report", page]
    done = microagg(*call, "--memory", "2GB")
    assert done.code == 0, done.err
    assert pl.read_parquet(out)["year"].to_list() == [1] * people.height + [2] * people.height
    assert "among 120 records" in page.read_text()
    manifest = json.loads((tmp_path / "o.parquet.manifest.json").read_text())
    assert manifest["how"]["engine"] == ("leaves" if base else "whole")


@pytest.mark.parametrize("base", [0, 10**15])
def test_a_stream_comes_in_and_goes_out(base, people, tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "BASE", base)
    monkeypatch.chdir(tmp_path)
    sent = io.BytesIO()
    people.write_ipc_stream(sent)
    sent.seek(0)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(sent))
    received = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(received, write_through=True))
    assert main(["protect", "-", "-o", "-", *ROLES, "--memory", "2GB"]) == 0
    received.seek(0)
    after = pl.read_ipc_stream(received)
    assert after.columns == ["region", "age", "income"]
    assert after["region"].equals(people["region"])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("form", ["parquet", "csv", "ndjson"])
def test_a_table_larger_than_memory_is_verified_in_batches(form, people, tmp_path, microagg):
    place = tmp_path / f"masked.{form}"
    masked = mg.mdav(people, ["age", "income"], 5, strata="region")
    getattr(masked, f"write_{form}")(place)
    call = ["verify", place, "--columns", "age,income", "--strata", "region", "--memory", "300MB"]
    done = microagg(*call, "-k", "5")
    assert (done.code, done.out) == (0, microagg(*call[:-2], "-k", "5").out)
    done = microagg(*call, "-k", "9")
    assert done.code == 4
    assert "not 9-anonymous" in done.err
    assert SECRET not in done.err
    assert microagg("verify", place, "--memory", "300MB").code == 3


def shown(done):
    """The state and the words of each check."""
    told = json.loads(done.out)["checks"]
    return {row["check"]: (row["holds"], row["checked"], row["says"]) for row in told}


@pytest.mark.parametrize("base", [0, 10**15])
@pytest.mark.parametrize("name", ["o.parquet", "o.csv", "o.duckdb::t"])
def test_a_manifest_is_checked_in_batches_as_it_is_on_the_whole_table(
    name, base, people, tmp_path, microagg, monkeypatch
):
    monkeypatch.setattr(memory, "BASE", base)
    many = pl.concat([people] * 50).with_columns(income=pl.col("income") + pl.int_range(3000))
    many.write_csv(tmp_path / "many.csv")
    (tmp_path / "key").write_text("0123456789abcdef")
    key = ["--hash-key-file", tmp_path / "key"]
    out = tmp_path / name
    call = ["protect", tmp_path / "many.csv", "-o", out, *ROLES, "--memory", "2GB", *key]
    assert microagg(*call, "--require", "loss<=50").code == 0
    for given in ([], ["--original", tmp_path / "many.csv", *key]):
        whole = shown(microagg("verify", out, *given, "--json"))
        done = microagg("verify", out, *given, "--json", "--memory", "2GB")
        assert done.code == 0, done.out + done.err
        found = shown(done)
        assert SECRET not in done.out
        # Links between all records need the whole table, unless the release drew some itself.
        said = {"measures"} if given and not base else set()
        assert {n for n in whole if found[n] != whole[n]} == said
        assert found["measures"][1] == (bool(given) and base > 0)
    altered = many.with_columns(age=pl.col("age") + 1, region=pl.col("region").reverse())
    altered.write_csv(tmp_path / "many.csv")
    done = microagg("verify", out, *given, "--json", "--memory", "2GB")
    assert done.code == 4
    wrong = {n for n, (holds, _, _) in shown(done).items() if not holds}
    assert wrong == {
        n
        for n, (holds, _, _) in shown(microagg("verify", out, *given, "--json")).items()
        if not holds
    }
    assert {"roles", "measures", "input"} <= wrong


def figures(done):
    assert done.code == 0, done.err
    return json.loads(done.out)


@pytest.fixture(params=["parquet", pytest.param("csv", marks=pytest.mark.deep)])
def large(request, people, tmp_path, microagg):
    """A table and its release by leaves, with a confidential column."""
    people = people.with_columns(sick=pl.Series([0, 1, 10] * 20))
    many = pl.concat([people] * 50).with_columns(income=pl.col("income") + pl.int_range(3000))
    given, out = tmp_path / "many.parquet", tmp_path / f"o.{request.param}"
    many.write_parquet(given)
    roles = [*ROLES, "--confidential", "sick"]
    done = microagg("protect", given, "-o", out, *roles, "--memory", "2GB")
    assert done.code == 0, done.err
    return given, out


MADE_OF_LINKS = {"dld", "dr", "score", "dld_low", "dld_high", "dld_sampled"}


@pytest.mark.parametrize("by", ["manifest", "columns"])
def test_risk_in_batches_is_that_of_whole_tables(by, large, microagg):
    given, out = large
    call = ["risk", out, "--original", given, "--json"]
    if by == "columns":
        call += ["--columns", "age,income", "--strata", "region", "--confidential", "sick"]
    whole, found = figures(microagg(*call)), figures(microagg(*call, "--memory", "2GB"))
    assert list(whole) == [name for name in found if name not in MADE_OF_LINKS - {*whole}]
    for name, value in whole.items():
        if name not in MADE_OF_LINKS:
            assert found[name] == pytest.approx(value, rel=1e-9), name
    assert found["dld_low"] <= whole["dld"] <= found["dld_high"]
    alone = [arguments for arguments in call if arguments not in ("--original", given)]
    assert figures(microagg(*alone)) == figures(microagg(*alone, "--memory", "2GB"))


def test_risk_of_a_whole_table_does_not_hold_it_to_measures_of_a_sample(people, tmp_path, microagg):
    # Of 10,000 records or more a manifest tells four digits, which a sample does not have.
    rng = np.random.default_rng(0)
    many = pl.concat([people] * 200).with_columns(income=pl.Series(rng.normal(size=12_000)))
    given, out = tmp_path / "many.parquet", tmp_path / "o.parquet"
    many.write_parquet(given)
    done = microagg("protect", given, "-o", out, *ROLES, "--memory", "2GB")
    assert done.code == 0, done.err
    told = json.loads((tmp_path / "o.parquet.manifest.json").read_text())["measures"]["dld"]
    found = figures(microagg("risk", out, "--original", given, "--json"))
    assert told != pytest.approx(found["dld"], abs=1e-3)


def test_risk_and_report_in_batches_refuse_another_original(large, tmp_path, microagg):
    given, out = large
    other = pl.read_parquet(given).with_columns(age=pl.col("age").reverse())
    other.write_parquet(tmp_path / "other.parquet")
    for command in ("risk", "report"):
        call = [command, out, "--original", tmp_path / "other.parquet", "--memory", "2GB"]
        done = microagg(*call)
        assert done.code == 3, done.out
        assert "'loss'" in done.err
        assert SECRET not in done.err
    done = microagg("risk", out, "--original", given, "--key", "age", "--memory", "2GB")
    assert done.code == 2
    assert "--key age" in done.err


def test_a_report_in_batches_has_the_figures_of_the_release(large, tmp_path, microagg):
    pytest.importorskip("jinja2")
    given, out = large
    page = tmp_path / "page.html"
    call = ["report", out, "--original", given, "-o", page, "--seconds", "0.1"]
    done = microagg(*call, "--memory", "2GB")
    assert done.code == 0, done.err
    html = page.read_text()
    assert "among 3,000 records" in html
    assert "tried for 2,000 of them" in html
    assert SECRET not in html


def test_verify_in_batches_counts_what_it_counts_in_the_whole_table(large, microagg):
    _, out = large
    for bound in ([], ["--l", "9"], ["--t", "0.05"], ["--t", "0.9"], ["--max-share", "0.9"]):
        call = ["verify", out, "--columns", "age,income", "--strata", "region", "-k", "5", "--json"]
        call += ["--confidential", "sick", *bound] if bound else []
        whole, found = (microagg(*call, *more) for more in ([], ["--memory", "2GB"]))
        assert (found.code, found.out, found.err) == (whole.code, whole.out, whole.err)
