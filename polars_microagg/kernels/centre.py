"""Centres of groups: which records make them, and their values, rounded once."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from polars_microagg.core.masked import NOBODY, Centres, Holders
from polars_microagg.core.partition import Grouping, Labels, Matrix, Members, Strata, Vector
from polars_microagg.kernels.exact_mean import Real, float_means

__all__ = ["CENTRES", "centres", "real_centres", "whole_centres"]

Numbers = npt.NDArray[Any]
"""Doubles, 64-bit integers, or Python integers as objects."""

CENTRES = ("mean", "median")
"""Values of `center`."""

EXACT = 2**53
"""Integers up to this size are exact in float64."""


def centres(
    x: Matrix,
    groups: Grouping,
    how: str,
    strata: Strata | None = None,
    holders: Holders = NOBODY,
) -> tuple[Centres, ...]:
    """Return, column by column, which records make the centre of each group.

    `x` (n, p) has NaN where a value is absent. A group without any value in a column takes the centre
    of its stratum there; without strata it has none.

    >>> two = Grouping.by_label(np.array([0, 0, 1]), 2)
    >>> columns = centres(np.array([[5.0], [6.0], [8.0]]), two, "mean")
    >>> columns[0].members.order, columns[0].members.sizes
    (array([0, 1, 2]), array([2, 1]))
    """
    columns = []
    for column in x.T:
        absent = np.isnan(column)
        if absent.any():
            columns.append(Centres(*_present(absent, groups, strata), how, holders))
        else:
            columns.append(Centres(groups, groups.members, how, holders))
    return tuple(columns)


def _present(
    absent: npt.NDArray[np.bool_], groups: Grouping, strata: Strata | None
) -> tuple[Grouping, Members]:
    """Return which centre each record takes, and whose values make it, where some have none."""
    labels = groups.labels
    grouped = labels >= 0
    if not absent[grouped].any():
        return groups, groups.members
    rows = np.flatnonzero(~absent & grouped)
    members = Members.of(rows, labels[rows], groups.count)
    empty = grouped & (members.sizes == 0)[labels]
    if not empty.any():
        return groups, members
    return _filled(members, labels, empty, rows, strata)


def _filled(
    members: Members,
    labels: Labels,
    empty: npt.NDArray[np.bool_],
    rows: Labels,
    strata: Strata | None,
) -> tuple[Grouping, Members]:
    """Send the records of empty groups to the centres of their strata, which are put last."""
    if strata is None:
        return Grouping.by_label(np.where(empty, -1, labels), len(members.sizes)), members
    stratum = strata.numbers(len(labels))
    wide = Members.of(rows, stratum[rows], len(strata.sizes))
    instead = np.where((wide.sizes > 0)[stratum], len(members.sizes) + stratum, -1)
    order = np.concatenate([members.order, wide.order])
    sizes = np.concatenate([members.sizes, wide.sizes])
    own = Grouping.by_label(np.where(empty, instead, labels), len(sizes))
    return own, Members(order, sizes)


def _middle(values: Numbers, members: Members) -> Members:
    """Return the middle one or two members of each centre, by value."""
    by_value = np.argsort(values[members.order], kind="stable")
    centre = np.repeat(np.arange(len(members.sizes)), members.sizes)[by_value]
    order = members.order[by_value[np.argsort(centre, kind="stable")]]
    filled = members.sizes > 0
    low = (members.starts + (members.sizes - 1) // 2)[filled]
    high = (members.starts + members.sizes // 2)[filled]
    both = np.column_stack([low, high]).ravel()
    return Members(order[both], np.where(filled, 2, 0))


def real_centres(
    values: Numbers, centres: Centres, divisor: int = 1, dtype: Real = np.float64
) -> Vector:
    """Return the centres as floats: each is the exact one, rounded once, halves to even.

    `values` (n,) are doubles, or whole steps of which `divisor` make one unit. Where there are no
    members the result is arbitrary.

    >>> pair = Grouping.by_list(Members(np.array([0, 1]), np.array([2])), 2)
    >>> steps = Centres(pair, pair.members, "mean")
    >>> real_centres(np.array([2**60, 2**60 + 1]), steps, 10).tolist()
    [1.152921504606847e+17]
    """
    members = centres.members if centres.how == "mean" else _middle(values, centres.members)
    if values.dtype == np.float64:
        return float_means(values, members, dtype)
    sums, base = _sums(values, members)
    counts = np.maximum(members.sizes, 1)
    largest = int(counts.max(initial=1)) * divisor
    # Integers up to 2^53 are exact as doubles, so one division of doubles rounds once.
    small = base == 0 and sums.dtype == np.int64 and largest <= EXACT
    if small and np.abs(sums).max(initial=0) <= EXACT:
        return np.asarray(sums / (counts * divisor), dtype=np.float64)
    # Division of Python's integers is correctly rounded; there is one per group, not per record.
    pairs = zip(sums.tolist(), counts.tolist(), strict=True)
    return np.array([(total + base * n) / (n * divisor) for total, n in pairs], dtype=np.float64)


def whole_centres(values: Numbers, centres: Centres) -> Numbers:
    """Return the centres in whole steps: each is the exact one, rounded once, halves to even.

    They are 64-bit integers, or Python's where the values are. Where there are no members the
    result is arbitrary.

    >>> two = Grouping.by_list(Members(np.array([0, 1, 2]), np.array([2, 1])), 3)
    >>> whole_centres(np.array([2, 3, 9]), Centres(two, two.members, "mean"))
    array([2, 9])
    """
    members = centres.members if centres.how == "mean" else _middle(values, centres.members)
    sums, base = _sums(values, members)
    counts = np.maximum(members.sizes, 1)
    steps = sums // counts
    # Floor division leaves a remainder of 0 to n - 1; twice that against n decides, ties to even.
    twice = 2 * (sums - steps * counts)
    steps = steps + ((twice > counts) | ((twice == counts) & (steps % 2 != 0)))
    # The base is even, so that halves go to the same side with it and without.
    return np.asarray(steps + base).astype(values.dtype)


def _sums(values: Numbers, members: Members) -> tuple[Numbers, int]:
    """Return exact sums of whole numbers counted from an even base, and this base."""
    ranked, base = values[members.order], 0
    sums = np.zeros(len(members.sizes), dtype=values.dtype)
    filled = members.sizes > 0
    if not filled.any():
        return sums, base
    if values.dtype == np.int64:
        low, high, most = int(ranked.min()), int(ranked.max()), int(members.sizes.max())
        # No sum of 64-bit integers may overflow: count from a base near the values, else use
        # Python's integers.
        if max(-low, high) * most >= 2**62:
            if (high - low + 1) * most < 2**62:
                base = low - low % 2
                ranked = ranked - base
            else:
                ranked, sums = ranked.astype(object), sums.astype(object)
    sums[filled] = np.add.reduceat(ranked, members.starts[filled])
    return sums, base
