"""The rate of some work and the time it has left, and a bar that shows them in one line of text."""

from __future__ import annotations

import sys
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib import import_module
from typing import IO, Any

__all__ = ["Bar", "Meter", "Reading", "left", "notebook", "text_of"]

WIDTH = 30
EVERY = 0.1
"""Seconds between two lines."""

LONG = 5.0
"""Seconds after which a bar shows that nobody has asked for."""

WIDEST = 110
"""Characters of a line."""


def left(seconds: float) -> str:
    """Write a duration in words.

    >>> left(42.4), left(200), left(9000)
    ('42 s', '3 min 20 s', '2 h 30 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


@dataclass(frozen=True)
class Reading:
    """Progress of work: the share that is done, the speed in a second, and the seconds left."""

    stage: str
    done: float
    total: float
    per_second: float | None = None
    seconds_left: float | None = None

    @property
    def share(self) -> float:
        """Share of the work that is done."""
        return min(1.0, self.done / self.total)


class Meter:
    """Reads progress of several pieces of work, one after the other, as one.

    `weights` are how much each piece is, such as its records. All of them are of the stage that is read
    first; another one, such as a search after a method, is read by itself.
    """

    def __init__(self, weights: Sequence[float]) -> None:
        self._weights = list(weights) or [1.0]
        self._piece, self._last, self._stage = 0, (0, 0), ""
        self._start = time.monotonic()

    def read(self, done: int, total: int, what: str) -> Reading:
        """Add what a method reports of the current piece."""
        self._stage = self._stage or what
        if what != self._stage:
            return Reading(what, done, max(total, 1))
        if done < self._last[0] or total != self._last[1] > 0:
            self._piece = min(self._piece + 1, len(self._weights) - 1)
        self._last = (done, total)
        everything = sum(self._weights)
        part = self._weights[self._piece] * done / max(total, 1)
        much = min(everything, sum(self._weights[: self._piece]) + part)
        seconds = time.monotonic() - self._start
        if not much > 0 or not seconds > 0:
            return Reading(what, much, everything)
        rate = much / seconds
        return Reading(what, much, everything, rate, (everything - much) / rate)


def text_of(reading: Reading, unit: str = "") -> str:
    """Write a bar with the rate, of what has a unit, and the time left.

    >>> text_of(Reading("mdav", 500, 1000, 50.0, 10.0), "records")
    'mdav [###############               ]  50%, 50 records/s, 10 s left'
    """
    full = round(reading.share * WIDTH)
    said = f"{reading.stage} [{'#' * full}{' ' * (WIDTH - full)}] {reading.share:4.0%}"
    if reading.per_second is not None and unit:
        said += (
            f", {reading.per_second:,.3g} {unit}/s"
            if reading.per_second < 100
            else (f", {reading.per_second:,.0f} {unit}/s")
        )
    if reading.seconds_left is not None:
        said += f", {left(reading.seconds_left)} left"
    return said


def notebook() -> Any:
    """Find the shell of the notebook that this runs in, that of Jupyter or one made from it."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    names = {each.__name__ for each in type(shell).__mro__}
    return shell if "ZMQInteractiveShell" in names else None


class Bar:
    """A bar of plain text for a notebook or a terminal: each piece of work has its own.

    It shows after so many seconds of a piece, and goes when that is done. Where it is written is looked
    up each time, so that a plan that has it can be stored. In a notebook it is one output of the cell, which
    changes in place: lines on standard error would all be kept.
    """

    def __init__(self, after: float = 0.0, stream: IO[str] | None = None) -> None:
        self.after, self._stream = after, stream
        self._meter: Meter | None = None
        self._begun = self._told = 0.0
        self._last, self._written = (0, 0), 0
        self._output: tuple[int, str] | None = None

    def __call__(self, done: int, total: int, what: str) -> None:
        """Add what a method reports."""
        now = time.monotonic()
        if self._meter is None or done < self._last[0] or total != self._last[1]:
            self._meter, self._begun, self._told = Meter([1.0]), now, now
        self._last = (done, total)
        reading = self._meter.read(done, total, what)
        if done >= total:
            self._write("")
            self._meter = None
        elif now - self._begun >= self.after and now - self._told >= EVERY:
            self._told = now
            self._write(text_of(reading))

    def clear(self) -> None:
        """Remove the bar of work that was not ended."""
        self._write("")
        self._meter = None

    def _write(self, text: str) -> None:
        """Write over what was written last."""
        if not text and not self._written:
            return
        shell = None if self._stream else notebook()
        if shell is None:
            self._print(text[:WIDEST])
        else:
            self._display(text[:WIDEST], shell.execution_count)
        self._written = len(text[:WIDEST])

    def _display(self, text: str, cell: int) -> None:
        """Show the text in the output of this cell, which is made when there is none yet."""
        there = self._output is not None and self._output[0] == cell
        if self._output is None or not there:
            self._output = cell, uuid.uuid4().hex
        forms = {"text/plain": text, "text/html": text and f"<pre>{escape(text)}</pre>"}
        show = import_module("IPython.display").display
        show(forms, raw=True, display_id=self._output[1], update=there)

    def _print(self, text: str) -> None:
        """Write over the last line by spaces, as what shows it may know no codes of terminals."""
        stream = self._stream or sys.stderr
        stream.write(f"\r{text}{' ' * (self._written - len(text))}{'' if text else chr(13)}")
        stream.flush()
