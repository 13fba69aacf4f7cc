"""A process that does jobs: how it is started, what it is sent, and what it does."""

from __future__ import annotations

import io
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from typing import Any

from polars_microagg.progress import progress

__all__ = ["PACKAGE", "Worker", "can_start", "home", "main", "packed", "read"]

PACKAGE = __name__.partition(".")[0]

OURS: tuple[str, ...] = (
    PACKAGE,
    "numpy",
    "polars",
    "pyarrow",
    "builtins",
    "collections",
    "functools",
    "copyreg",
)
OURS += ("datetime", "decimal", "fractions", "pathlib", "io", "_codecs")
"""Modules whose functions and classes a process may import: none of them is the caller's."""


def home(one: object) -> str:
    """Return the package of a function or class."""
    return str(getattr(one, "__module__", "")).partition(".")[0]


def can_start() -> bool:
    """Return whether this is a Python that can be started once more."""
    name = os.path.basename(sys.executable or "").lower()  # noqa: PTH119 (a name only)
    frozen = getattr(sys, "frozen", False) or sys.platform in ("emscripten", "wasi")
    return not WORKING.is_set() and not frozen and name.startswith(("python", "pypy"))


WORKING = threading.Event()
"""Set in a process that was started to do jobs: it starts none itself."""


UNHEARD = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"
"""Code that a process runs before anything else: an interrupt is for the one that started it."""


@contextmanager
def _unheard() -> Iterator[None]:
    """Let what is started here hear no interrupt before its first line: Python would show where it was."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Worker:
    """A process of ours, and the thread that reads what it answers."""

    def __init__(self, threads: int, answers: SimpleQueue[tuple[Worker, bytes | None]]) -> None:
        names = ("POLARS_MAX_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
        environment = os.environ | dict.fromkeys(names, str(threads))
        environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
        # -P: a file of the working folder does not stand in for a module of the same name.
        flags = ["-P", *["-O"] * sys.flags.optimize]
        command = [sys.executable, *flags, "-c", f"{UNHEARD}; from {__name__} import main; main()"]
        # In a session of its own Ctrl-C does not reach it: this process ends it.
        apart: dict[str, Any] = {"start_new_session": True}
        if sys.platform == "win32":
            apart = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
        pipe = subprocess.PIPE
        with _unheard():
            files: dict[str, Any] = {"stdin": pipe, "stdout": pipe, "env": environment}
            self._made = subprocess.Popen(command, **files, **apart)  # noqa: S603
        self.idle = True
        self._reader = threading.Thread(target=self._read, args=(answers,), daemon=True)
        self._reader.start()

    @property
    def number(self) -> int:
        """Number of the process in the system."""
        return self._made.pid

    def _read(self, answers: SimpleQueue[tuple[Worker, bytes | None]]) -> None:
        while True:
            try:
                frame = _frame(self._made.stdout)
            except (OSError, ValueError):
                frame = None
            answers.put((self, frame))
            if frame is None:
                return

    def send(self, frame: bytes) -> None:
        """Write a frame."""
        _write(self._made.stdin, frame)

    def kill(self) -> None:
        """End it now: it has nothing that is worth keeping."""
        self._made.kill()

    def close(self) -> None:
        """Wait until it has ended, and let go of its pipes."""
        self._made.wait()
        with suppress(OSError):
            self._made.stdin.close()  # type: ignore[union-attr]
        self._reader.join()
        self._made.stdout.close()  # type: ignore[union-attr]


class _Pickler(pickle.Pickler):
    """A pickler that refuses functions and classes of modules that are not known to be harmless."""

    def reducer_override(self, one: Any) -> Any:
        """Refuse what the process would have to import from a module of the caller."""
        named = isinstance(one, type) or (callable(one) and hasattr(one, "__qualname__"))
        if named and home(one) not in OURS:
            raise pickle.PicklingError
        if not named and home(type(one)) not in OURS:
            raise pickle.PicklingError
        return NotImplemented


def packed(what: object) -> bytes | None:
    """Return the bytes of something to send, or None if it is to stay here."""
    made = io.BytesIO()
    try:
        _Pickler(made, pickle.HIGHEST_PROTOCOL).dump(what)
    except (pickle.PicklingError, TypeError, AttributeError):
        return None
    return made.getvalue()


def read(frame: bytes) -> Any:
    """Return what a process of ours, or the one that started it, has packed."""
    return pickle.loads(frame)  # noqa: S301


def _write(stream: Any, frame: bytes) -> None:
    stream.write(len(frame).to_bytes(8, "little"))
    stream.write(frame)
    stream.flush()


def _frame(stream: Any) -> bytes | None:
    """Read a frame; None at the end, also in the middle of one."""
    head = stream.read(8)
    if len(head) < 8:
        return None
    size = int.from_bytes(head, "little")
    frame: bytes = stream.read(size)
    return frame if len(frame) == size else None


def main() -> None:
    """Run the jobs that come on standard input, until it ends; start no processes."""
    WORKING.set()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what anything prints is no answer
    frames: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin.buffer, frames), daemon=True).start()

    def answer(how: str, number: int, value: object) -> None:
        frame = pickle.dumps((how, number, value), pickle.HIGHEST_PROTOCOL)
        try:
            _write(answers, frame)
        except OSError:
            # The one that started this process has ended, and `_listen` has not yet seen it.
            os._exit(0)

    function: Callable[[Any], Any] = len
    tells = False
    while True:
        what, *rest = read(frames.get())
        if what == "use":
            function, tells = rest
            continue
        number, job = rest

        def tell(done: int, total: int, name: str, number: int = number) -> None:
            answer("told", number, (done, total, name))

        try:
            with progress(tell if tells else None):
                result = function(job)
        except Exception as error:
            answer("error", number, error)
        else:
            answer("done", number, result)


def _listen(stream: Any, frames: SimpleQueue[bytes]) -> None:
    """Read frames, and end this process at once when the one that started it has ended."""
    while (frame := _frame(stream)) is not None:
        frames.put(frame)
    os._exit(0)
