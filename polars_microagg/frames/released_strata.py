"""Values as a reader of the release sees them: strata with one zero, and what can be told apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from polars_microagg.frames.selection import Schema, by_name

__all__ = ["released_keys", "told_apart"]

SIGNS = "\0signs"
"""Name of a field beside a column whose name is not known, and which gives its name to both."""


def released_keys(names: Sequence[str], schema: Schema) -> list[pl.Expr]:
    """Write the keys of strata that hold floats, also inside, with one zero and one NaN.

    Records whose keys are -0.0 and 0.0, or NaN of different bits, are one stratum. A reader who can
    tell them apart would see classes of fewer records than were counted.

    Parameters
    ----------
    names : sequence of str
        Columns that keep records apart.
    schema : mapping of str to polars.DataType
        Types of the table.

    Returns
    -------
    list of polars.Expr
        One expression for each of them that holds floats, under its own name.

    Examples
    --------
    >>> frame = pl.DataFrame({"s": [-0.0, 0.0], "t": ["x", "y"]})
    >>> frame.with_columns(released_keys(["s", "t"], frame.schema))["s"].to_list()
    [0.0, 0.0]
    """
    return [
        _each_float(by_name(n), schema[n], _plain).alias(n)
        for n in names
        if _holds_floats(schema[n])
    ]


def told_apart(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Write a column so that values are equal only where a reader cannot tell them apart.

    Polars counts -0.0 and 0.0 as one, also inside lists, arrays and structs, and a reader sees two.
    Every NaN is the same one.

    Examples
    --------
    >>> zeros = pl.Series([0.0, -0.0, 0.0])
    >>> pl.select(told_apart(pl.lit(zeros), zeros.dtype).n_unique()).item()
    2
    """
    if not _holds_floats(dtype):
        return column
    return pl.struct(column, _each_float(column, dtype, _minus).alias(SIGNS))


def _holds_floats(dtype: pl.DataType) -> bool:
    if isinstance(dtype, pl.Struct):
        return any(_holds_floats(field.dtype) for field in dtype.fields)  # type: ignore[arg-type]
    if isinstance(dtype, pl.List | pl.Array):
        return _holds_floats(dtype.inner)  # type: ignore[arg-type]
    return dtype.is_float()


def _each_float(
    column: pl.Expr, dtype: pl.DataType, write: Callable[[pl.Expr, pl.DataType], pl.Expr]
) -> pl.Expr:
    """Write all floats of a column in another way, however deep they are."""
    if not _holds_floats(dtype):
        return column
    if isinstance(dtype, pl.List):
        return column.list.eval(_each_float(pl.element(), dtype.inner, write))  # type: ignore[arg-type]
    if isinstance(dtype, pl.Array):
        return column.arr.eval(_each_float(pl.element(), dtype.inner, write))  # type: ignore[arg-type]
    if isinstance(dtype, pl.Struct):
        # Numbered meanwhile, since a field of the name "^a$" would be looked up as a pattern.
        numbered = column.struct.rename_fields([str(i) for i in range(len(dtype.fields))])
        fields = [
            _each_float(pl.field(str(i)), field.dtype, write).alias(str(i))  # type: ignore[arg-type]
            for i, field in enumerate(dtype.fields)
        ]
        names = [field.name for field in dtype.fields]
        return numbered.struct.with_fields(fields).struct.rename_fields(names)
    return write(column, dtype)


def _plain(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    zero, nan = pl.lit(0.0, dtype), pl.lit(float("nan"), dtype)
    return pl.when(column == 0).then(zero).when(column.is_nan()).then(nan).otherwise(column)


def _minus(column: pl.Expr, _: pl.DataType) -> pl.Expr:
    """Whether each value is -0.0."""
    return (column == 0) & (1 / column < 0)
