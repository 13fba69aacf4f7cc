"""Classes of equal records: the rows of each, and the entities that have the same ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from polars_microagg.core.partition import Labels, Members
from polars_microagg.frames.released_strata import class_keys

__all__ = ["classes_of", "entities_alike", "members_of"]


def classes_of(table: pl.DataFrame, names: Sequence[str]) -> Members:
    """List the rows of each class that a reader cannot tell apart by these columns."""
    return members_of(table.select(class_keys(list(dict.fromkeys(names)), table.schema)))


def members_of(keys: pl.DataFrame) -> Members:
    """List the rows of each class of equal rows; the classes are in no order."""
    rows = keys.with_row_index("row").group_by(keys.columns).agg("row")["row"]
    order = rows.explode().drop_nulls().to_numpy().astype(np.intp)
    return Members(order, rows.list.len().to_numpy().astype(np.intp))


def entities_alike(entity: Labels, classes: Members) -> Labels:
    """Count the entities with each multiset of classes: the same rows, and as many of each."""
    number = np.repeat(np.arange(len(classes.sizes)), classes.sizes)
    rows = pl.DataFrame({"entity": entity[classes.order], "class": number})
    # The rows of a group keep their order, so that the classes of an entity are listed in theirs,
    # each as often as it occurs: equal lists are equal multisets.
    lists = rows.group_by("entity").agg("class")
    return lists.group_by("class").len("entities")["entities"].to_numpy().astype(np.intp)
