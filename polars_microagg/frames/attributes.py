"""Columns of a batch as the codes that privacy models count."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from polars_microagg.core.attributes import Attribute
from polars_microagg.errors import InvalidDataError
from polars_microagg.frames.columns import is_number

__all__ = ["confidential_of", "entity_of", "first_rows", "is_ordered", "strata_of"]


def entity_of(columns: Sequence[pl.Series], names: Sequence[str]) -> Attribute:
    """Number the entities of the records, which one or several columns tell apart.

    >>> entity_of([pl.Series(["b", "a", "b"])], ["patient"]).codes
    array([0, 1, 0])
    """
    for column, name in zip(columns, names, strict=True):
        if column.null_count():
            raise InvalidDataError.nameless(name, column.null_count())
    return Attribute.of(", ".join(names), _codes(first_rows(columns)))


def confidential_of(column: pl.Series, name: str) -> Attribute:
    """Number the values of a confidential column; null comes before all others.

    >>> confidential_of(pl.Series([7, None, 5]), "wage").codes
    array([2, 0, 1])
    """
    ordered, absent = is_ordered(column.dtype), column.is_null().to_numpy()
    if isinstance(column.dtype, pl.Enum):
        column = column.to_physical()
    code = column.rank("dense") if ordered else pl.Series(first_rows([column])) + 1
    codes = code.fill_null(0).cast(pl.Int64).to_numpy().copy()
    codes[absent] = 0
    return Attribute.of(name, _codes(codes), ordered=ordered, nulls=bool(absent.any()))


def is_ordered(dtype: pl.DataType) -> bool:
    """Return whether the values of a type have an order that means something."""
    return is_number(dtype) or isinstance(dtype, pl.Enum)


def strata_of(frame: pl.DataFrame, names: Sequence[str]) -> np.ndarray:
    """Number the strata of the records; null is a stratum of its own.

    >>> strata_of(pl.DataFrame({"region": ["b", None, "b"]}), ["region"])
    array([0, 1, 0])
    """
    return _codes(first_rows([frame.get_column(name) for name in names]))


def first_rows(columns: Sequence[pl.Series]) -> np.ndarray:
    """Return, for each row, the first row of the same values.

    >>> first_rows([pl.Series(["b", "a", "b"])])
    array([0, 1, 0])
    """
    named = [column.alias(str(i)) for i, column in enumerate(columns)]
    table = pl.DataFrame(named).with_row_index("row")
    rows = table.select(pl.col("row").min().over([column.name for column in named]))
    return rows.to_series().cast(pl.Int64).to_numpy()


def _codes(numbers: np.ndarray) -> np.ndarray:
    """Number from 0 without gaps, in the same order; no number is above that of the rows."""
    there = np.zeros(int(numbers.max(initial=-1)) + 1, dtype=np.bool_)
    there[numbers] = True
    codes: np.ndarray = (np.cumsum(there) - 1)[numbers].astype(np.intp)
    return codes
