"""A table too large for one grouping, split into leaves that are masked each on its own."""

from polars_microagg.leaves.fit import fit_leaves
from polars_microagg.leaves.leaves import Leaves

__all__ = ["Leaves", "fit_leaves"]
