"""What `protect` would do: roles, small strata, time and memory, and no output."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from polars_microagg.analysis.anonymity import classes
from polars_microagg.analysis.assess import assess
from polars_microagg.cli.output import table
from polars_microagg.cli.progress_bar import left
from polars_microagg.cli.settings import Roles
from polars_microagg.core.options import COMMON
from polars_microagg.core.registry import methods
from polars_microagg.errors import MicroaggError
from polars_microagg.frames.columns import refuse, require, type_name
from polars_microagg.frames.dry_run import rehearse
from polars_microagg.frames.mask import MaskRequest, mask_table, suppressed
from polars_microagg.frames.selection import by_name
from polars_microagg.publishing.formats.files import Location
from polars_microagg.publishing.judgement import judged
from polars_microagg.publishing.publish import ReleaseRequest
from polars_microagg.publishing.staging import foresee
from polars_microagg.publishing.warnings.advice import of_table

__all__ = ["estimate", "preview", "said"]

ENOUGH = 0.15
"""Seconds that a trial takes before it is trusted."""

FORESEEN = ("center", "nulls", "small_strata")
"""Options that decide of what is warned."""

FIRST = 500
BYTES = 12
"""Copies of the masked numbers that are in memory at once, and of the table."""
COPIES = 2
BASE = 190


def preview(
    job: ReleaseRequest,
    frame: pl.DataFrame,
    roles: Roles,
    place: Location,
    record: Path | None,
    overwrite: bool,
) -> dict[str, Any]:
    """Find what would happen.

    Parameters
    ----------
    job : Job
        What is asked.
    frame : polars.DataFrame
        The table.
    roles : Roles
        The role of each column.
    place : Place
        Where the release would go.
    record : Path or None
        Where its manifest would go; beside it by default.
    overwrite : bool
        Whether a file that is there may be replaced.

    Returns
    -------
    dict
        Columns, strata, problems, warnings, and an estimate where nothing stands in the way. The
        first problem is the one that `protect` would stop at.
    """
    sizes = classes(frame, roles.stratum)["size"] if roles.stratum else pl.Series([frame.height])
    problems = list(_problems(job, frame, roles, (place, record, overwrite)))
    blocks = roles.blocks if problems else job.blocks(frame)
    options = {name: job.options.get(name, COMMON[name]) for name in FORESEEN}
    roles_of = roles.by_column
    found: dict[str, Any] = {
        "rows": frame.height,
        "columns": [
            {"name": name, "type": type_name(dtype), "role": roles_of.get(name, "none")}
            for name, dtype in frame.schema.items()
        ],
        "strata": {"count": len(sizes), "below_k": int((sizes < job.k).sum())},
        "problems": problems,
        "warnings": of_table(
            frame, blocks, job.k, strata=roles.stratum, kept=roles.keep, **options
        ),
    }
    if not problems:
        found["suppressed"] = _suppressed(job, frame)
        found["estimate"] = estimate(job, frame, roles, sizes.to_list())
    return found


def _problems(
    job: ReleaseRequest,
    frame: pl.DataFrame,
    roles: Roles,
    target: tuple[Location, Path | None, bool],
) -> Iterator[MicroaggError]:
    """What would stop the work, first what would stop it first, each once."""
    dropped = set(job.dropped)
    released = frame.select(by_name(n) for n in frame.columns if n not in dropped)

    def out() -> dict[str, float]:
        gone, policy = _suppressed(job, frame), job.options.get("small_strata")
        rows = frame.height - gone * (policy == "drop")
        return {"rows": rows, "suppressed": 100.0 * gone / max(frame.height, 1)}

    steps: list[Callable[[], object]] = [
        lambda: job.blocks(frame),
        lambda: foresee(*target, released.head(1)),
        lambda: rehearse(frame, job.method, job.columns, job.k, job.options),
        lambda: judged([r for r in job.require if r.name in ("rows", "suppressed")], out()),
        *(partial(_look, job, frame, name) for name in roles.mask),
    ]
    told = set()
    for step in steps:
        try:
            step()
        except MicroaggError as error:
            if str(error) not in told:
                yield error
            told.add(str(error))


def _suppressed(job: ReleaseRequest, frame: pl.DataFrame) -> int:
    """How many rows would be emptied or dropped."""
    return int(suppressed(frame, MaskRequest.of(job.method, job.columns, job.k, job.options)).sum())


def _look(job: ReleaseRequest, frame: pl.DataFrame, name: str) -> None:
    """Refuse a column that cannot be masked, also where another was refused before it."""
    refuse(name, frame.schema[name])
    require(frame.get_column(name).alias("0"), name, job.options.get("nulls", "raise"))


def estimate(
    job: ReleaseRequest, frame: pl.DataFrame, roles: Roles, sizes: Sequence[int]
) -> dict[str, Any]:
    """Time a trial on some rows, and reckon from it how long all of them take.

    Parameters
    ----------
    job : Job
        What is asked.
    frame : polars.DataFrame
        The table.
    roles : Roles
        The role of each column.
    sizes : sequence of int
        Records of each stratum.

    Returns
    -------
    dict
        Seconds and megabytes, both rough.
    """
    options = {n: v for n, v in job.options.items() if n not in ("strata", "order_by")}
    options["small_strata"] = "drop"  # a null pattern that is rare in the trial is so only there
    columns = pl.DataFrame({name: frame.get_column(name) for name in roles.mask})
    rows = min(max(FIRST, 2 * job.k), len(columns))
    while True:
        some = columns.sample(rows, seed=0)
        began = time.process_time()
        request = MaskRequest.of(job.method, job.columns, job.k, options)
        masked, gone = mask_table(some, request)
        middle = time.process_time()
        assess(some.filter(~gone), masked)
        ended = time.process_time()
        if middle - began > ENOUGH or rows == len(columns):
            break
        rows = min(2 * rows, len(columns))
    cost = methods()[str(job.method)].cost
    grown = sum(_work(cost, n) for n in sizes) / _work(cost, rows)
    measuring = (ended - middle) * _work("n log n", frame.height) / _work("n log n", rows)
    table_bytes = frame.estimated_size() * COPIES + frame.height * len(roles.mask) * 8 * BYTES
    return {
        "trial_rows": rows,
        "masking_seconds": round((middle - began) * grown, 2),
        "measuring_seconds": round(measuring, 2),
        "memory_megabytes": round(BASE + table_bytes / 2**20),
    }


def _work(cost: str, n: int) -> float:
    """How the work grows with the records of a stratum."""
    return float(n * n) if "n^2" in cost else n * math.log2(n + 1)


def said(found: dict[str, Any]) -> str:
    """Write a preview as text."""
    lines = [
        table(
            [(c["name"], c["type"], c["role"]) for c in found["columns"]],
            head=("column", "type", "role"),
        ),
        "",
        f"{found['rows']:,} rows, {found['strata']['count']} strata, "
        f"{found['strata']['below_k']} of them below k.",
    ]
    if gone := found.get("suppressed"):
        lines.append(f"{gone:,} rows ({100 * gone / found['rows']:.2g} %) would be suppressed.")
    if guess := found.get("estimate"):
        lines.append(
            f"About {left(guess['masking_seconds'])} to mask, {left(guess['measuring_seconds'])} to "
            f"measure, {guess['memory_megabytes']} MB of memory; from a trial on "
            f"{guess['trial_rows']:,} rows. Nothing was written."
        )
    return "\n".join(lines)
