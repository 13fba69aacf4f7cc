"""Two neighbouring groups of very many records, cut anew at their best place."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from polars_microagg.core.partition import Labels, Members
from polars_microagg.kernels.local.groups import Groups
from polars_microagg.kernels.local.moves_and_swaps import TOLERANCE

__all__ = ["recut_pairs"]

ROUNDS = 100
"""Bound on the rounds, which rounding could make endless."""


def recut_pairs(groups: Groups, near: Labels) -> Labels:
    """Share the records of two neighbouring groups anew where that is better, until it is nowhere.

    No group falls below k, or breaks the rule. Returns the groups that changed.
    """
    # Single exchanges of groups of k look at some k partners of each record and change few records at a
    # time, so that their time grows with k squared. Here any number of records changes sides at once.
    ever = np.zeros(len(groups.sizes), dtype=np.bool_)
    fresh = ~ever
    for _ in range(ROUNDS):
        # Who are neighbours takes longest to find, so it is asked again only where these are settled.
        pairs = _neighbours(groups, near)
        pairs = pairs[fresh[pairs].any(axis=1)]
        fresh = _settled(groups, pairs)
        ever |= fresh
        if not fresh.any():
            break
    return np.flatnonzero(ever)


def _settled(groups: Groups, pairs: Labels) -> npt.NDArray[np.bool_]:
    """Cut pairs anew until no cut is better; return which groups changed."""
    ever = np.zeros(len(groups.sizes), dtype=np.bool_)
    changed = ~ever
    for _ in range(ROUNDS):
        again = pairs[changed[pairs].any(axis=1)]
        changed = np.zeros(len(ever), dtype=np.bool_)
        for pair in again:
            changed[pair] |= _recut(groups, pair)
        ever |= changed
        if not changed.any():
            break
    return ever


def _neighbours(groups: Groups, near: Labels) -> Labels:
    """Return the (p, 2) pairs of groups of which a record of one is near a record of the other."""
    count, labels = len(groups.sizes), groups.labels
    codes = []
    for column in near.T:
        other = labels.take(column)
        low, high = np.minimum(labels, other), np.maximum(labels, other)
        codes.append(np.unique((low * count + high)[low < high]))
    code = np.unique(np.concatenate(codes))
    return np.stack((code // count, code % count), axis=1)


def _recut(groups: Groups, pair: Labels) -> bool:
    """Cut the records of two groups along the line of their centres; return whether that was better."""
    size = groups.sizes[pair]
    rows = np.concatenate([groups.members[group, :m] for group, m in zip(pair, size, strict=True)])
    total, k = len(rows), groups.k
    least, most = max(k, total - groups.most), min(total - k, groups.most)
    if least > most:
        return False
    # With centres given, it is best to part records where they lie along the line of these, whatever
    # the sizes. About the mean of both groups the sums of the two parts are opposite, and what a cut
    # after m of them saves is |sum|^2 (1/m + 1/(total-m)).
    x = groups.x.take(rows, axis=0)
    x -= x.mean(axis=0)
    first = x[: size[0]].sum(axis=0)
    order = np.argsort(x @ first, kind="stable")[::-1]
    sums = np.cumsum(x.take(order, axis=0), axis=0)[least - 1 : most]
    many = np.arange(least, most + 1)
    saved = np.einsum("ij,ij->i", sums, sums) * (1.0 / many + 1.0 / (total - many))
    best = int(saved.argmax())
    now = float(first @ first) * (1.0 / size[0] + 1.0 / size[1])
    rounding = TOLERANCE * float(np.einsum("ij,ij->", x, x)) + groups.noise.take(rows).sum()
    if saved[best] <= now + rounding:
        return False
    rows, cut = rows[order], int(many[best])
    sizes = np.array([cut, total - cut])
    if groups.rule is not None and groups.rule.failing(Members(rows, sizes)).any():
        return False
    groups.replace(pair, rows, sizes)
    return True
