"""Aggregates of expressions: what is counted of entities and confidential columns in the classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from polars_microagg.analysis.counted_classes import options_of_models, worst_of
from polars_microagg.core.model import Model
from polars_microagg.core.options import names_of
from polars_microagg.errors import InvalidDataError, InvalidParameterError
from polars_microagg.frames.attributes import confidential_of
from polars_microagg.frames.classes import members_of
from polars_microagg.frames.released_strata import told_apart
from polars_microagg.frames.selection import by_name
from polars_microagg.frames.with_dtype import with_dtype

__all__ = ["fewest_entities", "worst_number"]

BESIDE = "\0"
"""Prefix of the fields that stand beside the values of which classes are made."""


def fewest_entities(expression: pl.Expr, entity: object) -> pl.Expr:
    """Write the least number of distinct entities in a class of equal values."""
    named = _required("entity", entity)
    # Counted by Polars alone, for all groups of an aggregation at once.
    fewest = pl.element().unique().struct.field("0").unique_counts().min()

    def build(values: pl.Expr, dtype: pl.DataType, *people: pl.Expr) -> pl.Expr:
        # The streaming engine of Polars fails where distinct rows are counted outside of a list.
        known = [with_dtype(x, _Known(n).node) for x, n in zip(people, named, strict=True)]
        return _beside(values, dtype, known).implode().list.agg(fewest)

    return with_dtype(expression, build, *map(by_name, named), returns_scalar=True)


def worst_number(
    expression: pl.Expr, entry: Model, confidential: object, options: Mapping[str, Any]
) -> pl.Expr:
    """Write the number of a model in the class of equal values that is farthest from it."""
    named = _required("confidential", confidential)
    for name in options:
        if name not in entry.options:
            raise InvalidParameterError.option(entry.name, name, entry.options)
    chosen = options_of_models(entry.name, options, named)
    kind = pl.Int64() if entry.bound.kind is int else pl.Float64()
    function = _Worst(entry, named, chosen, kind)

    def build(values: pl.Expr, dtype: pl.DataType, *others: pl.Expr) -> pl.Expr:
        return _beside(values, dtype, others).map_batches(
            function, return_dtype=kind, is_elementwise=False, returns_scalar=True
        )

    return with_dtype(expression, build, *map(by_name, named), returns_scalar=True)


def _required(what: str, names: object) -> tuple[str, ...]:
    """Check a parameter that names at least one column."""
    listed = names_of(what, names)
    if not listed:
        raise InvalidParameterError.kind(what, names, "a column name or a list of names")
    return listed


def _beside(values: pl.Expr, dtype: pl.DataType, others: Sequence[pl.Expr]) -> pl.Expr:
    """Write a struct of values as a reader tells them apart, and other columns.

    It has the name of the values; its fields are numbered.
    """
    named = [other.alias(f"{BESIDE}{i}") for i, other in enumerate(others)]
    numbers = [str(i) for i in range(len(named) + 1)]
    return pl.struct(told_apart(values, dtype), *named).struct.rename_fields(numbers)


@dataclass(frozen=True)
class _Known:
    """The function of a plan node that refuses entities that are null."""

    name: str

    def node(self, column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
        """Write the node, which looks at all rows of an aggregation at once."""
        return column.map_batches(
            self, return_dtype=dtype, is_elementwise=True, returns_scalar=False
        )

    def __call__(self, column: pl.Series) -> pl.Series:
        if column.null_count():
            raise InvalidDataError.nameless(self.name, column.null_count())
        return column


@dataclass(frozen=True)
class _Worst:
    """The function of a plan node that counts by a model in the classes of one aggregation."""

    entry: Model
    names: tuple[str, ...]
    options: Mapping[str, Any]
    kind: pl.DataType

    def __call__(self, batch: pl.Series) -> pl.Series:
        values, *hidden = batch.struct.unnest().get_columns()
        columns = list(map(confidential_of, hidden, self.names))
        worst = worst_of(self.entry, columns, members_of(values.to_frame()), self.options)
        return pl.Series(batch.name, [worst], dtype=self.kind)
