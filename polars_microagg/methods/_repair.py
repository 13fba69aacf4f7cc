"""Repairing chromosomes whose groups have become too large."""

from __future__ import annotations

import numpy as np

from polars_microagg.core.partition import Labels

__all__ = ["split_large"]


def split_large(chromosomes: Labels, counts: Labels, rank: Labels, k: int) -> Labels:
    """Split groups of 2k records or more into groups of k, the last one with the rest.

    Parameters
    ----------
    chromosomes : array of shape (c, n)
        Number of the group of each record in each chromosome, the last one for spare places.
    counts : array of shape (c, groups + 1)
        Number of records of each group; enough of them are 0.
    rank : array of shape (c, n)
        Ranks of the records, by which they are split.
    k : int
        Smallest group size.

    Returns
    -------
    array of shape (c, n)
        The chromosomes without groups of 2k records or more.

    Examples
    --------
    >>> one, counts = np.array([[0, 0, 0, 0, 0]]), np.array([[5, 0, 0]])
    >>> split_large(one, counts, np.array([[4, 0, 3, 1, 2]]), 2)
    array([[1, 0, 1, 0, 1]])
    """
    each = np.arange(len(chromosomes))[:, None]
    order = (chromosomes * rank.shape[1] + rank).argsort(axis=1)
    group = chromosomes[each, order]
    start = np.cumsum(counts, axis=1) - counts
    parts = np.maximum(counts // k, 1)
    parts[:, -1] = 1
    part = (np.arange(rank.shape[1]) - start[each, group]) // k
    part = np.minimum(part, parts[each, group] - 1)
    fresh = np.zeros(group.shape, dtype=np.intp)
    fresh[:, 1:] = (part[:, 1:] > part[:, :-1]) & (group[:, 1:] == group[:, :-1])
    unused = np.argsort(counts[:, :-1] > 0, axis=1, kind="stable")
    number = unused[each, np.maximum(np.cumsum(fresh, axis=1) - 1, 0)]
    split = np.empty_like(chromosomes)
    split[each, order] = np.where(part > 0, number, group)
    return split
