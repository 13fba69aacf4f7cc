"""Cells without a value that were filled with the centre of their group: counted, and told by column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from polars_microagg.frames.selection import by_name
from polars_microagg.publishing.manifest.consistency import Outcome, same_version
from polars_microagg.publishing.manifest.model import Cells, Imputed, Manifest
from polars_microagg.publishing.manifest.precision import coarse_count, rare_digits
from polars_microagg.wording import listed

__all__ = [
    "counted_imputed",
    "counted_values",
    "has_imputed",
    "imputed_again",
    "imputed_digits",
    "imputes",
    "recorded_cells",
    "recorded_imputed",
]


def imputes(config: Mapping[str, Any]) -> bool:
    """Return whether cells may have been filled: by an option, or in a table that was masked elsewhere.

    >>> imputes({"method": "mdav", "nulls": "impute"}), imputes({"method": "mdav", "nulls": "raise"})
    (True, False)
    """
    return config.get("method") is None or config.get("nulls") == "impute"


def counted_imputed(
    before: pl.DataFrame, released: pl.DataFrame, names: Sequence[str]
) -> dict[str, int]:
    """Count the cells of each column without a value before, and with one after.

    >>> people = pl.DataFrame({"age": [30, None, 47]})
    >>> counted_imputed(people, pl.DataFrame({"age": [38, 38, None]}), ["age"])
    {'age': 1}
    """
    gone, there = (
        table.select(condition(by_name(name)).alias(str(i)) for i, name in enumerate(names))
        for table, condition in ((before, pl.Expr.is_null), (released, pl.Expr.is_not_null))
    )
    return {name: int((gone[str(i)] & there[str(i)]).sum()) for i, name in enumerate(names)}


def counted_values(released: pl.DataFrame, names: Sequence[str]) -> int:
    """Count the cells of these columns that have a value.

    >>> counted_values(pl.DataFrame({"age": [38, None], "pay": [1, 2]}), ["age", "pay"])
    3
    """
    return sum(len(released) - released.get_column(name).null_count() for name in names)


def imputed_digits(rows: int, digits: int) -> int:
    """Count the digits of a share of filled cells of so many rows; 0 if it is not told.

    A manifest that tells no measure, in 0 `digits`, tells none of it, however many rows there are.

    >>> imputed_digits(999, 2), imputed_digits(10_000, 2), imputed_digits(10_000, 0)
    (0, 4, 0)
    """
    return rare_digits(rows) if digits else 0


def recorded_imputed(cells: Mapping[str, int], rows: int, digits: int) -> list[Imputed]:
    """Write down the cells that were filled, of so many rows, beside measures of so many digits.

    >>> recorded_imputed({"age": 123}, 10_000, 4), recorded_imputed({"age": 12}, 100, 2)
    ([{'column': 'age', 'cells': 123, 'share': 1.23}], [{'column': 'age', 'cells': None, 'share': None}])
    """
    told = imputed_digits(rows, digits)
    return [_told(name, count, rows, told) for name, count in cells.items()]


def _told(name: str, cells: int, rows: int, digits: int) -> Imputed:
    """Round a count of filled cells as far as it is published."""
    if not digits:
        return {"column": name, "cells": None, "share": None}
    count, share = coarse_count(cells, rows, digits)
    return {"column": name, "cells": count, "share": share}


def recorded_cells(
    rows: int | None, columns: int, values: int, filled: Sequence[Imputed] | None, digits: int
) -> Cells:
    """Record the masked cells, and how many the measures compare: those with a value that was not filled.

    `values` are the cells of the release that have one. Rounding of `filled` is kept: the count is a
    function of the release and of what `filled` discloses.

    >>> recorded_cells(100, 2, 200, None, 2), recorded_cells(100, 2, 200, None, 0)
    ({'all': 200, 'compared': 200}, {'all': 200, 'compared': None})
    """
    cells = [row["cells"] for row in filled or ()]
    known = [count for count in cells if count is not None]
    told = digits > 0 and len(known) == len(cells)
    return {
        "all": None if rows is None else rows * columns,
        "compared": max(values - sum(known), 0) if told else None,
    }


def has_imputed(manifest: Manifest) -> bool:
    """Return whether a manifest says which cells were filled, or should."""
    return "imputed" in manifest or manifest["config"].get("nulls") == "impute"


def imputed_again(manifest: Manifest, again: Mapping[str, int] | None) -> Outcome:
    """Check what is said of filled cells, and hold it against the original, if that was counted."""
    stated, rows = manifest.get("imputed"), manifest["rows"]["out"]
    if stated is None:
        holds = False if same_version(manifest) else None
        return holds, "The manifest does not say which cells were filled."
    names = manifest["roles"]["mask"]
    said = f"Of {len(names)} column(s) it is said how many cells were filled"
    if [row["column"] for row in stated] != names or not imputes(manifest["config"]):
        return False, "The manifest says of other columns that cells were filled."
    digits = manifest["digits"]
    told = imputed_digits(rows, digits) > 0
    for row in stated:
        share, cells = row["share"], row["cells"]
        if (share is not None) != told or (cells is not None) != told:
            return False, "The manifest says of so few records how many cells were filled."
        if share is not None and not (0 <= share <= 100 and cells == round(share * rows / 100)):
            return False, f"{said}; the count and the share of {row['column']!r} do not agree."
    if not told:
        said = "It is said of no column how many cells were filled"
        return True, f"{said}, as few records have values to compare."
    if again is None:
        return None, f"{said}; what it was needs the original."
    pairs = zip(stated, recorded_imputed(again, rows, digits), strict=True)
    if differ := [one["column"] for one, other in pairs if one != other]:
        return False, f"{said}; other cells of {listed(differ[:10])} were filled."
    return True, f"{said}; they were counted again."
