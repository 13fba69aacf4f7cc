"""One release, for every door: masked, written beside its target, read again, judged, renamed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import polars as pl

from polars_microagg.analysis.anonymity import fewest_records, verify
from polars_microagg.analysis.counted_classes import ENTITY_COUNTS
from polars_microagg.errors import TooFewRecordsError
from polars_microagg.frames.mask import mask_table
from polars_microagg.frames.selection import by_name
from polars_microagg.progress import current
from polars_microagg.publishing.column_roles import ColumnRoles
from polars_microagg.publishing.formats.column_types import refuse_types
from polars_microagg.publishing.formats.files import STREAM, Location
from polars_microagg.publishing.judgement import judged, measured_on_demand, refuse_uncounted
from polars_microagg.publishing.manifest.categories import recorded_categories
from polars_microagg.publishing.manifest.model import (
    SCHEMA,
    VERSION,
    Category,
    Cells,
    Judgement,
    Manifest,
    Models,
    Output,
    Rows,
    Sizes,
    Source,
)
from polars_microagg.publishing.manifest.precision import digits_of, published
from polars_microagg.publishing.manifest.record import (
    attack_scenario,
    config_hash,
    counted_rows,
    dumped,
    recorded_classes,
    seal,
    taken,
    tools,
)
from polars_microagg.publishing.manifest.rounding import rounded
from polars_microagg.publishing.privacy_models import Recount
from polars_microagg.publishing.released_columns import ReleasedColumns
from polars_microagg.publishing.request import ReleaseRequest
from polars_microagg.publishing.staging import stage
from polars_microagg.publishing.warnings.advice import advice, of_release

__all__ = ["Hooks", "release"]


def _ignore(*_: object) -> None:
    """Do nothing."""


@dataclass(frozen=True)
class Hooks:
    """Functions of a door that are called while a release is made."""

    stage: Callable[[str], object] = _ignore
    """Called with the name of each step as it begins."""
    ready: Callable[[Manifest, pl.DataFrame], object] = _ignore
    """Called with manifest and table while the release still waits; what it raises stops it."""


NONE = Hooks()


def release(
    request: ReleaseRequest,
    roles: ColumnRoles,
    original: pl.DataFrame,
    place: Location,
    *,
    masked: pl.DataFrame | None = None,
    measured: bool = True,
    source: Location | None = None,
    record: Path | None = None,
    overwrite: bool = False,
    hooks: Hooks = NONE,
) -> tuple[Manifest, list[str]]:
    """Mask, write, read again, judge and put in place; return the manifest and all warnings.

    `masked` is the table if it is masked already, and `measured` whether `original` is the one
    before it. `source` is where the original was read, for its hash.
    """
    started = _now()
    table = original if masked is None else masked
    columns = ReleasedColumns.of(request, roles, table)
    refuse_uncounted(request.require, request.options)
    with stage(place, record, overwrite) as staged:
        refuse_types(table.select(map(by_name, columns.released)), place.format, place)
        compared = original
        if request.masking is not None:
            hooks.stage("masking")
            # A request may be older than the progress bar that is shown now.
            plan = replace(request.masking.plan, progress_callback=current())
            table, gone = mask_table(original, replace(request.masking, plan=plan))
            if table.height < original.height:
                compared = original.filter(~gone)
        if not table.height:
            raise TooFewRecordsError.of(0, request.k)
        whose = (compared if masked is None else table).select(map(by_name, columns.entity))
        table = table.select(map(by_name, columns.released))
        hooks.stage("writing")
        staged.write(table)
        hooks.stage("reading again")
        reread = staged.reread(table)
        restored = staged.same(table, reread, columns.names)
        # From here on everything is counted on what was read again, as a reader will see it.
        verify(reread, columns.blocks, request.k, strata=columns.strata)
        recount = columns.recount(request, reread, whose, restored, table)
        hooks.stage("measuring")
        before = compared if measured else None
        rows_in = original.height
        findings = _Findings.of(request, columns, before, reread, restored, rows_in, recount)
        finished = max(started, _now())
        made_of = _source(request, source, original)
        output = staged.described(table, reread)
        manifest = _manifest(request, columns, findings, (started, finished), made_of, output)
        hooks.ready(manifest, restored)
        hooks.stage("publishing")
        staged.commit(dumped(manifest))
    return manifest, findings.warnings


@dataclass(frozen=True)
class _Findings:
    """Measures and warnings of a release as it was read again, and the part of them that is published."""

    rows: Rows
    classes: list[Sizes]
    cells: Cells
    categories: list[Category]
    measures: dict[str, Any]
    digits: int
    verdicts: list[Judgement]
    models: Models | None
    warnings: list[str]
    published_warnings: list[str]

    @classmethod
    def of(
        cls,
        request: ReleaseRequest,
        columns: ReleasedColumns,
        before: pl.DataFrame | None,
        reread: pl.DataFrame,
        restored: pl.DataFrame,
        rows_in: int,
        recount: Recount | None = None,
    ) -> Self:
        """Count, measure, judge and warn; `before` is None if there is no original.

        `restored` is the release with the masked columns in their types.
        """
        names, strata = columns.names, columns.strata
        exact, digits = dict[str, Any](), 0
        if before is not None:
            exact = taken(before, restored, names, request.kinds)
            digits = digits_of(fewest_records(names, before, restored))
        compared = exact.pop("cells", None)
        measures = published(exact, digits)
        if before is not None:
            exact |= measured_on_demand(request.require, before, restored, names, request.kinds)
        warnings = _warnings(request, columns, before, restored)
        # A requirement on k means whole records, even if k is to hold in each block or column alone.
        (whole,) = recorded_classes(reread, [names], strata)
        rows = counted_rows(rows_in, reread, [*names, *strata])
        counts = {
            "k": whole["smallest"],
            "rows": reread.height,
            "suppressed": rows["suppressed"],
        }
        counts |= recount.figures() if recount else {}
        shown = rounded(counts)
        # Whose the rows were is not to be seen in a release without the entity: of few records no
        # number tells of it.
        told = bool(digits) or set(columns.followed) == set(columns.entity)
        if not told:
            shown = {name: value for name, value in shown.items() if name not in ENTITY_COUNTS}
        rows["suppressed"] = shown["suppressed"]
        return cls(
            rows,
            recorded_classes(reread, columns.blocks, strata),
            {"all": rows_in * len(names), "compared": compared if digits else None},
            recorded_categories(request.kinds, before, restored, columns, request.k, digits),
            measures,
            digits,
            judged(request.require, {**exact, **counts}, published={**measures, **shown}),
            recount.recorded(columns.followed, told=told) if recount else None,
            warnings,
            # In a small table, what only the original shows is for its owner, not for readers.
            warnings if digits else _warnings(request, columns, None, restored),
        )


def _manifest(
    request: ReleaseRequest,
    columns: ReleasedColumns,
    findings: _Findings,
    times: tuple[datetime, datetime],
    source: Source,
    output: Output,
) -> Manifest:
    """Write the record of a release, and seal it if there is a key."""
    config = request.config(columns.blocks, columns.strata)
    started, finished = times
    smallest = min(block["smallest"] for block in findings.classes if block["smallest"])
    manifest: Manifest = {
        "schema": SCHEMA,
        "schema_version": VERSION,
        "verdict": {"released": True, "k_holds": True, "requirements": findings.verdicts},
        "tool": tools(),
        "config": config,
        "config_sha256": config_hash(config),
        "roles": columns.roles(),
        "rows": findings.rows,
        "cells": findings.cells,
        "k": {"asked": request.k, "found": smallest, "classes": findings.classes},
        "measures": findings.measures,
        "digits": findings.digits,
        "attack": attack_scenario(columns.names, columns.strata),
        "warnings": findings.published_warnings,
        "seed": int(request.options.get("seed", 0)),
        "times": {
            "started": started.isoformat(timespec="milliseconds"),
            "finished": finished.isoformat(timespec="milliseconds"),
            "seconds": round((finished - started).total_seconds(), 3),
        },
        "input": source,
        "output": output,
        "seal": None,
    }
    if findings.categories:
        manifest["categories"] = findings.categories
    if findings.models is not None:
        manifest["models"] = findings.models
    if request.hash_key is not None:
        manifest["seal"] = seal(manifest, request.hash_key)
    return manifest


def _now() -> datetime:
    """Return the time in whole milliseconds, so that published times add up."""
    now = datetime.now(UTC)
    return now.replace(microsecond=now.microsecond // 1000 * 1000)


def _warnings(
    request: ReleaseRequest,
    columns: ReleasedColumns,
    original: pl.DataFrame | None,
    released: pl.DataFrame,
) -> list[str]:
    """Warn of what can be seen in the release, and of more if there is an original."""
    blocks, strata, kept = columns.blocks, columns.strata, columns.as_they_are
    if original is None:
        return of_release(released, blocks, request.k, strata=strata, kept=kept)
    # A table that is masked already may have columns that the original does not have.
    known = set(original.columns)
    strata, kept = ([n for n in names if n in known] for names in (strata, kept))
    center = str(request.options.get("center", "mean"))
    asked: dict[str, Any] = {"center": center, "kinds": request.kinds}
    return advice(original, released, blocks, request.k, strata=strata, kept=kept, **asked)


def _source(request: ReleaseRequest, source: Location | None, original: pl.DataFrame) -> Source:
    """Hash the input, only with a key: a hash without one confirms guesses."""
    if request.hash_key is None:
        return {"of": None, "hmac_sha256": None}
    digest = (source or Location(Path("-"), STREAM)).mac(request.hash_key, original)
    return {"of": digest["of"], "hmac_sha256": digest["hmac_sha256"]}
