"""What a scheduler's log keeps of a job that failed: a sentence, and no value of a record."""

import json
import logging
import subprocess
import sys
import textwrap

import polars as pl
import pytest

import polars_microagg as mg
from tests.loop import share

SECRET = "Zelda-Secret"
JOB = """
    import sys
    import polars as pl, polars_microagg as mg

    names = pl.DataFrame({{"age": ["23", "25", "{secret}", "51"]}})
    names.write_csv("people.csv")
    plan = {plan}
    mg.publish(plan, "released.parquet", "age", 2)
"""
PLANS = {
    "cast": 'names.lazy().with_columns(pl.col("age").cast(pl.Int64))',
    "csv": 'pl.scan_csv("people.csv", schema={"age": pl.Int64})',
    "function": 'names.lazy().map_batches(lambda f: f.cast(pl.Int64), schema={"age": pl.Int64})',
}


@pytest.mark.parametrize("plan", share(PLANS, 3))
def test_the_log_of_a_job_has_no_value(plan, tmp_path):
    """All that a process of its own writes: the traceback, and what native code says itself."""
    code = textwrap.dedent(JOB).format(plan=PLANS[plan], secret=SECRET)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(
        "polars_microagg.errors.InvalidDataError: 'frame' cannot be read: it failed with"
    )
    assert SECRET not in done.stderr + done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]


def test_a_logger_that_keeps_the_exception_has_no_value(tmp_path, caplog):
    cast = pl.LazyFrame({"age": [SECRET]}).cast(pl.Int64)
    try:
        mg.publish(cast, tmp_path / "released.parquet", "age", 2)
    except mg.InvalidDataError:
        logging.getLogger("job").exception("failed")
    assert "'frame' cannot be read" in caplog.text
    assert SECRET not in caplog.text


def test_a_view_that_fails_on_the_command_line_says_no_value(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(tmp_path / "people.duckdb")) as con:
        con.execute(f"CREATE TABLE names AS SELECT unnest(['23', '25', '{SECRET}', '51']) AS age")
        con.execute("CREATE VIEW people AS SELECT age::INTEGER AS age FROM names")
    command = [sys.executable, "-m", "polars_microagg.cli.main", "protect", "people.duckdb::people"]
    done = subprocess.run(
        [*command, "-o", "out.parquet", "--columns", "age", "--k", "2", "--json"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 3
    assert "'people.duckdb::people' cannot be read" in done.stderr
    assert SECRET not in done.stderr + done.stdout
    assert not (tmp_path / "out.parquet").exists()


def test_what_only_the_original_shows_is_logged_and_not_returned(tmp_path, caplog):
    # The kept column repeats a masked one, which the release alone does not tell.
    people = pl.DataFrame({"age": range(20, 50), "born": range(2000, 1970, -1)})
    told = mg.publish(people, tmp_path / "o.parquet", "age", 3, keep="born")
    assert told == json.loads((tmp_path / "o.parquet.manifest.json").read_text())
    assert not [w for w in told["warnings"] if "'born'" in w and "'age'" in w]
    (logged,) = [
        r for r in caplog.records if "'born'" in r.getMessage() and "'age'" in r.getMessage()
    ]
    assert (logged.name, logged.levelno) == ("polars_microagg", logging.WARNING)
