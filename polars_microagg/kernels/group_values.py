"""One category for each group of records: the commonest, a middle one, or one above them all."""

from __future__ import annotations

import numpy as np

from polars_microagg.core.masked import Centres, Holders
from polars_microagg.core.partition import Labels

__all__ = ["commonest", "middle_of_tree", "middle_values", "shared_class"]


def _owners(centres: Centres) -> Labels:
    """Return the centre of each member."""
    sizes = centres.members.sizes
    return np.repeat(np.arange(len(sizes)), sizes)


def commonest(codes: Labels, centres: Centres, holders: Holders) -> Labels:
    """Return the commonest code of the members of each centre, -1 where none may be emitted.

    Of equally common ones that which more of the stratum have, then the smaller code.

    >>> from polars_microagg.core.partition import Grouping, Members, Strata
    >>> listed = Members(np.arange(5), np.array([5]))
    >>> one = Centres(Grouping.by_list(listed, 5), listed, "mean")
    >>> commonest(np.array([2, 2, 0, 0, 1]), one, Holders(Strata.whole(5), None, 2))
    array([0])
    """
    found = np.full(len(centres.members.sizes), -1, dtype=np.intp)
    held, rows = holders.count(codes), centres.members.order
    allowed = held[rows] >= holders.k
    owner, rows = _owners(centres)[allowed], rows[allowed]
    if not len(rows):
        return found
    width = int(codes.max()) + 1
    _, first, counts = np.unique(owner * width + codes[rows], return_index=True, return_counts=True)
    owner, rows = owner[first], rows[first]
    # The last of a centre wins.
    best = np.lexsort((-codes[rows], held[rows], counts, owner))
    found[owner[best]] = codes[rows[best]]
    return found


def middle_values(codes: Labels, centres: Centres, holders: Holders) -> Labels:
    """Return the lower median of the codes of the members of each centre.

    Where too few have it, the nearest code that enough of the stratum have stands in, by the number
    of records between; of two as near the lower one. -1 where there is none.

    >>> from polars_microagg.core.partition import Grouping, Members, Strata
    >>> listed = Members(np.arange(5), np.array([5]))
    >>> one = Centres(Grouping.by_list(listed, 5), listed, "mean")
    >>> middle_values(np.array([3, 0, 0, 1, 3]), one, Holders(Strata.whole(5), None, 2))
    array([0])
    """
    sizes = centres.members.sizes
    found = np.full(len(sizes), -1, dtype=np.intp)
    filled = np.flatnonzero(sizes)
    if not len(filled):
        return found
    order, owner = centres.members.order, _owners(centres)
    by_value = order[np.lexsort((codes[order], owner))]
    middle = by_value[(centres.members.starts + (sizes - 1) // 2)[filled]]
    found[filled] = codes[middle]
    held = holders.count(codes)
    rare = np.flatnonzero(held[middle] < holders.k)
    if len(rare):
        found[filled[rare]] = _nearest_held(codes, middle[rare], held, holders)
    return found


def _nearest_held(codes: Labels, rows: Labels, held: Labels, holders: Holders) -> Labels:
    """Return, for some records, the nearest code that enough of their stratum have."""
    stratum, width = holders.strata.numbers(len(codes)), int(codes.max()) + 1
    inside = np.flatnonzero((codes >= 0) & (stratum >= 0))
    keys, records = np.unique(stratum[inside] * width + codes[inside], return_counts=True)
    # Twice the mean rank of each value, so that it is a whole number.
    rank = 2 * np.cumsum(records) - records
    well = np.unique((stratum * width + codes)[inside[held[inside] >= holders.k]])
    if not len(well):
        return np.full(len(rows), -1, dtype=np.intp)
    own = stratum[rows] * width + codes[rows]
    above = np.searchsorted(well, own)
    near = []
    for place in (above - 1, above):
        there = (place >= 0) & (place < len(well))
        key = well[np.clip(place, 0, len(well) - 1)]
        there &= key // width == stratum[rows]
        gap = np.abs(rank[np.searchsorted(keys, key)] - rank[np.searchsorted(keys, own)])
        near.append(
            (np.where(there, gap, np.iinfo(np.int64).max), np.where(there, key % width, -1))
        )
    (below, low), (over, high) = near
    return np.where(below <= over, low, high)


def shared_class(paths: Labels, centres: Centres, holders: Holders) -> Labels:
    """Return the lowest node of a tree that all members of each centre are under, -1 for the root.

    `paths` (n, depth) are the nodes above and of the value of each record from the top down, -1 where
    the path ends or there is no value. A node that too few of the stratum are under gives way to
    the one above it.

    >>> from polars_microagg.core.partition import Grouping, Members, Strata
    >>> listed = Members(np.arange(4), np.array([2, 2]))
    >>> two = Centres(Grouping.by_list(listed, 4), listed, "mean")
    >>> paths = np.array([[0, 2], [0, 3], [1, 4], [1, 4]])
    >>> shared_class(paths, two, Holders(Strata.whole(4), None, 2))
    array([0, 4])
    """
    members = centres.members
    found = np.full(len(members.sizes), -1, dtype=np.intp)
    filled = np.flatnonzero(members.sizes)
    alike = np.ones(len(filled), dtype=np.bool_)
    for column in paths.T:
        if not alike.any():
            break
        ranked, starts = column[members.order], members.starts[filled]
        low, high = np.minimum.reduceat(ranked, starts), np.maximum.reduceat(ranked, starts)
        well = holders.count(column)[members.order[starts]] >= holders.k
        alike &= (low == high) & (low >= 0) & well
        found[filled[alike]] = low[alike]
    return found


def middle_of_tree(paths: Labels, centres: Centres, holders: Holders) -> Labels:
    """Return the node of a tree from which the paths to all members are shortest, -1 for the root.

    That is the lowest node which more than half of the members are under, whatever the lengths of
    edges. A node that too few of the stratum are under gives way to the one above it.

    >>> from polars_microagg.core.partition import Grouping, Members, Strata
    >>> listed = Members(np.arange(3), np.array([3]))
    >>> one = Centres(Grouping.by_list(listed, 3), listed, "median")
    >>> middle_of_tree(np.array([[0, 2], [0, 2], [1, 3]]), one, Holders(Strata.whole(3), None, 2))
    array([2])
    """
    members = centres.members
    found = np.full(len(members.sizes), -1, dtype=np.intp)
    owner, rows = _owners(centres), members.order
    for column in paths.T:
        nodes = column[rows]
        there = nodes >= 0
        owner, rows, nodes = owner[there], rows[there], nodes[there]
        if not len(rows):
            break
        well = holders.count(column)[rows] >= holders.k
        width = int(nodes.max()) + 1
        _, first, number, counts = np.unique(
            owner * width + nodes, return_index=True, return_inverse=True, return_counts=True
        )
        most = (2 * counts > members.sizes[owner[first]]) & well[first]
        found[owner[first[most]]] = nodes[first[most]]
        kept = most[number.reshape(-1)]
        owner, rows = owner[kept], rows[kept]
    return found
