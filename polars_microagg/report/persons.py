"""Promises of a release on persons and confidential columns, and what was found, in plain words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from polars_microagg.charts.style import printable
from polars_microagg.core.model import models
from polars_microagg.report.text import number

__all__ = ["persons"]

MODES = {
    "rows": "Each group of equal rows holds rows of at least {k} persons.",
    "mean": "The rows of each were masked as one, and each group holds rows of at least {k} persons.",
    "alike": "At least {k} persons have the same rows, taken together.",
}
"""Promise of each entity mode."""


def persons(manifest: Mapping[str, Any] | None, k: int) -> dict[str, Any] | None:
    """Read what a manifest says of both; None where it says nothing, whatever else is in its place.

    >>> found = {"model": "l", "column": "dx", "asked": 2, "found": 3}
    >>> persons({"models": {"confidential": [found]}}, 5)["rows"]
    [['the number of distinct values of dx', 'at least 2', '3']]
    """
    told = (manifest or {}).get("models")
    if not isinstance(told, Mapping):
        return None
    roles = (manifest or {}).get("roles")
    named = roles.get("entity") if isinstance(roles, Mapping) else None
    entity = told.get("entity")
    listed = told.get("confidential")
    config = (manifest or {}).get("config")
    rows = list(_entities(entity, k, config)) if isinstance(entity, Mapping) else []
    hidden = [
        row for row in (listed if isinstance(listed, list) else ()) if isinstance(row, Mapping)
    ]
    rows += [_bound(row, f" of {row.get('column')}") for row in hidden]
    if not rows:
        return None
    mode = str(entity.get("mode")) if isinstance(entity, Mapping) else ""
    released = entity.get("released") if isinstance(entity, Mapping) else None
    return {
        "rows": rows,
        "names": [printable(str(name)) for name in named] if isinstance(named, list) else [],
        "released": bool(released),
        "mode": MODES.get(mode, "").format(k=number(k)),
        "hidden": list(dict.fromkeys(printable(str(row.get("column"))) for row in hidden)),
    }


def _entities(entity: Mapping[str, Any], k: int, config: object) -> Iterator[list[str]]:
    """Write the counts of entities, and the worst group by each model that counts their rows."""
    yield ["persons in all", "", _told(entity.get("entities"))]
    yield ["persons in the smallest group", f"at least {k}", _told(entity.get("k_entities"))]
    if entity.get("mode") == "alike":
        yield ["persons with the same rows", f"at least {k}", _told(entity.get("alike_min"))]
    counted = entity.get("models")
    bounds = config if isinstance(config, Mapping) else {}
    for name, found in counted.items() if isinstance(counted, Mapping) else ():
        yield _bound({"model": name, "asked": bounds.get(name), "found": found}, "")


def _bound(row: Mapping[str, Any], column: str) -> list[str]:
    """Write what was asked of a column, and its worst group."""
    name, asked = str(row.get("model")), row.get("asked")
    entry = models().get(name)
    what = f"{entry.what if entry else name}{column}"
    side = "at most" if entry and not entry.at_least else "at least"
    promised = "nothing" if asked is None else f"{side} {_told(asked)}"
    return [printable(what, 120), promised, _told(row.get("found"))]


def _told(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "not told"
    return number(value) if isinstance(value, int) else f"{value:.4g}"
