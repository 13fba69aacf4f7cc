"""A report of a release as one HTML file that needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

import polars as pl

from polars_microagg._version import __version__
from polars_microagg.core import registry
from polars_microagg.frames.selection import Columns, Names
from polars_microagg.report import sections
from polars_microagg.report.facts import Facts
from polars_microagg.report.markup import counted, escaped, listed, section, table
from polars_microagg.report.verdict import Verdict, requirements, tiles

__all__ = ["report_html"]

SIGNS = {
    "good": "M5 13l5 5L20 7",
    "care": "M12 4v10M12 18.5v1",
    "stop": "M6 6l12 12M18 6L6 18",
}
"""Drawings beside the verdict, which say in a shape what the colour says."""
MEANINGS = {
    "good": "The promise holds.",
    "care": "The promise holds, with reservations.",
    "stop": "A promise does not hold.",
}


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
    strata : str or list of str, optional
        Columns that were kept as strata.
    settings : mapping, optional
        What was asked for, such as method, scale and seed.
    manifest : mapping, optional
        The record of the release; a requirement in it that is not met decides the verdict.
    compared : polars.DataFrame, optional
        What `compare` returned, for the risk-utility map.
    warnings : sequence of str, optional
        Sentences to be read before the release.

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
        ``pip install '.[report]'`` was not run.

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
    facts = Facts.of(original, masked, columns, k, strata, dropped)
    verdict = Verdict.of(facts, manifest, len(warnings))
    parts = [
        _warned(warnings),
        _required(manifest),
        sections.choices(facts, compared, [row[0] for row in requirements(manifest)]),
        _untold(facts),
        sections.distributions(facts),
        sections.groups(facts),
        sections.changes(facts),
        sections.intruders(facts),
        _not_protected(facts),
        _settings(facts, settings, manifest),
    ]
    style = resources.files("polars_microagg.report").joinpath("style.css").read_text("utf-8")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        # Were anything to slip through, the browser would still not run or fetch it.
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{verdict.title} - release report</title><style>{style}</style></head><body>"
        f"<header><p>Release report</p></header><main>{_top(verdict, facts)}{''.join(parts)}</main>"
        f"<footer><p>Written by polars_microagg {escaped(__version__)}. This page was made with "
        "the original table at hand: it shows no record, but it is meant for those who decide on "
        "the release, and need not go out with the data.</p></footer></body></html>\n"
    )


def _top(verdict: Verdict, facts: Facts) -> str:
    sign = (
        f'<svg class="sign" viewBox="0 0 24 24" role="img" aria-label="{MEANINGS[verdict.word]}">'
        f'<path d="{SIGNS[verdict.word]}"/></svg>'
    )
    head = f"<div>{sign}<h1>{verdict.title}</h1></div><p>{verdict.text}</p>"
    return f'<div class="verdict {verdict.word}">{head}</div>{tiles(facts)}'


def _warned(warnings: Sequence[str]) -> str:
    if not warnings:
        return ""
    items = "".join(f"<li>{escaped(text, 1000)}</li>" for text in warnings)
    return section("warnings", "Read before the release", f'<ul class="warnings">{items}</ul>')


def _required(manifest: Mapping[str, Any] | None) -> str:
    rows = [
        [f"<code>{escaped(a)}</code>", b, "yes" if met else "<b>no</b>"]
        for a, b, met in requirements(manifest)
    ]
    if not rows:
        return ""
    body = table("What the release had to reach", ["Requirement", "Found", "Met"], rows)
    return section("required", "What was required", body)


def _not_protected(facts: Facts) -> str:
    kept = facts.named(facts.kept)
    names = listed([f"<code>{escaped(name)}</code>" for name in kept], 12)
    columns = (
        f"They are released as they are: {names}. Whoever knows them may find a record by them."
        if kept
        else "This table has none."
    )
    points = [
        ("Columns that were not masked.", columns),
        (
            "Several rows a person.",
            f"Rows were counted. If one person has several, {facts.k} rows may be fewer persons.",
        ),
        (
            "Groups that agree.",
            "If all records of a group share a diagnosis, finding the group is finding it.",
        ),
        (
            "Members of the group.",
            "Who knows all but one of a group can work out the last from the mean.",
        ),
        (
            "Other releases.",
            "Two releases of the same people can be compared. Release once.",
        ),
        (
            "Extremes and order.",
            "A very large value shows in the mean of its group, and rows keep their order.",
        ),
        ("Guesses near the truth.", _near(facts)),
    ]
    items = "".join(f"<li><b>{title}</b> {text}</li>" for title, text in points)
    more = (
        "<p>This is k-anonymity of the masked columns, counted. It is no differential privacy, and "
        "no statement that a law is met.</p>"
    )
    title = "What this does not protect against"
    return section("not-protected", title, f"<ul>{items}</ul>", more)


def _untold(facts: Facts) -> str:
    """Say what is not shown of a table that it could give away."""
    if facts.histograms:
        return ""
    first = "" if facts.measures else "no number that was measured on the original, and "
    text = (
        "<p>These values are few: from many numbers about them the "
        f"original could be worked out. So this page shows {first}no charts of the columns. Whoever "
        "has the original can measure and draw everything in Python, by <code>assess</code> and "
        "<code>plot</code>.</p>"
    )
    return section("untold", "What is not shown", text)


def _near(facts: Facts) -> str:
    near = facts.measures.get("interval_disclosure")
    if near is None:
        return "A released value may be close to the original one."
    return (
        f"{near:.0f} % of the original values lie in the usual interval around the released ones. "
        "Many people are near the mean of those who resemble them."
    )


def _settings(
    facts: Facts, settings: Mapping[str, Any] | None, manifest: Mapping[str, Any] | None
) -> str:
    roles = {"columns": facts.named(facts.names), "k": facts.k, "strata": facts.named(facts.strata)}
    if len(facts.blocks) > 1:
        roles["columns"] = [f"[{', '.join(facts.named(b.names))}]" for b in facts.blocks]
    asked = {key: value for key, value in (settings or {}).items() if key not in roles}
    rows = sections.settings_rows({**roles, **asked})
    parts = [table("Settings", ["Setting", "Value"], rows)]
    known = registry.metrics()
    measured = [
        [name, f"<b>{'-' if value is None else f'{value:.4g}'}</b>", escaped(known[name].summary)]
        for name, value in facts.measures.items()
    ]
    head = ["Measure", "Value", "What it is"]
    about = f"Measured for this page, on {counted(facts.rows, 'record')}"
    parts.append(table(about, head, measured))
    if manifest:
        told = table("Manifest", ["Key", "Value"], sections.settings_rows(manifest))
        parts.append(f"<details><summary>The record of the release</summary>{told}</details>")
    return section("settings", "How it was done", *parts)
