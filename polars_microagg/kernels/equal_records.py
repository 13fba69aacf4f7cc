"""Which records are equal, and which attributes of them an intruder knows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from polars_microagg.core.partition import Labels, Matrix

__all__ = ["class_sizes", "codes", "distinct", "grouped", "prefixes"]

SEED = 20080923
"""Seed of the hash by which equal records are brought together; no result depends on it."""


def distinct(x: Matrix) -> tuple[Labels, Labels]:
    """Number the distinct records.

    Parameters
    ----------
    x : array of shape (n, p)
        One record a row; NaN equals NaN, and -0.0 equals 0.0.

    Returns
    -------
    first : array of shape (g,)
        A row of each distinct record.
    labels : array of shape (n,)
        Number of each record.

    Examples
    --------
    >>> first, labels = distinct(np.array([[2.0, 1.0], [3.0, 1.0], [2.0, 1.0]]))
    >>> len(first), bool(labels[0] == labels[2] != labels[1])
    (2, True)
    """
    order, starts = grouped(x)
    labels = np.empty(len(x), dtype=np.intp)
    labels[order] = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(x)))
    return order[starts], labels


def grouped(x: Matrix) -> tuple[Labels, Labels]:
    """Bring equal records together.

    Parameters
    ----------
    x : array of shape (n, p)
        One record a row; NaN equals NaN, and -0.0 equals 0.0.

    Returns
    -------
    order : array of shape (n,)
        The rows, equal ones next to each other.
    starts : array of shape (g,)
        Where in `order` each distinct record begins.

    Notes
    -----
    Rows are sorted by a hash and compared with their neighbours. Where different records share a
    hash they are sorted by all their columns instead.

    Examples
    --------
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
    if np.count_nonzero(new) != np.count_nonzero(np.diff(hashed[order])) + 1:
        order = np.lexsort(bits)
        new = _changes(bits, order)
    return order, np.flatnonzero(new)


def _bits(column: npt.NDArray[np.float64]) -> npt.NDArray[np.uint64]:
    """Bit patterns that are equal where the numbers are."""
    plain = column + 0.0
    plain[np.isnan(plain)] = np.nan
    return plain.view(np.uint64)


def _changes(bits: Sequence[npt.NDArray[np.uint64]], order: Labels) -> npt.NDArray[np.bool_]:
    new = np.zeros(len(order), dtype=np.bool_)
    new[:1] = True
    for column in bits:
        ranked = column[order]
        new[1:] |= ranked[1:] != ranked[:-1]
    return new


def prefixes(subsets: Sequence[tuple[int, ...]]) -> Iterator[tuple[int, int, int]]:
    """List the steps by which sets of attributes are made of one another, one attribute at a time.

    Parameters
    ----------
    subsets : sequence of tuple of int
        Sets of attributes, each ascending.

    Yields
    ------
    depth : int
        How many attributes of the set before are kept.
    attribute : int
        The attribute to add to them.
    subset : int
        Position of the set that is complete now; -1 if none is.

    Examples
    --------
    >>> list(prefixes([(0, 2), (0, 1, 2)]))
    [(0, 0, -1), (1, 1, -1), (2, 2, 1), (1, 2, 0)]
    """
    last: tuple[int, ...] = ()
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
    """Number the distinct values of each column.

    Parameters
    ----------
    x : array of shape (n, p)
        One record a row.

    Returns
    -------
    array of shape (n, p)
        Whole numbers, equal where the values are.

    Examples
    --------
    >>> codes(np.array([[2.5, 7.0], [1.5, 7.0]]))
    array([[1, 0],
           [0, 0]])
    """
    found = np.empty(x.shape, dtype=np.int64)
    for j in range(x.shape[1]):
        found[:, j] = np.unique(x[:, j], return_inverse=True)[1]
    return found


def class_sizes(
    coded: npt.NDArray[np.int64], sizes: Labels, subsets: Sequence[tuple[int, ...]]
) -> list[Labels]:
    """Sizes of the classes of equal records, for each set of attributes.

    Parameters
    ----------
    coded : array of shape (g, p)
        Distinct records, their values numbered.
    sizes : array of shape (g,)
        How many records are equal to each.
    subsets : sequence of tuple of int
        Sets of attributes, each ascending.

    Returns
    -------
    list of array
        Sizes of the classes, one array a set.

    Examples
    --------
    >>> class_sizes(np.array([[0, 0], [0, 1], [1, 1]]), np.array([2, 1, 3]), [(0,), (0, 1)])
    [array([3, 3]), array([2, 1, 3])]
    """
    found: list[Labels] = [np.empty(0, dtype=np.intp)] * len(subsets)
    cards = coded.max(axis=0, initial=0) + 1
    # Numbers of the classes on the attributes so far; the empty set has one class.
    stack = [np.zeros(len(coded), dtype=np.int64)]
    for depth, attribute, number in prefixes(subsets):
        joint = stack[depth] * cards[attribute] + coded[:, attribute]
        labels = np.unique(joint, return_inverse=True)[1] if len(joint) else joint
        del stack[depth + 1 :]
        stack.append(labels)
        if number >= 0:
            found[number] = np.bincount(labels, sizes).astype(np.intp)
    return found
