"""Parts of a piece of work in processes of their own: the same results, in the same order."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from itertools import chain, islice
from queue import Empty, SimpleQueue
from typing import Any, Protocol, Self, TypeVar

from polars_microagg.errors import WorkerError
from polars_microagg.processes.worker import PACKAGE, Worker, can_start, home, packed, read
from polars_microagg.progress import Callback, current

__all__ = ["Crew", "Map", "cores", "crew", "ours", "shared"]

Job = TypeVar("Job")
Result = TypeVar("Result")

EACH = 1.0
"""Seconds of work that each process is to have: starting it takes about half a second."""

RUNNING = 0.1
"""Seconds of work that are worth sending to processes that run already."""

WAIT = 0.5
"""Seconds after which a wait looks up: some systems do not interrupt one."""


class Map(Protocol):
    """A function like the built-in map, which may share the work among processes."""

    def __call__(
        self, function: Callable[[Job], Result], jobs: Iterable[Job], /
    ) -> Iterator[Result]:
        """Return the results in the order of the jobs."""


def cores() -> int:
    """Count the processors that this process may use; one if it is itself one of several.

    A process of a pool of the caller starts none: the pool has as many as it wants.
    """
    pool = sys.modules.get("multiprocessing")
    if pool is not None and pool.parent_process() is not None:
        return 1
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def ours(*objects: object) -> bool:
    """Return whether functions and classes are of this library, so that a process knows them too.

    >>> ours(cores), ours(cores, os.getcwd)
    (True, False)
    """
    return all(home(one) == PACKAGE for one in objects)


_crew: ContextVar[Crew | None] = ContextVar("polars_microagg.crew", default=None)

_one_at_a_time = threading.Lock()
"""Held by the crew that has processes: threads that come meanwhile do their work themselves."""


@contextmanager
def crew(workers: int | None) -> Iterator[None]:
    """Share the work of this block among so many processes in `shared`; None is all processors.

    In the block of another crew, and in a process of one, this changes nothing.
    """
    if _crew.get() is not None:
        yield
        return
    with Crew(workers) as own:
        token = _crew.set(own)
        try:
            yield
        finally:
            _crew.reset(token)


def shared(seconds: float) -> Map:
    """Return the map for work that takes one processor so many seconds in all.

    It is the built-in one outside of a crew, and where starting processes would not pay.
    """
    own = _crew.get()
    return map if own is None else own.shared(seconds)


class Crew:
    """Processes that share work, started when that first pays, and ended with the block.

    They run the interpreter on a module of this library, so that no module of the caller is run
    again. They end when this process ends, however it does. The results are those of the built-in
    map, in the same order, also of errors. A job whose function is not of this library is done here.
    """

    def __init__(self, workers: int | None) -> None:
        self.most = cores() if workers is None else workers
        self._processes: list[Worker] = []
        self._answers: SimpleQueue[tuple[Worker, bytes | None]] = SimpleQueue()
        self._number, self._locked = 0, False

    def __enter__(self) -> Self:
        """Start nothing yet."""
        return self

    def __exit__(self, *_: object) -> None:
        """End all processes."""
        try:
            for process in self._processes:
                process.kill()
            for process in self._processes:
                process.close()
        finally:
            self._processes = []
            if self._locked:
                _one_at_a_time.release()
                self._locked = False

    def count(self, seconds: float) -> int:
        """Return how many processes so much work is worth; 1 is this one.

        >>> [Crew(4).count(seconds) for seconds in (0.1, 1.9, 2, 3, 100, float("inf"))]
        [1, 1, 2, 3, 4, 4]
        """
        worth = min(float(self.most), seconds / EACH)
        running = len(self._processes) if seconds >= RUNNING else 0
        return max(1, int(worth), running)

    def shared(self, seconds: float) -> Map:
        """Return the map for work that takes one processor so many seconds in all."""
        count = self.count(seconds)
        return map if count == 1 else partial(self._map, count)

    def _map(
        self, count: int, function: Callable[[Job], Result], jobs: Iterable[Job], /
    ) -> Iterator[Result]:
        """Run jobs in so many processes and yield their results in order."""
        jobs = iter(jobs)
        few = list(islice(jobs, 2))
        jobs = chain(few, jobs)
        sent = packed(("use", function, current() is not None))
        if len(few) < 2 or sent is None or not self._start(count):
            yield from map(function, jobs)
            return
        for process in self._processes:
            process.idle = True
            self._send(process, sent)
        yield from self._results(function, jobs)

    def _results(self, function: Callable[[Job], Result], jobs: Iterator[Job]) -> Iterator[Result]:
        """Send jobs, and yield the results in order, each after what it told of its progress."""
        callback, head = current(), self._number
        told: dict[int, list[tuple[int, int, str]]] = {}
        results: dict[int, tuple[str, Any]] = {}
        more, out = True, 0
        while True:
            while more and (idle := next((p for p in self._processes if p.idle), None)):
                job = next(jobs, _NONE)
                if job is _NONE:
                    more = False
                    break
                number, self._number = self._number, self._number + 1
                made = packed(("do", number, job))
                if made is None:
                    results[number] = "done", function(job)
                    continue
                idle.idle = False
                self._send(idle, made)
                out += 1
            _pass_on(callback, told.pop(head, []))
            while head in results:
                how, value = results.pop(head)
                if how == "error":
                    raise value
                yield value
                head += 1
                _pass_on(callback, told.pop(head, []))
            if not more and not out:
                return
            if not out:
                continue
            process, how, number, value = self._receive()
            if how == "told":
                told.setdefault(number, []).append(value)
                continue
            results[number] = how, value
            process.idle = True
            out -= 1

    def _start(self, count: int) -> bool:
        """Start processes until there are so many; return whether there is any."""
        if not self._locked:
            self._locked = can_start() and _one_at_a_time.acquire(blocking=False)
        threads = max(1, cores() // self.most)
        # Where the system allows no more processes, those that run do the work, or this one.
        with suppress(OSError):
            while self._locked and len(self._processes) < count:
                self._processes.append(Worker(threads, self._answers))
        return bool(self._processes)

    def _send(self, process: Worker, frame: bytes) -> None:
        """Send a frame to a process."""
        try:
            process.send(frame)
        except OSError:
            raise WorkerError.ended() from None

    def _receive(self) -> tuple[Worker, str, int, Any]:
        """Wait for an answer."""
        while True:
            with suppress(Empty):
                process, frame = self._answers.get(timeout=WAIT)
                break
        if frame is None:
            raise WorkerError.ended()
        how, number, value = read(frame)
        return process, how, number, value


_NONE: Any = object()


def _pass_on(callback: Callback | None, told: list[tuple[int, int, str]]) -> None:
    if callback is not None:
        for each in told:
            callback(*each)
