"""Progress on standard error: a bar on a terminal, or a line of JSON now and then."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import IO, Any

from polars_microagg.bars import EVERY, Meter, Reading, left, text_of
from polars_microagg.errors import InvalidParameterError

__all__ = ["SHOWN", "Bar", "add_progress", "left", "way_shown"]

SHOWN = ("bar", "json", "none")
"""Ways to show progress."""

NOW_AND_THEN = 1.0
"""Seconds between two lines of JSON."""


def add_progress(part: Any) -> None:
    """Describe the option that says how progress is shown."""
    part.add_argument(
        "--progress",
        metavar="|".join(SHOWN),
        help="a bar on a terminal by default, else none",
    )


def way_shown(how: str | None) -> str | None:
    """Check how progress is to be shown; None is a bar on a terminal and else nothing."""
    if how is not None and how not in SHOWN:
        raise InvalidParameterError.choice("progress", how, SHOWN)
    return how


class Bar:
    """Progress of one masking, of as many pieces as there are strata.

    `weights` are the records of each piece, in their order. `how` is one of `SHOWN`; by default a bar
    is shown on a terminal, and elsewhere nothing. A bar that is asked for shows anywhere.
    """

    def __init__(
        self, weights: Sequence[float], stream: IO[str] | None = None, how: str | None = None
    ) -> None:
        self._stream = stream or sys.stderr
        self.how = how or ("bar" if self._stream.isatty() else "none")
        self.on = self.how != "none"
        self._meter = Meter(weights)
        self._told, self._what = time.monotonic(), ""

    def weigh(self, weights: Sequence[float]) -> None:
        """Weigh each piece by its records, which are known once the table is read."""
        self._meter = Meter(weights)

    def stage(self, what: str) -> None:
        """Show which step begins."""
        self._what = ""
        if self.how == "json":
            self._line(dict.fromkeys(("done", "total", "per_second", "seconds_left")), what)
        else:
            self._write(f"{what} ...")

    def __call__(self, done: int, total: int, what: str) -> None:
        """Show the progress of the current piece, as a method reports it."""
        reading, now = self._meter.read(done, total, what), time.monotonic()
        # A search after a method is seen at once, whenever the last line was.
        begins, self._what = self._what not in ("", what), what
        if self.how == "json":
            if begins or now - self._told >= NOW_AND_THEN or reading.done >= reading.total:
                self._told = now
                self._line(_rounded(reading), what)
        elif begins or now - self._told >= EVERY:
            self._told = now
            self._write(text_of(reading, "records"))

    def clear(self) -> None:
        """Remove the line."""
        if self.how == "bar":
            self._write("")

    def _line(self, told: dict[str, Any], stage: str) -> None:
        self._stream.write(f"{json.dumps({**told, 'stage': stage}, sort_keys=True)}\n")
        self._stream.flush()

    def _write(self, text: str) -> None:
        if self.on:
            self._stream.write(f"\r\x1b[K{text}")
            self._stream.flush()


def _rounded(reading: Reading) -> dict[str, Any]:
    """Return the fields of a line of JSON."""
    told = asdict(reading)
    told |= {"done": round(reading.done), "total": round(reading.total)}
    for name in ("per_second", "seconds_left"):
        told[name] = None if told[name] is None else round(told[name], 1)
    return told
