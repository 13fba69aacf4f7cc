"""Largest share: no confidential value may be that of too many members of a class."""

from __future__ import annotations

import numpy as np

from polars_microagg.core.attributes import Attribute
from polars_microagg.core.model import model
from polars_microagg.core.partition import Members, Vector
from polars_microagg.core.registry import Option, Range

__all__ = ["max_share"]


@model(
    bound=Option("max_share", None, kind=float, range=Range(0, 1)),
    at_least=False,
    of="confidential",
    what="the share of the commonest value",
)
def max_share(confidential: Attribute, groups: Members, /) -> Vector:
    """Share of the commonest confidential value among the members of each group that have one.

    Nulls hide nobody among those whose values can be read, so they are left out; 0 in a group of nulls.

    Notes
    -----
    Wong, R. C.-W., Li, J., Fu, A. W.-C. and Wang, K. (2006). (alpha, k)-anonymity: an enhanced
    k-anonymity model for privacy preserving data publishing. KDD, 754-759.

    Examples
    --------
    >>> import numpy as np
    >>> sick = Attribute.of("sick", np.array([0, 0, 0, 1]))
    >>> max_share(sick, Members(np.arange(4), np.array([2, 2])))
    array([1. , 0.5])
    """
    owner, code, count = confidential.runs(groups)
    known = code >= confidential.nulls
    owner, count = owner[known], count[known]
    most = np.zeros(len(groups.sizes), dtype=np.intp)
    np.maximum.at(most, owner, count)
    shares: Vector = most / np.maximum(np.bincount(owner, count, len(groups.sizes)), 1.0)
    return shares
