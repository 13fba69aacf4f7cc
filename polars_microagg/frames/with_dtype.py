"""Expressions written for the type of a column: by Polars itself, and before Polars 2 by two nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from polars_microagg.errors import MicroaggError

__all__ = ["Build", "with_dtype"]

Build = Callable[..., pl.Expr]
"""Writes an expression of a column, its type, and other columns."""


def with_dtype(
    expression: pl.Expr, build: Build, *others: pl.Expr, returns_scalar: bool = False
) -> pl.Expr:
    """Write ``build(expression, dtype, *others)`` for the type that the expression has in the plan.

    Polars before 2.0 has no `Expr.pipe_with_dtype`. There `build` is called while the plan runs, so
    that what it refuses is told then, and an aggregation says so by `returns_scalar`.

    >>> frame = pl.DataFrame({"a": [1, 2]})
    >>> frame.select(with_dtype(pl.col("a"), lambda a, dtype: a.cast(pl.Float64))).dtypes
    [Float64]
    """
    if hasattr(expression, "pipe_with_dtype"):
        return expression.pipe_with_dtype(lambda x, dtype: build(x, dtype, *others))
    return _in_two_nodes(expression, build, *others, returns_scalar=returns_scalar)


def _in_two_nodes(
    expression: pl.Expr, build: Build, *others: pl.Expr, returns_scalar: bool
) -> pl.Expr:
    """Write a node that shows Polars the type of the result beside the values, and one that runs."""
    columns = [expression, *others]
    packed = pl.struct(x.alias(str(i)) for i, x in enumerate(columns)) if others else expression
    # Several columns would be fields of one name, which Polars refuses.
    name = expression.meta.output_name(raise_if_undetermined=False)
    packed = packed.alias(name) if others and name else packed
    # Without a type Polars calls the first node once on two made-up rows, and looks at the result.
    shown = packed.map_batches(
        _Beside(build, bool(others)), is_elementwise=False, returns_scalar=False
    )
    return shown.map_batches(
        _Run(build, bool(others)),
        return_dtype=pl.self_dtype().struct[TYPE],
        is_elementwise=False,
        returns_scalar=returns_scalar,
    )


TYPE, VALUE = "type", "value"


@dataclass(frozen=True)
class _Beside:
    """The function of a node that puts nulls of the type of the result beside the values."""

    build: Build
    packed: bool

    def __call__(self, batch: pl.Series) -> pl.Series:
        rows = _rows(batch, packed=self.packed)
        try:
            dtype = (
                rows.clear().lazy().select(_built(self.build, rows)).collect_schema().dtypes()[0]
            )
        except MicroaggError:  # told by the second node, when the plan runs
            dtype = batch.dtype
        nulls = pl.repeat(None, len(batch), dtype=dtype, eager=True)
        return pl.DataFrame({TYPE: nulls, VALUE: batch}).to_struct(batch.name)


@dataclass(frozen=True)
class _Run:
    """The function of a node that runs the expression on the values."""

    build: Build
    packed: bool

    def __call__(self, batch: pl.Series) -> pl.Series:
        rows = _rows(batch.struct.field(VALUE).alias(batch.name), packed=self.packed)
        return rows.select(_built(self.build, rows)).to_series().alias(batch.name)


def _rows(batch: pl.Series, *, packed: bool) -> pl.DataFrame:
    if packed:
        return batch.struct.unnest()
    pattern = batch.name == "*" or batch.name.startswith("^")  # to Polars 1, wherever it is from
    return (batch.alias("0") if pattern else batch).to_frame()


def _built(build: Build, rows: pl.DataFrame) -> pl.Expr:
    """Write the expression on columns of these types, of which the first is the one in question."""
    first, *others = map(pl.nth, range(rows.width))
    return build(first, rows.dtypes[0], *others)
