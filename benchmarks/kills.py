"""Kill a `protect` that overwrites a good file, at many points, and look at what is left.

Usage: python benchmarks/kills.py [--points 200] [--rows 40000] [--writer protect|plain|both] [--json]

A third of the points are lines of all the code that publishes, a third lines of that which puts
files in place, spread evenly over those that run; the others are instants, spread evenly over the
time that the work takes, so that some fall into native code. Only kills that landed count. What is
left is a good file if it is, byte for byte, the old one or the new one; a manifest lies if its hash
is not that of the file beside it. `plain` writes the same table with write_parquet and then its
manifest, and must be caught.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from polars_microagg.cli.main import main

# The process that forks never lets polars work, as threads do not survive a fork.
TRACED = (("publish", "manifest"), ("swap",))
ARGUMENTS = ["--columns=a,b,c", "--k=5", "--method=fixed_size", "--keep=d", "--overwrite"]


def table(rows: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    numbers = {name: rng.lognormal(0, 1, rows) for name in "abc"}
    return pl.DataFrame(numbers | {"d": rng.integers(0, 9, rows).astype(str)})


def protect(folder: Path) -> None:
    main(["protect", str(folder / "in.parquet"), "-o", str(folder / "out.parquet"), *ARGUMENTS])


def plain(folder: Path) -> None:
    import polars_microagg as mg

    target = folder / "out.parquet"
    masked = mg.mask(
        pl.read_parquet(folder / "in.parquet"), ["a", "b", "c"], 5, method="fixed_size"
    )
    masked.write_parquet(target)
    told = {"output": {"sha256": digest(target)}}
    (folder / "out.parquet.manifest.json").write_text(json.dumps(told))


WRITERS: dict[str, Callable[[Path], None]] = {"protect": protect, "plain": plain}


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def forked(work: Callable[[], object], kill_after: float | None = None) -> int:
    """Run work in a child, kill it perhaps, and return how it ended: -9 if it was killed."""
    child = os.fork()
    if not child:
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        try:
            work()
            os._exit(0)
        except BaseException:
            os._exit(1)
    if kill_after is not None:
        time.sleep(kill_after)
        os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def tracing(
    work: Callable[[], object], files: tuple[str, ...], stop_at: int, count: Path | None = None
) -> None:
    """Run work, and die at one line of the code that publishes; without a line, count them."""
    seen = 0

    def line(_frame: object, event: str, _argument: object) -> object:
        nonlocal seen
        if event == "line":
            seen += 1
            if seen == stop_at:
                os.kill(os.getpid(), signal.SIGKILL)
        return line

    def call(frame: object, _event: str, _argument: object) -> object:
        name = Path(frame.f_code.co_filename).name  # type: ignore[attr-defined]
        return line if name.startswith(files) else None

    sys.settrace(call)
    work()
    sys.settrace(None)
    if count is not None:
        count.write_text(str(seen))


class Harness:
    def __init__(self, folder: Path, writer: str, rows: int) -> None:
        self.good, self.trial, self.writer = folder / "good", folder / "trial", WRITERS[writer]
        self.good.mkdir()

        def prepare() -> None:
            table(rows, 1).write_parquet(self.good / "in.parquet")
            protect(self.good)
            table(rows, 2).write_parquet(self.good / "in.parquet")

        forked(prepare)
        self.old = digest(self.good / "out.parquet")
        taken = []
        for _ in range(3):
            self.reset()
            began = time.monotonic()
            forked(lambda: self.writer(self.trial))
            taken.append(time.monotonic() - began)
        self.seconds = min(taken)
        self.new = digest(self.trial / "out.parquet")
        self.lines = [self.count(files, folder / "lines") for files in TRACED]

    def count(self, files: tuple[str, ...], counted: Path) -> int:
        self.reset()
        forked(lambda: tracing(lambda: self.writer(self.trial), files, 0, counted))
        return int(counted.read_text())

    def reset(self) -> None:
        shutil.rmtree(self.trial, ignore_errors=True)
        shutil.copytree(self.good, self.trial)

    def left(self) -> tuple[str, str]:
        target = self.trial / "out.parquet"
        record = self.trial / "out.parquet.manifest.json"
        found = digest(target) if target.exists() else "none"
        file = {self.old: "old", self.new: "new", "none": "lost"}.get(found, "half")
        if not record.exists():
            return file, "none"
        try:
            agrees = json.loads(record.read_text())["output"]["sha256"] == found
        except ValueError:
            return file, "half"
        return file, "agrees" if agrees else "disagrees"

    def run(self, points: int) -> dict[str, int]:
        """Kill at so many points, and count what is left."""
        counts: dict[str, int] = {"landed": 0, "missed": 0}
        each = points // 3 if all(self.lines) else 0
        tries: list[tuple[tuple[str, ...], float]] = []
        for files, lines in zip(TRACED, self.lines, strict=True):
            tries += [(files, 1 + i * lines // each) for i in range(each)]
        rest = points - len(tries)
        tries += [((), (i + 0.5) * self.seconds / rest) for i in range(rest)]
        while tries:
            files, point = tries.pop(0)
            self.reset()
            work = lambda: self.writer(self.trial)  # noqa: E731
            dying = lambda: tracing(work, files, int(point))  # noqa: B023, E731
            code = forked(dying) if files else forked(work, point)
            if code != -signal.SIGKILL:
                counts["missed"] += 1
                tries.append((files, point * 0.9))
                continue
            counts["landed"] += 1
            file, record = self.left()
            for what in (f"file {file}", f"manifest {record}"):
                counts[what] = counts.get(what, 0) + 1
        return counts

    def after(self) -> list[str]:
        """Write once more where the last kill was, and list what is in the folder."""
        forked(lambda: protect(self.trial))
        return sorted(path.name for path in self.trial.iterdir())


def measure(writer: str, points: int, rows: int) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        harness = Harness(Path(folder), writer, rows)
        counts = harness.run(points)
        return {
            "writer": writer,
            "lines": harness.lines,
            "seconds": round(harness.seconds, 2),
            **counts,
            "afterwards": harness.after(),
        }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--points", type=int, default=200)
    parser.add_argument("--rows", type=int, default=40_000)
    parser.add_argument("--writer", choices=[*WRITERS, "both"], default="both")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    for name in WRITERS if given.writer == "both" else [given.writer]:
        found = measure(name, given.points, given.rows)
        if given.json:
            print(json.dumps(found))
        else:
            print(*(f"{key}: {value}" for key, value in found.items()), sep="\n", end="\n\n")
