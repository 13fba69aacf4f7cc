"""Rows that were dropped, in tables of which a manifest does not record how many."""

from __future__ import annotations

from polars_microagg.publishing.manifest.model import Rows
from polars_microagg.wording import Sentence

__all__ = ["dropped_rows"]


def dropped_rows(dropped: int, rows: Rows) -> list[str]:
    """Warn the owner of dropped rows that a manifest does not record.

    >>> none = {"in": None, "out": 30, "emptied": 0, "dropped": None, "suppressed": None}
    >>> str(dropped_rows(2, none)[0]).partition(". ")[0]
    '2 of 32 rows were dropped'
    """
    if not dropped or rows["dropped"] is not None:
        return []
    return [
        Sentence(
            "{dropped} of {rows} rows were dropped. The manifest does not record how many, because few "
            "records have values to compare.",
            dropped=dropped,
            rows=rows["out"] + dropped,
        )
    ]
