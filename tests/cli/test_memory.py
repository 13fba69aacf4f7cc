"""Too little memory, in any phase: one sentence, exit code 1, nothing published and no half file."""

import json
import os
import signal
import subprocess
import sys

import polars as pl
import pytest

from polars_microagg.publishing import staging as stages

from .conftest import ROLES, SECRET
from .test_failures import state

RELEASE = sys.modules["polars_microagg.publishing.release"]
PROTECT = sys.modules["polars_microagg.cli.protect"]
FILES = sys.modules["polars_microagg.publishing.formats.files"]


def lacking(*_, **__):
    raise MemoryError(SECRET)


PHASES = {
    "reading": (PROTECT, "raw"),
    "typing": (PROTECT, "typed_columns"),
    "masking": (RELEASE, "mask_table"),
    "writing": (stages, "write"),
    "rebuilding": (FILES, "visible"),
    "reading again": (stages, "parsed"),
    "counting": (RELEASE, "verify"),
    "measuring": (RELEASE, "taken"),
    "warning": (RELEASE, "advice"),
    "sealing": (RELEASE, "dumped"),
    "hashing": (stages, "sha256_of"),
    "drawing": (sys.modules["polars_microagg.report.release_page"], "page"),
    "saying": (PROTECT, "last_line"),
}


@pytest.mark.parametrize("target", ["out.parquet", "out.csv", "out.duckdb::t"])
@pytest.mark.parametrize("phase", PHASES)
def test_memory_that_is_lacking_publishes_nothing(
    phase, target, source, tmp_path, microagg, monkeypatch
):
    ways = {"t": ("writing", "rebuilding", "reading again", "hashing"), "csv": ("rebuilding",)}
    if phase in ways.get(target.rpartition(".")[2].rpartition("::")[2], ()):
        pytest.skip("this format goes another way")
    monkeypatch.setattr(*PHASES[phase], lacking)
    before = state(tmp_path)
    report = ["--report", tmp_path / "page.html"]
    done = microagg("protect", source, "-o", tmp_path / target, *ROLES, *report)
    assert done.code == 1
    assert done.err.count("\n") == 1
    assert SECRET not in done.err
    if phase == "saying":
        assert done.err == f"There is not enough memory. {tmp_path / target} is published.\n"
        return
    assert done.err == "There is not enough memory. Nothing was published.\n"
    assert state(tmp_path) == before


ABORTED = """
import os, sys
import polars_microagg.cli.main as program
from polars_microagg.publishing import staging as stage
release = sys.modules["polars_microagg.publishing.release"]
place, name, *rest = sys.argv[1:]
inner = getattr({"release": release, "stage": stage}[place], name)
def fail(*args, **options):
    inner(*args, **options)
    os.abort()
setattr({"release": release, "stage": stage}[place], name, fail)
program.main(rest)
"""
"""A step that ends as native code does when it gets no memory: the process is gone at once."""


@pytest.mark.parametrize(
    "target", ["out.parquet", pytest.param("out.duckdb::t", marks=pytest.mark.deep)]
)
@pytest.mark.parametrize(
    "step",
    [
        *(
            pytest.param(f"release {s}", marks=pytest.mark.deep)
            for s in ("mask_table", "dumped", "verify")
        ),
        "release taken",
    ],
)
def test_an_abort_of_native_code_leaves_the_old_release(step, target, source, tmp_path, microagg):
    release = ["protect", source, "-o", tmp_path / target, *ROLES, "--overwrite"]
    assert microagg(*release).code == 0
    before = state(tmp_path)
    command = [sys.executable, "-c", ABORTED, *step.split(), *release, "--method", "fixed_size"]
    done = subprocess.run(list(map(str, command)), capture_output=True, check=False)
    assert done.returncode == -signal.SIGABRT
    after = state(tmp_path)
    left = {name for name in set(after) - set(before) if not name.endswith((".part", ".wal"))}
    assert not left
    if not target.endswith("::t"):
        assert {name: after[name] for name in before} == before
    assert microagg("verify", tmp_path / target).code == 0
    assert microagg(*release).code == 0
    assert set(state(tmp_path)) == set(before)


LIMITED = """
import resource, sys
limit = int(sys.argv[1]) << 20
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
from polars_microagg.cli.main import main
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.deep
@pytest.mark.skipif(sys.platform != "linux", reason="the limit is one of Linux")
def test_a_process_without_memory_publishes_all_or_nothing(tmp_path, microagg):
    """Wherever it ends; how much it needs is not the same on any two machines."""
    n = 100_000
    table = pl.DataFrame(
        {"age": pl.int_range(n, eager=True), "t": [f"{SECRET}-{i}" for i in range(n)]}
    )
    table.write_parquet(tmp_path / "in.parquet")
    release = ["protect", tmp_path / "in.parquet", "-o", tmp_path / "out.csv", "--columns=age"]
    release += ["--keep", "t", "--k", "5", "--method", "fixed_size", "--overwrite"]
    threads = {**os.environ, "POLARS_MAX_THREADS": "2", "OPENBLAS_NUM_THREADS": "1"}
    codes = []
    for limit in (900, 1200, 1500):
        command = [sys.executable, "-c", LIMITED, str(limit), *map(str, release)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=threads)
        codes.append(done.returncode)
        assert done.returncode in (0, 1, -signal.SIGABRT), done.stderr
        assert SECRET not in done.stderr
        names = {name for name in state(tmp_path) if not name.endswith(".part")}
        whole = {"out.csv", "out.csv.manifest.json"} if 0 in codes else set()
        assert names == {"in.parquet"} | whole
    assert microagg(*release).code == 0
    assert json.loads((tmp_path / "out.csv.manifest.json").read_text())["rows"]["out"] == n
    assert set(state(tmp_path)) == {"in.parquet", "out.csv", "out.csv.manifest.json"}


def test_a_library_that_does_not_fit_into_memory_is_no_bug(source, microagg, monkeypatch):
    def unmapped(*_, **__):
        raise ImportError("libarrow.so: failed to map segment from shared object")

    monkeypatch.setattr(PROTECT, "raw", unmapped)
    done = microagg("protect", source, "-o", "out.csv", *ROLES)
    assert (done.code, done.err) == (1, "There is not enough memory. Nothing was published.\n")
