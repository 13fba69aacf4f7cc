"""A progress bar on standard error, with the time left."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import IO

__all__ = ["Bar", "left"]

WIDTH = 30
EVERY = 0.1
"""Seconds between two lines."""


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


class Bar:
    """Progress of one masking, of as many pieces as there are strata; silent without a terminal.

    `weights` are shares of the work, in the order of the pieces.
    """

    def __init__(self, weights: Sequence[float], stream: IO[str] | None = None) -> None:
        self._stream = stream or sys.stderr
        self.on = self._stream.isatty()
        self._weights = list(weights) or [1.0]
        self._piece, self._last = 0, (0, 0)
        self._start = self._told = time.monotonic()

    def stage(self, what: str) -> None:
        """Show which step begins."""
        self._write(f"{what} ...")

    def __call__(self, done: int, total: int, what: str) -> None:
        """Show the progress of the current piece, as a method reports it."""
        if done < self._last[0] or total != self._last[1] > 0:
            self._piece = min(self._piece + 1, len(self._weights) - 1)
        self._last = (done, total)
        now = time.monotonic()
        if now - self._told < EVERY:
            return
        self._told = now
        part = self._weights[self._piece] * done / total
        share = min(1.0, (sum(self._weights[: self._piece]) + part) / sum(self._weights))
        full = round(share * WIDTH)
        rest = (now - self._start) * (1 - share) / share if share > 0 else None
        said = "" if rest is None else f", {left(rest)} left"
        self._write(f"{what} [{'#' * full}{' ' * (WIDTH - full)}] {share:4.0%}{said}")

    def clear(self) -> None:
        """Remove the line."""
        self._write("")

    def _write(self, text: str) -> None:
        if self.on:
            self._stream.write(f"\r\x1b[K{text}")
            self._stream.flush()
