"""Grouping of records of which some columns are categories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from polars_microagg.core.partition import Grouping, Labels, Matrix, Strata, Vector
from polars_microagg.core.rule import Rule
from polars_microagg.kernels.embedding import Embedding

if TYPE_CHECKING:
    from polars_microagg.core.plan import Plan

__all__ = ["group_mixture", "located"]


def located(x: Matrix, embeddings: Sequence[Embedding | None]) -> tuple[Matrix, Labels, Vector]:
    """Return (n, q) coordinates of records, the column that each is of, and its largest distance.

    `x` (n, p) has numbers, or the codes of values that lie at `embeddings`.

    >>> wide, column, spans = located(np.array([[5.0, 0.0], [6.0, 1.0]]), [None, Embedding.apart(2)])
    >>> wide.tolist(), column.tolist(), spans.tolist()
    ([[5.0, 0.0], [6.0, 1.0]], [0, 1], [1.0, 1.0])
    """
    parts = [
        x[:, [j]] if embedding is None else embedding.coordinates(x[:, j])
        for j, embedding in enumerate(embeddings)
    ]
    column = np.repeat(np.arange(len(parts)), [part.shape[1] for part in parts])
    spans = [
        1.0 if embedding is None else embedding.reach(x[:, j])
        for j, embedding in enumerate(embeddings)
    ]
    return np.asfortranarray(np.hstack(parts)), column, np.array(spans)[column]


def group_mixture(
    plan: Plan,
    block: tuple[str, ...],
    x: Matrix,
    factors: Vector,
    strata: Strata,
    rule: Rule,
    embeddings: Sequence[Embedding | None],
) -> Grouping:
    """Group the records of all strata as `Plan.group` does, from the coordinates of categories.

    Each stratum has coordinates of its own, so that it is grouped as if it were alone.
    """
    labels, groups = np.full(len(x), -1, dtype=np.intp), 0
    for rows in plan.patterns(x, strata).rows():
        wide, column, spans = located(x[rows], embeddings)
        made = plan.group(
            tuple(block[j] for j in column),
            wide,
            factors[column],
            Strata.whole(len(rows)),
            rule.take(rows),
            np.where([embeddings[j] is not None for j in column], column, -1),
            spans,
        )
        labels[rows] = made.labels + groups
        groups += made.count
    return Grouping.by_label(labels, groups)
