"""A preview of a large release: tried on its first rows, and reckoned for all of them."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import polars as pl

from polars_microagg.errors import OutputError
from polars_microagg.frames.mask import MaskRequest
from polars_microagg.leaves.options import leaf_size
from polars_microagg.publishing.column_roles import ColumnRoles
from polars_microagg.publishing.formats.files import Location
from polars_microagg.publishing.preview import estimate, preview
from polars_microagg.publishing.request import ReleaseRequest
from polars_microagg.publishing.sources import Size

__all__ = ["FIRST", "preview_large"]

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
    the whole table, and not told.
    """
    masking = cast(MaskRequest, request.masking)
    # A stratum that is small among the first rows need not be small in the table.
    policy = "null" if masking.plan.small_strata == "null" else "drop"
    policy = masking.plan.small_strata if masking.plan.confidential else policy
    trial = replace(masking, plan=replace(masking.plan, small_strata=policy))
    required = tuple(r for r in request.require if r.name not in ("rows", "suppressed"))
    result = preview(replace(request, masking=trial, require=required), first, roles, *target)
    result.pop("suppressed", None)
    result |= {"rows": size.rows, "looked_at": first.height}
    if "estimate" in result:
        leaf = min(leaf_size(None, masking.plan), max(1, size.rows))
        told = estimate(masking, first, roles, [leaf] * max(1, round(size.rows / leaf)))
        width = len(first.columns) + 4 * len(roles.mask)
        told["masking_seconds"] = round(FITTING + SEARCHED * told["masking_seconds"], 2)
        disk = size.rows * (size.width + ON_DISK * len(roles.mask))
        result["problems"] += _problems(target[0], disk)
        result["estimate"] = told | {
            "measuring_seconds": round(CELL * size.rows * width, 2),
            "memory_megabytes": round(limit / 1e6),
            "disk_megabytes": round(disk / 1e6),
        }
    return result


def _problems(place: Location, disk: float) -> list[OutputError]:
    """Return the error of a release that takes more room than there is beside its place."""
    folder = Path() if place.piped else place.path.parent
    free = shutil.disk_usage(folder).free if folder.is_dir() else disk
    if disk <= free:
        return []
    why = f"about {disk / 1e6:,.0f} MB are needed beside it meanwhile, and {free / 1e6:,.0f} MB are free"
    return [OutputError.of(place, f"{why}. Make room, or name another folder.")]
