"""Cells that were filled, in tables of which a manifest does not say it."""

from __future__ import annotations

from collections.abc import Mapping

from polars_microagg.publishing.manifest.imputed import imputed_digits
from polars_microagg.publishing.manifest.precision import rare_digits
from polars_microagg.wording import Sentence

__all__ = ["imputed_cells"]


def imputed_cells(cells: Mapping[str, int], rows: int, digits: int) -> list[str]:
    """Warn the owner of filled cells that a manifest of so many digits does not count.

    >>> str(imputed_cells({"age": 2, "pay": 0}, 9, 0)[0]).partition(",")[0]
    "Of 9 cells of each column these had no value: 'age' 2"
    """
    filled = {name: count for name, count in cells.items() if count}
    if not filled or imputed_digits(rows, digits):
        return []
    return [
        Sentence(
            "Of {rows} cells of each column these had no value: {columns}, and were filled with the centre "
            "of their group. {why}",
            rows=rows,
            why="Of so few records the manifest does not say it."
            if not rare_digits(rows)
            else "The manifest does not say it, as few records have values to compare.",
            columns=", ".join(f"{name!r} {count}" for name, count in filled.items()),
        )
    ]
