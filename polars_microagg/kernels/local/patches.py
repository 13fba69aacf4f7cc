"""Work on groups of many records, patch by patch, with borders that fall elsewhere each time."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from polars_microagg.core.partition import Labels, Matrix
from polars_microagg.kernels.candidates import candidates
from polars_microagg.kernels.local.groups import Groups
from polars_microagg.kernels.neighbour_blocks import nearby

__all__ = ["Work", "in_patches"]

Work = Callable[[Groups, Labels], None]
"""Changes groups in place, given the neighbours of each record."""

LEAF = 2048
"""Records among which neighbours are looked for."""

PATCH = 1 << 14
"""Records that are worked on together."""


def in_patches(
    x: Matrix, labels: Labels, k: int, near: int, rng: np.random.Generator, work: Work
) -> Labels:
    """Let something work on all groups, a patch of neighbouring ones at a time.

    Parameters
    ----------
    x : array of shape (n, d)
        Records about zero.
    labels : array of shape (n,)
        Groups of k to 2k + 1 records, numbered from 0, none of them empty.
    k : int
        Smallest group size.
    near : int
        Neighbours of each record to tell `work`.
    rng : numpy.random.Generator
        Where the borders fall.
    work : callable
        What to do; it is called once for each patch.

    Returns
    -------
    array of shape (n,)
        The groups afterwards, numbered from 0, none of them empty.
    """
    sizes = np.bincount(labels)
    order = np.argsort(labels, kind="stable")
    starts = np.cumsum(sizes) - sizes
    centres = np.stack([np.bincount(labels, column) / sizes for column in x.T], axis=1)
    leaves = nearby(centres, max(4, LEAF // k), rng)
    found = np.empty(len(labels), dtype=np.intp)
    made = 0
    for patch in _patches(leaves, sizes):
        members = [_runs(starts[leaf], sizes[leaf]) for leaf in patch]
        rows = order[np.concatenate(members)]
        here = np.concatenate(patch)
        records = x[rows] - x[rows].mean(axis=0)
        local = np.repeat(np.arange(len(here)), sizes[here])
        groups = Groups(records, local, k)
        work(groups, candidates(records, np.array([len(run) for run in members]), near))
        used = np.cumsum(groups.sizes > 0) - 1
        found[rows] = used[groups.labels] + made
        made += int(used[-1]) + 1
    return found


def _patches(leaves: list[Labels], sizes: Labels) -> Iterator[list[Labels]]:
    """Join leaves that follow each other."""
    patch: list[Labels] = []
    records = 0
    for leaf in leaves:
        patch.append(leaf)
        records += int(sizes[leaf].sum())
        if records >= PATCH:
            yield patch
            patch, records = [], 0
    if patch:
        yield patch


def _runs(starts: Labels, sizes: Labels) -> Labels:
    """Numbers from each start on, as many as its size."""
    before = np.cumsum(sizes) - sizes
    return np.repeat(starts - before, sizes) + np.arange(int(sizes.sum()))
