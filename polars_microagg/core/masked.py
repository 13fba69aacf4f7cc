"""Masked columns before they are computed in their own types, and who holds their values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from polars_microagg.core.partition import Grouping, Labels, Members, Strata, Vector

__all__ = ["NOBODY", "Cells", "Centres", "Holders", "Masked"]


@dataclass(frozen=True, eq=False, slots=True)
class Holders:
    """Holders of the values of a column: strata and entities of the records, if there are any.

    A category that fewer than `k` of a stratum have is not emitted in it.
    """

    strata: Strata
    entity: Labels | None
    k: int

    def count(self, codes: Labels) -> Labels:
        """Count, for each record, the entities or records of its stratum with the same code.

        0 where a code is negative or a record is in no stratum.

        >>> Holders(Strata.whole(4), np.array([7, 7, 8, 9]), 2).count(np.array([0, 0, 0, 1]))
        array([2, 2, 2, 1])
        """
        stratum = self.strata.numbers(len(codes))
        rows = np.flatnonzero((codes >= 0) & (stratum >= 0))
        value = np.unique(
            stratum[rows] * (int(codes.max(initial=0)) + 1) + codes[rows], return_inverse=True
        )[1]
        found = np.zeros(len(codes), dtype=np.intp)
        if self.entity is None:
            found[rows] = np.bincount(value)[value] if len(rows) else 0
            return found
        entity = self.entity[rows]
        pairs = np.unique(value * (int(entity.max(initial=0)) + 1) + entity)
        counts = np.bincount(pairs // (int(entity.max(initial=0)) + 1))
        found[rows] = counts[value] if len(rows) else 0
        return found


NOBODY = Holders(Strata.whole(0), None, 0)
"""No records, for values that are computed and not chosen."""


@dataclass(frozen=True, eq=False, slots=True)
class Centres:
    """Centres of one column, not yet computed.

    Record i takes centre ``labels[i]``, -1 is null; the values of `members` make the centres.
    """

    groups: Grouping
    members: Members
    how: str
    holders: Holders = NOBODY

    @property
    def labels(self) -> Labels:
        """Number of the centre that each record takes."""
        return self.groups.labels


@dataclass(frozen=True, eq=False, slots=True)
class Cells:
    """Masked values of one column, one a record, NaN for null, and the strata of the records.

    They are whole steps, not yet rounded, of a column that is emitted in such.
    """

    values: Vector
    strata: Strata


@dataclass(frozen=True, eq=False, slots=True)
class Masked:
    """Masked values of some columns, before they are computed in their own types.

    `values` has, for each column, centres of groups, or one value a record.
    """

    columns: tuple[str, ...]
    groups: Grouping
    values: tuple[Centres | Cells, ...]

    @property
    def labels(self) -> Labels:
        """Number of the group of each record."""
        return self.groups.labels
