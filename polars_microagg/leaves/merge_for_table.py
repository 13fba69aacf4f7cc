"""Leaves merged until each satisfies the rule of a call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from polars_microagg.core.partition import Labels
from polars_microagg.core.rule import Rule
from polars_microagg.errors import InvalidDataError
from polars_microagg.leaves.merge import merge_failing, merge_small
from polars_microagg.leaves.options import leaf_roles
from polars_microagg.leaves.refusals import refuse_few
from polars_microagg.leaves.rules import (
    Census,
    coded,
    failing_leaves,
    refuse_broken,
    restricted,
    rule_of,
)
from polars_microagg.leaves.strata import within_strata

if TYPE_CHECKING:
    from polars_microagg.leaves.leaves import Leaves

__all__ = ["merge_for_table", "merge_until", "rule_of_leaf"]


def merge_until(
    leaves: Leaves, counts: Labels, failing: Callable[[Leaves, Labels | None], Labels]
) -> Leaves:
    """Join leaves of too few records, and then those that break the rule, until none does.

    `counts` has the records of each leaf. `failing` is given leaves, and which of them have grown since
    it was called before, None for all; it returns which of those break the rule. What it returns
    depends on nothing else, so that every engine merges the same leaves. A stratum that as one group
    breaks the rule stays, and is suppressed when it is masked.
    """
    refuse_few(int(counts.sum()), leaves.k)
    cuts = within_strata(leaves.tree)
    leaves, grown = leaves.joined(merge_small(leaves.tree, counts, leaves.k, cuts)), None
    # The records of each leaf before anything was merged here.
    while len(broken := failing(leaves, grown)):
        into = leaves.after_merging(np.arange(len(leaves.tree)))
        into, grown = merge_failing(leaves.tree, counts, into, broken, cuts)
        # Models are closed under union, so a leaf that satisfied the rule alone does not break it
        # together with another; one leaf of all records was counted before.
        if not len(grown):
            break
        changed = np.flatnonzero(into != np.arange(len(into)))
        leaves = leaves.joined(dict(zip(changed.tolist(), into[changed].tolist(), strict=True)))
    if len(broken) and not leaves.parted:
        raise InvalidDataError.unmerged("all of them as one group break a privacy model")
    return leaves


def merge_for_table(leaves: Leaves, frame: pl.DataFrame) -> tuple[Leaves, Labels, Rule | None]:
    """Return leaves merged for a whole table, the leaf of each record, and the rule; None for k."""
    leaf_roles(leaves.columns, frame.schema, leaves.request)
    leaf = leaves.assign(frame).to_numpy()
    counts = np.bincount(leaf, minlength=len(leaves.tree))
    if not restricted(leaves.plan):
        leaves = leaves.merge(counts)
        return leaves, leaves.after_merging(leaf), None
    if not frame.height:
        return leaves, leaf.astype(np.intp), None
    refuse_few(frame.height, leaves.k)
    census = Census(leaves.plan)
    census.add(frame)
    leaves = replace(leaves, references=census.references())
    rule = rule_of(leaves.plan, leaves.references, coded(leaves.plan, leaves.references, frame))

    def failing(now: Leaves, grown: Labels | None) -> Labels:
        own = now.after_merging(leaf)
        rows = np.arange(len(own)) if grown is None else np.flatnonzero(np.isin(own, grown))
        return failing_leaves(rule.take(rows), own[rows])

    leaves = merge_until(leaves, counts, failing)
    return leaves, leaves.after_merging(leaf), rule


def rule_of_leaf(leaves: Leaves, frame: pl.DataFrame) -> Rule | None:
    """Return what groups of the records of one leaf must satisfy; None for k.

    All of them as one group do, but where they are of strata that are suppressed.
    """
    if not frame.height or not restricted(leaves.plan):
        return None
    leaf_roles(leaves.columns, frame.schema, leaves.request)
    rule = rule_of(leaves.plan, leaves.references, coded(leaves.plan, leaves.references, frame))
    if not leaves.parted:
        refuse_broken(rule, frame.height)
    return rule
