"""Records that an intruder can link to their own masked record: DLD and PLD."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np

from polars_microagg.core.partition import Labels, Matrix
from polars_microagg.core.registry import Range, metric
from polars_microagg.kernels.equal_records import distinct
from polars_microagg.kernels.risk.agreement_patterns import (
    pattern_counts,
    pattern_hits,
    pattern_weights,
)
from polars_microagg.kernels.risk.record_linkage import (
    as_codes,
    attributes,
    expected_hits,
    linked_persons,
    subset_hits,
)
from polars_microagg.kernels.scale import standardised

__all__ = ["dld", "dld_entity", "dld_without_strata", "pld"]

SLACK = 1e-9
"""Values agree whose difference exceeds the tolerance by so much, whatever the rounding."""

MOST = 20
"""Attributes up to which all patterns of agreement are counted."""

FEW = 20_000
"""Records up to which links are sought by likelihood."""

Subsets = Sequence[tuple[int, ...]]


@metric(cite="Pagliuca and Seri (1999)", assessed=100, reported=True, unit="%")
def dld(
    original: Matrix,
    masked: Matrix,
    subsets: Subsets | None = None,
    joint: Labels | None = None,
    strata: Labels | None = None,
    /,
    *,
    optimistic: bool = False,
) -> float | None:
    """Distance-based linkage disclosure: share of records nearest to their own masked record.

    Parameters
    ----------
    original, masked : array of shape (n, p)
        The attributes that an intruder knows, before and after.
    subsets : sequence of tuple of int, optional
        Sets of them, over which the measure is averaged; all of them together by default.
    joint : array of shape (p,), optional
        The attribute that each column is a coordinate of: categories have several.
    strata : array of shape (n,), optional
        The number of the stratum of each record, which the intruder knows, too.
    optimistic : bool, default False
        Whether a record counts fully if its own masked record is at the least distance, however
        many others are. The intruder is thought to choose well, so this is an upper bound. By
        default it counts 1 divided by the number of masked records at that distance: the
        expected share of hits of an intruder who chooses among them at random.

    Returns
    -------
    float or None
        Per cent, from 0 to 100; None for an empty table.

    Notes
    -----
    D. Pagliuca and G. Seri (1999); J. Domingo-Ferrer and V. Torra (2001). Each original record is
    linked to the masked record at the least Euclidean distance, both in standard deviations
    (ddof 0) from the mean of the original. Distances are equal if they differ by less than 1e-12
    of the largest value. Columns that are constant before are left out. An absent value is taken
    as the mean, and its absence as one column more, in which present and absent are one standard
    deviation apart. If strata are known, only masked records of the same stratum are compared; a record whose
    stratum was suppressed is looked for among all suppressed records.

    After microaggregation k records share the least distance, so without `optimistic` the
    measure is about a k-th of the share of records whose own centroid is nearest.

    Examples
    --------
    >>> x, y = np.array([[1.0], [2.0], [9.0]]), np.array([[1.5], [1.5], [9.0]])
    >>> round(dld(x, y), 3), dld(x, y, optimistic=True)
    (66.667, 100.0)
    >>> dld(x, y, None, None, np.array([0, 1, 0]))
    100.0
    """
    if not len(original):
        return None
    known = attributes(original, masked, joint, strata)
    chosen = [_all(original, joint)] if subsets is None else subsets
    return 100.0 * float(subset_hits(known, chosen, optimistic=optimistic).mean())


@metric(cite="Pagliuca and Seri (1999)", unit="%")
def dld_without_strata(
    original: Matrix,
    masked: Matrix,
    subsets: Subsets | None = None,
    joint: Labels | None = None,
    /,
    *,
    optimistic: bool = False,
) -> float | None:
    """Distance-based linkage disclosure by an attacker who does not know the strata.

    Parameters
    ----------
    original, masked : array of shape (n, p)
        The attributes that an attacker knows, before and after.
    subsets : sequence of tuple of int, optional
        Sets of them, over which the measure is averaged; all of them together by default.
    joint : array of shape (p,), optional
        The attribute that each column is a coordinate of: categories have several.
    optimistic : bool, default False
        As in `dld`.

    Returns
    -------
    float or None
        Per cent, from 0 to 100; None for an empty table.

    Notes
    -----
    D. Pagliuca and G. Seri (1999). This is `dld` over all masked records, whatever their stratum. The
    strata of a release are released unchanged, so `dld` is the risk; compare both to see how much of
    it is due to the strata.

    Examples
    --------
    >>> x, y = np.array([[1.0], [2.0], [9.0]]), np.array([[1.5], [1.5], [9.0]])
    >>> round(dld_without_strata(x, y), 3)
    66.667
    """
    return dld(original, masked, subsets, joint, optimistic=optimistic)


@metric(cite="Pagliuca and Seri (1999)", assessed=105, reported=True, unit="%")
def dld_entity(
    original: Matrix,
    masked: Matrix,
    subsets: Subsets | None = None,
    joint: Labels | None = None,
    entity: Labels | None = None,
    strata: Labels | None = None,
    /,
    *,
    optimistic: bool = False,
) -> float | None:
    """Distance-based linkage disclosure of persons: share with a record nearest to its own masked one.

    Parameters
    ----------
    original, masked : array of shape (n, p)
        The attributes that an intruder knows, before and after.
    subsets : sequence of tuple of int, optional
        Sets of them, over which the measure is averaged; all of them together by default.
    joint : array of shape (p,), optional
        The attribute that each column is a coordinate of: categories have several.
    entity : array of shape (n,), optional
        The number of the person of each record.
    strata : array of shape (n,), optional
        The number of the stratum of each record, within which it is linked, as in `dld`.
    optimistic : bool, default False
        Whether a record counts fully if its own masked record is at the least distance, however
        many others are, as in `dld`. By default it counts 1 divided by the number of masked records
        at that distance.

    Returns
    -------
    float or None
        Per cent, from 0 to 100; None for an empty table, and if it is not known whose the records are.

    Notes
    -----
    The records are linked as by `dld`, after D. Pagliuca and G. Seri (1999). If the records of a person are
    linked rightly with the chances p1, p2 and so on, and are guessed independently, at least one of
    them is with the chance 1 - (1 - p1) (1 - p2) ..., and the measure is the mean of that over
    persons, whatever number of records each has. Where each has one record it is `dld`. A link to the
    masked record of another record of the same person is none, as in `dld`.

    Examples
    --------
    >>> x, y = np.array([[1.0], [2.0], [9.0]]), np.array([[1.5], [1.5], [9.0]])
    >>> dld_entity(x, y, None, None, np.array([0, 0, 1]))
    87.5
    """
    if not len(original) or entity is None:
        return None
    known = attributes(original, masked, joint, strata)
    chosen = [_all(original, joint)] if subsets is None else subsets
    shares = []
    for subset in chosen:
        hits = expected_hits(*known.only(subset), known.strata)
        shares.append(linked_persons(np.sign(hits) if optimistic else hits, entity))
    return 100.0 * float(np.mean(shares))


@metric(
    cite="Fellegi and Sunter (1969); Jaro (1989)", assessed=110, reported=True, unit="%", limit=FEW
)
def pld(
    original: Matrix,
    masked: Matrix,
    subsets: Subsets | None = None,
    joint: Labels | None = None,
    strata: Labels | None = None,
    /,
    *,
    agreement: Literal["sd", "rank", "exact"] = "sd",
    tolerance: Annotated[float, Range(0)] = 0.1,
    limit: Annotated[int, Range(1)] = FEW,
) -> float | None:
    """Probabilistic linkage disclosure: share of records linked to their own masked record.

    Parameters
    ----------
    original, masked : array of shape (n, p)
        The attributes that an intruder knows, before and after.
    subsets : sequence of tuple of int, optional
        Sets of them, over which the measure is averaged; all of them together by default.
    joint : array of shape (p,), optional
        The attribute that each column is a coordinate of: categories have several.
    strata : array of shape (n,), optional
        The number of the stratum of each record: only pairs of one stratum are compared.
    agreement : {"sd", "rank", "exact"}, default "sd"
        When an original and a masked value agree. "sd": they differ by at most `tolerance`
        standard deviations of the original column. "rank": their ranks, each in its own column,
        differ by at most `tolerance` times the number of records; equal values share their mean
        rank. "exact": they are equal.
    tolerance : float, default 0.1
        How far apart values may be.
    limit : int, default 20000
        Most records; with more the result is None, as the time grows with n times the number of
        distinct masked records.

    Returns
    -------
    float or None
        Per cent, from 0 to 100; None for an empty table, above the limit, and for more than 20
        attributes.

    Notes
    -----
    I. P. Fellegi and A. B. Sunter (1969), fitted by the EM algorithm of M. A. Jaro (1989) to the
    patterns of agreement of all pairs of an original and a masked record. Each original record is
    linked to the masked record with the most evidence, sum of log(m / u) where values agree and
    log((1 - m) / (1 - u)) where not; ties count as in `dld`. The papers do not say when numbers
    agree, and equal they hardly ever are after microaggregation. Absent values agree among
    themselves only. Columns that are constant before are left out.

    Examples
    --------
    >>> x, y = np.array([[1.0], [2.0], [9.0]]), np.array([[1.5], [1.5], [9.0]])
    >>> round(pld(x, y, tolerance=0.2), 3)
    66.667
    """
    n, p = len(original), len(_all(original, joint))
    if not n or n > limit or p > MOST:
        return None
    original, masked, _ = as_codes(original, masked, joint)
    before, after, owner = _comparable(original, masked, agreement)
    width = 0.0 if agreement == "exact" else tolerance * (1 + SLACK)
    chosen = [tuple(range(p))] if subsets is None else subsets
    return 100.0 * float(np.mean([_linked(before, after, owner, s, width, strata) for s in chosen]))


def _all(original: Matrix, joint: Labels | None) -> tuple[int, ...]:
    """Return the positions of all attributes."""
    return tuple(range(original.shape[1] if joint is None else len(np.unique(joint))))


def _comparable(original: Matrix, masked: Matrix, agreement: str) -> tuple[Matrix, Matrix, Labels]:
    """Values whose differences say whether they agree, and the attribute of each column."""
    n, p = original.shape
    pairs = [standardised(original[:, j : j + 1], masked[:, j : j + 1]) for j in range(p)]
    owner = np.array([j for j, pair in enumerate(pairs) if pair[0].shape[1]], dtype=np.intp)
    empty = np.empty((n, 0))
    before, after = (np.hstack([empty, *(pair[i] for pair in pairs)]) for i in (0, 1))
    if agreement == "rank":
        before, after = _ranks(before), _ranks(after)
    for table in (before, after):
        # Absent values shall agree with each other and with nothing else. Infinity would do if its
        # difference from itself were 0 and not NaN; a number far beyond any standardised value does.
        table[np.isnan(table)] = 1e100
    return before, after, owner


def _ranks(x: Matrix) -> Matrix:
    """Mean ranks as shares of the number of records; NaN stays."""
    ranks = np.full(x.shape, np.nan)
    for j in range(x.shape[1]):
        defined = ~np.isnan(x[:, j])
        labels, counts = np.unique(x[defined, j], return_inverse=True, return_counts=True)[1:]
        middle = np.cumsum(counts) - (counts + 1) / 2
        ranks[defined, j] = middle[labels] / max(len(x), 1)
    return ranks


def _linked(
    before: Matrix,
    after: Matrix,
    owner: Labels,
    subset: tuple[int, ...],
    width: float,
    strata: Labels | None,
) -> float:
    """Expected share of records that are linked to their own by one set of attributes."""
    columns = np.isin(owner, subset)
    before, after = before[:, columns], after[:, columns]
    if strata is not None:
        # One attribute more, of which different values are farther apart than any tolerance.
        place = 2.0 * (width + 1.0) * strata
        before, after = np.column_stack([before, place]), np.column_stack([after, place])
    # Equal masked records agree with the same original ones, so that each is compared once.
    first, labels = distinct(after)
    weights, centroids = np.bincount(labels).astype(np.float64), after[first]
    counts = pattern_counts(before, centroids, weights, width)
    others = 0 if strata is None else len(counts) // 2
    # Patterns of pairs from different strata come first: they are no candidates, and tell less than
    # any pattern of one stratum.
    evidence = pattern_weights(counts[others:], len(before))
    evidence = np.concatenate([np.full(others, evidence.min() - 1.0), evidence])
    return float(pattern_hits(before, centroids, weights, labels, width, evidence).mean())
