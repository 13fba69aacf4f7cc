"""Estimates of the time that lines of a comparison take, and the time that is left for them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

import polars as pl

from polars_microagg.core import registry
from polars_microagg.core.work import seconds_of
from polars_microagg.errors import InvalidDataError, InvalidParameterError
from polars_microagg.wording import Sentence

__all__ = ["NotBegun", "TimeBudget", "not_begun"]

FEW, MORE = 100, 1_000
"""Records on which a method is timed: on few, and if that takes no time, on more."""

FIRST = ("mdav", "lowloss")
"""The reference method, and the one that loses least: they run before all but the cheap lines."""

CHEAP = 0.25
"""Share of the time in which the cheapest lines run first."""

TRIAL, LONGEST = 0.01, 0.25
"""Most of the time left, and most seconds, for the trial of a method; else its time is guessed."""

MEASURING, PAIRS = 5e-6, 3.5e-8
"""Seconds that measuring takes for each record, and for each pair of a record and a group, as long as
metrics are computed that compare them."""

Line: TypeAlias = tuple[str, int]


def _weight(method: str) -> float:
    """Return roughly how long a trial takes, as a multiple of one that only sorts the records."""
    cost = registry.methods()[method].cost
    if "+" in cost:
        return 5000.0
    return 4.0 if cost.startswith("n^2") else 60.0 if cost == "n" else 1.0


class NotBegun(Sentence):
    """The reason why a line was not begun, for lack of time."""


TEMPLATE = (
    "{method} was not begun: it is expected to take {expected} seconds, and of seconds={all} "
    "there were {left} left. {way}"
)


def not_begun(row: dict[str, Any]) -> bool:
    """Return whether the note of a row of `compare` says that the line was not begun.

    >>> not_begun({"method": "mdav", "note": "mdav was not begun: it is expected to take 9 seconds"})
    True
    """
    begin = TEMPLATE.partition("{expected}")[0].format(method=row["method"])
    return str(row.get("note")).startswith(begin)


class TimeBudget:
    """Seconds for several lines, each a method with a k, counted from now on.

    Without `seconds` nothing is timed and nothing refused. `strata` has the number of records of
    each stratum, `run` masks some records by a method, given by name, without privacy models, and
    `k` is the smallest k. `ruled` estimates the seconds of privacy models for a k, and `pairs` says that
    metrics compare records with groups.
    """

    def __init__(
        self,
        seconds: float | None,
        frame: pl.DataFrame,
        strata: Sequence[int],
        run: Callable[[pl.DataFrame, str], object],
        k: int,
        *,
        ruled: Callable[[int], float] | None = None,
        pairs: bool = False,
    ) -> None:
        self._start = time.monotonic()
        self._seconds, self._frame, self._strata, self._run = seconds, frame, strata, run
        self._k = k
        self._ruled = ruled or (lambda _: 0.0)
        self._pairs = PAIRS * frame.height**2 if pairs else 0.0
        # By method, seconds as multiples of those of `seconds_of`.
        self._rates: dict[str, float] = {}
        self._unit = 0.0
        # Seconds of this process in trials, and those on the clock, which are more on a busy machine.
        self._own = self._clock = 0.0
        # Of privacy models, by k, and of measuring, the greatest multiples so far of what was expected.
        self._ruling: dict[int, float] = {}
        self._measuring: float | None = None

    def order(self, lines: Iterable[Line]) -> list[Line]:
        """Order lines: some cheap ones, then the two methods of most use, then the cheapest."""
        listed = sorted(dict.fromkeys(lines), key=lambda line: (_rank(line), _weight(line[0])))
        if self._seconds is None or not listed:
            return listed
        seconds = {line: self.expected(*line) for line in listed}
        cheapest = sorted(listed, key=seconds.__getitem__)
        share, cheap = CHEAP * self._left(), set[Line]()
        for line in cheapest:
            share -= seconds[line]
            if share < 0:
                break
            cheap.add(line)
        return sorted(cheapest, key=lambda line: -1 if line in cheap else _rank(line))

    def expected(self, method: str, k: int) -> float:
        """Return the seconds that a line is expected to take, estimated from few records."""
        limit = registry.methods()[method].limit
        if (
            self._seconds is None
            or not self._frame.height
            or max(self._strata) > (limit or math.inf)
        ):
            return 0.0  # beyond its limit a method ends at once
        alone = self._alone(method, k)
        load = self._load()
        # With another k privacy models may have less to do, or more.
        ruling = self._ruling.get(k, max([load, *self._ruling.values()]))
        measuring = load if self._measuring is None else self._measuring
        return load * alone + ruling * self._ruled(k) + measuring * self._measured(k)

    def took(self, method: str, k: int, masking: float, measuring: float) -> None:
        """Record how long a line took on all records."""
        if self._seconds is None or not self._frame.height:
            return
        if ruled := self._ruled(k):
            models = max(masking - self._alone(method, k) * self._load(), 0.0)
            self._ruling[k] = max(self._ruling.get(k, 0.0), models / ruled)
        else:
            self._rates[method] = masking / self._load() / self._work(method, self._strata, k)
        self._measuring = max(self._measuring or 0.0, measuring / self._measured(k))

    def enough(self, lines: Iterable[Line]) -> int:
        """Return whole seconds in which at least one line can be expected to finish."""
        method, k = min(lines, key=lambda line: (_weight(line[0]), line[1]))
        if method not in self._rates:
            self._rates[method] = self._timed(method, MORE)
        return math.ceil(2 * (time.monotonic() - self._start + self.expected(method, k)))

    def refusal(self, method: str, k: int) -> NotBegun | None:
        """Return why a line is not begun, or None."""
        if self._seconds is None:
            return None
        expected, left = self.expected(method, k), self._left()
        if expected < left:
            return None
        return NotBegun(
            TEMPLATE,
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

    def _load(self) -> float:
        """Return how much longer work takes on the clock than in this process."""
        return max(1.0, self._clock / self._own) if self._own else 1.0

    def _measured(self, k: int) -> float:
        """Return the seconds of measuring on the machine of `seconds_of`."""
        return MEASURING * self._frame.height + self._pairs / k

    def _alone(self, method: str, k: int) -> float:
        """Return the seconds in which a method groups all records, without privacy models."""
        if method not in self._rates:
            guess = _weight(method) * self._unit
            if guess > self._allowed() or self._left() <= 0:
                rate = guess / self._work(method, min(FEW, self._frame.height), self._k)
                return rate * self._work(method, self._strata, k)
            self._rates[method] = self._timed(method, FEW)
        return self._rates[method] * self._work(method, self._strata, k)

    def _timed(self, method: str, records: int) -> float:
        """Return the rate of a method on few records, and on more if that takes next to no time."""
        if not self._unit and _weight(method) <= _weight(FIRST[0]):
            self._once(method, FEW)  # the first call of all also loads modules and warms caches
        while True:
            records = min(records, self._frame.height)
            taken = self._once(method, records)
            self._unit = self._unit or taken / _weight(method)
            enough = 4 * taken > min(self._allowed(), LONGEST)
            if enough or records in (MORE, self._frame.height):
                return taken / self._work(method, records, self._k)
            records = min(2 * records, MORE)

    def _once(self, method: str, records: int) -> float:
        records = min(records, self._frame.height)
        sample = self._frame.gather_every(self._frame.height // records).head(records)
        # Of this process: time that others take would be extrapolated with it.
        start, clock = time.process_time(), time.monotonic()
        with suppress(InvalidParameterError, InvalidDataError):
            # The call for all records raises it again.
            self._run(sample, method)
        taken = time.process_time() - start
        self._own += taken
        self._clock += time.monotonic() - clock
        return taken

    def _work(self, method: str, strata: int | Sequence[int], k: int) -> float:
        """Return the seconds of strata of these sizes on the machine of `seconds_of`."""
        # Most of the work on few records grows with their number, whatever its square does later.
        return seconds_of(registry.methods()[method], strata, k)


def _rank(line: Line) -> int:
    return FIRST.index(line[0]) if line[0] in FIRST else len(FIRST)
