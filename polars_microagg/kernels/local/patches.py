"""Work on a grouping of many records patch by patch, with other borders each time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from polars_microagg.core.partition import GroupRule, Labels, Matrix, Members
from polars_microagg.kernels.local.groups import Groups
from polars_microagg.kernels.local.near_records import near_records
from polars_microagg.kernels.neighbour_blocks import random_parts
from polars_microagg.kernels.neighbour_lists import neighbour_lists

__all__ = ["Map", "Work", "in_patches"]

Work: TypeAlias = Callable[[Groups, Labels, np.random.Generator], None]
"""Changes groups in place; the second argument lists the neighbours of each record, the third decides
what is left to chance in this patch."""

Map: TypeAlias = Callable[[Callable[..., Labels], Iterable[Any]], Iterator[Labels]]
"""A function like map."""

PATCH = 20_000
"""About the most records that are worked on together."""

COLUMNS = 12
"""With more columns than this nearly all blocks are neighbours, and to compare records directly is faster."""

LEAF = 2048
"""Records that are compared directly."""


def in_patches(
    x: Matrix,
    labels: Labels,
    k: int,
    near: int,
    rng: np.random.Generator,
    work: Work,
    rule: GroupRule | None = None,
    each: Map = map,
    tick: Callable[[int], None] | None = None,
) -> Labels:
    """Call `work` on all groups, a patch of neighbouring ones at a time; return the new labels.

    `labels` are groups of k to 2k + 1 records, or that satisfy the rule, numbered from 0, none of
    them empty, before and after. `near` is the number of neighbours of each record; `rng` decides
    where the borders fall. `each` is a function like map, which may work on several patches at a
    time; `tick` is called with the number of records of each when it is done.
    """
    grouped = Members.of(np.arange(len(labels)), labels, int(labels.max()) + 1)
    sizes = grouped.sizes
    # Groups, not records, are parted by their centres: no group is cut by a border, so none falls
    # below k.
    centres = np.stack([np.bincount(labels, column) / sizes for column in x.T], axis=1)
    patches = random_parts(centres, max(4, PATCH * len(sizes) // len(labels)), rng)
    result = np.empty(len(labels), dtype=np.intp)
    made = 0
    # Chance is of its own in each patch, so that it does not matter which of them is done first.
    chances = rng.spawn(len(patches))
    listed = [grouped.take(patch) for patch in patches]

    def parts() -> Iterator[_Patch]:
        for members, chance in zip(listed, chances, strict=True):
            rows = members.order
            yield _Patch(x[rows], members.sizes, k, near, rule and rule.take(rows), chance)

    for members, local in zip(listed, each(partial(_worked, work), parts()), strict=True):
        result[members.order] = local + made
        made += int(local.max()) + 1
        if tick:
            tick(len(local))
    return result


@dataclass(frozen=True, eq=False)
class _Patch:
    """The records of a patch, group by group, and what decides about it."""

    x: Matrix
    sizes: Labels
    k: int
    near: int
    rule: GroupRule | None
    chance: np.random.Generator


def _worked(work: Work, patch: _Patch) -> Labels:
    """Search a patch; return the labels of its records, numbered from 0."""
    # About zero again, so that the tolerances of local search stay small against the differences.
    records = patch.x - patch.x.mean(axis=0)
    local = np.repeat(np.arange(len(patch.sizes)), patch.sizes)
    groups = Groups(records, local, patch.k, patch.rule)
    work(groups, _near(records, patch.near, patch.chance), patch.chance)
    used = np.cumsum(groups.sizes > 0) - 1
    labels: Labels = used[groups.labels]
    return labels


def _near(x: Matrix, count: int, rng: np.random.Generator) -> Labels:
    """Return the (n, count) rows of records near each record of a patch."""
    if x.shape[1] <= COLUMNS:
        return near_records(x, count)
    parts = random_parts(x, LEAF, rng)
    rows = np.concatenate(parts)
    near = np.empty((len(x), count), dtype=np.intp)
    near[rows] = rows[neighbour_lists(x[rows], np.array([len(part) for part in parts]), count)]
    return near
