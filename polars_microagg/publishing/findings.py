"""Findings in a release that was read again, and the manifest that holds them, at every size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol, Self

from polars_microagg.analysis.counted_classes import ENTITY_COUNTS
from polars_microagg.core.requirements import Requirement
from polars_microagg.publishing.judgement import judged
from polars_microagg.publishing.manifest.imputed import (
    imputes,
    recorded_cells,
    recorded_imputed,
)
from polars_microagg.publishing.manifest.model import (
    SCHEMA,
    VERSION,
    Category,
    Cells,
    How,
    Imputed,
    Judgement,
    Manifest,
    Models,
    Output,
    Rows,
    Sizes,
    Source,
)
from polars_microagg.publishing.manifest.precision import (
    coarse_sentence,
    digits_of,
    published,
)
from polars_microagg.publishing.manifest.record import (
    attack_scenario,
    config_hash,
    seal,
    tools,
)
from polars_microagg.publishing.manifest.rounding import rounded
from polars_microagg.publishing.manifest.rows import drops_rows, row_counts
from polars_microagg.publishing.privacy_models import coarse_entities
from polars_microagg.publishing.released_columns import ReleasedColumns
from polars_microagg.publishing.request import ReleaseRequest
from polars_microagg.publishing.warnings.dropped_rows import dropped_rows
from polars_microagg.publishing.warnings.imputed_cells import imputed_cells
from polars_microagg.publishing.warnings.unbounded_confidential import unbounded

__all__ = ["Counted", "Findings", "Released", "manifest_of", "now"]


class Counted(Protocol):
    """Entities and confidential values, counted in the classes of a release."""

    def figures(self) -> dict[str, Any]:
        """Return the worst class by each model, by the names of requirements."""
        ...

    def recorded(self, released: Sequence[str], rows: int, digits: int | None) -> Models:
        """Write what was found into a manifest."""
        ...


class Released(Protocol):
    """A release as it was read again, beside its original: in memory or on disk."""

    @property
    def rows(self) -> int:
        """Rows of the release."""
        ...

    @property
    def beside(self) -> bool:
        """Return whether there is an original to measure against."""
        ...

    def values(self) -> int:
        """Count the masked cells of the release that have a value."""
        ...

    def emptied(self) -> int:
        """Count the rows without any value in the masked columns and strata."""
        ...

    def sizes(self, blocks: Sequence[Sequence[str]]) -> list[Sizes]:
        """Count the classes on each block of columns."""
        ...

    def fewest(self) -> int:
        """Count the records that any two masked columns have in common in both tables."""
        ...

    def taken(self) -> dict[str, Any]:
        """Measure a release."""
        ...

    def on_demand(self, required: Sequence[Requirement]) -> dict[str, Any]:
        """Compute the required measures that are not among those of every release."""
        ...

    def categories(self) -> list[Category]:
        """Describe the masked columns of categories."""
        ...

    def imputed(self) -> dict[str, int]:
        """Count the cells of each masked column that had no value, and have one."""
        ...

    def warnings(self, *, beside: bool) -> list[str]:
        """Warn of what can be seen in the release, and beside the original of more."""
        ...

    @property
    def counted(self) -> Counted | None:
        """Entities and confidential values, if there are any."""
        ...


@dataclass(frozen=True)
class Findings:
    """Measures and warnings of a release as it was read again, and the part of them that is published."""

    rows: Rows
    classes: list[Sizes]
    cells: Cells
    categories: list[Category]
    measures: dict[str, Any]
    digits: int
    verdicts: list[Judgement]
    models: Models | None
    imputed: list[Imputed] | None
    warnings: list[str]
    published_warnings: list[str]

    @classmethod
    def of(
        cls, request: ReleaseRequest, columns: ReleasedColumns, found: Released, rows_in: int
    ) -> Self:
        """Count, measure, judge and warn."""
        names = columns.names
        exact, digits = dict[str, Any](), 0
        if found.beside:
            exact = found.taken()
            digits = digits_of(found.fewest())
        measures = published(exact, digits)
        if found.beside:
            exact |= found.on_demand(request.require)
        seen = found.warnings(beside=found.beside)
        config = {"method": request.method, **request.options}
        filled = found.imputed() if found.beside and imputes(config) else None
        imputed = None if filled is None else recorded_imputed(filled, found.rows, digits)
        # A requirement on k means whole records, even if k is to hold in each block or column alone.
        (whole,) = found.sizes([names])
        empty, dropped = found.emptied(), rows_in - found.rows
        rows = row_counts(dropped, found.rows, empty, digits if drops_rows(config) else None)
        suppressed = 100.0 * (empty + dropped) / rows_in
        counts = {"k": whole["smallest"], "rows": found.rows, "suppressed": suppressed}
        recount = found.counted
        counts |= recount.figures() if recount else {}
        shown = rounded(counts)
        # Whose the rows were is not to be seen in a release without the entity: of few records no
        # number tells of it.
        exactly = set(columns.followed) == set(columns.entity)
        told = None if exactly else digits
        shown |= coarse_entities(
            {n: shown[n] for n in ENTITY_COUNTS if n in shown}, found.rows, told
        )
        shown["suppressed"] = rows["suppressed"]
        return cls(
            rows,
            found.sizes(columns.blocks),
            recorded_cells(rows["in"], len(names), found.values(), imputed, digits),
            found.categories(),
            measures,
            digits,
            judged(request.require, {**exact, **counts}, published={**measures, **shown}),
            recount.recorded(columns.followed, found.rows, told) if recount else None,
            imputed,
            # A manifest says by its bounds that it has none; a warning says it to the owner.
            [
                *seen,
                *unbounded(columns.confidential, request.bounded(), columns.entity),
                *imputed_cells(filled or {}, found.rows, digits),
                *dropped_rows(dropped, rows),
            ],
            # In a small table, what only the original shows is for its owner, not for readers.
            [str(coarse_sentence(s)) for s in (seen if digits else found.warnings(beside=False))],
        )


def manifest_of(
    request: ReleaseRequest,
    columns: ReleasedColumns,
    findings: Findings,
    started: datetime,
    source: Source,
    output: Output,
    how: How | None = None,
) -> Manifest:
    """Write the record of a release, and seal it if there is a key."""
    config = request.config(columns.blocks, columns.strata)
    finished = max(started, now())
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
        "attack": attack_scenario(columns.names, columns.strata, entity=bool(columns.entity)),
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
    if how is not None:
        manifest["how"] = how
    if findings.categories:
        manifest["categories"] = findings.categories
    if findings.imputed is not None:
        manifest["imputed"] = findings.imputed
    if findings.models is not None:
        manifest["models"] = findings.models
    if request.hash_key is not None:
        manifest["seal"] = seal(manifest, request.hash_key)
    return manifest


def now() -> datetime:
    """Return the time in whole milliseconds, so that published times add up."""
    time = datetime.now(UTC)
    return time.replace(microsecond=time.microsecond // 1000 * 1000)
