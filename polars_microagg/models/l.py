"""l-diversity: several confidential values in every class."""

from __future__ import annotations

from polars_microagg.core.attributes import Attribute, distinct_values
from polars_microagg.core.model import model
from polars_microagg.core.partition import Labels, Members
from polars_microagg.core.registry import Option, Range

__all__ = ["l"]


@model(
    bound=Option("l", None, kind=int, range=Range(1)),
    at_least=True,
    of="confidential",
    what="the number of distinct values",
)
def l(confidential: Attribute, groups: Members, /) -> Labels:  # noqa: E743
    """Distinct confidential values of each group; null is not one, and a group of nulls has 1.

    Notes
    -----
    Machanavajjhala, A., Kifer, D., Gehrke, J. and Venkitasubramaniam, M. (2007). l-diversity:
    privacy beyond k-anonymity. ACM Transactions on Knowledge Discovery from Data 1(1).

    Examples
    --------
    >>> import numpy as np
    >>> l(Attribute.of("sick", np.array([0, 0, 0, 1])), Members(np.arange(4), np.array([2, 2])))
    array([1, 2])
    """
    return distinct_values(confidential, groups).clip(min=1)
