"""Work on a grouping of many records patch by patch, with other borders each time."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from polars_microagg.core.partition import GroupRule, Labels, Matrix, Members
from polars_microagg.kernels.local.groups import Groups
from polars_microagg.kernels.neighbour_blocks import random_parts
from polars_microagg.kernels.neighbour_lists import neighbour_lists

__all__ = ["Work", "in_patches"]

Work = Callable[[Groups, Labels], None]
"""Changes groups in place; the second argument lists the neighbours of each record."""

LEAF = 2048
"""Records among which neighbours are searched."""

PATCH = 1 << 14
"""Records that are worked on together."""


def in_patches(
    x: Matrix,
    labels: Labels,
    k: int,
    near: int,
    rng: np.random.Generator,
    work: Work,
    rule: GroupRule | None = None,
    leaf: int | None = None,
) -> Labels:
    """Call `work` on all groups, a patch of neighbouring ones at a time; return the new labels.

    `labels` are groups of k to 2k + 1 records, or that satisfy the rule, numbered from 0, none of
    them empty, before and after. `near` is the number of neighbours of each record; `rng` decides
    where the borders fall.
    """
    grouped = Members.of(np.arange(len(labels)), labels, int(labels.max()) + 1)
    sizes = grouped.sizes
    # Groups, not records, are cut into leaves by their centres: no group is cut by a border, so
    # none falls below k.
    centres = np.stack([np.bincount(labels, column) / sizes for column in x.T], axis=1)
    leaves = random_parts(centres, max(4, (leaf or LEAF) // k), rng)
    result = np.empty(len(labels), dtype=np.intp)
    made = 0
    for patch in _patches(leaves, sizes):
        members = grouped.take(np.concatenate(patch))
        rows = members.order
        # About zero again, so that the tolerances of local search stay small against the
        # differences.
        records = x[rows] - x[rows].mean(axis=0)
        local = np.repeat(np.arange(len(members.sizes)), members.sizes)
        groups = Groups(records, local, k, rule and rule.take(rows))
        leaf_sizes = np.array([sizes[leaf].sum() for leaf in patch])
        work(groups, neighbour_lists(records, leaf_sizes, near))
        used = np.cumsum(groups.sizes > 0) - 1
        result[rows] = used[groups.labels] + made
        made += int(used[-1]) + 1
    return result


def _patches(leaves: list[Labels], sizes: Labels) -> Iterator[list[Labels]]:
    """Join consecutive leaves into patches."""
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
