"""A comparison of methods: how much each loses and risks."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, TypeAlias

import polars as pl

from polars_microagg.analysis.anonymity import classes, selected
from polars_microagg.analysis.assess import assess
from polars_microagg.analysis.attacker import Known
from polars_microagg.analysis.time_budget import NotBegun, TimeBudget
from polars_microagg.core import registry
from polars_microagg.core.evaluate import most_records
from polars_microagg.core.options import KEY_OPTIONS, group_size, names_of, number_of_workers
from polars_microagg.core.own_options import options_of_methods, refuse_unknown
from polars_microagg.core.work import known_elsewhere, ruled_seconds, seconds_of
from polars_microagg.errors import (
    InvalidDataError,
    InvalidParameterError,
    MicroaggError,
    UnknownMethodError,
)
from polars_microagg.frames.mask import MaskRequest, mask_table
from polars_microagg.frames.safe_collect import collected
from polars_microagg.frames.selection import Columns, Names, as_frame, keys_of, named_options
from polars_microagg.processes.crew import Map, crew, ours, shared

__all__ = ["TYPES", "Comparison", "compare", "comparison"]

MEASURES = ("loss", "il", "dld", "pld", "interval_disclosure", "dr", "score", "k_prime", "k_min")
TYPES = {
    "method": pl.String(),
    "k": pl.Int64(),
    **dict.fromkeys(MEASURES, pl.Float64()),
    "k_min": pl.Int64(),
    "suppressed": pl.Float64(),
    "seconds": pl.Float64(),
    "pareto": pl.Boolean(),
    "note": pl.String(),
}
"""Columns of the table of `compare`."""


MEASURING = 5e-6
"""Seconds of one processor that measuring takes for each record."""

UNRULED: dict[str, Any] = {
    "entity": (),
    "entity_mode": None,
    "max_rows_per_entity": None,
    "confidential": (),
}
"""Fields of a plan without privacy models."""

RULED = 10
"""Group size for which `ruled_seconds` is true. Entities take time in proportion to k, and so do confidential
columns with larger k."""

Done: TypeAlias = tuple[tuple[str, int], Any, float]


@dataclass(frozen=True)
class Comparison:
    """The table of `compare`, and its notes as data, by method and k."""

    table: pl.DataFrame
    notes: Mapping[tuple[str, int], MicroaggError | NotBegun]


def compare(
    frame: Any,
    columns: Columns,
    *,
    methods: str | Sequence[str] | None = None,
    ks: int | Sequence[int] = (3, 5, 10),
    strata: Names = None,
    known: Known = None,
    known_sample: int | None = None,
    seconds: float | None = None,
    metrics: str | Sequence[str] | None = None,
    seed: int = 0,
    workers: int | None = None,
    **options: Any,
) -> pl.DataFrame:
    """Mask a table by several methods and measure what each loses and risks.

    Parameters
    ----------
    frame : polars.DataFrame or polars.LazyFrame
        The table; a LazyFrame is collected.
    columns : str, selector, list, or list of lists
        What to mask and measure.
    methods : str or list of str, optional
        Names of methods; by default all that group records.
    ks : int or list of int, default (3, 5, 10)
        Smallest group sizes.
    strata : str, selector or list, optional
        Columns whose values keep records apart. An attacker knows them, so records are linked, and
        classes counted, within them.
    known, known_sample
        What an intruder knows, as for `assess`.
    seconds : float, optional
        Time limit in seconds. The cheapest lines run first, for a quarter of it, then MDAV and the
        method of this library, then the others, the cheapest first. A line does not start if it is
        expected to take longer than the time left; its note gives the estimate, from a trial on up to
        a thousand records.
    metrics : str or list of str, optional
        Further metrics to compute, by name: each a column more, at the end.
    seed : int, default 0
        Seed of methods that draw at random, and of `known_sample`.
    workers : int, optional
        Most processes that share the work, where that is long enough; as many as there are processors
        by default. Without `seconds` each takes a method and k at a time; with it they share what
        one method does. No number but `seconds` depends on it.
    **options : Any
        Options that all methods share, as for `mask`: scale, nulls, entity, confidential with bounds
        on it, and so on. The rows of an entity are masked each by itself unless `entity_mode` is named.

    Returns
    -------
    polars.DataFrame
        One row a k and method, in the order given: method, k, loss, il, dld, pld,
        interval_disclosure, dr, score, k_prime, k_min (the smallest class that came out, below k
        where values or blocks are masked), suppressed (per cent of the records that were emptied or
        dropped, as `small_strata` says; the measures are of the others), seconds (of masking, on
        the clock), pareto (whether no other row has both `loss` and `dr` at most as high and one
        of them lower) and
        note. Where a method cannot run, for too many records, an option it does not have or
        lack of time, its note says why and all numbers are null; elsewhere the note is null.

    Raises
    ------
    InvalidParameterError, InvalidDataError
        No method can run: what keeps the first from it, or how many seconds would do.

    Examples
    --------
    >>> people = pl.DataFrame({"age": [23, 25, 31, 47, 52, 58], "pay": [21, 24, 30, 52, 61, 55]})
    >>> table = compare(people, ["age", "pay"], methods=["mdav", "fixed_size"], ks=3)
    >>> table.select("method", "k", "k_prime", "note").rows()
    [('mdav', 3, 3.0, None), ('fixed_size', 3, 3.0, None)]
    """
    several: dict[str, Any] = {"methods": methods, "ks": ks, "strata": strata, "seconds": seconds}
    several["metrics"] = metrics
    return comparison(
        frame,
        columns,
        known=known,
        known_sample=known_sample,
        seed=seed,
        workers=workers,
        **several,
        **options,
    ).table


def comparison(
    frame: Any,
    columns: Columns,
    *,
    methods: str | Sequence[str] | None = None,
    ks: int | Sequence[int] = (3, 5, 10),
    strata: Names = None,
    known: Known = None,
    known_sample: int | None = None,
    seconds: float | None = None,
    metrics: str | Sequence[str] | None = None,
    seed: int = 0,
    workers: int | None = None,
    **options: Any,
) -> Comparison:
    """Compare as `compare` does, with the notes as data; parameters and errors are its own."""
    if seconds is not None:
        if not isinstance(seconds, Real) or isinstance(seconds, bool) or not seconds > 0:
            raise InvalidParameterError.kind("seconds", seconds, "a number above 0")
        seconds = min(seconds, 1e9)
    frame = collected(as_frame(frame))
    names = [name for block in selected(frame, columns) for name in block]
    listed = _methods(methods)
    refuse_unknown(compare, options, options_of_methods())
    listed_ks = ks if isinstance(ks, Iterable) and not isinstance(ks, str) else [ks]
    sizes = list(dict.fromkeys(group_size(k) for k in listed_ks))
    if not sizes:
        raise InvalidParameterError.kind("ks", ks, "at least one smallest group size, as in (3, 5)")
    options = named_options(options, frame.schema)
    divided = keys_of(frame.schema, "strata", strata)
    shared = options | {"strata": divided, "seed": seed}
    further = [m for m in dict.fromkeys(names_of("metrics", metrics)) if m not in MEASURES]
    known_by: dict[str, Any] = {"known": known, "known_sample": known_sample, "seed": seed}
    known_by["strata"] = divided
    known_by |= {name: options[name] for name in (*KEY_OPTIONS, "entity") if name in options}

    work = _Work(frame, columns, names, shared, [*MEASURES, *further], known_by)
    # Errors of the measures are raised before anything is masked.
    work.measured(frame.clear(), frame.clear())
    types = TYPES | {
        m: pl.Int64() if registry.metrics()[m].whole else pl.Float64() for m in further
    }
    counts = classes(frame, divided)["size"].to_list() if divided else [frame.height]
    whole = shared | {"strata": None}

    def trial(sample: pl.DataFrame, method: str) -> object:
        request = MaskRequest.of(method, columns, min(sizes), whole)
        # A null pattern that is rare in the sample need not be rare in the table, and what privacy models
        # take is known of strata as large as those of the table only.
        plan = replace(request.plan, small_strata="drop", models={}, **UNRULED)
        return mask_table(sample, replace(request, plan=plan), sample=True)

    def ruled(k: int) -> float:
        if options.get("confidential"):
            return ruled_seconds(counts) * max(1.0, k / RULED)
        return ruled_seconds(counts) * k / RULED if options.get("entity") else 0.0

    cells = [(method, k) for k in sizes for method in listed]
    limits = [most_records(entry) for entry in map(registry.metrics().get, work.metrics) if entry]
    budget = TimeBudget(
        seconds,
        frame,
        counts,
        trial,
        min(sizes),
        ruled=ruled,
        pairs=any(frame.height <= limit < math.inf for limit in limits),
    )
    rows = {
        cell: dict.fromkeys(types) | dict(zip(("method", "k"), cell, strict=True)) for cell in cells
    }
    failed = list[MicroaggError]()
    notes = dict[tuple[str, int], MicroaggError | NotBegun]()

    def begun() -> Iterator[tuple[str, int]]:
        for cell in budget.order(cells):
            if late := budget.refusal(*cell):
                notes[cell] = late
            else:
                yield cell

    with crew(number_of_workers(workers)):
        # What is left of the time is known only when the cell before is done.
        each = map if seconds else work.map(cells, counts)
        for cell, found, more in each(work, begun()):
            if isinstance(found, MicroaggError):
                notes[cell] = found
                failed.append(found)
                continue
            rows[cell] |= found
            budget.took(*cell, found["seconds"], more)
    if not any(row["seconds"] for row in rows.values()):
        if failed and not any(isinstance(note, NotBegun) for note in notes.values()):
            raise failed[0]
        need = f"at least {budget.enough(cells)}, in which one method can be expected to be done"
        raise InvalidParameterError.kind("seconds", seconds, need)
    ordered = [rows[cell] | {"note": str(notes[cell]) if cell in notes else None} for cell in cells]
    return Comparison(
        pl.DataFrame(ordered, schema=types).with_columns(pareto=_pareto(ordered)), notes
    )


@dataclass(frozen=True)
class _Work:
    """Masking and measuring a table by one method and k."""

    frame: pl.DataFrame
    columns: Columns
    names: list[str]
    options: dict[str, Any]
    metrics: list[str]
    known_by: dict[str, Any]

    def __call__(self, cell: tuple[str, int]) -> Done:
        """Return the cell, its numbers or why there are none, and the seconds of measuring."""
        method, k = cell
        start = time.perf_counter()
        try:
            request = MaskRequest.of(method, self.columns, k, self.options)
            masked, gone = mask_table(self.frame, request)
        except (InvalidParameterError, InvalidDataError) as error:
            return cell, error, 0.0
        spent = time.perf_counter() - start
        same = self.frame.height == masked.height
        row = self.measured(self.frame if same else self.frame.filter(~gone), masked)
        row["suppressed"] = 100.0 * int(gone.sum()) / max(self.frame.height, 1)
        return cell, row | {"seconds": spent}, time.perf_counter() - start - spent

    def measured(self, before: pl.DataFrame, after: pl.DataFrame) -> dict[str, Any]:
        """Return the numbers of a masked table."""
        measures = assess(before, after, self.names, metrics=self.metrics, **self.known_by)
        return measures.row(0, named=True)

    def map(self, cells: Sequence[tuple[str, int]], strata: Sequence[int]) -> Map:
        """Return the map for these cells of a table with strata of these sizes."""
        known = registry.methods()
        if not ours(
            *(
                registry.metrics()[name].function
                for name in self.metrics
                if name in registry.metrics()
            )
        ):
            return map
        if not known_elsewhere(*(known[method] for method, _ in cells)):
            return map
        masking = sum(seconds_of(known[method], strata, k) for method, k in cells)
        return shared(masking + MEASURING * self.frame.height * len(cells))


def _methods(methods: object) -> list[str]:
    """Check the names of methods; by default all that group records."""
    known = registry.methods()
    listed = names_of("methods", methods)
    for name in listed:
        if name not in known:
            raise UnknownMethodError.of(name, known)
    if methods is not None and not listed:
        raise InvalidParameterError.kind("methods", methods, "at least one name of a method")
    return list(listed) or [
        name for name, m in known.items() if m.unit == "record" and not m.columnwise
    ]


def _pareto(rows: Sequence[Mapping[str, Any]]) -> pl.Series:
    """Return for each row whether no other is better in loss or risk and worse in neither."""
    points = [(row["loss"], row["dr"]) for row in rows]
    there = [point for point in points if None not in point]
    best = [
        None
        if None in point
        else not any(a <= point[0] and b <= point[1] and (a, b) != point for a, b in there)
        for point in points
    ]
    return pl.Series("pareto", best, dtype=pl.Boolean)
