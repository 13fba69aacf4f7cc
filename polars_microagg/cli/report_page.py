"""The report as one file: with charts where what draws them is installed."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence

import polars as pl

from polars_microagg.charts.style import INSTALL
from polars_microagg.cli.plain_page import plain_page
from polars_microagg.publishing.manifest.compare_original import aligned
from polars_microagg.publishing.manifest.model import Manifest

__all__ = ["WITHOUT", "draws", "page"]

WITHOUT = f"The report has no charts, as what draws them is not installed. {INSTALL}"

DRAWERS = ("altair", "vl_convert", "polars_microagg.report")


def draws() -> bool:
    """Tell whether charts can be drawn."""
    return all(importlib.util.find_spec(name) for name in DRAWERS)


def page(
    original: pl.DataFrame,
    masked: pl.DataFrame,
    blocks: Sequence[Sequence[str]],
    k: int,
    strata: Sequence[str],
    manifest: Manifest,
    compared: pl.DataFrame | None = None,
) -> bytes:
    """Write the report of a release.

    Parameters
    ----------
    original, masked : polars.DataFrame
        The table before and after.
    blocks : sequence of sequence of str
        Columns that were masked together.
    k : int
        Smallest group size.
    strata : sequence of str
        Columns that keep records apart.
    manifest : dict
        The manifest.
    compared : polars.DataFrame, optional
        Methods side by side, for the map.

    Returns
    -------
    bytes
        One HTML file.
    """
    if not draws():
        return plain_page(manifest).encode()
    columns = [list(block) for block in blocks]
    from polars_microagg.report import report_html

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
    )
    return html.encode()
