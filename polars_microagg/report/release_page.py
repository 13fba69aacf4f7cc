"""The report of a release as one file that waits until the release is in place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import polars as pl

from polars_microagg.charts.style import INSTALL
from polars_microagg.errors import OutputError, usage
from polars_microagg.out_of_core.class_sizes import ClassSizes
from polars_microagg.publishing.atomic import free, system_message, waiting, writable
from polars_microagg.publishing.column_kinds import kinds_of
from polars_microagg.publishing.column_roles import ColumnRoles
from polars_microagg.publishing.large.survey import Survey
from polars_microagg.publishing.manifest.compare_original import aligned
from polars_microagg.publishing.manifest.model import Manifest
from polars_microagg.publishing.request import ReleaseRequest
from polars_microagg.report import report_html
from polars_microagg.report.environment import installed
from polars_microagg.report.large import large_html
from polars_microagg.report.svg import drawable

__all__ = ["WITHOUT", "ReportFile", "large_page", "page", "require_templates"]

WITHOUT = f"The report has no charts, as what draws them is not installed. {INSTALL}"


def require_templates() -> None:
    """Refuse to begin if the library that writes pages is not installed."""
    if not installed():
        raise usage.not_installed("A report", "jinja2", INSTALL)


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


class ReportFile:
    """The report of a release, which waits beside its path until the release is in place.

    It is checked before anything is read, and written while the release still waits: what fails there
    stops the release.
    """

    def __init__(self, path: Path, *, overwrite: bool) -> None:
        require_templates()
        writable(path)
        free(overwrite, path)
        self._path, self._stack = path, ExitStack()
        self.warning = None if drawable() else WITHOUT
        self._whole: tuple[ReleaseRequest, ColumnRoles, pl.DataFrame] | None = None
        self._rename: Callable[[], None] | None = None

    def seen(self, request: ReleaseRequest, roles: ColumnRoles, original: pl.DataFrame) -> None:
        """Keep what is masked in memory, for the charts."""
        self._whole = request, roles, original

    def ready(self, manifest: Manifest, made: Any) -> None:
        """Write the page of a release that waits: a table in memory, or what was found in a large one."""
        if self._whole is None:
            html = large_page(made.survey, made.classes, manifest)
        else:
            request, roles, original = self._whole
            html = page(original, made, roles.blocks, request.k, roles.strata, manifest)
        self._rename = self._stack.enter_context(waiting(self._path, html))

    def publish(self, target: object) -> None:
        """Put the page in place, beside a release that is published whatever fails here."""
        try:
            if self._rename:
                self._rename()
        except OSError as error:
            why = f"its report could not be put in place: {system_message(error)}"
            raise OutputError.after_publishing(target, why) from None

    def __enter__(self) -> Self:
        """Return the report."""
        return self

    def __exit__(self, *error: object) -> None:
        """Remove a page that was not put in place."""
        self._stack.close()
