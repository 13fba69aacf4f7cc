"""The section of a report on columns of categories: shares before and after, and what was lost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polars_microagg.charts.style import printable
from polars_microagg.report.facts import Facts
from polars_microagg.report.text import percent

__all__ = ["lost", "of_column"]

LONGEST = 60
"""Characters of a category that are shown."""


def of_column(facts: Facts, name: str) -> dict[str, Any]:
    """Show the shares of the categories of a column; those that are too rare to be told are summed."""
    rows = facts.categories[name].to_dicts()
    return {
        "name": facts.shown[name],
        "changed": percent(facts.changed[name]),
        "rows": [
            ["all others" if row["label"] is None else printable(row["label"], LONGEST)]
            + [percent(row[when]) for when in ("before", "after")]
            for row in rows
        ],
    }


def _share(row: Mapping[str, Any]) -> str:
    """Write how many cells lost a rare category; those of a taxonomy are generalized as requested."""
    if isinstance(share := row.get("rare"), int | float):
        return percent(share)
    return "generalized" if row.get("kind") == "taxonomy" else "not told"


def lost(manifest: Mapping[str, Any] | None) -> list[list[str]]:
    """List what a manifest says of rare categories, whatever else may be in its place.

    >>> lost({"categories": [{"column": "zip", "kind": "nominal", "rare": 17.6}]})
    [['zip', 'nominal', '17.6 %']]
    """
    rows = (manifest or {}).get("categories")
    return [
        [
            printable(str(row.get("column")), LONGEST),
            printable(str(row.get("kind")), LONGEST),
            _share(row),
        ]
        for row in (rows if isinstance(rows, list) else ())
        if isinstance(row, Mapping)
    ]
