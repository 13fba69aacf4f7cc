"""Groups of records or values, strata, and the array types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, Self, TypeAlias, cast

import numpy as np
import numpy.typing as npt

__all__ = [
    "GroupRule",
    "Grouping",
    "Labels",
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


@dataclass(frozen=True, eq=False)
class Partition:
    """Groups of records: every record is in exactly one group.

    Groups are numbered in the order in which their first record appears, so two partitions
    with the same groups have the same labels. A method that has put the records in an order in which
    its groups follow each other hands over this order, by `along`: then nothing is sorted again, and
    labels are made only where they are asked for.
    """

    given_labels: Labels | None
    given_sizes: Labels | None
    runs: Members | None = None

    @classmethod
    def from_labels(cls, labels: npt.NDArray[np.integer]) -> Self:
        """Number the groups of any non-negative labels by their first record; gaps are allowed.

        >>> Partition.from_labels(np.array([7, 2, 7, 2, 2])).labels
        array([0, 1, 0, 1, 1])
        """
        labels = np.asarray(labels, dtype=np.intp)
        n = len(labels)
        # Those of one stratum among many begin with a large number.
        if n and (least := int(labels.min())) > 0:
            labels = labels - least
        counts = np.bincount(labels)
        first = np.full(len(counts), n, dtype=np.intp)
        # The last assignment wins, so walking backwards leaves the first row of each group.
        first[labels[::-1]] = np.arange(n - 1, -1, -1, dtype=np.intp)
        # First rows differ, but for those of gaps, which come last.
        order = np.argsort(first)[: np.count_nonzero(counts)]
        number = np.zeros(len(counts), dtype=np.intp)
        number[order] = np.arange(len(order), dtype=np.intp)
        return cls(number.take(labels), counts.take(order))

    @classmethod
    def along(cls, order: Labels, lengths: Labels) -> Self:
        """Make the partition whose groups are runs of these lengths along an order of the rows.

        >>> Partition.along(np.array([3, 0, 2, 1]), np.array([2, 2])).labels
        array([0, 1, 1, 0])
        """
        return cls(None, None, Members(order, lengths))

    @property
    def labels(self) -> Labels:
        """Number of the group of each record."""
        return self._numbered[0] if self.given_labels is None else self.given_labels

    @property
    def sizes(self) -> Labels:
        """Number of records of each group."""
        return self._numbered[1] if self.given_sizes is None else self.given_sizes

    @cached_property
    def _numbered(self) -> tuple[Labels, Labels]:
        """Labels and sizes, from the runs."""
        runs = cast("Members", self.runs)
        order, lengths = runs.order, runs.sizes
        first = np.minimum.reduceat(order, runs.starts)
        # The first rows of groups, counted from the top: the number of a group is how many come before.
        leads = np.zeros(len(order), dtype=np.bool_)
        leads[first] = True
        number = np.cumsum(leads, dtype=np.intp).take(first) - 1
        labels, sizes = np.empty_like(order), np.empty_like(lengths)
        labels[order] = np.repeat(number, lengths)
        sizes[number] = lengths
        return labels, sizes

    @property
    def smallest(self) -> int:
        """Size of the smallest group."""
        sizes = self.sizes if self.runs is None else self.runs.sizes
        return int(sizes.min()) if len(sizes) else 0

    def __len__(self) -> int:
        """Count the groups."""
        return len(self.sizes if self.runs is None else self.runs.sizes)


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

    def are_all(self, n: int) -> bool:
        """Return whether each of n rows is listed once.

        >>> Members(np.array([1, 0, 1]), np.array([3])).are_all(3)
        False
        """
        order = self.order
        if not len(order) == n == self.sizes.sum():
            return False
        if order.min(initial=0) < 0 or order.max(initial=-1) >= n:
            return False
        seen = np.zeros(n, dtype=np.bool_)
        seen[order] = True
        return bool(seen.all())

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


@dataclass(frozen=True, eq=False)
class Grouping:
    """Groups of some of `n` records, by label or listed one after the other; each is made from the other.

    The numbers of the groups say nothing; records of no group have the label -1.
    """

    n: int
    count: int
    given_labels: Labels | None
    listed: Members | None = None

    @classmethod
    def by_label(cls, labels: Labels, count: int) -> Self:
        """Make the groups of so many labels, -1 for none."""
        return cls(len(labels), count, labels)

    @classmethod
    def by_list(cls, listed: Members, n: int) -> Self:
        """Make the groups of n records that are listed.

        >>> Grouping.by_list(Members(np.array([3, 0]), np.array([1, 1])), 4).labels
        array([ 1, -1, -1,  0])
        """
        return cls(n, len(listed.sizes), None, listed)

    @cached_property
    def labels(self) -> Labels:
        """Number of the group of each record, -1 for none."""
        if self.listed is None:
            return cast("Labels", self.given_labels)
        labels = np.full(self.n, -1, dtype=np.intp)
        labels[self.listed.order] = np.repeat(np.arange(self.count), self.listed.sizes)
        return labels

    @property
    def sizes(self) -> Labels:
        """Number of records of each group."""
        if self.listed is not None:
            return self.listed.sizes
        return np.bincount(self.labels[self.labels >= 0], minlength=self.count)

    @cached_property
    def members(self) -> Members:
        """Rows of each group."""
        if self.listed is not None:
            return self.listed
        grouped = self.labels >= 0
        rows = None if grouped.all() else np.flatnonzero(grouped)
        return Members.of(rows, self.labels if rows is None else self.labels[rows], self.count)

    def rows(self, order: Labels, n: int) -> Self:
        """Return the same groups of n rows, of which record i is row ``order[i]``.

        >>> Grouping.by_label(np.array([0, 1, 0]), 2).rows(np.array([3, 0, 1]), 4).labels
        array([ 1,  0, -1,  0])
        """
        if self.listed is not None:
            return self.by_list(Members(order.take(self.listed.order), self.listed.sizes), n)
        labels = np.full(n, -1, dtype=np.intp)
        labels[order] = self.labels
        return self.by_label(labels, self.count)


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
