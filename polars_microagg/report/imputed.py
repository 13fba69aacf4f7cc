"""The section of a report on cells that had no value and were filled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polars_microagg.charts.style import printable
from polars_microagg.report.text import number, percent

__all__ = ["imputed"]


def imputed(manifest: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """List what a manifest says of filled cells, whatever else may be in its place; columns without any not.

    A manifest that says nothing of any column is `untold`; None if there is nothing to say.

    >>> imputed({"imputed": [{"column": "age", "cells": 123, "share": 1.23}]})
    {'rows': [['age', '123', '1.2 %']], 'untold': False}
    """
    given = (manifest or {}).get("imputed")
    columns = [
        row for row in (given if isinstance(given, list) else ()) if isinstance(row, Mapping)
    ]
    told = [row for row in columns if _is_told(row)]
    rows = [
        [printable(str(row.get("column"))), number(row["cells"]), percent(row["share"])]
        for row in told
        if row["share"] != 0
    ]
    untold = bool(columns) and not told
    return {"rows": rows, "untold": untold} if rows or untold else None


def _is_told(row: Mapping[str, Any]) -> bool:
    return isinstance(row.get("cells"), int) and isinstance(row.get("share"), int | float)
