"""A preview of a release: roles, small strata, problems, time and memory, without output."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Self, cast

import polars as pl

from polars_microagg.analysis.anonymity import classes, fewest_records
from polars_microagg.analysis.assess import assess
from polars_microagg.core.evaluate import most_records
from polars_microagg.core.kind import kind_of
from polars_microagg.core.options import COMMON
from polars_microagg.core.plan import Plan
from polars_microagg.core.registry import assessed
from polars_microagg.core.work import ruled_seconds, seconds_of
from polars_microagg.errors import MicroaggError
from polars_microagg.frames.attributes import entity_of
from polars_microagg.frames.columns import kind_for, refuse, require, type_name
from polars_microagg.frames.dry_run import rehearse
from polars_microagg.frames.mask import MaskRequest, mask_table, suppressed_rows
from polars_microagg.frames.rare_categories import refuse_rare
from polars_microagg.frames.selection import by_name
from polars_microagg.publishing.column_kinds import categories
from polars_microagg.publishing.column_roles import ColumnRoles
from polars_microagg.publishing.formats.files import Location
from polars_microagg.publishing.judgement import judged
from polars_microagg.publishing.manifest.precision import digits_of
from polars_microagg.publishing.manifest.rows import drops_rows, row_counts
from polars_microagg.publishing.memory import whole_bytes
from polars_microagg.publishing.request import ReleaseRequest
from polars_microagg.publishing.staging import foresee
from polars_microagg.publishing.warnings.advice import of_table
from polars_microagg.publishing.warnings.persons import Persons
from polars_microagg.publishing.warnings.unbounded_confidential import unbounded

__all__ = [
    "Trial",
    "columns_of",
    "estimate",
    "preview",
    "problems_of",
    "warnings_of",
]

ENOUGH = 0.15
"""Seconds from which on a trial is long enough to extrapolate from."""

FORESEEN = ("center", "nulls", "small_strata")
"""Options on which warnings depend."""

FIRST = 500
"""Rows of the first trial."""


def preview(
    request: ReleaseRequest,
    frame: pl.DataFrame,
    roles: ColumnRoles,
    place: Location,
    record: Path | None,
    overwrite: bool,
) -> dict[str, Any]:
    """Find what a release would do: columns, strata, problems and warnings.

    The first problem is the one that the release would stop at; if there is none, time and memory
    are estimated.
    """
    masking = cast(MaskRequest, request.masking)  # a masked table is not previewed
    sizes = classes(frame, roles.strata)["size"] if roles.strata else pl.Series([frame.height])
    problems = list(problems_of(request, masking, frame, roles, (place, record, overwrite)))
    blocks = roles.blocks if problems else request.blocks(frame.schema)
    result: dict[str, Any] = {
        "rows": frame.height,
        "columns": columns_of(request, frame, roles),
        "strata": {"count": len(sizes), "below_k": int((sizes < request.k).sum())},
        "problems": problems,
        "warnings": warnings_of(request, frame, roles, blocks),
    }
    if not problems:
        result["suppressed"] = int(suppressed_rows(frame, masking).sum())
        result["estimate"] = estimate(masking, frame, roles, sizes.to_list())
    return result


def columns_of(
    request: ReleaseRequest, frame: pl.DataFrame, roles: ColumnRoles
) -> list[dict[str, str]]:
    """Describe each column: its name, type and role, and its kind where that is one of categories."""
    roles_of = roles.by_column
    known = [n for n in roles.mask if kind_of(frame.schema[n], n, request.kinds)]
    chosen = categories(frame.schema, known, request.kinds)
    return [
        {"name": name, "type": type_name(dtype), "role": roles_of.get(name, "none")}
        | ({"kind": chosen[name]} if name in chosen else {})
        for name, dtype in frame.schema.items()
    ]


def warnings_of(
    request: ReleaseRequest,
    frame: pl.DataFrame,
    roles: ColumnRoles,
    blocks: Sequence[Sequence[str]],
) -> list[str]:
    """Return the warnings that can be given before masking."""
    options = {name: request.options.get(name, COMMON[name]) for name in FORESEEN}
    kept = roles.as_they_are(frame.columns)
    asked: dict[str, Any] = {"strata": roles.strata, "kept": kept, "kinds": request.kinds}
    # An entity without a name is refused by itself, and then nobody is counted.
    nameless = any(frame.get_column(name).null_count() for name in roles.entity)
    who = None if nameless else Persons.of(roles.entity, None, frame)
    seen = of_table(frame, blocks, request.k, **asked, **options, who=who)
    return [*seen, *unbounded(list(roles.confidential), request.bounded(), roles.entity)]


def problems_of(
    request: ReleaseRequest,
    masking: MaskRequest,
    frame: pl.DataFrame,
    roles: ColumnRoles,
    target: tuple[Location, Path | None, bool],
    unmeasured: Callable[[], object] | None = None,
) -> Iterator[MicroaggError]:
    """Yield each distinct error that the release would raise, in order.

    `unmeasured` refuses requirements on what a release is not measured for, by the rows of `frame` by
    default.
    """
    released = frame.select(map(by_name, roles.released(frame.columns)))
    # Masked columns are released with nulls only where their null patterns are kept.
    filled = () if masking.plan.nulls == "pattern" else roles.mask

    def judge() -> None:
        gone = suppressed_rows(frame, masking)
        dropped = int(gone.sum()) * (masking.plan.small_strata == "drop")
        rows, empty = frame.height - dropped, int(gone.sum()) - dropped
        exact = {"rows": rows, "suppressed": 100.0 * (empty + dropped) / max(frame.height, 1)}
        fewest = fewest_records(roles.mask, frame.filter(~gone))
        digits = digits_of(fewest) if drops_rows(request.options) else None
        shown = {**exact, "suppressed": row_counts(dropped, rows, empty, digits)["suppressed"]}
        judged([r for r in request.require if r.name in exact], exact, published=shown)

    steps: list[Callable[[], object]] = [
        lambda: request.refuse_unnamed_mode(roles),
        lambda: request.blocks(frame.schema),
        unmeasured or (lambda: request.refuse_unmeasured(frame.height)),
        lambda: foresee(*target, _first_rows(released, filled)),
        lambda: rehearse(frame, masking),
        judge,
        *(partial(_refuse_column, masking, frame, name) for name in roles.mask),
    ]
    said = set()
    for step in steps:
        try:
            step()
        except MicroaggError as error:
            if str(error) not in said:
                yield error
            said.add(str(error))


def _first_rows(frame: pl.DataFrame, filled: Collection[str]) -> pl.DataFrame:
    """Return the first row, and the first row with a null of each column that is not filled."""
    holes = {c.name for c in frame.get_columns() if c.null_count()} - {*filled}
    first = frame.select(by_name(name).is_null().arg_max() for name in sorted(holes))
    return frame[sorted({0, *first.row(0)} if holes else [0] * bool(frame.height))]


def _refuse_column(masking: MaskRequest, frame: pl.DataFrame, name: str) -> None:
    """Refuse a column that cannot be masked, also if another was refused before it."""
    plan, column = masking.plan, frame.get_column(name).alias("0")
    refuse(name, column.dtype, plan.kinds, plan.method)
    kind = kind_for(name, column.dtype, plan.kinds)
    require(column, name, plan.nulls, kind)
    # An entity without a name is refused by itself, and then nobody is counted.
    whose = [frame.get_column(entity) for entity in plan.entity]
    if not any(part.null_count() for part in whose):
        entity = entity_of(whose, plan.entity).codes if whose else None
        refuse_rare(column, name, kind, plan.k, entity)


@dataclass(frozen=True)
class Trial:
    """A number of rows that were masked in some seconds: those that are left, before and after."""

    rows: int
    before: pl.DataFrame
    after: pl.DataFrame
    seconds: float

    @classmethod
    def of(cls, masking: MaskRequest, frame: pl.DataFrame, roles: ColumnRoles) -> Self:
        """Mask more and more rows, until that takes long enough to extrapolate from."""
        # A null pattern that is rare in the sample need not be rare in the table, and what privacy models
        # take is known of strata as large as those of the table only.
        plan = replace(
            masking.plan,
            small_strata="drop",
            entity=(),
            entity_mode=None,
            max_rows_per_entity=None,
            confidential=(),
            models={},
        )
        trial = replace(masking, plan=plan, strata=(), order_by=())
        columns = pl.DataFrame({name: frame.get_column(name) for name in roles.mask})
        rows = min(max(FIRST, 2 * plan.k), len(columns))
        while True:
            sample = columns.sample(rows, seed=0)
            started = time.process_time()
            masked, gone = mask_table(sample, trial, sample=True)
            seconds = time.process_time() - started
            if seconds > ENOUGH or rows == len(columns):
                return cls(rows, sample.filter(~gone), masked, seconds)
            rows = min(2 * rows, len(columns))

    def grown(self, plan: Plan, sizes: Sequence[int], *, leaves: bool = False) -> float:
        """Return the seconds in which strata, or leaves, of these sizes are masked."""
        method, k = plan.method, plan.k
        grown = self.seconds * seconds_of(method, sizes, k) / seconds_of(method, self.rows, k)
        if plan.entity or plan.confidential:
            grown += ruled_seconds(sizes, leaves=leaves)
        return grown


def estimate(
    masking: MaskRequest, frame: pl.DataFrame, roles: ColumnRoles, sizes: Sequence[int]
) -> dict[str, Any]:
    """Time a trial on some rows, and extrapolate seconds and megabytes to strata of these sizes."""
    trial = Trial.of(masking, frame, roles)
    started = time.process_time()
    if trial.after.height:
        names = [n for n, entry in assessed().items() if most_records(entry) >= frame.height]
        assess(trial.before, trial.after, roles.mask, metrics=names, **masking.plan.kinds)
    measuring = time.process_time() - started
    measuring *= _sorting(frame.height) / _sorting(trial.rows)
    width = frame.estimated_size() / max(1, frame.height)
    need = whole_bytes(frame.height, width, len(roles.mask), persons=bool(roles.entity))
    return {
        "trial_rows": trial.rows,
        "masking_seconds": round(trial.grown(masking.plan, sizes), 2),
        "measuring_seconds": round(measuring, 2),
        "memory_megabytes": round(need / 1e6),
    }


def _sorting(n: int) -> float:
    """Return how the work of measuring so many records grows."""
    return n * math.log2(n + 1)
