"""Interrupts, and two processes at once: the old pair or the new one, and nothing beside it."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.publishing.formats.files import Location
from tests.publishing.register import holds

HERE = Path(__file__).parent
JOB = """
import sys
import polars as pl, polars_microagg as mg
mg.publish(pl.scan_parquet("in.parquet"), sys.argv[1], ["a", "b"], 5, keep="c")
"""
posix = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")


@pytest.mark.deep
@pytest.mark.parametrize(
    ("name", "step", "modules"),
    [
        ("o.parquet", 3, ["atomic"]),
        ("o.parquet", 12, ["release", "staging"]),
        ("o.duckdb::t", 4, ["duckdb_write", "atomic"]),
    ],
)
@posix
def test_an_interrupt_at_any_line_leaves_a_pair_and_holds_no_lock(name, step, modules, tmp_path):
    """A process that goes on afterwards can publish again, and clears away what was left."""
    command = [sys.executable, HERE / "interrupted.py", f"{tmp_path}/{name}", str(step), *modules]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    assert not done.returncode, done.stderr
    counts = json.loads(done.stdout)
    # Python drops an interrupt that falls into the end of an object; then the work goes on.
    assert set(counts) <= {"interrupted: old", "interrupted: new", "done: new"}
    assert counts["interrupted: old"] >= 10
    assert counts.get("done: new", 0) <= 2


@pytest.fixture
def busy(tmp_path):
    """A good release, and a job that takes some seconds to replace it."""
    rng = np.random.default_rng(3)
    small = pl.DataFrame({"a": rng.normal(size=40), "b": rng.normal(size=40), "c": range(40)})
    mg.publish(small, tmp_path / "out.parquet", ["a", "b"], 5, keep="c")
    n = 60_000
    large = pl.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n), "c": range(n)})
    large.write_parquet(tmp_path / "in.parquet")
    return tmp_path


def bytes_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def waiting_for(folder, job, least):
    """Wait until the job has written as many bytes to its temporary file."""
    until = time.monotonic() + 60
    while time.monotonic() < until and job.poll() is None:
        for part in folder.glob(".microagg-*.part"):
            if part.stat().st_size >= least:
                return
        time.sleep(0.002)
    pytest.fail("the job was never there")


@pytest.mark.deep
@pytest.mark.parametrize("least", [0, 1], ids=["masking", "written"])
@pytest.mark.parametrize("sent", ["SIGINT", "SIGTERM", "SIGKILL"])
@posix
def test_a_job_that_is_stopped_leaves_what_was_there(sent, least, busy):
    before = bytes_of(busy)
    job = subprocess.Popen(
        [sys.executable, "-c", JOB, "out.parquet"], cwd=busy, stderr=subprocess.PIPE
    )
    waiting_for(busy, job, least)
    job.send_signal(getattr(signal, sent))
    said = job.communicate(timeout=60)[1].decode()
    # An interrupt that falls into a call from native code may come out as an error of that code.
    ends = {-getattr(signal, sent), 1} if sent == "SIGINT" else {-getattr(signal, sent)}
    assert job.returncode in ends, said
    found = bytes_of(busy)
    assert {name: found[name] for name in before} == before
    if sent == "SIGINT":
        assert job.returncode == 1 or said.rstrip().endswith("KeyboardInterrupt")
        assert set(found) == set(before)
    told = mg.publish(
        pl.read_parquet(busy / "in.parquet").head(50), busy / "out.parquet", "a", 5, drop=["b", "c"]
    )
    assert told["rows"]["out"] == 50
    assert set(bytes_of(busy)) == set(before)


ROUNDS = 20


def writer(rows, path, barrier, failed):
    try:
        for _ in range(ROUNDS):
            barrier.wait(60)
            mg.publish(pl.DataFrame({"a": range(rows)}), path, "a", 5)
            barrier.wait(60)
            barrier.wait(60)
    except BaseException as error:
        failed.put(repr(error))
        barrier.abort()


@pytest.mark.deep
def test_of_two_processes_one_wins_with_its_own_manifest(tmp_path):
    path, context = tmp_path / "out.parquet", multiprocessing.get_context("spawn")
    barrier, failed = context.Barrier(3), context.Queue()
    writers = [context.Process(target=writer, args=(n, path, barrier, failed)) for n in (20, 40)]
    for process in writers:
        process.start()
    won = []
    try:
        for _ in range(ROUNDS):
            barrier.wait(60)  # both begin
            barrier.wait(60)  # both are done
            won.append(pl.read_parquet(path).height)
            assert all(holds(Location.of(path)).values())
            assert {p.name for p in tmp_path.iterdir()} == {path.name, f"{path.name}.manifest.json"}
            barrier.wait(60)
    except BaseException:
        barrier.abort()
        raise
    finally:
        for process in writers:
            process.join(60)
    assert failed.empty()
    assert len(won) == ROUNDS
    assert set(won) <= {20, 40}


LARGE = """
import sys
import polars_microagg as mg
mg.publish("in.csv", sys.argv[1], ["a", "b"], 5, keep="c", memory="250MB", workers=1)
"""


def left_by_a_kill(folder, target):
    """Kill a release out of core while its hidden folder holds rows of the original; return the folder."""
    job = subprocess.Popen([sys.executable, "-c", LARGE, target], cwd=folder)
    until, held = time.monotonic() + 100, []
    while time.monotonic() < until and job.poll() is None and not held:
        held = [
            p for p in folder.glob(f".{target}.*.microagg/*.parquet") if p.stat().st_size > 1000
        ]
        time.sleep(0.001)
    job.kill()
    assert job.wait() == -signal.SIGKILL
    return held[0].parent


@pytest.mark.deep
@pytest.mark.parametrize("later", ["in memory", "out of core", "masked elsewhere", "refused"])
@posix
def test_the_next_run_in_a_folder_removes_the_originals_that_a_kill_left(later, tmp_path):
    rng, n = np.random.default_rng(3), 200_000
    large = pl.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n), "c": range(n)})
    large.write_csv(tmp_path / "in.csv")
    left = left_by_a_kill(tmp_path, "o.parquet")
    assert left.stat().st_mode & 0o077 == 0
    assert sum(path.stat().st_size for path in left.rglob("*") if path.is_file()) > 1000
    assert not (tmp_path / "o.parquet").exists()
    # Another target, and another way to work: only the folder is the same.
    small, target = large.head(50), tmp_path / "other.parquet"
    if later == "in memory":
        mg.publish(small, target, ["a", "b"], 5, keep="c")
    elif later == "out of core":
        mg.publish(small, target, ["a", "b"], 5, keep="c", memory="250MB")
    elif later == "masked elsewhere":
        mg.publish(mg.mdav(small, ["a", "b"], 5), target, ["a", "b"], 5, keep="c", method=None)
    else:
        with pytest.raises(mg.MicroaggError):
            mg.publish(small.head(3), target, ["a", "b"], 5, keep="c")
    assert not left.exists()
