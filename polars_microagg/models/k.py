"""k-anonymity of records, or of entities."""

from __future__ import annotations

from polars_microagg.core.attributes import Attribute, distinct_values
from polars_microagg.core.model import model
from polars_microagg.core.partition import Labels, Members
from polars_microagg.core.registry import Option, Range

__all__ = ["k"]


@model(
    bound=Option("k", None, kind=int, range=Range(2)), at_least=True, of="entity", what="entities"
)
def k(entity: Attribute | None, groups: Members, /) -> Labels:
    """Records of each group, or distinct entities where records have one.

    Notes
    -----
    Samarati, P. and Sweeney, L. (1998). Protecting privacy when disclosing information:
    k-anonymity and its enforcement through generalization and suppression.

    Examples
    --------
    >>> import numpy as np
    >>> pairs = Members(np.array([0, 1, 2, 3]), np.array([2, 2]))
    >>> k(None, pairs), k(Attribute.of("patient", np.array([0, 0, 0, 1])), pairs)
    (array([2, 2]), array([1, 2]))
    """
    return groups.sizes if entity is None else distinct_values(entity, groups)
