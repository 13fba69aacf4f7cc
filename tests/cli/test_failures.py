"""What goes wrong: one exit code, one sentence, the old file or none, and no trace or value."""

import os
import subprocess
import sys

import polars as pl
import pytest

from polars_microagg.publishing.formats.files import write

from .conftest import PROGRAM, ROLES, SECRET, sound, state

OLD = b"what was there before"


def frame(path, table):
    table.write_parquet(path)


def ragged(path, table):
    path.write_text("age,income,region,name\n31,5,N,x\n47,6\n")


def longer(path, table):
    path.write_text("age,income,region,name\n31,5,N,x\n47,6,N,y,z\n")


def with_nan(path, table):
    frame(
        path,
        table.with_columns(
            pl.when(pl.col("age") > 80).then(float("nan")).otherwise("income").alias("income")
        ),
    )


def with_null(path, table):
    frame(
        path,
        table.with_columns(
            pl.when(pl.col("age") > 80).then(None).otherwise("income").alias("income")
        ),
    )


def rare(path, table):
    rows = pl.int_range(pl.len())
    frame(path, table.with_columns(region=pl.when(rows < 3).then(pl.lit("E")).otherwise("region")))


CASES = {
    "corrupt parquet": ("in.parquet", lambda p, t: p.write_bytes(b"PAR1" + bytes(100) + b"PAR1"), 3, "not a whole Parquet"),
    "cut parquet": ("in.parquet", lambda p, t: (frame(p, t), p.write_bytes(p.read_bytes()[:-20])), 3, "not a whole Parquet"),
    "short csv line": ("in.csv", ragged, 3, "line 3 has 2 cell.s. and not the 4 of the header"),
    "long csv line": ("in.csv", longer, 3, "line 3 has 5 cell.s. and not the 4 of the header"),
    "csv not utf-8": ("in.csv", lambda p, t: p.write_bytes(b"age,income\n\xff\xfe,2\n"), 3, "cannot be read"),
    "csv names twice": ("in.csv", lambda p, t: p.write_text("age,age\n1,2\n"), 3, "names a column twice"),
    "broken ndjson": ("in.ndjson", lambda p, t: p.write_text('{"age":\n'), 3, "not a whole NDJSON"),
    "broken arrow": ("in.arrow", lambda p, t: p.write_bytes(b"ARROW1" + bytes(50)), 3, "not a whole Arrow IPC"),
    "broken duckdb": ("in.duckdb::t", lambda p, t: (p.parent / "in.duckdb").write_bytes(b"x" * 5000), 3, "no DuckDB file"),
    "no duckdb file": ("in.duckdb::t", lambda p, t: None, 3, "no such file"),
    "empty file": ("in.parquet", lambda p, t: p.write_bytes(b""), 3, "it is empty"),
    "empty csv": ("in.csv", lambda p, t: p.write_bytes(b""), 3, "it is empty"),
    "folder": ("in.parquet", lambda p, t: p.mkdir(), 3, "no file of a known format is there"),
    "no such file": ("in.parquet", lambda p, t: None, 3, "there is no such file"),
    "missing column": ("in.parquet", lambda p, t: frame(p, t.rename({"age": "agee"})), 3, "Did you mean 'agee'"),
    "bytes": ("in.parquet", lambda p, t: frame(p, t.with_columns(age=pl.lit(b"x"))), 3, "'age' is of type Binary"),
    "names of persons": ("in.parquet", lambda p, t: frame(p, t.with_columns(age=pl.int_range(pl.len()).cast(pl.String) + "x")), 3, "60 of 60 values in categories that fewer than"),
    "nan": ("in.parquet", with_nan, 3, "NaN or infinite value"),
    "null": ("in.parquet", with_null, 3, "Use --nulls impute"),
    "small stratum": ("in.parquet", rare, 4, r"1 of 3 strata have fewer than k=5 records \(the smallest has 3\)"),
    "too few rows": ("in.parquet", lambda p, t: frame(p, t.head(2)), 4, "fewer than k=5"),
    "no rows": ("in.parquet", lambda p, t: frame(p, t.clear()), 4, "needs at least 5 records"),
}  # fmt: skip


@pytest.mark.parametrize("form", ["parquet", "csv", "arrow"])
def test_files_that_do_not_fit_together_publish_nothing(form, people, tmp_path, microagg):
    for name, table in (("a", people), ("b", people.drop("income"))):
        with (tmp_path / f"{name}.{form}").open("wb") as file:
            write(table, file, form, name)
    before = state(tmp_path)
    out = tmp_path / "out.parquet"
    for how in ([], ["--dry-run"], ["--memory", "250MB"]):
        done = microagg("protect", tmp_path / f"*.{form}", "-o", out, *ROLES, *how)
        sound(done, 3, f"b.{form}' cannot be read: it has other columns", tmp_path, before)


@pytest.mark.parametrize("there", [False, True], ids=["new", "overwrite"])
@pytest.mark.parametrize("case", CASES)
def test_a_wrong_input_publishes_nothing(case, there, people, tmp_path, microagg):
    name, prepare, code, text = CASES[case]
    prepare(tmp_path / name, people)
    if there:
        (tmp_path / "out.parquet").write_bytes(OLD)
        (tmp_path / "out.parquet.manifest.json").write_bytes(OLD)
    before = state(tmp_path)
    done = microagg(
        "protect", tmp_path / name, "-o", tmp_path / "out.parquet", *ROLES, "--overwrite"
    )
    sound(done, code, text, tmp_path, before)


def test_a_requirement_that_is_not_met_publishes_nothing(source, tmp_path, microagg):
    before = state(tmp_path)
    arguments = ["protect", source, "-o", tmp_path / "out.parquet", *ROLES]
    done = microagg(*arguments, "--require", "dld<=100", "--require", "loss<=0.5")
    sound(done, 4, r"does not meet loss<=0.5 \(what was found is not published", tmp_path, before)
    assert microagg(*arguments, "--require", "dld<=100").code == 0


def test_what_is_there_is_replaced_only_when_allowed(source, tmp_path, microagg):
    target = tmp_path / "out.parquet"
    target.write_bytes(OLD)
    before = state(tmp_path)
    arguments = ["protect", source, "-o", target, *ROLES]
    sound(microagg(*arguments), 2, "there already. Allow it with --overwrite", tmp_path, before)
    assert microagg(*arguments, "--overwrite").code == 0
    assert pl.read_parquet(target).columns == ["region", "age", "income"]


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ("folder.parquet", "it is a folder"),
        ("absent/out.parquet", "its folder does not exist"),
        ("pipe.parquet", "it is a device or a pipe"),
        ("n" * 300 + ".parquet", "cannot be written: File name too long"),
        ("zero\0byte.parquet", "not a valid path"),
    ],
)
def test_a_target_that_cannot_be(target, text, source, tmp_path, microagg):
    (tmp_path / "folder.parquet").mkdir()
    os.mkfifo(tmp_path / "pipe.parquet")
    before = state(tmp_path)
    done = microagg("protect", source, "-o", tmp_path / target, *ROLES, "--overwrite")
    sound(done, 5, text, tmp_path, before)


@pytest.mark.deep
def test_a_broken_file_leaves_one_line_even_of_native_code(tmp_path, people):
    """Rust would write a trace of its own to standard error."""
    path = tmp_path / "in.arrow"
    people.write_ipc(path)
    raw = bytearray(path.read_bytes())
    codes = set()
    for at in range(60, len(raw) - 60, len(raw) // 6):
        path.write_bytes(raw[:at] + bytes([255 - raw[at]] * 8) + raw[at + 8 :])
        command = [
            *PROGRAM,
            "protect",
            path,
            "-o",
            tmp_path / "o.parquet",
            *ROLES,
            "--overwrite",
        ]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
        codes.add(done.returncode)
        assert "panicked" not in done.stderr
        assert "backtrace" not in done.stderr
        assert len(done.stderr.splitlines()) <= 3
    assert codes <= {0, 3}


def test_a_bug_shows_its_line_and_no_data(source, tmp_path, microagg, monkeypatch):
    def broken(*_, **__):
        raise KeyError(SECRET)

    monkeypatch.setattr(sys.modules["polars_microagg.publishing.release"], "taken", broken)
    before = state(tmp_path)
    done = microagg("protect", source, "-o", tmp_path / "out.parquet", *ROLES)
    sound(done, 1, r"KeyError at line \d+ of test_failures.py", tmp_path, before)


def test_an_interrupt_leaves_nothing(source, tmp_path, microagg, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules["polars_microagg.publishing.release"], "taken", interrupted)
    before = state(tmp_path)
    done = microagg("protect", source, "-o", tmp_path / "out.parquet", *ROLES)
    sound(done, 130, "Interrupted. Nothing was published", tmp_path, before)


def test_numbers_that_overflow_say_nothing_of_numpy(people, tmp_path):
    """Its warnings show a line of the source, on the standard error of a job."""
    people.write_parquet(tmp_path / "in.parquet")
    huge = pl.when(pl.col("age") > 50).then(1e308).otherwise(-1e308)
    people.with_columns(income=huge).write_parquet(tmp_path / "out.parquet")
    arguments = ["risk", "out.parquet", "--original", "in.parquet", "--columns", "age,income"]
    code = "import sys; from polars_microagg.cli.main import run; run()"
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0
    assert "the loss is above 100 %" in done.stderr
    assert done.stderr.count("\n") == 1
