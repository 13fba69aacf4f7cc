"""Largest share of an entity: no person holds too many of the rows of a class."""

from __future__ import annotations

import numpy as np

from polars_microagg.core.attributes import Attribute
from polars_microagg.core.model import model
from polars_microagg.core.partition import Members, Vector
from polars_microagg.core.registry import Option, Range

__all__ = ["max_entity_share"]


@model(
    bound=Option("max_entity_share", None, kind=float, range=Range(0, 1)),
    at_least=False,
    of="entity",
    what="the row share of the most frequent entity",
)
def max_entity_share(entity: Attribute, groups: Members, /) -> Vector:
    """Share of the rows of each group that belong to the entity with the most rows there.

    k entities can share a class in name only: if one of them holds most of its rows, the mean of the class
    is nearly the mean of that entity.

    Notes
    -----
    The dominance rule of statistical offices, on rows: Hundepool, A. et al. (2012). Statistical
    Disclosure Control. Wiley, section 4.2.2.

    Examples
    --------
    >>> import numpy as np
    >>> patients = Attribute.of("patient", np.array([0, 0, 0, 1]))
    >>> max_entity_share(patients, Members(np.arange(4), np.array([2, 2])))
    array([1. , 0.5])
    """
    owner, _, count = entity.runs(groups)
    most = np.zeros(len(groups.sizes), dtype=np.intp)
    np.maximum.at(most, owner, count)
    shares: Vector = most / np.maximum(groups.sizes, 1.0)
    return shares
