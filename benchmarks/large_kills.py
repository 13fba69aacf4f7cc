"""Kill releases of tables larger than memory at random instants, and look at what is left.

Usage: python benchmarks/large_kills.py [--kills 200] [--seed 0] [--rows 4000] [--path NAME]

Each kill replaces a good release by a new one, out of core, in one process or with two workers, and
sends SIGKILL, SIGTERM or SIGINT to the process or to a worker while it works. Only kills that landed
before the end count. Then no process may run on; there is the old release or the new one, whole, with
its manifest; DuckDB counts k again; and the next run in the folder succeeds and leaves nothing but its
files. Between two renames a release has no manifest, and both wait beside it: the next run must find the
one that fits. What is seen of memory is made small, so that small tables go all the way. Linux only.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import duckdb
import pyarrow.parquet  # noqa: F401 (or each run would take the time)

import polars_microagg as mg
from benchmarks.large_ways import WAYS, K, Way, no_memory, table
from benchmarks.worker_kills import MARK, of_kill, soon
from polars_microagg.publishing.atomic import sha256_of
from polars_microagg.publishing.formats.files import Location, rows_digest

INTERRUPTED, ENDED = 130, 5
"""Exit codes of an interrupted run, and of one whose worker was ended."""

SOON = 10.0
"""Seconds after which no process of a run may be left."""


SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)


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
        no_memory()
        work()
        code = 0
    except KeyboardInterrupt:
        code = INTERRUPTED
    except mg.MicroaggError as error:
        code = ENDED if type(error).__name__ == "WorkerError" else 1
        os.write(2, f"{type(error).__name__}: {error}\n".encode())
    except BaseException as error:
        os.write(2, f"{type(error).__name__}: {error}\n".encode())
    finally:
        os._exit(code)


def ended(child: int) -> int:
    """Wait for a child; return how it ended: below 0 by a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def asked(work: Callable[[], object]) -> Any:
    """Run work in a child, as polars is never to run in the process that forks; return its answer."""
    read, write = os.pipe()
    child = started(lambda: os.write(write, json.dumps(work()).encode()))
    os.close(write)
    with os.fdopen(read) as answer:
        text = answer.read()
    return json.loads(text) if not ended(child) else None


class Harness:
    """One path with so many workers: its folder with a good release, and what a new one is."""

    def __init__(self, folder: Path, path: Way, workers: int, rows: int) -> None:
        self.good, self.trial, self.log = folder / "good", folder / "trial", folder / "said"
        self.path, self.workers = path, workers
        self.good.mkdir()
        self.place = Location.of(self.trial / path.target)
        self._given(rows, 1)
        self.trial.mkdir()
        os.chdir(self.trial)
        shutil.copytree(self.good, self.trial, dirs_exist_ok=True)
        self.whole()
        self.old = self.state()["digest"]
        shutil.rmtree(self.good)
        shutil.copytree(self.trial, self.good)
        self._given(rows, 2)
        self.names = sorted(path.name for path in self.trial.iterdir())
        self.reset()
        began = time.monotonic()
        seen = self._watched(started(lambda: self.released(workers), "measured"), "measured")
        self.seconds = time.monotonic() - began
        self.working = (seen[0] - began, seen[1] - seen[0]) if seen else (0.0, 0.0)
        self.new = self.state()["digest"]
        assert self.new != self.old

    def _given(self, rows: int, seed: int) -> None:
        def write() -> bool:
            frame = table(rows, seed)
            if self.path.source.endswith("csv"):
                frame.write_csv(self.good / self.path.source)
            else:
                frame.write_parquet(self.good / self.path.source, row_group_size=1000)
            return True

        assert asked(write)

    def _watched(self, child: int, mark: str) -> list[float]:
        """Wait for a run; return when its workers were seen first and last."""
        seen: list[float] = []
        while not (done := os.waitpid(child, os.WNOHANG))[0]:
            if self.workers > 1 and of_kill(mark):
                seen = [*seen[:1], time.monotonic()]
            time.sleep(0.02)
        assert not done[1], "the measured run failed"
        return [seen[0], seen[-1]] if seen else []

    def reset(self) -> None:
        """Restore the good release, with the new table beside it."""
        for one in self.trial.iterdir():
            shutil.rmtree(one) if one.is_dir() else one.unlink()
        shutil.copytree(self.good, self.trial, dirs_exist_ok=True)

    def released(self, workers: int) -> None:
        """Release the table."""
        path = self.path
        path.call(self.trial, path.source, path.target, workers, *path.more)

    def whole(self) -> None:
        """Release the table, undisturbed; in one process, which makes the same release."""
        with self.log.open("wb") as said:
            code = ended(started(lambda: self.released(1), "whole", said.fileno()))
        assert code == 0, self.log.read_text()

    def state(self) -> dict[str, Any]:
        """Return what the release is, the hash that its manifest has, and the k that DuckDB counts."""
        state: dict[str, Any] | None = asked(self._state)
        return state or {"digest": "unreadable", "told": None, "k": 0}

    def _state(self) -> dict[str, Any]:
        path, name, record = self.place.path, self.place.table, self.place.record
        digest = rows_digest(self.place.read()) if name else sha256_of(path)
        told = None
        if self.path.manifest and record is not None and record.exists():
            told = json.loads(record.read_text())["output"]["sha256"]
        query = "SELECT min(n) FROM (SELECT count(*) n FROM {} GROUP BY a, b, c, s)"
        if name:
            with duckdb.connect(str(path), read_only=True) as con:
                ((k,),) = con.sql(query.format(name)).fetchall()
        else:
            ((k,),) = duckdb.sql(query.format(f"'{path}'")).fetchall()
        return {"digest": digest, "told": told, "k": k}

    def killed(self, target: str, number: int, chance: random.Random) -> tuple[bool, list[str]]:
        """Kill once; return whether that landed, and all that is wrong."""
        self.reset()
        mark = f"{os.getpid()}-{time.monotonic_ns()}"
        with self.log.open("wb") as said:
            child = started(lambda: self.released(self.workers), mark, said.fileno())
        struck = self._struck(child, target, mark, number, chance)
        code = ended(child) if struck is None else struck
        wrong = []
        if not soon(lambda: not of_kill(mark), SOON):
            wrong.append("left running")
            for one in of_kill(mark):
                os.kill(one, signal.SIGKILL)
        landed = code != 0
        handled = landed and self._handled(code, target, number, wrong)
        return landed, [*wrong, *self._left(handled), *self._next()]

    def _struck(
        self, child: int, target: str, mark: str, number: int, chance: random.Random
    ) -> int | None:
        """Send the signal at a random instant; how the run ended if it did before."""
        wait = chance.uniform(0, self.seconds)
        if target == "worker":
            while not (found := of_kill(mark)):
                done = os.waitpid(child, os.WNOHANG)
                if done[0]:
                    return os.waitstatus_to_exitcode(done[1])
                time.sleep(0.01)
            time.sleep(chance.uniform(0, self.working[1]))
            found = of_kill(mark)
            struck = chance.choice(found) if found else None
        else:
            time.sleep(wait)
            struck = child
        done = os.waitpid(child, os.WNOHANG)
        if done[0]:
            return os.waitstatus_to_exitcode(done[1])
        if struck is not None:
            with suppress(ProcessLookupError):
                os.kill(struck, number)
        return None

    def _handled(self, code: int, target: str, number: int, wrong: list[str]) -> bool:
        """Print what is wrong with how a killed run ended; return whether it cleaned up after itself."""
        stops = number == signal.SIGINT or (number == signal.SIGTERM and self.path.answers)
        expected = ENDED if target == "worker" else INTERRUPTED if stops else -number
        # A signal may come before the program has its handlers, or while it leaves.
        early = -number if target == "parent" else expected
        said = self.log.read_text().strip()
        if code not in (expected, early):
            wrong.append(f"exit code {code}, said {said!r}")
        if "Traceback" in said or "bug" in said:
            wrong.append(f"said {said!r}")
        return code == expected and code > 0

    def _left(self, handled: bool) -> list[str]:
        """Print what is wrong with what a kill left."""
        wrong, state = [], self.state()
        if state["digest"] not in (self.old, self.new):
            wrong.append("the release is neither the old nor the new one")
        if state["k"] < K:
            wrong.append(f"k is {state['k']}")
        if self.path.manifest and state["told"] != state["digest"]:
            aside = [*self.trial.glob(".microagg-*.next"), *self.trial.glob(".microagg-*.last")]
            fit = [json.loads(one.read_text())["output"]["sha256"] for one in aside]
            if handled or state["told"] is not None or state["digest"] not in fit:
                wrong.append("the manifest is of another release, or lost")
        more = sorted({path.name for path in self.trial.iterdir()} - {*self.names, "page.html"})
        if handled and more:
            wrong.append(f"left at once {more}")
        return wrong

    def _next(self) -> list[str]:
        """Run once more; say what is wrong with what is there then."""
        try:
            self.whole()
        except AssertionError as error:
            return [f"the next run failed: {error}"]
        state = self.state()
        names = sorted(path.name for path in self.trial.iterdir())
        wrong = [] if names == self.names else [f"left for good {names}"]
        if state["digest"] != self.new or state["k"] < K:
            wrong.append("the next release is another one")
        if self.path.manifest and state["told"] != state["digest"]:
            wrong.append("the manifest of the next release is another one")
        return wrong


def targets(workers: int) -> list[tuple[str, int]]:
    """Return what is killed and how, on a path with so many workers."""
    parent = [("parent", number) for number in SIGNALS]
    return parent + [("worker", number) for number in SIGNALS] * (workers > 1)


def run(kills: int, seed: int, rows: int, only: str | None = None) -> Counter[str]:
    """Kill runs on each path in turn; count the kills by kind, and what is wrong."""
    chance, counts = random.Random(seed), Counter[str]()
    here, paths = Path.cwd(), {n: p for n, p in WAYS.items() if only in (None, n)}
    with tempfile.TemporaryDirectory() as made:
        harnesses = {}
        for number, (name, path) in enumerate(paths.items()):
            for workers in (1, 2):
                folder = Path(made) / f"{number}-{workers}"
                folder.mkdir()
                harnesses[name, workers] = Harness(folder, path, workers, rows)
        turns = [(name, workers, *kind) for name, workers in harnesses for kind in targets(workers)]
        chance.shuffle(turns)
        turn = 0
        while counts["landed"] < kills and turn < 4 * kills + len(turns):
            name, workers, target, number = turns[turn % len(turns)]
            turn += 1
            os.chdir(harnesses[name, workers].trial)
            landed, wrong = harnesses[name, workers].killed(target, number, chance)
            kind = f"{signal.Signals(number).name} to the {target}"
            counts["landed" if landed else "came too late, or was not heard"] += 1
            counts.update([f"{name}, {workers} worker(s)", kind] * landed)
            counts.update(wrong or ["as it should be"] * landed)
            if landed and not counts["landed"] % 10:
                print(json.dumps(counts), flush=True)
            if wrong:
                print(f"{name}, {workers} worker(s), {kind}: {wrong}", flush=True)
        os.chdir(here)
    return counts


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--path", choices=list(WAYS))
    given = parser.parse_args()
    found = run(given.kills, given.seed, given.rows, given.path)
    print(*(f"{what}: {count}" for what, count in sorted(found.items())), sep="\n")
