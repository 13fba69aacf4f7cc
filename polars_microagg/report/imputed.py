"""The section of a report on cells that had no value and were filled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polars_microagg.charts.style import printable
from polars_microagg.report.text import number, percent

__all__ = ["imputed"]


def imputed(manifest: Mapping[str, Any] | None) -> list[list[str]]:
    """List what a manifest says of filled cells, whatever else may be in its place; columns without any not.

    >>> imputed({"imputed": [{"column": "age", "cells": 123, "share": 1.23}]})
    [['age', '123', '1.2 %']]
    """
    rows = (manifest or {}).get("imputed")
    return [
        [printable(str(row.get("column"))), *_told(row.get("cells"), row.get("share"))]
        for row in (rows if isinstance(rows, list) else ())
        if isinstance(row, Mapping) and row.get("share") != 0
    ]


def _told(cells: object, share: object) -> list[str]:
    if not isinstance(cells, int) or not isinstance(share, int | float):
        return ["not told", "not told"]
    return [number(cells), percent(share)]
