"""A program that is killed, and disks that are full: the old release or the new one, each whole."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from polars_microagg.publishing.formats.files import Location
from tests.cli.test_full_disk import mounted
from tests.publishing.interrupted import left, others

ROOT = Path(__file__).parents[2]
PROGRAM = [sys.executable, "-c", "from polars_microagg.cli.main import run; run()"]
ROLES = ["--columns=a,b", "--k=5", "--method=fixed_size", "--keep=c", "--overwrite"]
TARGETS = ["out.parquet", "out.duckdb::t"]
ROWS = 20_000


def start(source: Path, target: Path | str) -> subprocess.Popen[bytes]:
    command = [*PROGRAM, "protect", str(source), "-o", str(target), *ROLES]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(command, env=os.environ | {"PYTHONPATH": str(ROOT)}, **quiet)


@cache
def prepared(folder: Path, name: str) -> tuple[dict[tuple[str, str | None], str], float]:
    """Make the old release and the new one; return what tells them, and the seconds that one takes."""
    rng = np.random.default_rng(1)
    good = folder / f"good {name.partition('.')[2]}"
    good.mkdir()
    pairs = {}
    for what in ("new", "old"):
        source = folder / f"{what}.parquet"
        if not source.exists():
            numbers = {column: rng.lognormal(size=ROWS) for column in "abc"}
            pl.DataFrame(numbers).write_parquet(source)
        began = time.monotonic()
        assert start(source, good / name).wait() == 0
        seconds = time.monotonic() - began
        pairs[left(Location.of(good / name))] = what
    return pairs, seconds


def judged(place: Location, pairs: dict[tuple[str, str | None], str]) -> str:
    """The release that is there, or what is wrong."""
    if not place.path.exists():
        return "lost"
    found, told = left(place)
    if told is None:
        # The manifest is gone before the table is replaced, and there again after it.
        return next((what for pair, what in pairs.items() if pair[0] == found), "half")
    return pairs.get((found, told), "half, or beside the manifest of another")


def kill(seed: int, folder: Path) -> list[str]:
    """Kill one overwriting run at one instant, look, and let another run finish the work."""
    rng = np.random.default_rng(seed)
    name = TARGETS[seed % len(TARGETS)]
    pairs, seconds = prepared(folder, name)
    trial = folder / f"kill {seed}"
    shutil.copytree(folder / f"good {name.partition('.')[2]}", trial)
    place, wrong = Location.of(trial / name), []
    job = start(folder / "new.parquet", trial / name)
    after = float(rng.uniform(0.3, 1.1)) * seconds
    with suppress(subprocess.TimeoutExpired):
        job.wait(after)
    job.kill()
    ended = job.wait()
    if (state := judged(place, pairs)) not in ("old", "new") or (ended == 0 and state != "new"):
        wrong.append(
            f"{name} is {state} after a kill at {after:.3f} of {seconds:.3f} s, exit code {ended}"
        )
    if rng.random() < 0.3:
        ended = start(folder / "new.parquet", trial / name).wait()
        state = judged(place, pairs)
        if ended or state != "new" or others(place):
            wrong.append(
                f"{name} is {state} beside {others(place)} after another run, exit code {ended}"
            )
    shutil.rmtree(trial)
    return wrong


def full_disk(seed: int, folder: Path) -> list[str] | None:
    """Overwrite a release on a disk that may be too small for it; None where none can be mounted."""
    rng = np.random.default_rng(seed)
    name = TARGETS[seed % len(TARGETS)]
    pairs, _ = prepared(folder, name)
    good = folder / f"good {name.partition('.')[2]}"
    used = sum(path.stat().st_size for path in good.iterdir())
    size = used + int(rng.uniform(0, 1.5) * used)
    disk, wrong = folder / f"disk {seed}", []
    try:
        with mounted(disk, f"size={size}"):
            for path in good.iterdir():
                shutil.copy(path, disk)
            ended = start(folder / "new.parquet", disk / name).wait()
            place = Location.of(disk / name)
            logs = [path.name for path in disk.iterdir() if path.name.endswith(".wal")]
            # What is in a log alone is not in the file that is handed on.
            shutil.copytree(disk, folder / f"moved {seed}", ignore=shutil.ignore_patterns("*.wal"))
            moved = Location.of(folder / f"moved {seed}" / name)
            state = judged(moved, pairs)
            if ended not in (0, 5) or state != ("old" if ended else "new") or logs or others(place):
                beside = sorted(others(place))
                wrong.append(
                    f"{name} is {state} beside {beside} on {size} bytes, exit code {ended}"
                )
    except pytest.skip.Exception:
        return None
    finally:
        shutil.rmtree(folder / f"moved {seed}", ignore_errors=True)
    return wrong
