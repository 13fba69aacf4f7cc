"""Rows of a release in its manifest: how many came in, came out, were emptied and were dropped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from polars_microagg.publishing.manifest.model import Manifest, Rows
from polars_microagg.publishing.manifest.precision import RARE, coarse_count, step
from polars_microagg.publishing.manifest.rounding import rounded

__all__ = ["RowsAgain", "drops_rows", "row_counts"]


def drops_rows(config: Mapping[str, Any]) -> bool:
    """Return whether a call may leave rows out of its release.

    >>> drops_rows({"small_strata": "drop"}), drops_rows({"small_strata": "null"})
    (True, False)
    """
    return config.get("small_strata") == "drop" or config.get("max_rows_per_entity") is not None


def row_counts(dropped: int, after: int, empty: int, digits: int | None) -> Rows:
    """Record the rows that came in, came out, and were suppressed: emptied or dropped.

    How many were dropped is known from the original alone: it is rounded to `digits` of their share in
    those that came out, and nothing follows from 0 digits. None means that the call drops no row.

    >>> row_counts(0, 4, 1, None)
    {'in': 4, 'out': 4, 'emptied': 1, 'dropped': 0, 'suppressed': 25.0}
    >>> row_counts(3_016, 96_984, 0, 3)["dropped"], row_counts(1, 4, 1, 0)["dropped"]
    (3007, None)
    """
    if digits == 0:
        return {"in": None, "out": after, "emptied": empty, "dropped": None, "suppressed": None}
    count = coarse_count(dropped, after, digits)[0] if digits else 0
    before = after + count
    share = rounded({"": 100.0 * (empty + count) / before if before else 0.0})[""]
    return {"in": before, "out": after, "emptied": empty, "dropped": count, "suppressed": share}


@dataclass(frozen=True)
class RowsAgain:
    """Rows of a release that were counted again.

    `dropped` is None if the original is needed to know how many rows were dropped, and is not there.
    """

    manifest: Manifest
    out: int
    emptied: int
    dropped: int | None

    @classmethod
    def of(
        cls, manifest: Manifest, out: int, empty: int, heights: tuple[int, int] | None
    ) -> RowsAgain:
        """Count dropped rows by the heights of the original and of what was not dropped of it."""
        unknown = None if drops_rows(manifest["config"]) else 0
        return cls(manifest, out, empty, heights[0] - heights[1] if heights else unknown)

    @cached_property
    def rows(self) -> Rows:
        """The rows as a manifest has to record them; as many dropped as this one says if it is not known."""
        stated, digits = self.manifest["rows"]["dropped"], self.manifest["digits"]
        dropped = max(stated or 0, 0) if self.dropped is None else self.dropped
        drops = drops_rows(self.manifest["config"])
        return row_counts(dropped, self.out, self.emptied, digits if drops else None)

    @property
    def suppressed(self) -> float | None:
        """Return the per cent of the rows that were emptied or dropped, if it is known."""
        if self.dropped is None:
            return None
        return 100.0 * (self.emptied + self.dropped) / max(self.out + self.dropped, 1)

    @property
    def step(self) -> float:
        """Return the size of the last digit of that per cent in the manifest."""
        share = 100.0 * (self.rows["dropped"] or 0) / max(self.out, 1)
        # A few rows are never rounded to none, so the share may be one whole step off.
        return 2 * step(RARE, share, self.manifest["digits"])
