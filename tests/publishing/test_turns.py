"""Two releases to one DuckDB file at once: the second waits for the first, and not for ever."""

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import duckdb
import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.publishing.formats import duckdb_read
from polars_microagg.publishing.formats.files import Location
from polars_microagg.publishing.manifest.check import check
from polars_microagg.publishing.staging import foresee

PEOPLE = pl.DataFrame({"age": range(40), "income": [3.0 * i for i in range(40)]})
MASKED = ["age", "income"]
HOLD = """
import sys, time, duckdb
con = duckdb.connect(sys.argv[1])
print("open", flush=True)
time.sleep(float(sys.argv[2]))
"""


@pytest.fixture
def held(tmp_path):
    """Open a file in another process for some seconds."""
    jobs = []

    def hold(seconds):
        command = [sys.executable, "-c", HOLD, str(tmp_path / "a.duckdb"), str(seconds)]
        jobs.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        assert jobs[-1].stdout.readline() == "open\n"

    yield hold
    for job in jobs:
        job.kill()
        job.communicate()


def publish(folder, name, frame=PEOPLE, **options):
    return mg.publish(frame, f"{folder}/a.duckdb::{name}", MASKED, 5, **options)


def sound(folder, names):
    for name in names:
        assert all(finding.holds for finding in check(f"{folder}/a.duckdb::{name}"))
    found = {path.name for path in folder.iterdir()}
    assert found == {"a.duckdb", *(f"a.duckdb.{name}.manifest.json" for name in names)}


@pytest.mark.deep
def test_processes_take_turns(tmp_path):
    names = [f"t{number}" for number in range(4)]
    PEOPLE.write_parquet(tmp_path / "in.parquet")
    program = [sys.executable, "-m", "polars_microagg.cli.main", "protect"]
    options = ["--columns", "age,income", "--k", "5"]
    jobs = [
        subprocess.Popen(
            [*program, "in.parquet", "-o", f"a.duckdb::{name}", *options],
            cwd=tmp_path,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in names
    ]
    for job in jobs:
        said = job.communicate(timeout=100)[1]
        assert job.returncode == 0, said
    (tmp_path / "in.parquet").unlink()
    sound(tmp_path, names)


@pytest.mark.deep
def test_threads_take_turns(tmp_path):
    names = [f"t{number}" for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: publish(tmp_path, name), names))
        frames = pool.map(lambda name: Location.of(f"{tmp_path}/a.duckdb::{name}").read(), names)
        again = pool.map(lambda name: publish(tmp_path, name, PEOPLE.head(20)), names)
        assert all(frame.height in (20, 40) for frame in frames)
        assert all(told["rows"]["out"] == 20 for told in again)
    sound(tmp_path, names)


@pytest.mark.deep
def test_a_release_that_fails_takes_no_other_with_the_file_it_had_made(tmp_path):
    """Its file is there for an instant, and the others must not write to what is removed."""

    def release(number):
        if number % 2:
            return publish(tmp_path, f"t{number}")
        with pytest.raises(mg.RequirementError):
            publish(tmp_path, f"t{number}", require="rows=100")
        return None

    for _ in range(5):
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(release, range(4)))
        sound(tmp_path, ["t1", "t3"])
        for path in tmp_path.iterdir():
            path.unlink()


@pytest.mark.deep
def test_reading_and_the_dry_run_wait_as_well(tmp_path, held):
    publish(tmp_path, "t")
    place = Location.of(f"{tmp_path}/a.duckdb::t")
    for step in (
        lambda: place.read(),
        lambda: foresee(place, None, True, PEOPLE.head(1)),
        lambda: publish(tmp_path, "t"),
    ):
        held(1)
        step()


def test_the_wait_ends_with_a_sentence(tmp_path, held, monkeypatch):
    publish(tmp_path, "t")
    rows = Location.of(f"{tmp_path}/a.duckdb::t").read()
    monkeypatch.setattr(duckdb_read, "WAIT", 0.3)
    held(60)
    why = "another process has the file open. Close it there, or try again later."
    with pytest.raises(mg.OutputError, match=why):
        publish(tmp_path, "t", PEOPLE.head(20))
    with pytest.raises(mg.NotPublishedError, match=why):
        Location.of(f"{tmp_path}/a.duckdb::t").read()
    assert rows.height == 40


def test_a_connection_of_this_process_is_not_waited_for(tmp_path):
    """Nobody but the caller could close it."""
    publish(tmp_path, "t")
    with duckdb.connect(str(tmp_path / "a.duckdb")):
        begun = time.monotonic()
        with pytest.raises(mg.OutputError, match="this process has the file open"):
            publish(tmp_path, "t")
        with pytest.raises(mg.NotPublishedError, match="this process has the file open"):
            Location.of(f"{tmp_path}/a.duckdb::t").read()
        assert time.monotonic() - begun < 5
    publish(tmp_path, "t")
    sound(tmp_path, ["t"])
