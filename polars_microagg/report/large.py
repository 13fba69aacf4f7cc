"""The facts of a report on a large release: counted on all of it, and charts of a sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from polars_microagg.charts.aggregates import size_table
from polars_microagg.core import registry
from polars_microagg.out_of_core.class_sizes import ClassSizes
from polars_microagg.publishing.column_kinds import kinds_of
from polars_microagg.publishing.large.survey import Survey
from polars_microagg.publishing.manifest.compare_original import entity_in
from polars_microagg.report.facts import Block, Facts
from polars_microagg.report.page import page_of

__all__ = ["large_html"]


def large_html(
    survey: Survey,
    classes: Sequence[ClassSizes],
    manifest: Mapping[str, Any],
    compared: pl.DataFrame | None = None,
) -> str:
    """Write the report of a large release as one HTML page, as `report_html` does.

    `classes` are those of each block of columns.
    """
    return page_of(
        _facts(survey, classes, manifest),
        manifest["config"],
        manifest,
        compared,
        warnings=tuple(manifest["warnings"]),
    )


def _facts(survey: Survey, classes: Sequence[ClassSizes], manifest: Mapping[str, Any]) -> Facts:
    """Draw the sample, and take the figures of all records."""
    rows, roles, k = manifest["rows"], manifest["roles"], manifest["k"]["asked"]
    blocks = manifest["config"]["columns"]
    entity = entity_in(manifest, survey.before)
    columns = blocks if len(blocks) > 1 else blocks[0], k, roles["stratum"] or None
    kinds = kinds_of(manifest["config"])
    drawn = Facts.of(survey.before, survey.after, *columns, rows["dropped"], kinds, entity)
    reported = {n for n, metric in registry.metrics().items() if metric.reported}
    return replace(
        drawn,
        rows=rows["out"],
        emptied=rows["emptied"],
        cells=survey.values,
        blocks=[_block(sizes, k) for sizes in classes],
        measures={n: v for n, v in manifest["measures"].items() if n in reported},
        records=survey.fewest,
        sample=survey.after.height if survey.drawn else None,
        linked=manifest.get("how", {}).get("sampled", {}).get("linked"),
    )


def _block(sizes: ClassSizes, k: int) -> Block:
    """Return what a report tells of the groups of a block."""
    histogram = sizes.histogram
    small = histogram.filter(pl.col("size") < k)
    return Block(
        list(sizes.columns),
        size_table(histogram["size"].to_numpy(), histogram["classes"].to_numpy(), k),
        sizes.classes,
        sizes.smallest,
        int(small["classes"].sum()),
        int((small["size"] * small["classes"]).sum()),
    )
