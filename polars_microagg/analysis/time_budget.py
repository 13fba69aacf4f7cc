"""Estimates of the time that methods take, and the time that is left for them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

import polars as pl

from polars_microagg.core import registry
from polars_microagg.core.work import seconds_of
from polars_microagg.errors import InvalidDataError, InvalidParameterError
from polars_microagg.wording import Sentence

__all__ = ["NotBegun", "TimeBudget"]

FEW, MORE = 100, 1_000
"""Records on which a method is timed: on few, and if that takes no time, on more."""

FIRST = ("mdav", "lowloss")
"""The reference method, and the one that loses least: never left out in favour of others."""

TRIAL, LONGEST = 0.01, 0.25
"""Most of the time left, and most seconds, for the trial of a method; else its time is guessed."""


def _weight(method: str) -> float:
    """Return roughly how long a trial takes, as a multiple of one that only sorts the records."""
    cost = registry.methods()[method].cost
    if "+" in cost:
        return 5000.0
    return 4.0 if cost.startswith("n^2") else 60.0 if cost == "n" else 1.0


class NotBegun(Sentence):
    """The reason why a method was not begun, for lack of time."""


class TimeBudget:
    """Seconds for several methods, counted from now on.

    Without `seconds` nothing is timed and nothing refused. `strata` has the number of records of
    each stratum, `run` masks some records by a method, given by name, and `k` is the smallest k.
    """

    def __init__(
        self,
        seconds: float | None,
        frame: pl.DataFrame,
        strata: Sequence[int],
        run: Callable[[pl.DataFrame, str], object],
        k: int,
    ) -> None:
        self._start = time.monotonic()
        self._seconds, self._frame, self._strata, self._run = seconds, frame, strata, run
        self._k = k
        self._expected: dict[str, float] = {}
        self._unit = 0.0

    def order(self, methods: Iterable[str]) -> list[str]:
        """Order methods by turns: the two of most use, then the quickest."""
        listed = sorted(dict.fromkeys(methods), key=lambda method: (_rank(method), _weight(method)))
        return sorted(listed, key=lambda method: (_rank(method), self.expected(method)))

    def expected(self, method: str) -> float:
        """Return the seconds that a method is expected to take, estimated from few records."""
        if self._seconds is None or not self._frame.height:
            return 0.0
        if method not in self._expected:
            guess = _weight(method) * self._unit
            if guess > self._allowed() or self._left() <= 0:
                return self._scaled(guess, method, min(FEW, self._frame.height))
            self._expected[method] = self._timed(method, FEW)
        return self._expected[method]

    def took(self, method: str, seconds: float) -> None:
        """Record how long a method took on all records."""
        self._expected[method] = seconds

    def enough(self, methods: Sequence[str]) -> int:
        """Return whole seconds in which at least one method can be expected to finish."""
        lightest = min(methods, key=_weight)
        quickest = self._expected.get(lightest) or self._timed(lightest, MORE)
        return math.ceil(2 * (time.monotonic() - self._start + quickest))

    def refusal(self, method: str, also: float) -> NotBegun | None:
        """Return why a method is not begun, or None.

        `also` are seconds that are needed after it.
        """
        if self._seconds is None:
            return None
        expected, left = self.expected(method), self._left()
        if expected + also < left:
            return None
        return NotBegun(
            "{method} was not begun: it is expected to take {expected} seconds, and of seconds={all} "
            "there were {left} left. {way}",
            method=method,
            expected=f"{expected:.3g}",
            all=f"{self._seconds:g}",
            left=f"{max(left, 0):.3g}",
            way="Allow more, or name fewer methods.",
        )

    def _left(self) -> float:
        return (self._seconds or 0.0) - (time.monotonic() - self._start)

    def _allowed(self) -> float:
        return TRIAL * max(self._left(), 0.0)

    def _timed(self, method: str, records: int) -> float:
        """Time a method on few records, and on more as long as that takes next to no time."""
        if not self._unit and _weight(method) <= _weight(FIRST[0]):
            self._once(method, FEW)  # the first call of all also loads modules and warms caches
        while True:
            records = min(records, self._frame.height)
            taken = self._once(method, records)
            self._unit = self._unit or taken / _weight(method)
            enough = 4 * taken > min(self._allowed(), LONGEST)
            if enough or records in (MORE, self._frame.height):
                return self._scaled(taken, method, records)
            records = min(2 * records, MORE)

    def _once(self, method: str, records: int) -> float:
        records = min(records, self._frame.height)
        sample = self._frame.gather_every(self._frame.height // records).head(records)
        # Of this process: time that others take would be extrapolated with it.
        start = time.process_time()
        with suppress(InvalidParameterError, InvalidDataError):
            # The call for all records raises it again.
            self._run(sample, method)
        return time.process_time() - start

    def _scaled(self, taken: float, method: str, records: int) -> float:
        """Extrapolate from the records timed to all strata, by how the work of the method grows."""
        known = registry.methods()[method]
        # Most of the work on few records grows with their number, whatever its square does later.
        return (
            taken * seconds_of(known, self._strata, self._k) / seconds_of(known, records, self._k)
        )


def _rank(method: str) -> int:
    return FIRST.index(method) if method in FIRST else len(FIRST)
