"""The register of kinds of columns, filled by a decorator in their own files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, TypeVar

import polars as pl

from polars_microagg.core.partition import Cells, Centres, Strata, Vector
from polars_microagg.core.registry import discover

__all__ = ["Kind", "kind", "kind_of", "kinds"]


class Kind(Protocol):
    """How columns of some types are masked.

    Every door asks for the type that Polars has; DuckDB's BOOLEAN is Boolean and VARCHAR is String.
    """

    def takes(self, dtype: pl.DataType) -> bool:
        """Return whether columns of a type are of this kind."""

    def unit(self, dtype: pl.DataType) -> float:
        """Return the size of one unit of the coordinates."""

    def refused(self, column: pl.Series) -> int:
        """Count the values that have no coordinates and are not null."""

    def coordinates(self, column: pl.Series, strata: Strata | None) -> Vector:
        """Turn a column into float64: NaN for null, and nothing finite for what is refused.

        Numbers that float64 cannot hold count from the smallest of their stratum; from 0 without
        strata.
        """

    def pair(self, original: pl.Series, masked: pl.Series) -> tuple[Vector, Vector]:
        """Turn a column before and after into float64 in the same units, NaN where null."""

    def values(self, column: pl.Series, chosen: Centres | Cells, dtype: pl.DataType) -> pl.Series:
        """Return the value of each group in the type asked for: its own, or Float64."""


Registered = TypeVar("Registered", bound=type)

_KINDS: dict[str, Kind] = {}


def kind(class_: Registered) -> Registered:
    """Register a class as a kind of column, under its own name."""
    _KINDS[class_.__name__.lower()] = class_()
    return class_


def kinds() -> Mapping[str, Kind]:
    """Return all registered kinds by name, in alphabetical order."""
    discover("kinds")
    return dict(sorted(_KINDS.items()))


def kind_of(dtype: pl.DataType) -> Kind | None:
    """Return the kind of a type, or None if it cannot be masked.

    >>> type(kind_of(pl.Date())).__name__, kind_of(pl.String())
    ('Moment', None)
    """
    discover("kinds")
    return next((kind for kind in _KINDS.values() if kind.takes(dtype)), None)
