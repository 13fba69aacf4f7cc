"""A method on each stratum of a table, in this process or in several."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from polars_microagg.core.partition import Grouping, Labels, Matrix, Members, Partition
from polars_microagg.core.registry import Method
from polars_microagg.core.work import seconds_of
from polars_microagg.errors import GuaranteeError
from polars_microagg.processes.crew import shared
from polars_microagg.progress import part, whole

__all__ = ["group_strata"]

LOCKSTEP = 8192
"""Strata up to this size are grouped side by side where the method can."""

BESIDE, TOGETHER = 1.2e-6, 1 << 20
"""Seconds that takes for a record, and the records of a job: with fewer strata it takes longer."""

SHARES = 64
"""Strata are handed out in about so many parts of the work."""

Function: TypeAlias = Callable[[Matrix], Partition]


def group_strata(
    method: Method,
    x: Matrix,
    sizes: Labels,
    arguments: Mapping[str, Any],
    present: npt.NDArray[np.bool_] | None,
) -> Grouping:
    """Run the method on each stratum; the groups of later ones get later numbers.

    Where the method lists the groups of every stratum, so does the result.
    """
    with whole(len(x) if len(sizes) > 1 else 0):
        return _each_grouped(method, x, sizes, arguments, present)


def _each_grouped(
    method: Method,
    x: Matrix,
    sizes: Labels,
    arguments: Mapping[str, Any],
    present: npt.NDArray[np.bool_] | None,
) -> Grouping:
    """Run the method on each stratum, and report all of them as one piece of work."""
    starts, total = np.cumsum(sizes) - sizes, len(x) if len(sizes) > 1 else 0
    grouped, groups = np.empty(len(x), dtype=np.intp), 0
    # Strata that are not large cost more in calls than in arithmetic, so a method that can takes them
    # side by side. Its groups are the same, only their numbers differ.
    beside = sizes <= (LOCKSTEP if method.lockstep else 0)
    if method.lockstep and beside.sum() > 1:
        rows = slice(None) if beside.all() else np.repeat(beside, sizes)
        many = partial(method.lockstep, **arguments)
        grouped[rows], groups = _side_by_side(many, x[rows], sizes[beside], total)
        starts, sizes = starts[~beside], sizes[~beside]
        present = present if present is None else present[~beside]
    if any(option.axis for option in method.options.values()):
        # A method with an option that names a column needs all of them at their positions.
        present = None
    each = shared(seconds_of(method, sizes, int(arguments["k"]), arguments))
    shares = _shares(sizes, max(1, int(sizes.sum()) // SHARES))
    first = len(x) - int(sizes.sum())

    def jobs() -> Iterator[tuple[int, list[Matrix]]]:
        for strata in shares:
            parts = [x[starts[i] : starts[i] + sizes[i]] for i in strata]
            if present is not None:
                # An absent column is equal in all records of a pattern and only costs time.
                parts = [_cut(rows, present[i]) for i, rows in zip(strata, parts, strict=True)]
            yield first + int(sizes[: strata[0]].sum()), parts

    work = partial(_each_stratum, method.name, partial(method.function, **arguments), total)
    partitions = [partition for found in each(work, jobs()) for partition in found]
    runs = [partition.runs for partition in partitions if partition.runs is not None]
    if len(runs) == len(partitions) and not groups:
        order = [run.order + start for run, start in zip(runs, starts, strict=True)]
        lengths = np.concatenate([run.sizes for run in runs])
        # One stratum is in its own order already.
        whole = runs[0].order if len(runs) == 1 else np.concatenate(order)
        return Grouping.by_list(Members(whole, lengths), len(x))
    if len(partitions) == 1 and not groups:
        return Grouping.by_label(partitions[0].labels, len(partitions[0]))
    for partition, start, size in zip(partitions, starts, sizes, strict=True):
        np.add(partition.labels, groups, out=grouped[start : start + size])
        groups += len(partition)
    return Grouping.by_label(grouped, groups)


def _side_by_side(
    work: Callable[[Matrix, Labels], tuple[Labels, int]], x: Matrix, sizes: Labels, total: int
) -> tuple[Labels, int]:
    """Group strata many at a time; the groups of later ones get later numbers."""
    stops = np.cumsum(sizes)
    shares = _shares(sizes, TOGETHER)
    jobs = ((int(stops[s[0]] - sizes[s[0]]), stops[s[-1]], sizes[s]) for s in shares)
    parts = ((start, x[start:stop], strata) for start, stop, strata in jobs)
    grouped, groups = np.empty(len(x), dtype=np.intp), 0
    done = 0
    for labels, made in shared(BESIDE * len(x))(partial(_unpacked, work, total), parts):
        np.add(labels, groups, out=grouped[done : done + len(labels)])
        done += len(labels)
        groups += made
    return grouped, groups


def _unpacked(
    work: Callable[[Matrix, Labels], tuple[Labels, int]],
    total: int,
    job: tuple[int, Matrix, Labels],
) -> tuple[Labels, int]:
    """Group the strata of one job."""
    start, x, sizes = job
    with part(start, len(x), total) if total else nullcontext():
        return work(x, sizes)


def _each_stratum(
    name: str, function: Function, total: int, job: tuple[int, list[Matrix]]
) -> list[Partition]:
    """Run a method on some strata; return the partition of each.

    The first begins at a record of `total`; 0 stands for one stratum alone.
    """
    start, strata = job
    found = []
    for x in strata:
        with part(start, len(x), total) if total else nullcontext():
            partition = function(x)
        start += len(x)
        runs = partition.runs
        # A record without a group would come out empty, and nobody had said so.
        grouped = np.count_nonzero(partition.labels >= 0) if runs is None else 0
        records = int(grouped) if runs is None else _listed(runs, len(x))
        if records != len(x):
            raise GuaranteeError.shape(name, records, len(x))
        found.append(partition)
    return found


def _listed(runs: Members, rows: int) -> int:
    """Count the rows that are listed; another number than all if they are not listed once each."""
    if runs.are_all(rows):
        return rows
    once = np.unique(runs.order)
    counts = len(runs.order), int(runs.sizes.sum()), int(((once >= 0) & (once < rows)).sum())
    return next(count for count in counts if count != rows)


def _shares(sizes: Labels, share: int) -> list[Labels]:
    """Return the strata of each job: consecutive ones, with about as many records in each job."""
    number = (np.cumsum(sizes) - 1) // share
    return (
        np.split(np.arange(len(sizes)), np.flatnonzero(np.diff(number)) + 1) if len(sizes) else []
    )


def _cut(x: Matrix, present: npt.NDArray[np.bool_]) -> Matrix:
    """Return the columns that are present."""
    return x if present.all() else np.asfortranarray(x[:, present])
