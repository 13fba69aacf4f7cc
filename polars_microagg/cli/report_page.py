"""The report as one file, with charts if the library that draws them is installed."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from polars_microagg.charts.style import INSTALL
from polars_microagg.cli.output import tell
from polars_microagg.errors import usage
from polars_microagg.out_of_core.class_sizes import ClassSizes
from polars_microagg.publishing.column_kinds import kinds_of
from polars_microagg.publishing.large.survey import Survey
from polars_microagg.publishing.manifest.compare_original import aligned
from polars_microagg.publishing.manifest.model import Manifest
from polars_microagg.report import report_html
from polars_microagg.report.environment import installed
from polars_microagg.report.large import large_html
from polars_microagg.report.svg import drawable

__all__ = ["large_page", "page", "require_templates", "tell_without_charts"]

WITHOUT = f"The report has no charts, as what draws them is not installed. {INSTALL}"


def require_templates() -> None:
    """Refuse to begin if the library that writes pages is not installed."""
    if not installed():
        raise usage.not_installed("A report", "jinja2", INSTALL)


def tell_without_charts() -> None:
    """Report that charts cannot be drawn."""
    if not drawable():
        tell(WITHOUT)


def page(
    original: pl.DataFrame,
    masked: pl.DataFrame,
    blocks: Sequence[Sequence[str]],
    k: int,
    strata: Sequence[str],
    manifest: Manifest,
    compared: pl.DataFrame | None = None,
) -> bytes:
    """Write the page of a release; `compared` is the table of methods, if any."""
    columns = [list(block) for block in blocks]
    html = report_html(
        aligned(manifest, original),
        masked,
        columns if len(columns) > 1 else columns[0],
        k=k,
        strata=list(strata) or None,
        settings=manifest["config"],
        manifest=manifest,
        compared=compared,
        warnings=tuple(manifest["warnings"]),
        **kinds_of(manifest["config"]),
    )
    return html.encode()


def large_page(
    survey: Survey,
    classes: Sequence[ClassSizes],
    manifest: Manifest,
    compared: pl.DataFrame | None = None,
) -> bytes:
    """Write the page of a large release, with figures counted on all of it and charts of a sample."""
    return large_html(survey, classes, manifest, compared).encode()
