"""The facts of a report on a large release: counted on all of it, and charts of a sample."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from polars_microagg.charts.aggregates import size_table
from polars_microagg.core import registry
from polars_microagg.out_of_core.class_sizes import ClassSizes
from polars_microagg.publishing.column_kinds import kinds_of
from polars_microagg.publishing.large.found import OnDisk
from polars_microagg.report.facts import Block, Facts
from polars_microagg.report.page import page_of

__all__ = ["large_html"]


def large_html(found: OnDisk, manifest: Mapping[str, Any]) -> str:
    """Write the report of a large release as one HTML page, as `report_html` does."""
    return page_of(
        _facts(found, manifest),
        manifest["config"],
        manifest,
        warnings=tuple(manifest["warnings"]),
    )


def _facts(found: OnDisk, manifest: Mapping[str, Any]) -> Facts:
    """Draw the sample, and take the figures of all records."""
    columns, survey, rows = found.columns, found.survey, manifest["rows"]
    k, kinds = found.request.k, kinds_of(manifest["config"])
    blocks: Any = columns.blocks if len(columns.blocks) > 1 else columns.names
    sample = survey.before, survey.after, blocks, k, columns.strata or None
    drawn = Facts.of(*sample, rows["dropped"], kinds, columns.entity)
    reported = {n for n, metric in registry.metrics().items() if metric.reported}
    return replace(
        drawn,
        rows=rows["out"],
        emptied=rows["emptied"],
        cells=manifest["cells"]["compared"] or 0,
        blocks=[_block(sizes, k) for sizes in found.classes],
        measures={n: v for n, v in manifest["measures"].items() if n in reported},
        records=found.fewest(),
        sample=survey.after.height if survey.drawn else None,
        linked=manifest["how"].get("sampled", {}).get("linked"),
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
