"""Groups that break a rule joined with those that they cost least to join."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from polars_microagg.core.partition import GroupRule, Labels, Matrix, Members, Partition, Vector
from polars_microagg.kernels.local.groups import disjoint
from polars_microagg.kernels.neighbour_blocks import random_parts

__all__ = ["merged"]

LEAF = 1024
"""Groups among which each looks for the cheapest one to join."""

CELLS = 1 << 22
"""Distances handled at a time."""


def merged(x: Matrix, labels: Labels, sizes: Labels, rule: GroupRule) -> Labels:
    """Return labels after joining each group that breaks the rule with the one that it costs least.

    `x` (n, d) has the records stratum by stratum. Groups are numbered from 0 without gaps, before and
    after. One that breaks the rule is left only where it is its whole stratum.

    >>> from polars_microagg.core.attributes import Attribute
    >>> from polars_microagg.core.rule import Bound, Rule
    >>> from polars_microagg.core.model import models
    >>> twins = Attribute.of("person", np.array([0, 0, 1, 2]))
    >>> x = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> rule = Rule((Bound(models()["k"], 2, twins),))
    >>> merged(x, np.array([0, 0, 1, 1]), np.array([4]), rule)
    array([0, 0, 0, 0])
    """
    stratum = np.repeat(np.arange(len(sizes)), sizes)
    turn, groups = 0, len(labels) + 1
    while groups > len(sizes):
        groups = int(labels.max()) + 1
        members = Members.of(np.arange(len(x)), labels, groups)
        failing = rule.failing(members)
        if not failing.any():
            break
        weight = members.sizes.astype(np.float64)
        centres = np.stack([np.bincount(labels, column) / weight for column in x.T], axis=1)
        of = stratum[members.order[members.starts]]
        one, other, cost = _cheapest(centres, weight, of, failing, turn)
        kept = disjoint(cost, np.stack((one, other), axis=1), groups)
        into = np.arange(groups)
        into[one[kept]] = other[kept]
        # A stratum that is one group has none to join; should it break the rule, the promise is
        # checked later.
        if (one[kept] == other[kept]).all():
            break
        labels, turn = Partition.from_labels(into[labels]).labels, turn + 1
    return labels


def _cheapest(
    centres: Matrix,
    weight: Vector,
    of: Labels,
    failing: npt.NDArray[np.bool_],
    turn: int,
) -> tuple[Labels, Labels, Vector]:
    """Return each failing group, the group of its stratum that it costs least to join, and the cost."""
    found = []
    order = np.argsort(of, kind="stable")
    for groups in np.split(order, np.flatnonzero(np.diff(of[order])) + 1):
        few = groups[failing[groups]]
        if not len(few):
            continue
        # Among all groups of the stratum if they are few, else among near ones, cut along other
        # borders each time.
        if len(few) * len(groups) <= CELLS:
            parts = [groups]
        else:
            rng = np.random.default_rng(turn)
            parts = [groups[part] for part in random_parts(centres[groups], LEAF, rng)]
        for part in parts:
            own = part[failing[part]]
            step = max(1, CELLS // len(part))
            for first in range(0, len(own), step):
                some = own[first : first + step]
                # Ward's cost of joining groups of a and b records: ab/(a+b) times the squared distance
                # of their centres.
                cost = np.zeros((len(some), len(part)))
                for column in centres.T:
                    cost += np.square(column[some, None] - column[part])
                cost *= weight[some, None] * weight[part] / (weight[some, None] + weight[part])
                cost[some[:, None] == part] = np.inf
                least = cost.min(axis=1)
                # Of equally cheap ones each takes the next after itself: if all took the first, only one
                # of them could be joined at a time. It is its own last choice.
                after = np.arange(len(part)) - np.searchsorted(part, some)[:, None] - 1
                turns = np.where(cost == least[:, None], after % len(part), len(part))
                found.append((some, part[turns.argmin(axis=1)], least))
    one, other, cost = (np.concatenate(column) for column in zip(*found, strict=True))
    return one, other, cost
