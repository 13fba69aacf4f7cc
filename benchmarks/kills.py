"""Kill writers of a release at random instants, and look at what is left.

    python -m benchmarks.kills                              # 200 kills, every writer in turn
    python -m benchmarks.kills --kills 20 --writer publish  # this one; --seed draws other instants
    python -m benchmarks.kills --writer plain               # write_parquet, which is to be caught

Each kill replaces a good release by a new one, in one process or with two workers: SIGKILL, SIGTERM or
SIGINT is sent to the process or to a worker at a random instant, or the process dies at a random line of the
code that publishes. Only kills that landed before the end count. Then no process may run on; there is the
old release or the new one, whole, with its manifest; DuckDB counts k again; and the next run in the folder
succeeds and leaves nothing but its files. Between two renames a release has no manifest, and both wait
beside it: the next run must find the one that fits. What is seen of memory is small, so that small tables
go in many parts, except for writers in memory. Some writers only share work and write nothing. The exit
code is 1 if anything is wrong. Linux only: the table of processes is read from /proc.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import duckdb
import numpy as np
import polars as pl
import pyarrow.parquet  # noqa: F401 (or each run would take the time)

import polars_microagg as mg
from polars_microagg.cli import main as command_line
from polars_microagg.leaves import options
from polars_microagg.leaves.memory_budget import MemoryBudget
from polars_microagg.publishing import memory
from polars_microagg.publishing.atomic import sha256_of
from polars_microagg.publishing.formats.files import Location, rows_digest

K, COLUMNS = 5, ["a", "b", "c"]
SEARCH: dict[str, Any] = {"method": "lowloss", "effort": 0.1}
MARK = "MICROAGG_KILLED"
"""Variable of the environment by which the workers of one run are found."""

INTERRUPTED, ENDED = 130, 5
"""Exit codes of an interrupted run, and of one whose worker was ended."""

SOON = 20.0
"""Seconds after which no process of a run may be left."""

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
PUBLISHING = Path(mg.__file__).with_name("publishing")
PLACING = (PUBLISHING / "atomic.py", Path(__file__))
"""Files of code that puts a release in its place: ours, and that of `plain`."""


def command(*more: str) -> Callable[[str, str, int], None]:
    def call(source: str, target: str, workers: int) -> None:
        sys.argv = [
            "microagg", "protect", source, "-o", target, "--k", str(K), "--columns", ",".join(COLUMNS),
            "--strata", "s", "--keep", "d", "--method", "mdav", "--seed", "3", "--memory", "1GB",
            "--workers", str(workers), "--overwrite", *more,
        ]  # fmt: skip
        command_line.run()

    return call


def publish(source: str, target: str, workers: int, **how: Any) -> None:
    call = {"strata": "s", "keep": "d", "memory": "1GB", "method": "mdav", "seed": 3, **how}
    mg.publish(source, target, COLUMNS, K, workers=workers, **call)


def protect_parquet(source: str, target: str, workers: int) -> None:
    call = {"strata": "s", "memory": "1GB", "method": "mdav", "seed": 3, "workers": workers}
    mg.protect_parquet(source, target, COLUMNS, K, **call)


def search(source: str, workers: int, **options: Any) -> None:
    mg.mask(pl.read_parquet(source), COLUMNS, K, workers=workers, **SEARCH, **options)


def compare(source: str, _: str, workers: int) -> None:
    frame = pl.read_parquet(source)
    names = ["lowloss", "k_ward"]
    mg.compare(frame, COLUMNS[:2], methods=names, ks=K, metrics="loss", workers=workers)


def plain(source: str, target: str, _: int) -> None:
    strata = {"strata": "s", "small_strata": "drop"}
    masked = mg.mask(pl.read_parquet(source), COLUMNS, K, method="fixed_size", **strata)
    masked.write_parquet(target)
    told = {"output": {"sha256": sha256_of(Path(target))}}
    Path(f"{target}.manifest.json").write_text(json.dumps(told))


@dataclass(frozen=True)
class Writer:
    """A way to release a table: what it reads and writes, and whether it answers SIGTERM."""

    call: Callable[[str, str, int], object]
    source: str = "in.parquet"
    target: str = "out.parquet"
    answers: bool = False
    manifest: bool = True
    parts: bool = True
    workers: tuple[int, ...] = (1, 2)
    times: float = 1
    """So many times the rows that were asked for; workers start only for work of some seconds."""


IN_MEMORY: Any = {"parts": False, "workers": (1,)}
SHARED: Any = {"parts": False, "workers": (2,), "times": 10}
NOTHING: Any = SHARED | {"target": "", "manifest": False}
WRITERS = {
    "protect to Parquet": Writer(command(), answers=True),
    "protect to CSV": Writer(command("--report", "page.html"), "in.csv", "out.csv", answers=True),
    "protect to DuckDB": Writer(command(), target="out.duckdb::t", answers=True),
    "publish": Writer(publish),
    "protect_parquet": Writer(protect_parquet, manifest=False),
    "protect in memory": Writer(command(), answers=True, **IN_MEMORY),
    "publish in memory": Writer(lambda *call: publish(*call, **SEARCH), **SHARED),
    "strata": Writer(lambda source, _, n: search(source, n, strata="s"), **NOTHING),
    "patches": Writer(lambda source, _, n: search(source, n), **NOTHING),
    "compare": Writer(compare, **NOTHING | {"times": 1.5}),
    "plain": Writer(plain, **IN_MEMORY),
}


def table(rows: int, seed: int) -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    numbers = {name: draw.lognormal(0, 1, rows) for name in COLUMNS}
    others = {"s": draw.integers(0, 4, rows), "d": draw.integers(0, 9, rows).astype(str)}
    return pl.DataFrame(numbers | others)


def no_memory() -> None:
    """Allow no memory in this process, so that small tables are masked in many parts."""
    memory.BASE, options.SIZE = 10**15, 600
    of = lambda _, workers, *__: MemoryBudget(10**9, workers or 1, 1500, 1500, 1 << 10)  # noqa: E731
    MemoryBudget.of = of  # type: ignore[method-assign]


def started(work: Callable[[], object], mark: str = "", told: int | None = None) -> int:
    """Run work in a child, in which signals do what they do in a program; return its number."""
    child = os.fork()
    if not child:
        _work(work, mark, told)
    return child


def _work(work: Callable[[], object], mark: str, told: int | None) -> NoReturn:
    code = 1
    try:
        os.environ[MARK] = mark
        signal.signal(signal.SIGINT, signal.default_int_handler)
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet if told is None else told, 2)
        work()
        code = 0
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BaseException as error:
        code = ENDED if type(error).__name__ == "WorkerError" else 1
        os.write(2, f"{type(error).__name__}: {error}\n".encode())
    finally:
        os._exit(code)


def ended(child: int) -> int:
    """Wait for a child; return how it ended: below 0 by a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def asked(work: Callable[[], object]) -> Any:
    """Run work in a child, as Polars is never to run in the process that forks; return its answer."""
    read, write = os.pipe()
    child = started(lambda: os.write(write, json.dumps(work()).encode()))
    os.close(write)
    with os.fdopen(read) as answer:
        text = answer.read()
    return json.loads(text) if not ended(child) else None


def traced(work: Callable[[], object], stop_at: int = 0) -> list[list[int]]:
    """Run work, and die at one line of the code that publishes; without a line, number them.

    The second list has the lines that put files in their place.
    """
    lines: list[list[int]] = [[], []]

    def line(frame: Any, event: str, _: object) -> Any:
        if event == "line":
            lines[0].append(len(lines[0]) + 1)
            if lines[0][-1] == stop_at:
                os.kill(os.getpid(), signal.SIGKILL)
            if Path(frame.f_code.co_filename) in PLACING:
                lines[1].append(lines[0][-1])
        return line

    def call(frame: Any, *_: object) -> Any:
        path = Path(frame.f_code.co_filename)
        return line if PUBLISHING in path.parents or path in PLACING else None

    leave, os._exit = os._exit, sys.exit  # type: ignore[assignment]
    sys.settrace(call)
    with suppress(SystemExit):
        work()
    sys.settrace(None)
    os._exit = leave
    return lines


def of_run(mark: str) -> list[int]:
    """Return the processes that carry the mark of a run, without those that have ended."""
    found = []
    for folder in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            marked = f"{MARK}={mark}".encode() in (folder / "environ").read_bytes().split(b"\0")
            state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
            if marked and state not in "ZX":
                found.append(int(folder.name))
    return found


class Harness:
    """One writer with so many workers: its folder with a good release, and what a new one is."""

    def __init__(self, folder: Path, writer: Writer, workers: int, rows: int) -> None:
        self.good, self.trial, self.log = folder / "good", folder / "trial", folder / "said"
        self.writer, self.workers = writer, workers
        self.place = Location.of(self.trial / (writer.target or "none.parquet"))
        self.trial.mkdir(parents=True)
        self._given(rows, 1)
        if writer.target:
            self.whole()
        self.old = self.state()["digest"]
        self._given(rows, 2)
        self.names = self.listed()
        shutil.copytree(self.trial, self.good)
        seen, began = [], time.monotonic()
        child = started(lambda: self.released(workers), "measured")
        while not (done := os.waitpid(child, os.WNOHANG))[0]:
            if workers > 1 and of_run("measured"):
                seen = [*seen[:1], time.monotonic()]
            time.sleep(0.02)
        assert not done[1], "the measured run failed"
        self.seconds = time.monotonic() - began
        self.working = seen[-1] - seen[0] if seen else 0.0
        self.new = self.state()["digest"]
        assert self.new != self.old or not writer.target
        self.reset()
        by_line = workers == 1 and asked(lambda: traced(lambda: self.released(1)))
        self.lines = [lines for lines in by_line or [] if lines]

    def kinds(self) -> list[tuple[str, int]]:
        """Return what is killed and how."""
        who = ["parent", *["worker"] * (self.workers > 1)]
        at_lines = [("line", signal.SIGKILL)] * (3 if self.lines else 0)
        return [(target, number) for target in who for number in SIGNALS] + at_lines

    def _given(self, rows: int, seed: int) -> None:
        path = self.trial / self.writer.source

        def write() -> bool:
            frame = table(int(rows * self.writer.times), seed)
            if path.suffix == ".csv":
                frame.write_csv(path)
            else:
                frame.write_parquet(path, row_group_size=1000)
            return True

        assert asked(write)

    def listed(self) -> list[str]:
        return sorted(path.name for path in self.trial.iterdir())

    def reset(self) -> None:
        """Restore the good release, with the new table beside it."""
        shutil.rmtree(self.trial)
        shutil.copytree(self.good, self.trial)

    def released(self, workers: int) -> None:
        """Release the table."""
        os.chdir(self.trial)
        if self.writer.parts:
            no_memory()
        self.writer.call(self.writer.source, self.writer.target, workers)

    def whole(self) -> None:
        """Release the table, undisturbed; in one process, which makes the same release."""
        with self.log.open("wb") as said:
            code = ended(started(lambda: self.released(1), "whole", said.fileno()))
        assert code == 0, self.log.read_text()

    def state(self) -> dict[str, Any]:
        """Return what the release is, the hash that its manifest has, and the k that DuckDB counts."""
        if not self.writer.target:
            return {"digest": None, "told": None, "k": K}
        return asked(self._state) or {"digest": "unreadable", "told": None, "k": 0}

    def _state(self) -> dict[str, Any]:
        path, name, record = self.place.path, self.place.table, self.place.record
        told = None
        if self.writer.manifest and record is not None and record.exists():
            told = json.loads(record.read_text())["output"]["sha256"]
        with duckdb.connect(str(path) if name else ":memory:", read_only=bool(name)) as con:
            relation = name or f"'{path}'"
            query = f"SELECT min(n) FROM (SELECT count(*) n FROM {relation} GROUP BY a, b, c, s)"
            ((k,),) = con.sql(query).fetchall()
        digest = rows_digest(self.place.read()) if name else sha256_of(path)
        return {"digest": digest, "told": told, "k": k}

    def killed(self, target: str, number: int, chance: random.Random) -> tuple[bool, list[str]]:
        """Kill once; return whether that landed, and all that is wrong."""
        self.reset()
        mark = f"{os.getpid()}-{time.monotonic_ns()}"
        work = lambda: self.released(self.workers)  # noqa: E731
        if target == "line":
            stop_at = chance.choice(chance.choice(self.lines))
            work = lambda: traced(lambda: self.released(1), stop_at)  # noqa: E731
        with self.log.open("wb") as said:
            child = started(work, mark, said.fileno())
        if target != "line":
            self._strike(child, target, mark, number, chance)
        code, wrong = ended(child), []
        until = time.monotonic() + SOON
        while of_run(mark) and time.monotonic() < until:
            time.sleep(0.02)
        for one in of_run(mark):
            wrong.append("a process runs on")
            os.kill(one, signal.SIGKILL)
        handled = code != 0 and self._handled(code, target, number, wrong)
        return code != 0, [*wrong, *self._left(handled), *self._next()]

    def _strike(
        self, child: int, target: str, mark: str, number: int, chance: random.Random
    ) -> None:
        """Send the signal at a random instant, if the run has not ended before."""
        running = lambda: os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None  # noqa: E731
        if target == "worker":
            while running() and not of_run(mark):
                time.sleep(0.01)
        longest = self.working if target == "worker" else self.seconds
        until = time.monotonic() + chance.uniform(0, longest)
        while running() and time.monotonic() < until:
            time.sleep(0.001)
        struck = of_run(mark) if target == "worker" else [child]
        if struck and running():
            with suppress(ProcessLookupError):
                os.kill(chance.choice(struck), number)

    def _handled(self, code: int, target: str, number: int, wrong: list[str]) -> bool:
        """Add what is wrong with how a killed run ended; return whether it cleaned up after itself."""
        stops = number == signal.SIGINT or (number == signal.SIGTERM and self.writer.answers)
        expected = ENDED if target == "worker" else INTERRUPTED if stops else -number
        # A signal may come before the program has its handlers, or while it leaves.
        early = expected if target == "worker" else -number
        said = self.log.read_text().strip()
        if code not in (expected, early):
            wrong.append(f"exit code {code}, said {said!r}")
        if "Traceback" in said or "bug" in said:
            wrong.append(f"said {said!r}")
        return code == expected and code > 0

    def _left(self, handled: bool) -> list[str]:
        """Return what is wrong with what a kill left."""
        wrong, state = [], self.state()
        if state["digest"] not in (self.old, self.new):
            wrong.append("the release is neither the old nor the new one")
        if state["k"] < K:
            wrong.append(f"k is {state['k']}")
        if self.writer.manifest and state["told"] != state["digest"]:
            aside = [*self.trial.glob(".microagg-*.next"), *self.trial.glob(".microagg-*.last")]
            fit = [json.loads(one.read_text())["output"]["sha256"] for one in aside]
            if handled or state["told"] is not None or state["digest"] not in fit:
                wrong.append("the manifest is of another release, or lost")
        more = {*self.listed()} - {*self.names, "page.html"}
        if handled and more:
            wrong.append(f"left at once {sorted(more)}")
        if seen := sorted(name for name in more if not name.startswith(".")):
            wrong.append(f"left in sight {seen}")
        return wrong

    def _next(self) -> list[str]:
        """Run once more; return what is wrong with what is there then."""
        if not self.writer.target:
            return []
        try:
            self.whole()
        except AssertionError as error:
            return [f"the next run failed: {error}"]
        state, names = self.state(), self.listed()
        wrong = [] if names == self.names else [f"left for good {names}"]
        if state["digest"] != self.new or state["k"] < K:
            wrong.append("the next release is another one")
        if self.writer.manifest and state["told"] != state["digest"]:
            wrong.append("the manifest of the next release is another one")
        return wrong


def run(kills: int, seed: int, rows: int, names: list[str]) -> Counter[str]:
    """Kill each writer in turn; count the kills by kind, and what is wrong."""
    chance, counts = random.Random(seed), Counter[str]()
    with tempfile.TemporaryDirectory() as made:
        harnesses = {
            (name, workers): Harness(Path(made) / f"{name}-{workers}", WRITERS[name], workers, rows)
            for name in names
            for workers in WRITERS[name].workers
        }
        turns = [(which, *kind) for which, one in harnesses.items() for kind in one.kinds()]
        chance.shuffle(turns)
        turn = 0
        while counts["landed"] < kills and turn < 4 * kills + len(turns):
            which, target, number = turns[turn % len(turns)]
            turn += 1
            landed, wrong = harnesses[which].killed(target, number, chance)
            kind = f"{signal.Signals(number).name} to the {target}"
            at = f"{which[0]}, {which[1]} worker(s)"
            counts["landed" if landed else "came too late, or was not heard"] += 1
            counts.update([at, kind] * landed)
            counts.update(wrong or ["as it should be"] * landed)
            if wrong:
                print(f"{at}, {kind}: {wrong}", flush=True)
    return counts


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rows", type=int, default=4000)
    sound = [name for name in WRITERS if name != "plain"]
    parser.add_argument("--writer", nargs="+", choices=list(WRITERS), default=sound)
    given = parser.parse_args()
    found = run(given.kills, given.seed, given.rows, given.writer)
    print(*(f"{what}: {count}" for what, count in sorted(found.items())), sep="\n")
    sys.exit(found["landed"] != found["as it should be"])
