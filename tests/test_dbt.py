"""The dbt package: its tests count what Python counts, in every dialect that is here to be run."""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from tests.dbt_macros import rendered
from tests.loop import rounds

NEVER = {"k": 10**9, "l": 10**9, "max_entity_share": -1, "max_share": -1, "t": -1}
"""Bounds that nothing keeps, so that a test says what it has counted."""

TESTS = {
    "k": ("k", {"columns": ["a", "b"], "strata": "s"}, "smallest"),
    "entities": ("k", {"columns": ["a", "b"], "strata": "s", "entity": ["who", "part"]}, "fewest"),
    "entity_share": (
        "max_entity_share",
        {"columns": ["a", "b"], "strata": "s", "entity": ["who", "part"]},
        "largest",
    ),
    "l": ("l", {"columns": ["a", "b"], "strata": ["s"], "confidential": "dx"}, "fewest"),
    "share": ("max_share", {"columns": ["a", "b"], "strata": "s", "confidential": "dx"}, "largest"),
    "t": ("t", {"columns": ["a", "b"], "strata": "s", "confidential": "dx"}, "largest"),
    "t ordered": ("t", {"columns": "a", "confidential": "wage", "ordered": True}, "largest"),
    "t ranks": (
        "t",
        {"columns": "a", "confidential": "wage", "ordered": True, "t_scale": "ranks"},
        "largest",
    ),
}
"""Tests of the package: the bound, the other arguments, and the column that has the worst number."""


def drawn(rng):
    n = int(rng.integers(1, 60))

    def some(values, nulls):
        picked = [values[i] for i in rng.integers(0, len(values), n)]
        return [None if rng.random() < nulls else value for value in picked]

    return pl.DataFrame(
        {
            "a": some([1.5, 0.0, -0.0, float("nan"), 7.25], 0.2),
            "b": some(["x", "X", "it's", ""], 0.2),
            "s": some([True, False], 0.2),
            "who": some(["ann", "bob", "Ann", "dora", "eve", "fay"], 0),
            "part": some([1, 2], 0),
            "dx": some(["flu", "gout", "Flu", "cold"], 0.2),
            "wage": some([10, 20, 25, 90, 2**40], 0.2),
        },
        schema_overrides={
            **dict.fromkeys(("b", "who", "dx"), pl.String),
            **dict.fromkeys(("part", "wage"), pl.Int64),
            **{"a": pl.Float64, "s": pl.Boolean},
        },
    )


def sql_of(test, dialect, model="visits", **changed):
    bound, arguments, _ = TESTS[test]
    given = arguments | {bound: NEVER[bound]} | changed
    return rendered(dialect, test.partition(" ")[0], model, **given)


def expected(frame):
    """The number of each test, as Python counts it."""
    keys = ["a", "b"]
    people = mg.anonymity(frame, keys, strata="s", entity=["who", "part"], confidential="dx")
    found = people.row(0, named=True)
    numbers = {
        "k": found["k_min"],
        "entities": found["k_entities"],
        "entity_share": found["max_entity_share"],
        "l": found["l"],
        "share": found["max_share"],
        "t": found["t"],
    }
    for name, t_scale in {"t ordered": "values", "t ranks": "ranks"}.items():
        numbers[name] = mg.anonymity(frame, "a", confidential="wage", t_scale=t_scale)["t"].item()
    return numbers


def worst(row, columns, test):
    """The worst number of a row of counts; a test of which nothing can be told gives no row."""
    return None if row is None else float(dict(zip(columns, row, strict=True))[TESTS[test][2]])


def same(found, wanted, test):
    # Where no class has a value there is no share, and where all values are one there is no distance.
    if found is None:
        return wanted == 0
    return found == pytest.approx(wanted, abs=2e-12) if test[0] in "st" else found == wanted


def test_duckdb_counts_what_python_counts():
    rng = np.random.default_rng(6)
    with duckdb.connect() as con:
        for _ in range(rounds(48)):
            frame = drawn(rng)
            con.register("visits", frame)
            for test, wanted in expected(frame).items():
                result = con.sql(sql_of(test, "duckdb"))
                row = next(iter(result.fetchall()), None)
                assert same(worst(row, result.columns, test), wanted, test), test
            con.unregister("visits")


@pytest.fixture(scope="module")
def postgres():
    """A server of PostgreSQL of our own, as a function that runs a script and gives the lines of its rows."""
    programs = {name: shutil.which(name) for name in ("initdb", "pg_ctl", "psql")}
    if not all(programs.values()):
        pytest.skip("PostgreSQL is not installed: initdb, pg_ctl and psql are needed")
    if not hasattr(os, "geteuid") or (os.geteuid() == 0 and not shutil.which("runuser")):
        pytest.skip("PostgreSQL does not run as this user")
    # The server does not run as root, so it gets a folder that its own user may enter.
    folder = Path(tempfile.mkdtemp(prefix="microagg-postgres-"))
    folder.chmod(0o755)
    before = []
    if os.geteuid() == 0:
        try:
            shutil.chown(folder, "postgres")
        except LookupError:
            folder.rmdir()
            pytest.skip("PostgreSQL does not run as root, and there is no user postgres")
        before = ["runuser", "-u", "postgres", "--"]
    quiet = {"check": True, "capture_output": True, "text": True, "cwd": folder}
    data = str(folder / "data")
    try:
        subprocess.run(
            [*before, programs["initdb"], "-D", data, "-A", "trust", "-U", "us"], **quiet
        )
        start = [
            "-o",
            f"-k {folder} -c listen_addresses=''",
            "-l",
            str(folder / "log"),
            "-w",
            "start",
        ]
        subprocess.run([*before, programs["pg_ctl"], "-D", data, *start], **quiet)

        def run(script):
            command = [*before, programs["psql"], "-h", str(folder), "-U", "us", "-d", "postgres"]
            command += ["-v", "ON_ERROR_STOP=1", "-q", "-A", "-t", "-F", "\t"]
            return subprocess.run(command, input=script, **quiet).stdout.splitlines()

        yield run
        stop = [programs["pg_ctl"], "-D", data, "-m", "immediate", "stop"]
        subprocess.run([*before, *stop], **quiet)
    finally:
        shutil.rmtree(folder)


def as_sql(value):
    if isinstance(value, float):
        return f"'{value!r}'::float8"
    return "null" if value is None else "'" + str(value).replace("'", "''") + "'"


@pytest.mark.deep
def test_postgres_counts_what_python_counts(postgres):
    rng = np.random.default_rng(7)
    types = "a float8, b text, s boolean, who text, part bigint, dx text, wage bigint"
    columns = dict.fromkeys(TESTS, 1) | {"k": 2}
    for _ in range(rounds(40)):
        frame = drawn(rng)
        rows = ", ".join(f"({', '.join(map(as_sql, row))})" for row in frame.rows())
        script = f"drop table if exists visits; create table visits ({types});\n"
        script += f"insert into visits values {rows};\n"
        for test in TESTS:
            script += f"select '{test}:';\n{sql_of(test, 'postgres')};\n"
        found = {}
        for line in postgres(script):
            if line.endswith(":"):
                name, found[line[:-1]] = line[:-1], None
            else:
                found[name] = float(line.split("\t")[columns[name]])
        for test, wanted in expected(frame).items():
            assert same(found[test], wanted, test), test


@pytest.mark.parametrize("test", TESTS)
def test_a_bound_that_is_kept_gives_no_row_and_a_row_has_no_value(test):
    kept = {"k": 1, "l": 1, "max_entity_share": 1, "max_share": 1, "t": 1}
    frame = drawn(np.random.default_rng(8))
    with duckdb.connect() as con:
        con.register("visits", frame)
        assert (
            con.sql(sql_of(test, "duckdb", **{TESTS[test][0]: kept[TESTS[test][0]]})).fetchall()
            == []
        )
        broken = con.sql(sql_of(test, "duckdb"))
        assert set(broken.columns) <= {
            "classes",
            "records",
            "smallest",
            "fewest",
            "nameless",
            "largest",
        }


def test_an_entity_that_is_null_fails():
    frame = drawn(np.random.default_rng(9)).with_columns(part=pl.lit(None, pl.Int64))
    with duckdb.connect() as con:
        con.register("visits", frame)
        found = con.sql(f"SELECT nameless FROM ({sql_of('entities', 'duckdb', k=1)})").fetchall()
        assert found == [(frame.height,)]


def test_zeros_and_no_numbers_beside_a_text_are_one_value():
    for pair in ("'0.0'::DOUBLE, '-0.0'::DOUBLE", "'nan'::DOUBLE, -('nan'::DOUBLE)"):
        with duckdb.connect() as con:
            con.execute(
                "CREATE TABLE seen(a DOUBLE, b VARCHAR, s BOOLEAN, dx STRUCT(n VARCHAR, x DOUBLE))"
            )
            con.execute(
                f"INSERT INTO seen SELECT 1, 'x', true, {{'n': 'u', 'x': unnest([{pair}])}}"
            )
            found = con.sql(f"SELECT fewest FROM ({sql_of('l', 'duckdb', 'seen')})").fetchall()
            assert found == [(1,)]


@pytest.mark.parametrize("dialect", ["snowflake", "bigquery", "postgres"])
@pytest.mark.parametrize("test", TESTS)
def test_other_dialects_have_nothing_of_duckdb(test, dialect):
    text = sql_of(test, dialect, model="`p.d.visits`" if dialect == "bigquery" else "visits")
    assert not re.search(
        r"typeof|hugeint|encode|::|struct_pack|asof|group by all|{{|{%|{#", text, re.I
    )
    assert text.count("(") == text.count(")")
    assert ("to_json_string" in text) == (dialect == "bigquery")
    whole = {"snowflake": "numeric(38, 0)", "bigquery": "bignumeric", "postgres": "as numeric)"}
    assert (whole[dialect] in text) == (test not in ("k", "entities", "entity_share"))


@pytest.mark.parametrize(
    ("test", "changed", "sentence"),
    [
        ("k", {"columns": []}, "microagg.k needs columns, and none is named"),
        ("entities", {"entity": None}, "microagg.entities needs entity"),
        ("l", {"confidential": ["a", "b"]}, "takes one confidential column at a time"),
        ("t", {"t_scale": "rank"}, "t_scale must be one of 'values', 'ranks'"),
        ("k", {"strta": "s"}, "microagg.k has no argument 'strta'. Did you mean 'strata'?"),
        ("entities", {"entityy": "who"}, "Did you mean 'entity'?"),
        ("l", {"refine": 1}, "Choose from columns, confidential, l, strata."),
        ("share", {"maxshare": 1}, "Did you mean 'max_share'?"),
        (
            "entity_share",
            {"column_weights": 1},
            "microagg.entity_share has no argument 'column_weights'.",
        ),
        ("t", {"order": True}, "Did you mean 'ordered'?"),
    ],
)
def test_a_wrong_test_does_not_compile(test, changed, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        sql_of(test, "postgres", **changed)
