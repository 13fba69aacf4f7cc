"""Kill processes that share work, and the one that started them, and look at what is left.

Usage: python benchmarks/worker_kills.py [--kills 20] [--seed 0]

Each kill starts a script that masks by two processes on one of the parallel paths, out of core and
published ones among them, and sends a signal at an instant while they work: SIGKILL to one of them, or
SIGKILL or SIGINT to the script. Then nothing may hang, nothing may run on, and there is the whole new
file or none. The script says in one sentence what happened where it is not killed itself. Linux only:
the table of processes is read from /proc.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import polars as pl

MARK = "MICROAGG_KILLED"
"""Variable of the environment by which the processes of one kill are found."""

TABLE = """
import sys
import numpy as np, polars as pl, polars_microagg as mg
from polars_microagg.processes import crew
rng = np.random.default_rng(0)
n = 40_000
frame = pl.DataFrame(rng.normal(size=(n, 3)), schema=list("abc"))
frame = frame.with_columns(s=pl.Series(rng.integers(0, 20, n)), id=pl.int_range(n))
"""

# No guard of __name__: the script must not be run again by those that it starts.
PATHS = {
    "strata": "made = mg.lowloss(frame, ['a', 'b', 'c'], 5, strata='s', workers=2)",
    "patches": "made = mg.lowloss(frame, ['a', 'b', 'c'], 5, workers=2)",
    "compare": "made = mg.compare(frame[:6000], ['a', 'b'], methods=['lowloss', 'k_ward'], workers=2)",
    "out of core": """
frame.write_parquet("in.parquet")
call = {"memory": "700MB", "method": "lowloss", "workers": 2, "size": 500, "cut": "median"}
from polars_microagg.leaves.memory_budget import MemoryBudget
MemoryBudget.of = classmethod(lambda cls, *_: MemoryBudget(10**9, 2, 4000, 4000, 1 << 12))
mg.protect_parquet("in.parquet", "out.parquet", ["a", "b", "c"], 5, **call)
""",
    "publish": """
call = {"strata": "s", "method": "lowloss", "workers": 2}
mg.publish(frame.drop("id"), "out.parquet", ["a", "b", "c"], 5, **call)
""",
}
TARGETS = ("worker", "parent", "interrupted parent")


def of_kill(mark: str) -> list[int]:
    """Return the processes that carry the mark of a kill, those that have ended left out."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
            marked = f"{MARK}={mark}".encode() in (folder / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if marked and state not in "ZX":
            found.append(int(folder.name))
    return found


def soon(condition: Callable[[], bool], seconds: float) -> bool:
    """Return whether a condition holds within some seconds."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def killed(path: str, target: str, wait: float) -> list[str]:
    """Kill once, so many seconds after there are processes, and return all that is wrong."""
    mark = f"{os.getpid()}-{time.monotonic_ns()}"
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "script.py"
        script.write_text(TABLE + PATHS[path])
        parent = subprocess.Popen(
            [sys.executable, script],
            cwd=folder,
            env=os.environ | {MARK: mark},
            stderr=subprocess.PIPE,
            text=True,
        )
        if not soon(lambda: len(of_kill(mark)) >= 3 or parent.poll() is not None, 120):
            wrong.append("no processes")
        time.sleep(wait)
        workers = [pid for pid in of_kill(mark) if pid != parent.pid]
        landed = bool(workers) and parent.poll() is None
        if landed:
            chosen = workers[0] if target == "worker" else parent.pid
            interrupted = target == "interrupted parent"
            os.kill(chosen, signal.SIGINT if interrupted else signal.SIGKILL)
        try:
            errors = parent.communicate(timeout=180)[1]
        except subprocess.TimeoutExpired:
            wrong.append("hangs")
            parent.kill()
            errors = parent.communicate()[1]
        if not landed:
            return [*wrong, "missed"]
        if not soon(lambda: not of_kill(mark), 20):
            wrong.append("left running")
            for pid in of_kill(mark):
                os.kill(pid, signal.SIGKILL)
        last = errors.strip().rpartition("\n")[2]
        expected = {
            "worker": "polars_microagg.errors.WorkerError: A process that did part of the work was ended",
            "interrupted parent": "KeyboardInterrupt",
            "parent": "",
        }[target]
        if not last.startswith(expected) or errors.count("Traceback") > (target != "parent"):
            wrong.append(f"said {last!r}")
        file, record = Path(folder) / "out.parquet", Path(folder) / "out.parquet.manifest.json"
        if file.exists() or record.exists():
            wrong.append("a file is there")
        hidden = [p.name for p in Path(folder).iterdir() if p.name.startswith(".")]
        if hidden and target != "parent":
            wrong.append(f"left {hidden}")
        if hidden and path == "out of core":
            wrong += cleaned(folder)
    return wrong


def cleaned(folder: str) -> list[str]:
    """Return what the next run in a folder leaves there, and whether its file is whole."""
    script = Path(folder) / "again.py"
    script.write_text(TABLE + "mg.protect_parquet('in.parquet', 'out.parquet', ['a', 'b'], 5)")
    subprocess.run([sys.executable, script], cwd=folder, check=True)
    hidden = [p.name for p in Path(folder).iterdir() if p.name.startswith(".")]
    whole = pl.read_parquet(Path(folder) / "out.parquet").height == 40_000
    return [f"left for good {hidden}"] * bool(hidden) + ["half"] * (not whole)


def run(kills: int, seed: int) -> Counter[str]:
    """Kill so often, on each path and each target in turn; count what is wrong."""
    chance = random.Random(seed)
    found: Counter[str] = Counter()
    for turn in range(kills):
        path = [*PATHS][turn % len(PATHS)]
        target = TARGETS[turn // len(PATHS) % len(TARGETS)]
        wrong = killed(path, target, chance.uniform(0.0, 2.0))
        found.update(wrong or ["as it should be"])
        if wrong:
            print(f"{path}, {target}: {wrong}", flush=True)
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    print(
        *(f"{what}: {count}" for what, count in sorted(run(given.kills, given.seed).items())),
        sep="\n",
    )
