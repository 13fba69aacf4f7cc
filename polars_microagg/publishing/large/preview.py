"""A preview of a large release: tried on its first rows, and reckoned for all of them."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import polars as pl

from polars_microagg.errors import MicroaggError, OutputError
from polars_microagg.frames.mask import MaskRequest
from polars_microagg.leaves.options import leaf_size
from polars_microagg.publishing.column_roles import ColumnRoles
from polars_microagg.publishing.formats.files import Location
from polars_microagg.publishing.large.release import refuse_sampled
from polars_microagg.publishing.preview import (
    Trial,
    columns_of,
    problems_of,
    warnings_of,
)
from polars_microagg.publishing.request import ReleaseRequest
from polars_microagg.publishing.sources import Size
from polars_microagg.wording import Sentence

__all__ = ["FIRST", "disk_need", "disk_problems", "preview_large"]

FIRST = 20_000
"""Rows that are looked at."""

FITTING = 1.5
"""Seconds in which leaves are fitted."""

SEARCHED = 1.4
"""Factor by which leaves are masked longer than the trial, as they are searched."""

CELL = 1.5e-7
"""Seconds in which a cell is read, written, counted and measured out of core, beside the masking."""

ON_DISK = 3 * 8 + 16
"""Bytes on disk for a masked cell: parts, masked parts and the release, and coordinates to be measured."""


def preview_large(
    request: ReleaseRequest,
    first: pl.DataFrame,
    roles: ColumnRoles,
    target: tuple[Location, Path | None, bool],
    size: Size,
    limit: int,
) -> dict[str, Any]:
    """Find what a large release would do, as `preview` does, from its `first` rows and its `size`.

    `limit` is the memory it may take. How small strata are, and what is required of rows, is known only of
    the whole table, and not told. What rests on the first rows says so.
    """
    if first.height < FIRST:  # these are all
        size = replace(size, rows=first.height, exact=True)
    masking = cast(MaskRequest, request.masking)
    # With models the policy of the caller, as a bound that cannot be reached would leave nothing to look at.
    policy = masking.plan.small_strata if masking.plan.confidential else "drop"
    plan = replace(masking.plan, small_strata=policy)
    required = tuple(r for r in request.require if r.name not in ("rows", "suppressed"))
    trial = replace(masking, plan=plan, strata=())
    asked = replace(request, masking=trial, require=required)
    blocks, apart = roles.blocks, replace(roles, strata=())

    def unmeasured(rows: int) -> None:
        request.refuse_unmeasured(rows)
        refuse_sampled(request, max(rows, first.height))

    counted = partial(unmeasured, size.rows)
    problems = list(problems_of(asked, trial, first, roles, target, counted))
    if not problems:
        blocks = asked.blocks(first.schema)
    warnings = warnings_of(request, first, apart, blocks)
    if first.height < size.rows:
        seen = _Seen(first.height, size)
        # What is found without rows is wrong with the call, and not with those that were looked at.
        known = partial(unmeasured, size.rows if size.exact else first.height)
        certain = {str(e) for e in problems_of(asked, trial, first.clear(), roles, target, known)}
        problems = [e if str(e) in certain else seen.error(e) for e in problems]
        certain = {*warnings_of(request, first.head(1), apart, blocks)}
        warnings = [w if w in certain else seen.sentence(w) for w in warnings]
    result: dict[str, Any] = {
        "rows": size.rows,
        "looked_at": first.height,
        "exact": size.exact,
        "columns": columns_of(request, first, roles),
        "problems": problems,
        "warnings": warnings,
    }
    if not problems:
        leaf = min(leaf_size(None, masking.plan), max(1, size.rows))
        tried = Trial.of(masking, first, roles)
        grown = tried.grown(masking.plan, [leaf] * max(1, round(size.rows / leaf)), leaves=True)
        width = len(first.columns) + 4 * len(roles.mask)
        disk = disk_need(size, len(roles.mask))
        result["problems"] += disk_problems(target[0], disk)
        result["estimate"] = {
            "trial_rows": tried.rows,
            "masking_seconds": round(FITTING + SEARCHED * grown, 2),
            "measuring_seconds": round(CELL * size.rows * width, 2),
            "memory_megabytes": round(limit / 1e6),
            "disk_megabytes": round(disk / 1e6),
        }
    return result


@dataclass(frozen=True)
class _Seen:
    """The number of rows that were looked at, of a table of this size."""

    rows: int
    size: Size

    @property
    def _of(self) -> str:
        about = "" if self.size.exact else "about "
        return f"This was seen in the first {self.rows:,} of {about}{self.size.rows:,} rows."

    def sentence(self, said: str) -> Sentence:
        """Return a warning with the rows that it rests on."""
        return Sentence("{said} {seen}", said=said, seen=self._of)

    def error(self, error: MicroaggError) -> MicroaggError:
        """Return an error with the rows that it rests on."""
        template, fields = error.sentence.template, error.sentence.fields
        return type(error).of_fields(f"{template} {{seen}}", **fields, seen=self._of)


def disk_need(size: Size, masked: int) -> float:
    """Return the bytes that a release of so many masked columns takes beside its place meanwhile."""
    return size.rows * (size.width + ON_DISK * masked)


def disk_problems(place: Location, disk: float) -> list[OutputError]:
    """Return the error of a release that takes more room than there is beside its place."""
    folder = Path() if place.piped else place.path.parent
    free = shutil.disk_usage(folder).free if folder.is_dir() else disk
    if disk <= free:
        return []
    why = f"about {disk / 1e6:,.0f} MB are needed beside it meanwhile, and {free / 1e6:,.0f} MB are free"
    return [OutputError.of(place, f"{why}. Make room, or name another folder.")]
