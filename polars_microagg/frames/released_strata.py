"""Keys of strata with one zero, and classes of values that a reader cannot tell apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from polars_microagg.frames.selection import Schema, by_name

__all__ = ["class_keys", "released_keys", "told_apart"]

SIGNS = "\0signs"
"""Name of a field beside a column whose own name is not known."""


def released_keys(names: Sequence[str], schema: Schema) -> list[pl.Expr]:
    """Write the keys of strata that hold floats with one zero and one NaN.

    Returns one expression for each such column, under its own name; floats may be inside lists and
    structs.

    >>> frame = pl.DataFrame({"s": [-0.0, 0.0], "t": ["x", "y"]})
    >>> frame.with_columns(released_keys(["s", "t"], frame.schema))["s"].to_list()
    [0.0, 0.0]
    """
    # Records whose keys are -0.0 and 0.0, or NaN of different bits, are one stratum for Polars. A
    # reader who can tell them apart would see classes of fewer records than were counted.
    return [
        _each_float(by_name(n), schema[n], _plain).alias(n)
        for n in names
        if _holds_floats(schema[n])
    ]


def told_apart(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Write a column so that values are equal only where a reader cannot tell them apart.

    Polars counts -0.0 and 0.0 as one, also inside lists, arrays and structs, and a reader sees two.
    Every NaN is the same one.

    >>> zeros = pl.Series([0.0, -0.0, 0.0])
    >>> pl.select(told_apart(pl.lit(zeros), zeros.dtype).n_unique()).item()
    2
    """
    if not _holds_floats(dtype):
        return column
    # A struct is equal if its fields are, so the sign of zero is compared beside the value. The
    # struct takes the name of its first field.
    return pl.struct(column, _each_float(column, dtype, _minus).alias(SIGNS))


def class_keys(names: Sequence[str], schema: Schema) -> list[pl.Expr]:
    """Write columns as keys that are equal together only where a reader cannot tell rows apart.

    >>> frame = pl.DataFrame({"s": [-0.0, 0.0], "t": ["x", "x"]})
    >>> len(frame.select(class_keys(["s", "t"], frame.schema)).unique())
    2
    """
    # As `told_apart` without its structs, by which Polars groups more slowly.
    keys = [by_name(n).alias(str(i)) for i, n in enumerate(names)]
    return keys + [
        _each_float(by_name(n), schema[n], _minus).alias(f"{i}{SIGNS}")
        for i, n in enumerate(names)
        if _holds_floats(schema[n])
    ]


def _holds_floats(dtype: pl.DataType) -> bool:
    if isinstance(dtype, pl.Struct):
        return any(_holds_floats(field.dtype) for field in dtype.fields)  # type: ignore[arg-type]
    if isinstance(dtype, pl.List | pl.Array):
        return _holds_floats(dtype.inner)  # type: ignore[arg-type]
    return dtype.is_float()


def _each_float(
    column: pl.Expr, dtype: pl.DataType, write: Callable[[pl.Expr, pl.DataType], pl.Expr]
) -> pl.Expr:
    """Rewrite all floats of a column, however deeply nested."""
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
            _each_float(numbered.struct.field(str(i)), field.dtype, write).alias(str(i))  # type: ignore[arg-type]
            for i, field in enumerate(dtype.fields)
        ]
        names = [field.name for field in dtype.fields]
        return numbered.struct.with_fields(fields).struct.rename_fields(names)
    return write(column, dtype)


def _plain(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Replace -0.0 by 0.0 and every NaN by the same one."""
    zero, nan = pl.lit(0.0, dtype), pl.lit(float("nan"), dtype)
    return pl.when(column == 0).then(zero).when(column.is_nan()).then(nan).otherwise(column)


def _minus(column: pl.Expr, _: pl.DataType) -> pl.Expr:
    """Return which values are -0.0."""
    # Only division shows the sign of a zero: 1 / -0.0 is minus infinity.
    return (column == 0) & (1 / column < 0)
