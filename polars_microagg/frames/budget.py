"""How long a method will take, and whether there is time for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import polars as pl

from polars_microagg import registry
from polars_microagg.errors import InvalidDataError, InvalidParameterError

__all__ = ["Budget"]

FEW, MORE = 100, 1_000
"""Records on which a method is timed: on more if it seems too slow by the time for few."""


class Budget:
    """Seconds for several methods, on the clock from now on.

    Parameters
    ----------
    seconds : float, optional
        How long all may take; without it nothing is timed and nothing refused.
    frame : polars.DataFrame
        The table.
    strata : sequence of int
        Number of records of each stratum.
    run : callable
        Masks some records by a method, given by name.
    """

    def __init__(
        self,
        seconds: float | None,
        frame: pl.DataFrame,
        strata: Sequence[int],
        run: Callable[[pl.DataFrame, str], object],
    ) -> None:
        self._start = time.monotonic()
        self._seconds, self._frame, self._strata, self._run = seconds, frame, strata, run
        self._expected: dict[str, float] = {}
        self._tried: set[str] = set()

    def expected(self, method: str) -> float:
        """Seconds that a method is expected to take, by its time for few records."""
        if self._seconds is None or self._frame.height <= FEW:
            return 0.0
        if method not in self._expected:
            spent = self._passed() >= self._seconds
            self._expected[method] = 0.0 if spent else self._timed(method, FEW)
        return self._expected[method]

    def refusal(self, method: str, also: float) -> str | None:
        """Say why a method is not begun, if it is not.

        Parameters
        ----------
        method : str
            Its name.
        also : float
            Seconds that are needed after it.

        Returns
        -------
        str or None
            A sentence.
        """
        if self._seconds is None:
            return None
        left = self._seconds - self._passed()
        expected = self.expected(method)
        # Calls take some time for any number of records, so a guess by few of them is too high.
        trial = expected * MORE / self._frame.height if self._frame.height > MORE else left
        if expected + also >= left and trial < left and method not in self._tried:
            self._tried.add(method)
            self._expected[method] = expected = self._timed(method, MORE)
            left = self._seconds - self._passed()
        if expected + also < left:
            return None
        return (
            f"{method} was not begun: it is expected to take {expected:.3g} seconds, and of "
            f"seconds={self._seconds:g} there were {max(left, 0):.3g} left. Allow more, or name "
            "fewer methods."
        )

    def _passed(self) -> float:
        return time.monotonic() - self._start

    def _timed(self, method: str, records: int) -> float:
        sample = self._frame.gather_every(self._frame.height // records).head(records)
        start = time.perf_counter()
        try:
            self._run(sample, method)
        except (InvalidParameterError, InvalidDataError):
            # The call for all records will say what is wrong.
            return 0.0
        taken = time.perf_counter() - start
        power = 2 if registry.methods()[method].cost.startswith("n^2") else 1
        return float(taken * sum((size / records) ** power for size in self._strata))
