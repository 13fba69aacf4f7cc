"""Commands that succeed: what they write, what they say, and where they say it."""

import io
import itertools
import json
import subprocess

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.cli.main import main
from polars_microagg.publishing import preview
from polars_microagg.publishing.column_roles import ColumnRoles
from polars_microagg.publishing.formats.files import Location
from polars_microagg.publishing.preview import estimate
from polars_microagg.publishing.request import ReleaseRequest

from .conftest import PROGRAM, ROLES, SECRET


def expected(people, **options):
    return mg.mdav(people.drop("name"), ["age", "income"], 5, strata="region", **options)


def place(folder, name):
    return f"{folder}/{name}"


@pytest.mark.parametrize(
    "into", ["out.parquet", "out.csv", "out.arrow", "out.arrows", "out.ndjson", "out.duckdb::t"]
)
@pytest.mark.parametrize(
    "form", ["in.parquet", "in.csv", "in.arrow", "in.arrows", "in.jsonl", "in.duckdb::t"]
)
def test_every_format_into_every_format(form, into, people, tmp_path, microagg):
    source, target = place(tmp_path, form), place(tmp_path, into)
    if form.endswith("csv"):
        people.write_csv(source)
    elif form.endswith("jsonl"):
        people.write_ndjson(source)
    elif form.endswith("::t"):
        import duckdb

        with duckdb.connect(f"{tmp_path}/in.duckdb") as con:
            con.register("people", people.to_arrow())
            con.execute("CREATE TABLE t AS FROM people")
    else:
        {
            "parquet": people.write_parquet,
            "arrow": people.write_ipc,
            "arrows": people.write_ipc_stream,
        }[form[3:]](source)
    done = microagg("protect", source, "-o", target, *ROLES)
    assert done.code == 0, done.err
    assert not done.out
    assert "60 records, k=5, no loss told" in done.err
    found = Location.of(target).read()
    assert found.columns == ["region", "age", "income"]
    assert [float(v) for v in found["income"]] == expected(people)["income"].to_list()
    assert microagg("verify", target, "--original", source).code == 0


def test_a_stream_in_and_out_is_nothing_but_the_stream(people, tmp_path):
    raw = io.BytesIO()
    people.write_ipc_stream(raw)
    command = [
        *PROGRAM,
        "protect",
        "-",
        "-o",
        "-",
        *ROLES,
        "--manifest",
        str(tmp_path / "m.json"),
    ]
    done = subprocess.run(command, input=raw.getvalue(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert pl.read_ipc_stream(io.BytesIO(done.stdout)).equals(expected(people))
    told = json.loads((tmp_path / "m.json").read_text())
    import hashlib

    assert told["output"]["sha256"] == hashlib.sha256(done.stdout).hexdigest()
    (tmp_path / "copy.arrows").write_bytes(done.stdout)
    assert (
        main(["verify", str(tmp_path / "copy.arrows"), "--manifest", str(tmp_path / "m.json")]) == 0
    )
    broken = subprocess.run(
        [*command, "--overwrite"], input=raw.getvalue()[:-90], capture_output=True, check=False
    )
    assert broken.returncode == 3
    assert broken.stdout == b""
    assert b"standard input" in broken.stderr
    assert broken.stderr.count(b"\n") == 1


def test_json_is_the_manifest_and_nothing_else(source, tmp_path, microagg):
    done = microagg("protect", source, "-o", tmp_path / "out.parquet", *ROLES, "--json")
    assert json.loads(done.out) == json.loads((tmp_path / "out.parquet.manifest.json").read_text())
    again = microagg("protect", source, "-o", tmp_path / "out.parquet", *ROLES, "--json")
    assert json.loads(again.out)["exit_code"] == again.code == 2
    assert SECRET not in done.out + done.err


def test_the_hash_of_the_input_is_checked_with_its_key(source, tmp_path, microagg):
    key, other, target = tmp_path / "key", tmp_path / "other", tmp_path / "out.parquet"
    key.write_text("0123456789abcdef0123\n")
    other.write_text("another key of 16 bytes")
    assert microagg("protect", source, "-o", target, *ROLES, "--hash-key-file", key).code == 0
    arguments = ["verify", target, "--original", source, "--hash-key-file"]
    assert microagg(*arguments, key).code == 0
    done = microagg(*arguments, other)
    assert done.code == 4
    assert "WRONG  input" in done.out
    done = microagg("verify", target, "--hash-key-file", key)
    assert done.code == 0
    assert "ok           seal" in done.out
    assert "as far as it was checked" in done.out  # what needs the original was not
    done = microagg("verify", target, "--original", source, "--json")
    found = {check["check"]: check for check in json.loads(done.out)["checks"]}
    assert found["seal"]["holds"]
    assert not found["seal"]["checked"]
    told = json.loads((tmp_path / "out.parquet.manifest.json").read_text())
    told["tool"]["numpy"] = "1.0.0"
    (tmp_path / "out.parquet.manifest.json").write_text(json.dumps(told))
    assert microagg("verify", target, "--original", source).code == 0
    assert microagg("verify", target, "--hash-key-file", key).code == 4


def test_verify_says_what_does_not_hold(source, tmp_path, microagg):
    target = tmp_path / "out.parquet"
    assert microagg("protect", source, "-o", target, *ROLES).code == 0
    pl.read_parquet(target).with_columns(age=pl.int_range(pl.len())).write_parquet(target)
    done = microagg("verify", target, "--json")
    assert done.code == 4
    wrong = {c["check"] for c in json.loads(done.out)["checks"] if not c["holds"]}
    assert wrong == {"hash", "k", "measures"}
    done = microagg("verify", target, "--columns", "age,income", "--k", "5")
    assert done.code == 4
    assert "not 5-anonymous" in done.err
    assert microagg("verify", source, "--columns", "region", "--k", "5").code == 0
    assert microagg("verify", source).code == 3


def test_verify_and_k_hold_for_blocks_of_columns(source, tmp_path, microagg):
    (tmp_path / "job.toml").write_text(
        "columns = [['age'], ['income']]\nkeep = ['region']\ndrop = ['name']\nk = 5\n"
    )
    done = microagg(
        "protect", source, "-o", tmp_path / "o.parquet", "--config", tmp_path / "job.toml"
    )
    assert done.code == 0
    assert "Warning: 2 columns or blocks are masked each on its own" in done.err
    assert microagg("verify", tmp_path / "o.parquet").code == 0


# --- Dry run -------------------------------------------------------------------------------------


def test_a_dry_run_tells_all_and_writes_nothing(source, people, tmp_path, microagg):
    before = sorted(tmp_path.iterdir())
    done = microagg("protect", source, "-o", tmp_path / "out.parquet", *ROLES, "--dry-run")
    assert done.code == 0
    for words in (
        "income  Float64  mask",
        "region  String   stratum",
        "name    String   drop",
        "60 rows, 2 strata, 0 of them below k",
        "to mask",
        "MB of memory",
    ):
        assert words in done.out
    rare = people.with_columns(
        region=pl.when(pl.int_range(60) < 3).then(pl.lit("E")).otherwise("region")
    )
    rare.with_columns(net=pl.col("income") * 2).write_parquet(source)
    done = microagg("protect", source, *ROLES, "--keep", "net", "--dry-run", "--json")
    assert done.code == 4
    told = json.loads(done.out)
    assert told["strata"] == {"count": 3, "below_k": 1}
    assert told["problems"][0]["error"] == "TooFewRecordsError"
    assert any("'net' reveals" in sentence for sentence in told["warnings"])
    assert "estimate" not in told
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(("method", "power"), [("mdav1", 2.0), ("mdav", 1.9), ("pcp", 1.0)])
def test_an_estimate_grows_as_the_method_does(method, power, people, monkeypatch):
    ticks = itertools.count()
    monkeypatch.setattr(preview.time, "process_time", lambda: 0.2 * next(ticks))
    table = people.drop("name")
    job, roles = (
        ReleaseRequest.of(["age", "income"], 5, method, {}).masking,
        ColumnRoles([["age", "income"]], [], ["region"], []),
    )
    one, ten = (estimate(job, table, roles, [n])["masking_seconds"] for n in (10**6, 10**7))
    # On sixty rows next to all work grows with their number, of MDAV too.
    square = {"mdav1": 2e-9 / 5, "mdav": 8e-11 / 5, "pcp": 0.0}[method] * 10**12
    first = 5e-6 * 10**6 + square
    assert one == pytest.approx(0.2 * first / (5e-6 * 60), rel=0.02)
    assert ten / one == pytest.approx(10**power, rel=0.2)


def test_privacy_models_are_reckoned_of_strata_as_large_as_those_of_the_table(people, monkeypatch):
    """A trial of few records would be all annealed, and none of a million is."""
    ticks = itertools.count()
    monkeypatch.setattr(preview.time, "process_time", lambda: 1e-6 * next(ticks))
    table, told = people.with_columns(who=pl.int_range(pl.len())), []
    for persons in ({}, {"entity": "who", "entity_mode": "rows"}):
        job = ReleaseRequest.of(["age"], 5, "mdav", persons).masking
        roles = ColumnRoles([["age"]], entity=["who"] if persons else [])
        told += [estimate(job, table, roles, [n])["masking_seconds"] for n in (10**4, 10**6)]
    assert told[2] - told[0] == pytest.approx(4, abs=0.1)
    assert told[3] - told[1] == pytest.approx(60, abs=1)


# --- Measures ------------------------------------------------------------------------------------


def test_risk_takes_its_columns_from_the_manifest(source, people, tmp_path, microagg):
    target = tmp_path / "out.csv"
    assert microagg("protect", source, "-o", target, *ROLES).code == 0
    found = json.loads(microagg("risk", target, "--original", source, "--json").out)
    masked = expected(people)
    plain = mg.assess(people, masked, ["age", "income"], strata="region").row(0, named=True)
    assert found["dld"] == plain["dld"]
    assert found["loss"] == pytest.approx(plain["loss"], rel=1e-12)
    assert found["records"] == 60
    known = json.loads(
        microagg("risk", target, "--original", source, "--known", "age", "--json").out
    )
    assert known["dld"] == mg.dld(people, masked, ["age"], strata="region")
    counted = microagg("risk", source, "--columns", "region")
    assert counted.code == 0
    assert "k_min" in counted.out
    assert microagg("risk", source).code == 2
    assert microagg("risk", source, "--columns", "agee").code == 3


def test_risk_computes_the_metrics_that_are_named(source, people, tmp_path, microagg):
    target = tmp_path / "out.parquet"
    assert microagg("protect", source, "-o", target, *ROLES).code == 0
    risk = ["risk", target, "--original", source, "--json", "--metrics"]
    found = json.loads(microagg(*risk, "drisk,loss").out)
    assert list(found)[:3] == ["drisk", "loss", "records"]
    assert found["drisk"] == mg.drisk(people, expected(people), ["age", "income"])
    # A column without distances is no matter to a metric that only counts.
    assert json.loads(microagg(*risk, "k_min", "--known", "region").out)["k_min"] >= 5
    done = microagg(*risk, "drsk")
    assert done.code == 2
    assert "drsk is not known" in done.err
    alone = microagg("risk", target, "--metrics", "loss")
    assert alone.code == 2
    assert "--known, --key and --metrics are for" in alone.err


def test_risk_refuses_another_original_whichever_metrics_are_named(tmp_path, microagg):
    rng = np.random.default_rng(3)
    before = pl.DataFrame({"x": rng.integers(0, 99, 200), "y": rng.normal(0, 9, 200)})
    before.write_parquet(tmp_path / "before.parquet")
    before.with_columns(pl.col("y") + 5).write_parquet(tmp_path / "other.parquet")
    target = tmp_path / "out.parquet"
    roles = ["--columns", "x,y", "--k", 5]
    assert microagg("protect", tmp_path / "before.parquet", "-o", target, *roles).code == 0
    done = microagg("risk", target, "--original", tmp_path / "other.parquet", "--metrics", "cells")
    assert done.code == 3
    assert "The manifest has other values of" in done.err


def test_compare_recommends_one_line(source, microagg):
    arguments = [
        "compare",
        source,
        "--columns",
        "age,income",
        "--methods",
        "mdav,fixed_size",
        "--ks",
        "3,5",
    ]
    done = microagg(*arguments, "--json", "--require", "dld<=60")
    assert done.code == 0, done.err
    told = json.loads(done.out)
    assert {(row["method"], row["k"]) for row in told["compared"]} == {
        ("mdav", 3),
        ("mdav", 5),
        ("fixed_size", 3),
        ("fixed_size", 5),
    }
    assert told["recommended"]["method"] in ("mdav", "fixed_size")
    assert "fixed_size" in microagg(*arguments).out
    assert microagg("compare", source).code == 2


def test_methods_are_listed(microagg):
    assert "vmdav" in microagg("methods").out
    assert "--gamma" in microagg("methods", "vmdav").out
    assert {row["method"] for row in json.loads(microagg("methods", "--json").out)} >= {
        "mdav",
        "lowloss",
    }


def test_what_an_intruder_knows_must_have_distances(source, tmp_path, microagg):
    frame = pl.read_parquet(source).with_columns(mark=pl.lit(b"x"))
    frame.write_parquet(tmp_path / "in.parquet")
    source, target = tmp_path / "in.parquet", tmp_path / "out.parquet"
    assert microagg("protect", source, "-o", target, *ROLES, "--keep", "mark").code == 0
    done = microagg("risk", target, "--original", source, "--known", "region", "--metrics", "dld")
    assert done.code == 0, done.err  # text has distances as categories
    done = microagg("risk", target, "--original", source, "--known", "mark")
    assert (done.code, done.err) == (
        3,
        "--known names 'mark' of type Binary, which has no distances, so that no records are "
        "linked by it. Leave it out of --known.\n",
    )


def test_the_rows_of_a_table_have_their_hash(source, tmp_path, microagg):
    target = f"{tmp_path}/out.duckdb::t"
    assert microagg("protect", source, "-o", target, *ROLES).code == 0
    assert "The rows have the hash of the manifest." in microagg("verify", target).out


def test_a_dry_run_shows_no_categories(people, tmp_path, microagg):
    regions = people.with_columns(pl.col("region").cast(pl.Enum(["N", "S", SECRET])))
    regions.write_parquet(tmp_path / "in.parquet")
    done = microagg("protect", tmp_path / "in.parquet", *ROLES, "--dry-run")
    assert done.code == 0
    assert "Enum" in done.out
    assert SECRET not in done.out + done.err


def test_verify_without_a_manifest_tells_how_many_records_are_empty(tmp_path, microagg):
    frame = pl.DataFrame({"age": [30, 30, None, None, None, 41, 41], "sex": [*"ffmffmm"]})
    frame.write_parquet(tmp_path / "o.parquet")
    asked = ["verify", tmp_path / "o.parquet", "--columns", "age", "--k", "2"]
    done = microagg(*asked)
    assert done.code == 0
    assert "on these columns; 3 record(s) are empty in all of them, a class like any" in done.out
    assert json.loads(microagg(*asked, "--json").out)["emptied"] == 3
    frame.drop_nulls().write_parquet(tmp_path / "o.parquet")
    assert microagg(*asked).out.endswith("is 2-anonymous on these columns.\n")
