"""The report without charts, from the manifest alone, where nothing that draws is installed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from polars_microagg.charts.style import INSTALL
from polars_microagg.cli.output import plain
from polars_microagg.core.registry import assessed

__all__ = ["plain_page"]

STYLE = (
    "body{font:1rem/1.5 system-ui,sans-serif;max-width:46rem;margin:auto;padding:1rem}"
    "table{border-collapse:collapse;display:block;overflow-x:auto}"
    "td,th{text-align:left;padding:.2rem .8rem .2rem 0;vertical-align:top;"
    "border-bottom:1px solid #8884}:root{color-scheme:light dark}"
)

NOT = (
    "Columns that were kept are released as they are.",
    "k counts rows: five equal rows may be five visits of one person.",
    "If all records of a class share another attribute, finding the class tells it.",
    "Who knows k - 1 members of a group can work out the last from its mean.",
    "Two releases of the same persons can be compared: release once.",
)


def plain_page(told: Mapping[str, Any]) -> str:
    """Write the page of a release.

    Parameters
    ----------
    told : mapping
        Its manifest.

    Returns
    -------
    str
        HTML without script, style sheet or address of another place.

    Examples
    --------
    >>> "<script" in plain_page({"k": {"asked": 5, "found": 5}, "rows": {"out": 90}})
    False
    """
    k, rows = told.get("k", {}), told.get("rows", {})
    found = told.get("measures", {})
    summaries = {name: entry.summary for name, entry in assessed().items()}
    verdict = (
        f"Each of the {rows.get('out')} records shares its masked values with at least "
        f"{_less(k.get('found'))} others; {k.get('asked')} records alike were asked for."
    )
    required = told.get("verdict", {}).get("requirements", [])
    roles, config = told.get("roles", {}), told.get("config", {})
    parts = [
        f"<h1>Release report</h1><p><strong>{_text(verdict)}</strong></p>",
        _list("Warnings", told.get("warnings", [])),
        _table("Requirements", [(r["requirement"], r["found"], r["met"]) for r in required]),
        _table("Measures", [(n, v, summaries.get(n, "")) for n, v in found.items()]),
        _table("Rows", rows.items()),
        _table("Roles", [(role, ", ".join(map(plain, names))) for role, names in roles.items()]),
        _table("Settings", sorted(config.items())),
        _list("What this does not protect against", NOT),
        f"<p>There are no charts. {INSTALL}, and write the report again.</p>",
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        f"style-src 'unsafe-inline'\"><title>Release report</title><style>{STYLE}</style></head>"
        f"<body><main>{''.join(parts)}</main></body></html>\n"
    )


def _less(found: Any) -> Any:
    return found - 1 if isinstance(found, int) else found


def _text(value: Any) -> str:
    shown = f"{value:.4g}" if isinstance(value, float) else plain(value)
    return escape("not measured" if value is None else shown)


def _table(title: str, rows: Iterable[Sequence[Any]]) -> str:
    body = "".join(f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<h2>{escape(title)}</h2><table>{body}</table>" if body else ""


def _list(title: str, items: Iterable[str]) -> str:
    body = "".join(f"<li>{_text(item)}</li>" for item in items)
    return f"<h2>{escape(title)}</h2><ul>{body}</ul>" if body else ""
