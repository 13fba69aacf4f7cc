"""Linkage of each original record to the nearest masked record, by distance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from polars_microagg.core.partition import Labels, Matrix, Vector
from polars_microagg.kernels.equal_records import distinct, prefixes
from polars_microagg.kernels.risk.centroid_tree import CentroidTree
from polars_microagg.kernels.risk.nearest_links import tied_weights
from polars_microagg.kernels.scale import side_by_side, standardised

__all__ = ["Attributes", "as_codes", "attributes", "expected_hits", "linked_persons", "subset_hits"]

FAR = 1e6
"""Distance of the codes of different categories, beyond any tolerance."""

SLACK = 1e-12
"""Distances that differ by less than this share of the largest value are equal."""

CELLS = 2_000_000
"""Numbers that a block of distances may hold."""

FARTHEST = 1e100
"""Distances above this count as this where strata are set apart, so that all numbers stay finite."""

SHARED = 50_000_000
"""Pairs of records and centroids up to which sets of attributes share their distances."""


@dataclass(frozen=True, eq=False, slots=True)
class Attributes:
    """Standardised records before and after; several columns may belong to one attribute.

    `strata` (n,) are those of the records: each is linked within its own. None is one of all records.
    """

    before: Matrix
    after: Matrix
    owner: Labels
    strata: Labels | None = None

    def only(self, subset: Sequence[int]) -> tuple[Matrix, Matrix]:
        """Return the columns of some of the attributes."""
        chosen = np.isin(self.owner, subset)
        if chosen.all():
            return self.before, self.after
        return self.before[:, chosen], self.after[:, chosen]


def attributes(
    original: Matrix, masked: Matrix, joint: Labels | None = None, strata: Labels | None = None
) -> Attributes:
    """Return two (n, p) tables in standard deviations of the first, as finite numbers.

    `joint` (p,) is the attribute of each column; by default each is one. `strata` are passed on.

    An absent value is taken as the mean, and its absence as one column more, in which present and
    absent are one standard deviation apart. Constant columns are left out.
    """
    parts: list[list[Matrix]] = [[], []]
    owner = []
    joint = np.arange(original.shape[1]) if joint is None else joint
    for j in np.unique(joint).tolist():
        x, y = original[:, joint == j], masked[:, joint == j]
        absent = [np.isnan(columns[:, :1]) for columns in (x, y)]
        pair = standardised(x, y, np.zeros(x.shape[1], dtype=np.intp))
        if pair[0].shape[1]:
            owner += [j] * pair[0].shape[1]
            for part, column, gaps in zip(parts, pair, absent, strict=True):
                part.append(np.where(gaps, 0.0, column) if gaps.any() else column)
        if absent[0].any() or absent[1].any():
            owner.append(j)
            for part, gaps in zip(parts, absent, strict=True):
                part.append(gaps.astype(np.float64))
    before, after = (side_by_side(part, len(original)) for part in parts)
    return Attributes(before, after, np.array(owner, dtype=np.intp), strata)


def as_codes(
    original: Matrix, masked: Matrix, joint: Labels | None
) -> tuple[Matrix, Matrix, npt.NDArray[np.bool_]]:
    """Return one column for each attribute, and which are codes of categories.

    Different categories are farther apart than any tolerance.

    >>> corners = np.array([[0.0, 0.7], [0.7, 0.0]])
    >>> as_codes(corners, corners[::-1], np.zeros(2, int))[0].tolist()
    [[0.0], [1000000.0]]
    """
    joint = np.arange(original.shape[1]) if joint is None else joint
    columns, coded = [np.empty((2 * len(original), 0))], []
    for number in np.unique(joint):
        both = np.concatenate([original[:, joint == number], masked[:, joint == number]])
        coded.append(both.shape[1] > 1)
        if coded[-1]:
            codes = np.unique(both, axis=0, return_inverse=True)[1].reshape(-1)
            both = np.where(np.isnan(both[:, :1]), np.nan, FAR * codes[:, None])
        columns.append(both)
    table = np.hstack(columns)
    return table[: len(original)], table[len(original) :], np.array(coded, dtype=np.bool_)


def _slack(before: Matrix, after: Matrix) -> float:
    """Return the difference of distances that counts as none."""
    largest = max(np.abs(before).max(initial=1.0), np.abs(after).max(initial=1.0))
    return float(SLACK * largest)


def expected_hits(
    before: Matrix, after: Matrix, strata: Labels | None = None, *, merge: bool = True
) -> Vector:
    """Return the (n,) chance of each record to be linked to its own masked record.

    It is 1 divided by the number of masked records at the least distance, if the own one is among
    them, else 0. Distances are equal if they differ by less than 1e-12 of the largest value. With
    `strata` (n,) only masked records of the same stratum are compared. With `merge` equal masked
    records are searched once; the result is the same.

    >>> x, y = np.array([[1.0], [2.0], [9.0]]), np.array([[1.5], [1.5], [9.0]])
    >>> expected_hits(x, y)
    array([0.5, 0.5, 1. ])
    """
    n = len(before)
    if not n:
        return np.empty(0)
    slack = _slack(before, after)
    if strata is not None:
        before, after = _strata_apart(before, after, strata)
    first, labels = distinct(after) if merge else (np.arange(n), np.arange(n))
    sizes = np.bincount(labels).astype(np.float64)
    if len(first) == 1 or not before.shape[1]:
        return np.full(n, 1.0 / n)
    # Only what lies nearer than the own masked record can make a link wrong. So the search looks
    # into a ball, and ends at the first masked record that is nearer.
    tree = CentroidTree(np.ascontiguousarray(after.T.take(first, axis=1)))
    records = np.ascontiguousarray(before.T)
    tied = tied_weights(tree, sizes, records, labels, slack)
    return np.divide(1.0, tied, out=np.zeros(n), where=tied > 0)


def _strata_apart(before: Matrix, after: Matrix, strata: Labels) -> tuple[Matrix, Matrix]:
    """Add a coordinate in which strata are farther apart than any record is from its own masked one.

    Within a stratum it changes no distance, and no masked record of another stratum is as near.
    """
    with np.errstate(over="ignore"):
        own = np.sqrt(np.square(before - after).sum(axis=1)).max(initial=0.0)
    # Multiples of a power of two have exact differences, so no rounding of this coordinate is larger
    # than the distances within a stratum.
    place = 2.0 ** np.ceil(np.log2(2.0 * min(own, FARTHEST) + 1.0)) * strata
    return np.column_stack([before, place]), np.column_stack([after, place])


def linked_persons(hits: Vector, entity: Labels) -> float:
    """Return the mean chance of persons that at least one of their records is linked rightly.

    `hits` (n,) are the chances of the records, guessed independently, and `entity` (n,) their persons.

    >>> linked_persons(np.array([0.5, 0.5, 0.0]), np.array([0, 0, 1]))
    0.375
    """
    persons = np.bincount(entity) > 0
    with np.errstate(divide="ignore"):  # the logarithm of 0, of a certain link, is minus infinity
        missed = np.bincount(entity, weights=np.log1p(-hits))
    return float(-np.expm1(missed[persons]).mean())


def subset_hits(
    known: Attributes, subsets: Sequence[tuple[int, ...]], *, optimistic: bool = False
) -> Vector:
    """Return the share of records linked to their own masked record, for each set of attributes.

    If `optimistic`, a record at the least distance counts fully even if others are at the same.
    """
    n = len(known.before)
    merged = known.after if known.strata is None else np.column_stack([known.after, known.strata])
    first, labels = distinct(merged)
    if len(subsets) > 1 and n * len(first) <= SHARED:
        totals = _shared_hits(known, subsets, first, labels, optimistic)
        return totals / max(n, 1)
    shares = np.empty(len(subsets))
    for number, subset in enumerate(subsets):
        hits = expected_hits(*known.only(subset), known.strata)
        shares[number] = np.count_nonzero(hits) / max(n, 1) if optimistic else hits.mean()
    return shares


def _shared_hits(
    known: Attributes,
    subsets: Sequence[tuple[int, ...]],
    first: Labels,
    labels: Labels,
    optimistic: bool,
) -> Vector:
    """Add up distances attribute by attribute, so that sets with a common start share them."""
    centroids, sizes = known.after[first], np.bincount(labels).astype(np.float64)
    n, g = len(labels), len(first)
    steps = list(prefixes(subsets))
    slacks = np.array([_slack(*known.only(subset)) for subset in subsets])
    totals = np.zeros(len(subsets))
    block = max(1, CELLS // g)
    for start in range(0, n, block):
        rows = slice(start, min(n, start + block))
        own = labels[rows]
        index = np.arange(len(own))
        by_attribute = _squares(known, centroids, rows)
        zero = np.zeros((len(own), g))
        if known.strata is not None:
            zero[known.strata[rows, None] != known.strata[first]] = np.inf
        stack = [zero]
        for depth, attribute, number in steps:
            del stack[depth + 1 :]
            squares = by_attribute.get(attribute)
            stack.append(stack[-1] if squares is None else stack[-1] + squares)
            if number < 0:
                continue
            distances = stack[-1]
            # (distance + slack)^2, so that no root of the whole matrix is taken.
            limit = (np.sqrt(distances.min(axis=1)) + slacks[number]) ** 2
            hit = distances[index, own] <= limit
            if optimistic:
                totals[number] += np.count_nonzero(hit)
            else:
                tied = (distances[hit] <= limit[hit, None]) @ sizes
                totals[number] += (1.0 / tied).sum()
    return totals


def _squares(known: Attributes, centroids: Matrix, rows: slice) -> dict[int, Matrix]:
    """Return squared differences of records from all centroids, one matrix an attribute."""
    squares: dict[int, Matrix] = {}
    for column, attribute in enumerate(known.owner.tolist()):
        difference = known.before[rows, column, None] - centroids[:, column]
        difference *= difference
        there = squares.get(attribute)
        squares[attribute] = difference if there is None else there + difference
    return squares
