"""Kinds of columns on the command line and in configurations."""

import json

import duckdb
import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.cli.kinds import MAPPINGS, read_kinds
from polars_microagg.core.options import KEY_OPTIONS

N = 1100
RNG = np.random.default_rng(5)
TABLE = pl.DataFrame(
    {
        "age": RNG.integers(18, 90, N),
        "zip": [f"{number:05d}" for number in RNG.integers(1000, 1040, N)],
        "edu": RNG.choice(["basic", "upper", "bachelor", "master"], N),
        "job": ["herald"] * 3 + ["clerk", "cook"] * (N // 2 - 2) + ["cook"],
        "level": RNG.integers(1, 5, N),
    }
)
TREE = "basic;low;*\nupper;low;*\nbachelor;high;*\nmaster;high;*\n"
JOB = """
columns = ["age", "zip", "edu", "job", "level"]
k = 5
ordinal = ["level"]
[taxonomy]
edu = "edu.csv"
zip = "prefix:5,3,2"
[column_weights]
edu = 2
"""
CALL = [
    *("--columns", "age,zip,edu,job,level", "-k", "5", "--ordinal", "level"),
    *("--taxonomy", "zip=prefix:5,3,2", "--column-weights", "edu=2"),
]


@pytest.fixture
def folder(tmp_path):
    TABLE.write_csv(tmp_path / "in.csv")
    TABLE.write_parquet(tmp_path / "in.parquet")
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "edu.csv").write_text(TREE)
    (tmp_path / "conf" / "job.toml").write_text(JOB)
    return tmp_path


def test_a_configuration_options_and_python_release_the_same(folder, microagg):
    tree = folder / "conf" / "edu.csv"
    ways = {
        "a.csv": ["--config", folder / "conf" / "job.toml"],
        "b.csv": [*CALL, "--taxonomy", f"edu={tree}"],
    }
    for name, words in ways.items():
        done = microagg("protect", folder / "in.csv", "-o", folder / name, *words)
        assert done.code == 0, done.err
        assert "0.3 % of 'job' lost a rare category" in done.err
    trees = {"zip": mg.Taxonomy.prefix(5, [3, 2]), "edu": mg.Taxonomy.read(tree)}
    own = mg.mdav(
        TABLE, TABLE.columns, 5, ordinal="level", taxonomy=trees, column_weights={"edu": 2}
    )
    own.write_csv(folder / "c.csv")
    assert len({(folder / name).read_bytes() for name in ("a.csv", "b.csv", "c.csv")}) == 1
    told, other = (json.loads((folder / f"{n}.csv.manifest.json").read_text()) for n in "ab")
    assert told["config"] == other["config"]
    assert told["config"]["taxonomy"]["edu"] == trees["edu"].to_dict()


def test_what_was_typed_wins_column_by_column(folder):
    found = read_kinds(
        {
            "taxonomy": {"edu": "edu.csv", "zip": "prefix:5,3"},
            "nominal": ["a"],
            "column_weights": {"a": 1},
        },
        {"taxonomy": ["zip=prefix:5,2"], "nominal": ["b"], "column_weights": ["c=d=2"]},
        folder / "conf",
    )
    assert found["taxonomy"]["zip"] == mg.Taxonomy.prefix(5, [2])
    assert found["taxonomy"]["edu"].path("basic") == ("basic", "low", "*")
    assert (found["nominal"], found["column_weights"]) == (["b"], {"a": 1, "c=d": 2})


FORMS = ["csv", pytest.param("parquet", marks=pytest.mark.deep)]


@pytest.mark.parametrize("form", FORMS)
def test_a_release_is_verified_measured_compared_and_reported(form, folder, microagg):
    source, job, out = folder / f"in.{form}", folder / "conf" / "job.toml", folder / f"out.{form}"
    page = folder / "page.html"
    done = microagg("protect", source, "-o", out, "--config", job, "--report", page)
    assert done.code == 0, done.err
    assert microagg("verify", out, "--original", source).code == 0
    risk = json.loads(microagg("risk", out, "--original", source, "--json").out)
    told = json.loads((folder / f"out.{form}.manifest.json").read_text())["measures"]
    assert round(risk["loss"], 1) == told["loss"]
    done = microagg("compare", source, "--config", job, "--methods", "mdav", "--ks", "5", "--json")
    assert json.loads(done.out)["compared"][0]["loss"] == pytest.approx(risk["loss"])
    text = page.read_text()
    assert "Categories before and after" in text
    assert "herald" not in text
    other = folder / "other.html"
    done = microagg("report", out, "--original", source, "-o", other, "--seconds", "0")
    assert done.code == 0, done.err
    assert "Categories before and after" in other.read_text()


@pytest.mark.parametrize("form", FORMS)
def test_the_mean_direction_of_times_is_that_of_the_original(form, folder, microagg):
    before, after = folder / f"t.{form}", folder / f"u.{form}"
    hours = pl.Series(np.arange(18) ** 2 % 47 * 1800 * 10**9 % (86400 * 10**9)).cast(pl.Time)
    times = pl.DataFrame({"t": hours, "age": range(18)})
    getattr(times, f"write_{form}")(before)
    words = ["--columns", "t,age", "-k", "3", "--circular", "t"]
    assert microagg("protect", before, "-o", after, *words).code == 0
    calls = {"verify": [], "risk": [], "report": ["-o", folder / "page.html", "--seconds", "0"]}
    for command, more in calls.items():
        done = microagg(command, after, "--original", before, *more)
        assert done.code == 0, done.err
    # An hour later the measures are the same.
    later = times.with_columns((pl.col("t").cast(pl.Int64) + 3600 * 10**9) % (86400 * 10**9))
    getattr(later.cast({"t": pl.Time}), f"write_{form}")(before)
    assert microagg("verify", after, "--original", before).code == 4
    assert "'t' of the release are not centres" in microagg("risk", after, "--original", before).err


def test_an_enum_of_duckdb_keeps_its_order_and_its_type(folder, microagg):
    type_ = "ENUM('low', 'it''s mid', 'high', 'none')"
    with duckdb.connect(str(folder / "in.duckdb")) as con:
        con.register("given", TABLE.select("age", stage=pl.col("level") % 3))
        value = "(['low', 'it''s mid', 'high'])[stage + 1]"
        con.execute(f"CREATE TABLE h AS SELECT age, {value}::{type_} stage FROM given")
    source, out = f"{folder / 'in.duckdb'}::h", f"{folder / 'out.duckdb'}::h"
    done = microagg("protect", source, "-o", out, "--k", "30", "--columns", "age,stage")
    assert done.code == 0, done.err
    told = json.loads((folder / "out.duckdb.h.manifest.json").read_text())
    assert told["categories"][0]["kind"] == "ordinal"
    with duckdb.connect(str(folder / "out.duckdb")) as con:
        assert str(con.table("h").types[1]) == type_
        released = con.sql("FROM h SELECT age, stage::VARCHAR stage").pl()
    order = pl.Enum(["low", "it's mid", "high", "none"])
    stages = pl.Series("stage", ["low", "it's mid", "high"]).gather(TABLE["level"] % 3).cast(order)
    own = mg.mdav(TABLE.select(pl.col("age").cast(pl.Int64), stages), ["age", "stage"], 30)
    assert released.equals(own.cast({"stage": pl.String}))
    assert microagg("verify", out, "--original", source).code == 0


def test_without_a_manifest_risk_takes_the_kinds(folder, microagg):
    trees = {"zip": mg.Taxonomy.prefix(5, [3, 2])}
    masked = mg.mdav(TABLE, ["age", "zip"], 5, taxonomy=trees)
    masked.write_csv(folder / "out.csv")
    call = ["risk", folder / "out.csv", "--columns", "age,zip", "--json"]
    tree = ["--taxonomy", "zip=prefix:5,3,2"]
    found = json.loads(microagg(*call, "--original", folder / "in.csv", *tree).out)
    own = mg.assess(TABLE, masked, ["age", "zip"], metrics="loss", taxonomy=trees).item()
    assert found["loss"] == pytest.approx(own)
    done = microagg(*call, *tree)
    assert (done.code, "--original" in done.err) == (2, True)


def test_a_dry_run_says_of_which_kind_columns_are(folder, microagg):
    call = ["protect", folder / "in.csv", "--config", folder / "conf" / "job.toml", "--dry-run"]
    told = json.loads(microagg(*call, "--json").out)["columns"]
    kinds = {"zip": "taxonomy", "edu": "taxonomy", "job": "nominal", "level": "ordinal"}
    assert {row["name"]: row["kind"] for row in told if "kind" in row} == kinds
    assert "mask  taxonomy" in microagg(*call).out


WRONG = {
    "no equals sign": (["--taxonomy", "zip"], 2, "it must be COLUMN=FILE"),
    "no number": (["--column-weights", "zip"], 2, "an equals sign and a number"),
    "no such file": (["--taxonomy", "zip=no.csv"], 3, "'no.csv' cannot be read"),
    "no such column": (["--taxonomy", "zap=prefix:5,3"], 3, "Did you mean 'zip'"),
    "not masked": (["--nominal", "job"], 2, "--nominal names 'job'"),
    "two kinds": (["--nominal", "zip", "--taxonomy", "zip=prefix:5,3"], 2, "'zip'"),
    "no number in a form": (["--taxonomy", "zip=prefix:"], 2, "--taxonomy zip=prefix: was given"),
    "no class in a form": (["--taxonomy", "zip=prefix:5"], 2, "--taxonomy zip=prefix:5 was given"),
    "no numbers of a form": (["--taxonomy", "zip=prefix:a,b"], 2, "as in prefix:5,3,2."),
    "no multiples": (["--taxonomy", "zip=intervals:5,12"], 2, "--taxonomy zip=intervals:5,12 was"),
    "no width": (["--taxonomy", "zip=intervals:x"], 2, "as in intervals:5,10,20."),
    "two trees": (["--taxonomy", "zip=a.csv", "--taxonomy", "zip=b.csv"], 2, "'zip' already"),
    "two weights": (
        ["--column-weights", "zip=1", "--column-weights", "zip=1"],
        2,
        "--column-weights has column 'zip' already",
    ),
    "no weight": (
        ["--column-weights", "zip=x"],
        2,
        "--column-weights zip=x was given; it must be a number from",
    ),
    "not in the tree": (["--taxonomy", "zip=prefix:4,3"], 3, "'zip'"),
    "weight of nothing": (
        ["--column-weights", "zip=0"],
        2,
        "--column-weights zip=0 was given; it must be a number from",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said_and_nothing_published(case, folder, microagg):
    words, code, said = WRONG[case]
    call = ["protect", folder / "in.csv", "-o", folder / "o.csv", "--columns", "age,zip"]
    done = microagg(*call, "--drop", "edu,job,level", "-k", "5", *words)
    assert done.code == code, done.err
    assert said in done.err
    assert not any(name in done.err for name in ("--kept", "--length", "--widths"))
    assert "01000" not in done.err
    assert not (folder / "o.csv").exists()


KEYS = {
    "a text for a table": (
        'taxonomy = "a.csv"',
        "'taxonomy' of the configuration is text",
        "a table",
    ),
    "a list for a table": (
        "column_weights = [1]",
        "'column_weights' of the configuration is a list",
        "a table",
    ),
    "a table in a table": (
        "[taxonomy.zip]\na = 1",
        "'taxonomy.zip' ",
        "the name of a file, or numbers",
    ),
    "no number": (
        '[column_weights]\nzip = "x"',
        "'column_weights.zip' of the configuration is text",
        "a number above 0",
    ),
    "a switch": (
        "[column_weights]\nzip = true",
        "'column_weights.zip' of the configuration is true or",
        "a number",
    ),
    "a table for names": (
        "[nominal]\nzip = 1",
        "'nominal' of the configuration is a table",
        "a list",
    ),
}


@pytest.mark.parametrize("case", KEYS)
def test_a_wrong_key_is_named_with_what_it_must_be(case, folder, microagg):
    written, key, need = KEYS[case]
    (folder / "a.toml").write_text(written)
    call = ["protect", folder / "in.csv", "-o", folder / "o.csv", "--columns", "age,zip"]
    done = microagg(*call, "--drop", "edu,job,level", "-k", "5", "--config", folder / "a.toml")
    assert done.code == 2
    assert f"The key {key}" in done.err
    assert "it must be" in done.err
    assert need in done.err
    assert "<" not in done.err


def test_a_weight_in_a_text_is_a_number(folder):
    assert read_kinds({"column_weights": {"zip": "2"}}, {})["column_weights"] == {"zip": 2}


def test_the_help_says_that_an_option_is_repeated(microagg):
    for command in ("protect", "compare"):
        said = " ".join(microagg(command, "--help").out.split())
        assert "intervals:5,10; again for each column" in said
        assert "weight of a column in distances; again for each column" in said


def test_the_options_are_those_of_the_register():
    assert set(MAPPINGS) == {name for name, entry in KEY_OPTIONS.items() if entry.each} | {
        "column_weights"
    }


def test_texts_of_numbers_are_refused_in_a_dry_run_and_a_real_one(tmp_path, microagg):
    visits = pl.DataFrame({"person": [i // 3 for i in range(120)]}).with_columns(
        age=pl.col("person") + 20, income=(pl.col("person") * 100 + 0.5).cast(pl.String)
    )
    visits.write_parquet(tmp_path / "in.parquet")
    call = ["protect", tmp_path / "in.parquet", "-o", tmp_path / "out.parquet", "-k", "2"]
    call += ["--columns", "age,income", "--entity", "person", "--entity-mode", "rows"]
    for more in ([], ["--dry-run"]):
        done = microagg(*call, *more)
        assert done.code == 3
        text = " ".join((done.out + done.err).split())
        assert text.count("120 of 120 values in categories that fewer than 2 entities have") == 1
