"""A dry run ends as the real run does: the same exit code, and the first sentence is the same."""

import itertools
import json
import os
import subprocess

import duckdb
import polars as pl
import pytest

from polars_microagg.publishing import preview

from .conftest import ROLES

MASK = ROLES[:-2]


def nothing(folder, people):
    people.write_parquet(folder / "in.parquet")


def table(**columns):
    """Write the table with other columns."""

    def prepare(folder, people):
        people.with_columns(**columns).write_parquet(folder / "in.parquet")

    return prepare


def other(changed):
    """Write a table that was changed as a source may change."""

    def prepare(folder, people):
        changed(people).write_parquet(folder / "in.parquet")

    return prepare


def rows(count, times=1):
    def prepare(folder, people):
        pl.concat([people.head(count)] * times).write_parquet(folder / "in.parquet")

    return prepare


def there(*names):
    """Put files where the release goes."""

    def prepare(folder, people):
        nothing(folder, people)
        for name in names:
            (folder / name).write_bytes(b"what was there before")

    return prepare


def folder_of(name, then=nothing):
    def prepare(folder, people):
        then(folder, people)
        (folder / name).mkdir()

    return prepare


def tables(*statements):
    def prepare(folder, people):
        nothing(folder, people)
        with duckdb.connect(str(folder / "a.duckdb")) as con:
            for statement in statements:
                con.execute(statement)

    return prepare


def corrupt(folder, people):
    nothing(folder, people)
    path = folder / "in.parquet"
    path.write_bytes(path.read_bytes()[:-20])


def pipe(folder, people):
    nothing(folder, people)
    os.mkfifo(folder / "out.parquet")


NAN = pl.when(pl.col("age") > 80).then(float("nan")).otherwise("income")
HOLES = pl.when(pl.int_range(pl.len()) < 3).then(None).otherwise("income")
RARE = pl.when(pl.int_range(pl.len()) < 3).then(pl.lit("E")).otherwise("region")
RARES = (
    pl.when(pl.int_range(pl.len()) < 6)
    .then(pl.format("E{}", pl.int_range(pl.len()) // 3))
    .otherwise("region")
)
LISTS = {"region": pl.concat_list(pl.lit(1))}

BAD = {
    "requirement misspelt": (nothing, ["--require", "dlt<=5"], 2),
    "requirement without a number": (nothing, ["--require", "dld<=much"], 2),
    "more k required than asked": (nothing, ["--require", "k=9"], 2),
    "just more k required": (nothing, ["--require", "k>5"], 2),
    "bounds that exclude each other": (nothing, ["--require", "dld<=5", "--require", "dld>=6"], 2),
    "bounds that touch": (nothing, ["--require", "dld<5", "--require", "dld>=5"], 2),
    "nobody to count": (nothing, ["--require", "k_entities>=2"], 2),
    "nothing confidential": (there("out.parquet"), ["--require", "t<=0.5"], 2),
    "option out of range": (nothing, ["--method", "genetic", "--steps", "9"], 2),
    "too many rows for the method": (rows(60, 170), ["--method", "fuzzy"], 2),
    "corrupt input": (corrupt, [], 3),
    "masked bytes": (table(age=pl.lit(b"x")), [], 3),
    "text not in the tree": (table(age=pl.lit("x")), ["--taxonomy", "age=prefix:3,1"], 3),
    "a kind of another column": (nothing, ["--nominal", "name"], 2),
    "a kind its type cannot be": (nothing, ["--circular", "age"], 3),
    "nan": (table(income=NAN), [], 3),
    "null": (table(income=HOLES), [], 3),
    "missing column": (table(age=pl.lit(1)), ["--order-by", "agee"], 3),
    "masked column gone": (other(lambda t: t.drop("age")), [], 3),
    "stratum gone": (other(lambda t: t.drop("region")), [], 3),
    "dropped column gone": (other(lambda t: t.drop("name")), [], 3),
    "new column": (table(weight=pl.lit(1)), [], 3),
    "column renamed": (other(lambda t: t.rename({"age": "Age"})), [], 3),
    "two roles": (nothing, ["--keep", "age"], 2),
    "small stratum": (table(region=RARE), [], 4),
    "small null pattern": (table(income=HOLES), ["--nulls", "pattern"], 4),
    "too few rows": (rows(4), [], 4),
    "no rows": (rows(0), [], 4),
    "no rows to empty": (rows(0), ["--small-strata", "null"], 4),
    "too few rows to empty": (rows(4), ["--small-strata", "null"], 4),
    "too few rows of a stratum to empty": (table(region=RARE), ["--small-strata", "null"], 4),
    "no rows left": (rows(4), ["--small-strata", "drop"], 4),
    "much suppressed": (
        table(region=RARE),
        ["--small-strata", "drop", "--require", "suppressed<=4"],
        4,
    ),
    "a measure that has no value of so many rows": (rows(60, 334), ["--require", "pld<=20"], 4),
    "more rows required": (nothing, ["--require", "rows=61"], 4),
    "file there": (there("out.parquet"), [], 2),
    "manifest there": (there("out.parquet.manifest.json"), [], 2),
    "report there": (there("r.html"), ["--report", "r.html"], 2),
    "folder missing": (nothing, ["-o", "absent/out.parquet"], 5),
    "folder of the manifest missing": (nothing, ["--manifest", "absent/m.json"], 5),
    "folder of the report missing": (nothing, ["--report", "absent/r.html"], 5),
    "folder": (folder_of("target"), ["-o", "target"], 5),
    "folder with an ending": (folder_of("out.parquet"), ["--overwrite"], 5),
    "folder where the manifest goes": (folder_of("m.json"), ["--manifest", "m.json", "--overwrite"], 5),
    "pipe": (pipe, ["--overwrite"], 5),
    "name too long": (nothing, ["-o", "n" * 300 + ".parquet"], 5),
    "name too long, without an ending": (nothing, ["-o", "n" * 300], 2),
    "name of the manifest too long": (nothing, ["-o", "n" * 240 + ".parquet"], 5),
    "table there": (tables("CREATE TABLE t AS SELECT 1 AS a"), ["-o", "a.duckdb::T"], 2),
    "view": (tables("CREATE VIEW t AS SELECT 1 AS a"), ["-o", "a.duckdb::t", "--overwrite"], 5),
    "no duckdb file": (there("a.duckdb"), ["-o", "a.duckdb::t", "--overwrite"], 5),
    "folder of the table missing": (nothing, ["-o", "absent/a.duckdb::t"], 5),
    "columns that duckdb does not tell apart": (table(Age=pl.lit(1)), ["-o", "a.duckdb::t", "--keep", "Age"], 5),
    "lists in csv": (table(**LISTS), ["-o", "out.csv"], 5),
    "file there, and nan": (lambda f, p: (there("out.parquet")(f, p), table(income=NAN)(f, p)), [], 2),
    "file there, and masked bytes": (lambda f, p: (there("out.parquet")(f, p), table(age=pl.lit(b"x"))(f, p)), [], 3),
    "nan, and a small stratum": (table(income=NAN, region=RARE), [], 3),
}  # fmt: skip

GOOD = {
    "plain": (nothing, []),
    "overwritten": (there("out.parquet", "out.parquet.manifest.json"), ["--overwrite"]),
    "dropped stratum": (table(region=RARE), ["--small-strata", "drop"]),
    "emptied strata": (table(region=RARES), ["--small-strata", "null"]),
    "emptied null patterns": (
        table(income=HOLES, region=RARES),
        ["--nulls", "pattern", "--small-strata", "null"],
    ),
    "few suppressed": (
        table(region=RARE),
        ["--small-strata", "drop", "--require", "suppressed<=5"],
    ),
    "new table": (nothing, ["-o", "a.duckdb::t"]),
    "another table": (tables("CREATE TABLE u AS SELECT 1 AS a"), ["-o", "a.duckdb::t"]),
    "k of the requirement": (nothing, ["--require", "k>=5", "--require", "rows=60"]),
    "an exact bound": (nothing, ["--require", "rows<=60", "--require", "rows>=60"]),
    "values": (nothing, ["--method", "individual_ranking"]),
}


def state(folder):
    found = {}
    for path in sorted(folder.rglob("*")):
        found[str(path.relative_to(folder))] = path.read_bytes() if path.is_file() else None
    return found


def both(case, folder, people, microagg, monkeypatch):
    prepare, arguments = case[:2]
    prepare(folder, people)
    monkeypatch.chdir(folder)
    before = state(folder)
    call = ["protect", "in.parquet", *([] if "-o" in arguments else ["-o", "out.parquet"])]
    call += [*ROLES, *arguments]
    dry_run = microagg(*call, "--dry-run")
    assert state(folder) == before
    return dry_run, microagg(*call), before


@pytest.mark.parametrize("case", BAD)
def test_a_dry_run_fails_as_the_real_one_does(case, people, tmp_path, microagg, monkeypatch):
    dry_run, real, before = both(BAD[case], tmp_path, people, microagg, monkeypatch)
    assert (dry_run.code, real.code) == (BAD[case][2],) * 2, (dry_run.err, real.err)
    assert real.err.count("\n") == 1
    said = [line for line in dry_run.err.splitlines() if not line.startswith("Warning")]
    assert said[0] == real.err.strip()
    assert state(tmp_path) == before


@pytest.mark.parametrize("case", GOOD)
def test_a_dry_run_passes_where_the_real_one_does(case, people, tmp_path, microagg, monkeypatch):
    dry_run, real, before = both(GOOD[case], tmp_path, people, microagg, monkeypatch)
    assert (dry_run.code, real.code) == (0, 0), (dry_run.err, real.err)
    assert "Nothing was written." in dry_run.out
    target = arguments[1] if "-o" in (arguments := GOOD[case][1]) else "out.parquet"
    for given in ([], ["--original", "in.parquet"]):
        assert microagg("verify", target, *given).code == 0
    assert state(tmp_path) != before


def test_a_folder_that_is_read_only_is_foreseen(people, tmp_path, microagg, monkeypatch):
    folder = tmp_path / "fixed"
    folder.mkdir()
    nothing(tmp_path, people)
    monkeypatch.chdir(tmp_path)
    calls = [
        ["protect", "in.parquet", *ROLES, "-o", f"fixed/{name}"]
        for name in ("out.parquet", "a.duckdb::t")
    ]
    for option, name in (("--manifest", "fixed/m.json"), ("--report", "fixed/r.html")):
        calls.append([*calls[0][:-1], "out.parquet", option, name])
    if os.geteuid():
        folder.chmod(0o555)
    else:
        command = ["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", str(folder)]
        if subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("no file system can be mounted here")
    try:
        for call in calls:
            dry_run, real = microagg(*call, "--dry-run"), microagg(*call)
            assert dry_run.code == real.code == 5, (dry_run.err, real.err)
            assert "Nothing was published" in dry_run.err
    finally:
        if not os.geteuid():
            subprocess.run(["umount", str(folder)], check=True)


def test_a_trial_takes_as_many_rows_as_its_groups_need(people, tmp_path, microagg, monkeypatch):
    """A group of 600 is larger than the first trial, and a pattern of 6 is rare in it."""
    monkeypatch.chdir(tmp_path)
    many = pl.concat([people] * 50)
    many.write_parquet("in.parquet")
    call = ["protect", "in.parquet", "-o", "o.parquet", *MASK, "--method", "fixed_size"]
    with monkeypatch.context() as slow:  # the first trial is long enough
        slow.setattr(preview.time, "process_time", map(float, itertools.count()).__next__)
        done = microagg(*call, "--k", "600", "--dry-run", "--json")
    assert json.loads(done.out)["estimate"]["trial_rows"] >= 1200
    many.with_columns(
        income=pl.when(pl.int_range(pl.len()) < 12).then(None).otherwise("income")
    ).write_parquet("in.parquet")
    assert microagg(*call, "--k", "6", "--nulls", "pattern", "--dry-run").code == 0
    assert microagg(*call, "--k", "6", "--nulls", "pattern").code == 0


def test_all_problems_are_told_and_not_only_the_first(people, tmp_path, microagg, monkeypatch):
    table(age=NAN, income=HOLES, region=RARE)(tmp_path, people)
    (tmp_path / "out.parquet").touch()
    monkeypatch.chdir(tmp_path)
    done = microagg("protect", "in.parquet", "-o", "out.parquet", *ROLES, "--dry-run")
    assert done.code == 2
    said = [line for line in done.err.splitlines() if not line.startswith("Warning")]
    assert [line.split(" ")[0] for line in said] == ["'out.parquet'", "Column", "Column"]
