"""The nodes of one call see the same records in one run of a plan, or fail."""

from __future__ import annotations

import hashlib
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from weakref import WeakValueDictionary

import polars as pl

from polars_microagg.errors import InvalidDataError

__all__ = ["PlanRun", "PlanRuns", "SameRecords"]

DIFFERS = (
    "the plan reads it in several places, and it comes with other records, or in another order, at "
    "each of them. Parts of several maskings do not keep k. Collect the masked table once and go on "
    "from it, as in masked.collect().lazy()."
)
"""Message on a table that is not the same each time it is read."""


@dataclass(eq=False)
class PlanRun:
    """One run of a plan, and digests of the records that nodes of one call have seen in it."""

    seen: list[bytes] = field(default_factory=list)

    def check(self, records: pl.DataFrame) -> None:
        """Refuse records, or an order, that differ from what the first node of the call saw."""
        # Polars hashes rows in the order in which they come, and blake2b makes 64 bytes of all of
        # them, so that a run does not keep the records.
        digest = hashlib.blake2b(records.hash_rows().to_numpy().tobytes()).digest()
        # Nodes may run at the same time: each appends, which is atomic, then looks at the first.
        self.seen.append(digest)
        if digest != self.seen[0]:
            raise InvalidDataError.unreadable("frame", DIFFERS)

    def __reduce__(self) -> tuple[type[PlanRun], tuple[()]]:
        return PlanRun, ()


@dataclass(frozen=True)
class SameRecords:
    """The function of a plan node, which fails where its plan hands it other records than before.

    Each masking keeps k; parts of two maskings, put together again, do not.
    """

    function: Callable[[pl.Series], pl.Series]
    run: PlanRun = field(compare=False)

    def __call__(self, batch: pl.Series) -> pl.Series:
        """Check a struct column and call the function."""
        self.run.check(batch.struct.unnest())
        return self.function(batch)


class PlanRuns:
    """The runs of all plans that hold one call.

    Polars builds every node of a plan anew whenever it plans, in the thread that collects, and
    before any node of that plan runs. So nodes built in one thread with none run in between are of
    one plan.
    """

    def __init__(self, token: str | None = None) -> None:
        self._token = token or uuid.uuid4().hex
        self._planned: dict[int, PlanRun] = {}
        _CALLS[self._token] = self

    def planned(self) -> PlanRun:
        """Return the run that this thread is planning, or begin one."""
        thread = threading.get_ident()
        run = self._planned.get(thread)
        # A run that has seen records is past its planning: the thread plans another one.
        if run is None or run.seen:
            run = self._planned[thread] = PlanRun()
        return run

    def __reduce__(self) -> tuple[Callable[[str], PlanRuns], tuple[str]]:
        return _runs, (self._token,)


_CALLS: WeakValueDictionary[str, PlanRuns] = WeakValueDictionary()
"""All calls by their token: a serialised plan holds the same call in several copies."""


def _runs(token: str) -> PlanRuns:
    return _CALLS.get(token) or PlanRuns(token)
