"""Groups that break a rule joined with others, until every group satisfies it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from polars_microagg.core.partition import GroupRule, Labels, Matrix, Members, Partition, Vector
from polars_microagg.kernels.local.groups import disjoint
from polars_microagg.kernels.local.local_search import refined
from polars_microagg.kernels.neighbour_blocks import random_parts

__all__ = ["merged", "obedient"]

LEAF = 1024
"""Groups among which each looks for the cheapest one to join."""

CELLS = 1 << 22
"""Distances handled at a time."""


def obedient(
    x: Matrix, labels: Labels, sizes: Labels, k: int, rule: GroupRule
) -> tuple[Labels, int]:
    """Return labels and the number of groups that satisfy the rule; as they are if they do.

    `x` (n, d) has the records stratum by stratum.
    """
    own = Partition.from_labels(labels)
    if not rule.failing(Members.of(np.arange(len(x)), own.labels, len(own))).any():
        return labels, len(own)
    return refined(x, merged(x, own.labels, sizes, rule), sizes, k, rule)


def merged(x: Matrix, labels: Labels, sizes: Labels, rule: GroupRule) -> Labels:
    """Return labels after joining each group that breaks the rule with the one that it costs least.

    `x` (n, d) has the records stratum by stratum; every stratum as one group satisfies the rule, so
    that joining ends. Groups are numbered from 0 without gaps, before and after.

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
    rng = np.random.default_rng(0)
    while True:
        count = int(labels.max()) + 1
        members = Members.of(np.arange(len(x)), labels, count)
        failing = rule.failing(members)
        if not failing.any():
            return labels
        weight = members.sizes.astype(np.float64)
        centres = np.stack([np.bincount(labels, column) / weight for column in x.T], axis=1)
        of = stratum[members.order[members.starts]]
        one, other, cost = _cheapest(centres, weight, of, failing, rng)
        kept = disjoint(cost, np.stack((one, other), axis=1), count)
        into = np.arange(count)
        into[one[kept]] = other[kept]
        labels = Partition.from_labels(into[labels]).labels


def _cheapest(
    centres: Matrix,
    weight: Vector,
    of: Labels,
    failing: npt.NDArray[np.bool_],
    rng: np.random.Generator,
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
                best = cost.argmin(axis=1)
                found.append((some, part[best], cost[np.arange(len(some)), best]))
    one, other, cost = (np.concatenate(column) for column in zip(*found, strict=True))
    return one, other, cost
