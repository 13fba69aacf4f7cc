"""t-closeness: the confidential values of every class are spread like those of the table."""

from __future__ import annotations

from typing import Literal

from polars_microagg.core.attributes import Attribute
from polars_microagg.core.model import model
from polars_microagg.core.partition import Members, Vector
from polars_microagg.core.registry import Option, Range
from polars_microagg.kernels.earth_mover import Ladder, ordered_distances, variational_distances

__all__ = ["t"]

DIGITS = 12
"""Decimals of a distance; what lies behind them may be rounding."""


@model(
    bound=Option("t", None, kind=float, range=Range(0, 1)),
    at_least=False,
    of="confidential",
    what="the distance to the table",
)
def t(
    confidential: Attribute, groups: Members, /, *, t_scale: Literal["values", "ranks"] = "values"
) -> Vector:
    """Earth mover's distance between the confidential values of each group and those of the table.

    From 0 to 1. Ordered values lie on a line; other values are all equally far apart. Null is a value,
    the first in order, since a group may also show that nothing is known of its members.

    Parameters
    ----------
    confidential : Attribute
        The column, with its values in the whole table.
    groups : Members
        The records of each group.
    t_scale : {"values", "ranks"}, default "values"
        Where ordered values lie for `t`: at equal steps, or at the middle ranks of the records.

    Notes
    -----
    Li, N., Li, T. and Venkatasubramanian, S. (2007). t-closeness: privacy beyond k-anonymity and
    l-diversity. ICDE, 106-115. Ranks: Soria-Comas, J., Domingo-Ferrer, J., Sanchez, D. and Martinez, S.
    (2015). t-closeness through microaggregation. IEEE TKDE 27(11), 3098-3110.

    Examples
    --------
    >>> import numpy as np
    >>> wage = Attribute.of("wage", np.array([0, 1, 1, 2]), ordered=True)
    >>> t(wage, Members(np.arange(4), np.array([2, 2])))
    array([0.25, 0.25])
    """
    runs = confidential.runs(groups)
    if not confidential.ordered:
        distances = variational_distances(*runs, groups.sizes, confidential.shares)
    else:
        ladder = confidential.cache.get(t_scale)
        if ladder is None:
            ladder = Ladder.of(confidential.counts, by_rank=t_scale == "ranks")
            confidential.cache[t_scale] = ladder
        distances = ordered_distances(*runs, groups.sizes, ladder)
    rounded: Vector = distances.round(DIGITS)
    return rounded
