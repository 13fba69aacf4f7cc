"""What `protect` would do: roles, small strata, time and memory, and no output."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

import polars as pl

from polars_microagg.cli.bar import left
from polars_microagg.cli.say import table
from polars_microagg.cli.settings import Roles
from polars_microagg.errors import MicroaggError, MissingValuesError, TooFewRecordsError
from polars_microagg.frames.assess import assess
from polars_microagg.frames.columns import refuse, require
from polars_microagg.frames.door import mask_frame
from polars_microagg.frames.measures import classes
from polars_microagg.parameters import COMMON
from polars_microagg.publish import Job
from polars_microagg.registry import methods
from polars_microagg.release.advice import of_table

__all__ = ["estimate", "preview", "said"]

ENOUGH = 0.15
"""Seconds that a trial takes before it is trusted."""

FIRST = 500
BYTES = 12
"""Copies of the masked numbers that are in memory at once, and of the table."""
COPIES = 2
BASE = 190


def preview(job: Job, frame: pl.DataFrame, roles: Roles) -> dict[str, Any]:
    """Find what would happen.

    Parameters
    ----------
    job : Job
        What is asked.
    frame : polars.DataFrame
        The table.
    roles : Roles
        The role of each column.

    Returns
    -------
    dict
        Columns, strata, problems, warnings, and an estimate where nothing stands in the way.
    """
    sizes = classes(frame, roles.stratum)["size"] if roles.stratum else pl.Series([frame.height])
    problems = _problems(job, frame, roles, sizes)
    found: dict[str, Any] = {
        "rows": frame.height,
        "columns": [
            {"name": name, "type": str(dtype), "role": roles.of(name)}
            for name, dtype in frame.schema.items()
        ],
        "strata": {"count": len(sizes), "below_k": int((sizes < job.k).sum())},
        "problems": [{"error": type(p).__name__, "says": str(p)} for p in problems],
        "warnings": of_table(
            frame,
            job.blocks(frame),
            job.k,
            strata=roles.stratum,
            kept=roles.keep,
            **{
                name: job.options.get(name, COMMON[name])
                for name in ("center", "nulls", "small_strata")
            },
        ),
    }
    if not problems:
        found["estimate"] = estimate(job, frame, roles, sizes.to_list())
    return found


def _problems(job: Job, frame: pl.DataFrame, roles: Roles, sizes: pl.Series) -> list[MicroaggError]:
    """What would stop the work."""
    found: list[MicroaggError] = []
    for name in roles.mask:
        try:
            refuse(name, frame.schema[name])
            require(frame.get_column(name).alias("0"), name, job.options.get("nulls", "raise"))
        except MicroaggError as error:
            found.append(error)
    small = int((sizes < job.k).sum())
    if small and job.options.get("small_strata", "raise") == "raise":
        fewest = min(sizes.to_list())
        found.append(
            TooFewRecordsError.strata(small, len(sizes), fewest, job.k)
            if roles.stratum
            else TooFewRecordsError.of(frame.height, job.k)
        )
    return sorted(found, key=lambda error: not isinstance(error, MissingValuesError))


def estimate(job: Job, frame: pl.DataFrame, roles: Roles, sizes: Sequence[int]) -> dict[str, Any]:
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
    columns = pl.DataFrame({name: frame.get_column(name) for name in roles.mask})
    rows = min(FIRST, len(columns))
    while True:
        some = columns.sample(rows, seed=0)
        began = time.process_time()
        masked = mask_frame(some, job.method, job.columns, job.k, options)
        middle = time.process_time()
        assess(some, masked)
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
    if guess := found.get("estimate"):
        lines.append(
            f"About {left(guess['masking_seconds'])} to mask, {left(guess['measuring_seconds'])} to "
            f"measure, {guess['memory_megabytes']} MB of memory; from a trial on "
            f"{guess['trial_rows']:,} rows. Nothing was written."
        )
    return "\n".join(lines)
