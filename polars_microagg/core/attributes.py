"""Columns that privacy models count: the entity of each record, and its confidential values."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from polars_microagg.core.partition import Labels, Members, Vector

__all__ = ["Attribute", "distinct_values"]


@dataclass(frozen=True, eq=False)
class Attribute:
    """One column as codes: equal values have equal codes.

    `codes` (n,) are from 0, in the order of the values if they are `ordered`. With `nulls` 0 is the
    code of null. `counts` (m,) is how often each code occurs in the table that is released, which
    may have more records than these. Models keep what they computed from the counts in `cache`.
    """

    name: str
    codes: Labels
    counts: Labels
    ordered: bool = False
    nulls: bool = False
    cache: dict[Any, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str, codes: Labels, *, ordered: bool = False, nulls: bool = False) -> Self:
        """Make the column of a table that is released whole; codes have no gaps.

        >>> Attribute.of("sick", np.array([1, 0, 1])).counts
        array([1, 2])
        """
        return cls(name, codes, np.bincount(codes), ordered, nulls)

    def take(self, rows: Labels) -> Self:
        """Return the same column of some records, still of the same table."""
        return replace(self, codes=self.codes[rows])

    def among(self, released: npt.NDArray[np.bool_]) -> Self:
        """Return the same column where only some of the records are released.

        Codes of the others mean nothing.
        """
        found = np.bincount(self.codes[released], minlength=len(self.counts)) > 0
        # A null has the first code, so it stays the first if it is still there.
        nulls = self.nulls and bool(found[0])
        code = np.maximum(np.cumsum(found) - 1, 0)[self.codes]
        return replace(
            self,
            codes=code,
            counts=np.bincount(code[released], minlength=1),
            nulls=nulls,
            cache={},
        )

    def own_codes(self) -> Labels:
        """Return the codes that these records have among themselves, where there are no others.

        >>> Attribute.of("sick", np.array([0, 1, 2, 1])).take(np.array([2, 1])).own_codes()
        array([0, 1])
        """
        _, first, codes = np.unique(self.codes, return_index=True, return_inverse=True)
        if self.ordered:
            return codes
        # Without an order they are numbered as they come, null first.
        if self.nulls and not self.codes.min(initial=0):
            first[:1] = -1
        number = np.empty(len(first), dtype=np.intp)
        number[np.argsort(first)] = np.arange(len(first))
        own: Labels = number[codes]
        return own

    @property
    def shares(self) -> Vector:
        """Share of each value in the table."""
        shares: Vector = self.counts / max(1, int(self.counts.sum()))
        return shares

    def runs(self, groups: Members) -> tuple[Labels, Labels, Labels]:
        """Return each group and each code in it, ascending, and how many members have it."""
        owner = np.repeat(np.arange(len(groups.sizes)), groups.sizes)
        width = max(1, len(self.counts))
        # Members are listed by group, so only codes change their places.
        both = self.codes[groups.order]
        both += owner * width
        both.sort()
        changes = np.ones(len(both), dtype=np.bool_)
        changes[1:] = both[1:] != both[:-1]
        first = np.flatnonzero(changes)
        ends = np.append(first[1:], len(both))[: len(first)]
        owner = owner[first]
        return owner, both[first] - owner * width, ends - first


def distinct_values(attribute: Attribute, groups: Members) -> Labels:
    """Count the distinct values of each group; null is not one.

    >>> sick = Attribute.of("sick", np.array([0, 1, 1, 2]), nulls=True)
    >>> distinct_values(sick, Members(np.array([0, 1, 2, 3]), np.array([2, 2])))
    array([1, 2])
    """
    owner, code, _ = attribute.runs(groups)
    known = owner[code >= attribute.nulls]
    return np.bincount(known, minlength=len(groups.sizes)).astype(np.intp)
