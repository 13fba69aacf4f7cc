"""Errors of cells that are not there: nulls, NaN and infinities."""

from __future__ import annotations

from typing import Self

from polars_microagg.errors.data import InvalidDataError
from polars_microagg.wording import PerDoor, Sentence, Setting

__all__ = ["MissingValuesError"]


class MissingValuesError(InvalidDataError):
    """Nulls, NaN or infinities where numbers are needed."""

    @classmethod
    def nulls(cls, column: str, count: int, way: object = None) -> Self:
        """Report which column has nulls and how many."""
        impute, pattern = Setting("nulls", "impute"), Setting("nulls", "pattern")
        way = way or Sentence(
            "Use {impute} to fill them with the centroid of their group, {pattern} to keep them, or "
            "drop those rows first.",
            impute=impute,
            pattern=pattern,
        )
        return cls.of_fields(
            "Column {column} has {count} null value(s). {way}",
            column=repr(column),
            count=count,
            way=way,
        )

    @classmethod
    def not_finite(cls, column: str, count: int, way: object = None) -> Self:
        """Report which column has NaN or infinities and how many."""
        frame = "pl.when(pl.col(x).is_finite()).then(pl.col(x))"
        query = "CASE WHEN isfinite(x) THEN x END"
        way = way or Sentence(
            "Replace them by null{by} or by a number, or drop those rows first.",
            by=PerDoor(f" ({frame}, in SQL {query})", f" ({query})", ""),
        )
        return cls.of_fields(
            "Column {column} has {count} NaN or infinite value(s), which have no centroid. {way}",
            column=repr(column),
            count=count,
            way=way,
        )
