"""Groups of records or values, strata, masked columns, and the array types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = [
    "NOBODY",
    "Cells",
    "Centres",
    "GroupRule",
    "Holders",
    "Labels",
    "Masked",
    "Matrix",
    "Members",
    "Partition",
    "Strata",
    "ValueMasking",
    "Vector",
]

Matrix: TypeAlias = npt.NDArray[np.float64]
"""Float64 array of shape (n, p), Fortran order: one record a row."""

Vector: TypeAlias = npt.NDArray[np.float64]
"""Float64 array of shape (n,)."""

Labels: TypeAlias = npt.NDArray[np.intp]
"""Group number of each record, array of shape (n,)."""


@dataclass(frozen=True, eq=False, slots=True)
class Partition:
    """Groups of records: every record is in exactly one group.

    Groups are numbered in the order in which their first record appears, so two partitions
    with the same groups have the same labels.
    """

    labels: Labels
    sizes: Labels

    @classmethod
    def from_labels(cls, labels: npt.NDArray[np.integer]) -> Self:
        """Number the groups of any non-negative labels by their first record; gaps are allowed.

        >>> Partition.from_labels(np.array([7, 2, 7, 2, 2])).labels
        array([0, 1, 0, 1, 1])
        """
        labels = np.asarray(labels, dtype=np.intp)
        n = len(labels)
        # Those of one stratum among many begin with a large number.
        labels = labels - (labels.min() if n else 0)
        counts = np.bincount(labels)
        first = np.full(len(counts), n, dtype=np.intp)
        # The last assignment wins, so walking backwards leaves the first row of each group.
        first[labels[::-1]] = np.arange(n - 1, -1, -1, dtype=np.intp)
        # First rows differ, but for those of gaps, which come last.
        order = np.argsort(first)[: np.count_nonzero(counts)]
        number = np.zeros(len(counts), dtype=np.intp)
        number[order] = np.arange(len(order), dtype=np.intp)
        return cls(number.take(labels), counts.take(order))

    @property
    def smallest(self) -> int:
        """Size of the smallest group."""
        return int(self.sizes.min()) if len(self.sizes) else 0

    def __len__(self) -> int:
        """Count the groups."""
        return len(self.sizes)


@dataclass(frozen=True, eq=False, slots=True)
class ValueMasking:
    """The masked matrix of a method that groups values instead of records.

    It does not promise that k records are alike.
    """

    values: Matrix


@dataclass(frozen=True, eq=False, slots=True)
class Strata:
    """Rows that may be grouped together: `order` lists the rows stratum by stratum."""

    order: Labels
    sizes: Labels

    @classmethod
    def whole(cls, n: int) -> Self:
        """Make one stratum of all rows.

        >>> Strata.whole(3).sizes
        array([3])
        """
        return cls(np.arange(n), np.array([n] if n else [], dtype=np.intp))

    @property
    def firsts(self) -> Labels:
        """First row of each stratum."""
        firsts: Labels = self.order[np.cumsum(self.sizes) - self.sizes]
        return firsts

    def numbers(self, n: int) -> Labels:
        """Return the number of the stratum of each of n rows; -1 where a row is in none.

        >>> Strata(np.array([0, 2, 1]), np.array([2, 1])).numbers(4)
        array([ 0,  1,  0, -1])
        """
        stratum = np.full(n, -1, dtype=np.intp)
        stratum[self.order] = np.repeat(np.arange(len(self.sizes)), self.sizes)
        return stratum

    def rows(self) -> list[Labels]:
        """List the rows of each stratum, ascending."""
        return np.split(self.order, np.cumsum(self.sizes)[:-1]) if len(self.sizes) else []

    def only(self, chosen: npt.NDArray[np.bool_]) -> Self:
        """Return some of the strata.

        >>> Strata(np.array([0, 2, 1]), np.array([2, 1])).only(np.array([False, True])).order
        array([1])
        """
        if chosen.all():
            return self
        return type(self)(self.order[np.repeat(chosen, self.sizes)], self.sizes[chosen])

    def without(self, rows: npt.NDArray[np.bool_]) -> Self:
        """Leave some rows out, and strata of which nothing is left.

        >>> strata = Strata(np.array([0, 2, 1]), np.array([2, 1]))
        >>> strata.without(np.array([False, True, True])).rows()
        [array([0])]
        """
        if not rows.any():
            return self
        kept = ~rows[self.order]
        stratum = np.repeat(np.arange(len(self.sizes)), self.sizes)[kept]
        sizes = np.bincount(stratum, minlength=len(self.sizes)).astype(np.intp)
        return type(self)(self.order[kept], sizes[sizes > 0])

    def by_pattern(self, x: Matrix) -> Self:
        """Split each stratum by which values are absent.

        >>> Strata.whole(3).by_pattern(np.array([[np.nan], [1.0], [np.nan]])).rows()
        [array([1]), array([0, 2])]
        """
        pattern = np.unique(np.isnan(x), axis=0, return_inverse=True)[1].reshape(-1)[self.order]
        stratum = np.repeat(np.arange(len(self.sizes)), self.sizes)
        # lexsort is stable, so the rows of a pattern stay in ascending order.
        by = np.lexsort((pattern, stratum))
        changes = (np.diff(stratum[by]) != 0) | (np.diff(pattern[by]) != 0)
        ends = np.append(np.flatnonzero(changes) + 1, len(by))
        return type(self)(self.order[by], np.diff(ends, prepend=0))


@dataclass(frozen=True, eq=False, slots=True)
class Members:
    """Rows whose values make centres: `order` lists them centre by centre, `sizes` counts them."""

    order: Labels
    sizes: Labels

    @classmethod
    def of(cls, rows: Labels | None, labels: Labels, groups: int) -> Self:
        """List rows, or all records if None, by their groups, of which some may be empty.

        >>> members = Members.of(np.array([3, 5, 6]), np.array([2, 0, 2]), 3)
        >>> members.order, members.sizes
        (array([5, 3, 6]), array([1, 0, 2]))
        """
        # The number of a row fits beside that of its group, and numpy sorts whole numbers fastest.
        bits = max(len(labels) - 1, 0).bit_length()
        order = labels << bits
        order += np.arange(len(labels))
        order.sort()
        order &= (1 << bits) - 1
        return cls(
            order if rows is None else rows.take(order),
            np.bincount(labels, minlength=groups).astype(np.intp),
        )

    @property
    def starts(self) -> Labels:
        """Position in `order` at which each centre starts."""
        starts: Labels = np.cumsum(self.sizes) - self.sizes
        return starts

    def take(self, chosen: Labels) -> Self:
        """Return the rows of some centres, in this order.

        >>> members = Members(np.array([5, 3, 6]), np.array([1, 0, 2]))
        >>> members.take(np.array([2, 1, 0])).order
        array([3, 6, 5])
        """
        sizes = self.sizes[chosen]
        shift = np.repeat(self.starts[chosen] - (np.cumsum(sizes) - sizes), sizes)
        return type(self)(self.order[np.arange(len(shift)) + shift], sizes)


class GroupRule(Protocol):
    """A condition that groups must satisfy beyond their size.

    Two groups that satisfy it satisfy it as one group, too.
    """

    def failing(self, groups: Members) -> npt.NDArray[np.bool_]:
        """Return which groups, none of them empty, break the rule."""

    def take(self, rows: Labels) -> Self:
        """Return the rule for some of the records, numbered from 0 in this order."""

    def spreads(self) -> Sequence[Labels]:
        """Return codes of the records over which groups that satisfy the rule are spread, if any."""


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
    """Centres of one column, not yet computed: record i takes centre ``labels[i]``, -1 is null."""

    labels: Labels
    members: Members
    how: str
    holders: Holders = NOBODY


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

    `labels` are the groups of the records, -1 for none. `values` has, for each column, centres
    of groups, or one value a record.
    """

    columns: tuple[str, ...]
    labels: Labels
    values: tuple[Centres | Cells, ...]
