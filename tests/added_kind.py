"""The file of a kind of column that `test_registers.py` adds to a copy of the package."""

KIND = '''
"""Sizes of clothes, from S to XL, and yes or no."""

import numpy as np
import polars as pl

from polars_microagg.core.kind import kind
from polars_microagg.core.masked import Cells, Centres, Holders
from polars_microagg.core.partition import Strata, Vector
from polars_microagg.kernels.centre import real_centres

SCALES = {pl.String: ["S", "M", "L", "XL"], pl.Boolean: [False, True], pl.Int64: [36, 38, 40, 44]}


@kind("sizes")
class Size:
    """Columns of few values in an order: a group gets the one whose place is next to the mean of places.

    Numbers are sizes where they are named.
    """

    numeric = True
    widens = True
    ordered = True

    def takes(self, dtype: pl.DataType) -> bool:
        """Return whether a type has a scale without being named."""
        return dtype in (pl.String, pl.Boolean)

    def can_take(self, dtype: pl.DataType) -> bool:
        """Return whether a type has a scale."""
        return dtype in SCALES

    def unit(self, dtype: pl.DataType) -> float:
        """Return the distance of two places."""
        return 1.0

    def refused(self, column: pl.Series) -> int:
        """Count what is not on the scale."""
        return int((~column.drop_nulls().is_in(SCALES[column.dtype])).sum())

    def coordinates(self, column: pl.Series, strata: Strata | None) -> Vector:
        """Turn values into their places."""
        scale = SCALES[column.dtype]
        places = column.replace_strict(scale, range(len(scale)), default=None)
        return places.cast(pl.Float64).to_numpy()

    def embedding(self, column: pl.Series) -> None:
        """Return None: places are numbers."""

    def pair(self, original: pl.Series, masked: pl.Series) -> tuple[Vector, Vector, None]:
        """Turn values before and after into their places."""
        return self.coordinates(original, None), self.coordinates(masked, None), None

    def values(self, column: pl.Series, chosen: Centres | Cells, dtype: pl.DataType) -> pl.Series:
        """Return the value of each group."""
        places = real_centres(self.coordinates(column, None), chosen, dtype=np.float64)
        scale = pl.Series(SCALES[column.dtype], dtype=column.dtype)
        return scale.gather(np.rint(places).astype(int))

    def fewest(self, column: pl.Series, emitted: pl.Series, holders: Holders) -> int:
        """Return k: a mean is not the value of anybody."""
        return holders.k
'''
