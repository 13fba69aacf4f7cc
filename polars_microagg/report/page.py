"""A report of a release as one HTML file that needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from polars_microagg._version import __version__
from polars_microagg.analysis.coordinates import kinds_asked
from polars_microagg.frames.safe_collect import collected
from polars_microagg.frames.selection import Columns, Names, as_frame
from polars_microagg.report import categories, sections
from polars_microagg.report.environment import environment
from polars_microagg.report.facts import Facts
from polars_microagg.report.imputed import imputed
from polars_microagg.report.persons import persons
from polars_microagg.report.svg import drawable
from polars_microagg.report.verdict import Verdict, requirements, tiles

__all__ = ["page_of", "report_html"]


def report_html(
    original: Any,
    masked: Any,
    columns: Columns,
    *,
    k: int,
    strata: Names = None,
    settings: Mapping[str, Any] | None = None,
    manifest: Mapping[str, Any] | None = None,
    compared: pl.DataFrame | None = None,
    warnings: Sequence[str] = (),
    **kinds: Any,
) -> str:
    """Write the report of a release as one HTML page.

    Parameters
    ----------
    original, masked : polars.DataFrame or polars.LazyFrame
        The table before and after, in the same order, both without rows that were dropped;
        LazyFrames are collected.
    columns : str, selector, list, or list of lists
        Columns that were masked; each block of a list of lists was masked on its own.
    k : int
        Smallest group size promised, at least 2.
    strata : str, selector or list, optional
        Columns that were kept as strata.
    settings : mapping, optional
        What was asked for, such as method, scale and seed.
    manifest : mapping, optional
        The record of the release; a requirement in it that is not met decides the verdict.
    compared : polars.DataFrame, optional
        What `compare` returned, for the risk-utility map.
    warnings : sequence of str, optional
        Sentences to be read before the release.
    **kinds : Any
        Which columns are categories, as for `mask`: ``nominal``, ``ordinal``, ``taxonomy`` and so on.

    Returns
    -------
    str
        The page. It has no script and no address, so it opens without a network, and shows counts
        of at least k original records and measures of the whole table, never a record.

    Raises
    ------
    InvalidParameterError, InvalidDataError
        The tables do not fit together, or a column cannot be measured.
    ModuleNotFoundError
        jinja2 is not installed (the extra ``report`` has it). Without altair or
        vl-convert-python the page has tables and no charts.

    Examples
    --------
    >>> import polars_microagg as mg
    >>> people = pl.DataFrame({"age": [23, 25, 31, 47, 52, 58], "pay": [21, 24, 30, 52, 61, 55]})
    >>> released = mg.mdav(people, ["age", "pay"], k=3)
    >>> page = report_html(people, released, ["age", "pay"], k=3)
    >>> "Nobody stands alone in the masked columns" in page, "<script" in page
    (True, False)
    """
    rows = (manifest or {}).get("rows")
    dropped = rows.get("dropped", 0) if isinstance(rows, Mapping) else 0
    before = collected(as_frame(original, "original"), "original")
    roles = (manifest or {}).get("roles")
    named = roles.get("entity") if isinstance(roles, Mapping) else None
    # Some of the columns of an entity would take several persons for one, and null is nobody.
    whose = named if isinstance(named, list) and all(n in before.columns for n in named) else []
    entity = whose if not any(before.get_column(n).null_count() for n in whose) else []
    asked = kinds_asked(kinds, report_html)
    facts = Facts.of(before, masked, columns, k, strata, dropped, asked, entity)
    return page_of(facts, settings, manifest, compared, warnings)


def page_of(
    facts: Facts,
    settings: Mapping[str, Any] | None,
    manifest: Mapping[str, Any] | None,
    compared: pl.DataFrame | None = None,
    warnings: Sequence[str] = (),
) -> str:
    """Write the page of what was measured; parameters as for `report_html`."""
    required = requirements(manifest)
    return (
        environment()
        .get_template("page.html")
        .render(
            facts=facts,
            verdict=Verdict.of(facts, required, len(warnings)),
            tiles=tiles(facts),
            pictures=drawable(),
            warnings=warnings,
            required=required,
            persons=persons(manifest, facts.k),
            settings=sections.settings(facts, settings),
            measures=sections.measures(facts),
            categories=[categories.of_column(facts, name) for name in facts.categories],
            lost=categories.lost(manifest),
            imputed=imputed(manifest),
            record=list(
                sections.rows_of({n: sections.short(v) for n, v in (manifest or {}).items()})
            ),
            version=__version__,
            **sections.charts(facts, compared, required),
        )
    )
