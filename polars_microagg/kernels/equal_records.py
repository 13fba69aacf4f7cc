"""Classes of equal records, on all attributes or on the sets that an intruder knows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from polars_microagg.core.partition import Labels, Matrix

__all__ = ["class_sizes", "codes", "distinct", "grouped", "prefixes"]

SEED = 20080923
"""Seed of the hash that brings equal records together; no result depends on it."""


def distinct(x: Matrix) -> tuple[Labels, Labels]:
    """Return a row of each distinct record, and for each row the number of its own.

    >>> first, labels = distinct(np.array([[2.0, 1.0], [3.0, 1.0], [2.0, 1.0]]))
    >>> len(first), bool(labels[0] == labels[2] != labels[1])
    (2, True)
    """
    order, starts = grouped(x)
    labels = np.empty(len(x), dtype=np.intp)
    labels[order] = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(x)))
    return order[starts], labels


def grouped(x: Matrix) -> tuple[Labels, Labels]:
    """Return the rows with equal records together, and where each distinct record starts.

    NaN equals NaN, and -0.0 equals 0.0.

    >>> grouped(np.array([[2.0], [3.0], [2.0]]))[1].size
    2
    """
    n, p = x.shape
    if not n or not p:
        return np.arange(n), np.arange(min(n, 1))
    bits = [_bits(x[:, j]) for j in range(p)]
    drawn = [int(factor) for factor in np.random.default_rng(SEED).integers(1, 2**63, size=(p,))]
    hashed = np.zeros(n, dtype=np.uint64)
    for column, factor in zip(bits, drawn, strict=True):
        hashed ^= column * np.uint64(factor | 1)
        hashed ^= hashed >> np.uint64(29)
        hashed *= np.uint64(0xBF58476D1CE4E5B9)
    order = np.argsort(hashed)
    new = _changes(bits, order)
    # Sorting by hash puts equal records together. If the number of changes of record and of hash
    # differ, two different records share a hash; then all columns are sorted instead.
    if np.count_nonzero(new) != np.count_nonzero(np.diff(hashed[order])) + 1:
        order = np.lexsort(bits)
        new = _changes(bits, order)
    return order, np.flatnonzero(new)


def _bits(column: npt.NDArray[np.float64]) -> npt.NDArray[np.uint64]:
    """Return bit patterns that are equal where the numbers are."""
    plain = column + 0.0
    plain[np.isnan(plain)] = np.nan
    return plain.view(np.uint64)


def _changes(bits: Sequence[npt.NDArray[np.uint64]], order: Labels) -> npt.NDArray[np.bool_]:
    """Return where, in this order, a record differs from the one before it."""
    new = np.zeros(len(order), dtype=np.bool_)
    new[:1] = True
    for column in bits:
        ranked = column[order]
        new[1:] |= ranked[1:] != ranked[:-1]
    return new


def prefixes(subsets: Sequence[tuple[int, ...]]) -> Iterator[tuple[int, int, int]]:
    """Yield the steps that build sets of attributes from one another, one attribute at a time.

    A step is the number of attributes kept, the attribute added, and the position of the set that
    is complete now, or -1.

    >>> list(prefixes([(0, 2), (0, 1, 2)]))
    [(0, 0, -1), (1, 1, -1), (2, 2, 1), (1, 2, 0)]
    """
    last: tuple[int, ...] = ()
    # In lexicographic order sets with a common start follow each other, so work on it is done once.
    for number in sorted(range(len(subsets)), key=lambda i: subsets[i]):
        subset = subsets[number]
        pairs = enumerate(zip(last, subset, strict=False))
        depth = next((i for i, (a, b) in pairs if a != b), min(len(last), len(subset)))
        # The same set again: its last attribute is taken back and added once more.
        depth = min(depth, len(subset) - 1)
        for at in range(depth, len(subset)):
            yield at, subset[at], number if at == len(subset) - 1 else -1
        last = subset


def codes(x: Matrix) -> npt.NDArray[np.int64]:
    """Number the distinct values of each column of an (n, p) matrix.

    >>> codes(np.array([[2.5, 7.0], [1.5, 7.0]]))
    array([[1, 0],
           [0, 0]])
    """
    numbers = np.empty(x.shape, dtype=np.int64)
    for j in range(x.shape[1]):
        numbers[:, j] = np.unique(x[:, j], return_inverse=True)[1]
    return numbers


def class_sizes(
    coded: npt.NDArray[np.int64], sizes: Labels, subsets: Sequence[tuple[int, ...]]
) -> list[Labels]:
    """Return the sizes of the classes of equal records, for each set of attributes.

    >>> class_sizes(np.array([[0, 0], [0, 1], [1, 1]]), np.array([2, 1, 3]), [(0,), (0, 1)])
    [array([3, 3]), array([2, 1, 3])]
    """
    classes: list[Labels] = [np.empty(0, dtype=np.intp)] * len(subsets)
    cards = coded.max(axis=0, initial=0) + 1
    # Numbers of the classes on the attributes so far; the empty set has one class.
    stack = [np.zeros(len(coded), dtype=np.int64)]
    for depth, attribute, number in prefixes(subsets):
        joint = stack[depth] * cards[attribute] + coded[:, attribute]
        labels = np.unique(joint, return_inverse=True)[1] if len(joint) else joint
        del stack[depth + 1 :]
        stack.append(labels)
        if number >= 0:
            classes[number] = np.bincount(labels, sizes).astype(np.intp)
    return classes
