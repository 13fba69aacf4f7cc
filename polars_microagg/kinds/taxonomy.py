"""Categories in a tree of ever wider classes."""

from __future__ import annotations

import numpy as np
import polars as pl

from polars_microagg.core.kind import Kind, kind
from polars_microagg.core.masked import Centres, Holders
from polars_microagg.core.partition import Labels, Strata, Vector
from polars_microagg.core.taxonomy import Taxonomy
from polars_microagg.kernels.embedding import Embedding
from polars_microagg.kernels.group_values import middle_of_tree, shared_class
from polars_microagg.kinds._categories import as_floats, codes_of, fewest_holders, texts

__all__ = ["Tree"]


@kind("taxonomy", each=Taxonomy, takes="text")
class Tree(Kind):
    """Columns of categories in a tree, a `mg.Taxonomy` each: the distance is the path between them.

    A group gets the lowest class that all of its members are under; with ``center="median"`` the one
    from which the paths to them are shortest.
    """

    numeric = False
    widens = True
    ordered = False

    def __init__(self, tree: Taxonomy) -> None:
        self._tree = tree

    def can_take(self, dtype: pl.DataType) -> bool:
        """Return whether a type can hold the names of classes."""
        return isinstance(dtype, pl.String | pl.Categorical)

    def refused(self, column: pl.Series) -> int:
        """Count the distinct values that are not in the tree."""
        values = texts(column).drop_nulls().unique().to_list()
        return sum(not self._tree.knows(value) for value in values)

    def coordinates(self, column: pl.Series, strata: Strata | None) -> Vector:
        """Number the values of a column, NaN for null."""
        del strata
        return as_floats(codes_of(column)[0])

    def embedding(self, column: pl.Series) -> Embedding:
        """Place the values as the lengths of the paths between them say."""
        return self._placed(codes_of(column)[1].to_list())

    def _placed(self, values: list[str]) -> Embedding:
        _, paths, lengths = self._tree.nodes(values)
        return Embedding(paths, lengths)

    def classes(self, values: pl.Series) -> tuple[list[str], Labels, Vector]:
        """Return the classes above values, and the values."""
        return self._tree.nodes(texts(values).to_list())

    def pair(self, original: pl.Series, masked: pl.Series) -> tuple[Vector, Vector, Embedding]:
        """Number the values of a column before and after, classes among them."""
        codes, values = codes_of(original, masked.cast(original.dtype))
        both = as_floats(codes)
        return both[: len(original)], both[len(original) :], self._placed(values.to_list())

    def values(self, column: pl.Series, chosen: Centres, dtype: pl.DataType) -> pl.Series:
        """Return the class of each group."""
        codes, values = codes_of(column)
        names, paths, _ = self._tree.nodes(values.to_list())
        choose = middle_of_tree if chosen.how == "median" else shared_class
        found = choose(_of_records(paths, codes), chosen, chosen.holders)
        return pl.Series([*names, self._tree.root], dtype=pl.String).gather(found).cast(dtype)

    def fewest(self, column: pl.Series, emitted: pl.Series, holders: Holders) -> int:
        """Return how many of its stratum the rarest class that is emitted is true of."""
        values = texts(column).drop_nulls().unique().to_list()
        classes = pl.DataFrame(
            {"value": values, "class": [self._tree.path(value) for value in values]},
            schema={"value": pl.String, "class": pl.List(pl.String)},
        ).explode("class")
        # The root is true of all.
        told = texts(emitted)
        told = told.set(told == self._tree.root, None)
        return fewest_holders(column, told, holders, classes)


def _of_records(paths: Labels, codes: Labels) -> Labels:
    """Return the path of each record; a record without a value has none."""
    wide = np.vstack([paths, np.full((1, paths.shape[1]), -1, dtype=np.intp)])
    return wide[codes]
