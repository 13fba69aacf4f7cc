"""Blocks of the documentation that speak of files and names of the reader: they run where these are there."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import polars.selectors as cs
import pytest

import polars_microagg as mg
import polars_microagg.duckdb as mgd

ROOT = Path(__file__).parents[1]

pytestmark = [pytest.mark.deep, pytest.mark.usefixtures("defaults_of_users")]


def blocks(page, language):
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.M | re.S)


def commands(page):
    """Calls of the program, without the words `microagg`, comments and what goes on in the next line."""
    lines = "".join(blocks(page, "sh")).replace("\\\n", " ").splitlines()
    calls = [shlex.split(line, comments=True) for line in lines]
    return [call[1:] for call in calls if call[:1] == ["microagg"] and "demo" not in call]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with the files that the pages name."""
    monkeypatch.chdir(tmp_path)
    rng, n = np.random.default_rng(0), 4_000
    people = pl.DataFrame(
        {
            "id": np.arange(n),
            "name": [f"n{i}" for i in range(n)],
            "region": rng.choice(["north", "south"], n),
            # Many are alike, so that no intruder links a tenth of them.
            "age": rng.integers(3, 13, n) * 7,
            "income": rng.integers(20, 28, n) * 1_000,
        }
    )
    (tmp_path / "register").mkdir()
    people.write_parquet("register/1.parquet")
    people.drop("id", "name").write_parquet("patients.parquet")
    people.select("region", "age", "income").write_parquet("register.parquet")
    with duckdb.connect("register.duckdb") as con:
        con.execute("CREATE TABLE visits AS FROM 'register/1.parquet'")
    visits = people.select(
        "age",
        patient=pl.col("id") // 2,
        bmi=pl.Series(rng.normal(25, 4, n).round(1)),
        dx=pl.Series(rng.choice(["flu", "gout", "none"], n)),
        days=pl.col("income") // 999,
    )
    visits.write_parquet("visits.parquet")
    return people


def run(*words):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "polars_microagg.cli.main", *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.returncode, f"{' '.join(words)}: {done.stderr}"
    return done.stdout


def test_the_page_of_scale(here, capsys):
    names = {"mg": mg, "people": here.head(200)}
    release, measured, spark, progress = blocks("scale.md", "python")
    assert "polars_microagg.spark" in spark
    for code in (release, measured, progress):
        exec(code, names)
    mg.verify(pl.read_parquet("release.parquet"), ["region", "age", "income"], k=5)
    mg.verify(names["masked"], ["age", "income"], k=5)
    assert re.search(r"genetic.*: 100 %", capsys.readouterr().out)
    (call,) = commands("scale.md")
    run(*call)
    with duckdb.connect("release.duckdb") as con:
        mg.verify(con.sql("FROM visits").pl(), ["region", "age", "income"], k=5)


def test_publish_on_the_page_of_the_command_line(here):
    (code,) = blocks("command_line.md", "python")
    table = here.with_columns(identity=pl.col("id"), ward=pl.lit("y"))
    exec(code, {"mg": mg, "cs": cs, "lazyframe": table.lazy()})
    assert pl.read_parquet("released.parquet").columns == ["region", "age", "income", "ward"]


def test_the_job_of_the_page_of_etl(here):
    assert [call[0] for call in commands("etl.md")] == ["init", "protect", "verify"]
    for call in commands("etl.md"):
        run(*call)
    mg.verify(pl.read_parquet("masked.parquet"), ["region", "age", "income"], k=5)


def test_the_release_of_the_page_of_persons(here):
    (call,) = commands("persons.md")
    run(*call)
    released = pl.read_parquet("released.parquet")
    assert released.columns == ["age", "bmi", "dx"]
    assert mg.anonymity(released, ["age", "bmi"], confidential="dx")["l"].item() >= 2


def test_the_check_of_the_page_of_reports(here):
    mg.publish(here, "masked.parquet", ["age", "income"], k=5, drop=cs.exclude("age", "income"))
    (call,) = commands("report.md")
    assert "The smallest class has" in run(*call)


def test_the_statement_of_the_page_of_keys():
    (code,) = blocks("keys.md", "sql")
    con = mgd.register(duckdb.connect())
    con.execute(
        "CREATE TABLE adult AS SELECT i AS age, ['f', 'm'][1 + i % 2] AS sex, "
        "['a', 'b'][1 + i // 30] AS education FROM range(60) t(i)"
    )
    con.execute("CREATE TABLE edu_tree AS FROM (VALUES ('a', '*'), ('b', '*')) t(x, y)")
    mg.verify(con.sql(code.strip().rstrip(";")).pl(), ["age", "sex", "education"], k=5)
