"""A table too large for one grouping, split into leaves that are masked each on its own."""

from polars_microagg.leaves.fit import fit_leaves
from polars_microagg.leaves.leaves import Leaves
from polars_microagg.leaves.parquet import protect_parquet

__all__ = ["Leaves", "fit_leaves", "protect_parquet"]
