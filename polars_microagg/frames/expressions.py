"""Masking of expressions: a struct of columns, or a column by itself, as one plan node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from polars_microagg.core.plan import Plan
from polars_microagg.errors import InvalidParameterError
from polars_microagg.frames.batch import BatchMasker
from polars_microagg.frames.columns import refuse, type_name
from polars_microagg.frames.mask import GroupNode, MaskNode, node, one_grouping
from polars_microagg.wording import Setting

__all__ = ["group_expression", "mask_expression"]


def _expression_plan(method: object, k: object, options: Mapping[str, Any]) -> Plan:
    """Check a call of an expression, which has no strata, order or dropped rows of its own."""
    if k is None:
        raise InvalidParameterError.missing_k(str(method))
    for name in ("strata", "order_by"):
        if options.get(name) is not None:
            instead = (
                "Write .over(...) after it, or use the frame function."
                if name == "strata"
                else "Use the frame function, which takes order_by."
            )
            raise InvalidParameterError.cannot("An expression", name, instead)
    if options.get("small_strata") == "drop":
        instead = "Use the frame function, which may return fewer rows."
        what = Setting("small_strata", "drop")
        raise InvalidParameterError.cannot("An expression", what, instead)
    return Plan.make(
        method, k, **{n: v for n, v in options.items() if n not in ("strata", "order_by")}
    )


def _expression_masker(plan: Plan, dtype: pl.DataType) -> BatchMasker:
    """Bind a plan to the fields of a struct, or to a plain column."""
    if isinstance(dtype, pl.Struct):
        fields = {field.name: field.dtype for field in dtype.fields}
    elif plan.method.columnwise:
        fields = {"": dtype}
    else:
        raise InvalidParameterError.not_joint(plan.method.name, type_name(dtype))
    if not fields:
        raise InvalidParameterError.no_columns(
            "A struct without fields", 'pl.struct("age", "income")'
        )
    for name, kind in fields.items():
        refuse(name, kind)  # type: ignore[arg-type]
    return BatchMasker(plan.bind([list(fields)]))


@dataclass(frozen=True)
class _MaskingColumn:
    """The function of a plan node that masks a plain column."""

    masker: BatchMasker

    def __call__(self, batch: pl.Series) -> pl.Series:
        named = replace(self.masker.plan, blocks=((batch.name,),))
        return replace(self.masker, plan=named).mask(batch.to_frame()).columns[0].alias(batch.name)


@dataclass(frozen=True)
class _GroupingColumn:
    """The function of a plan node that numbers the groups of a plain column."""

    masker: BatchMasker

    def __call__(self, batch: pl.Series) -> pl.Series:
        return self.masker.groups(batch.to_frame()).alias(batch.name)


def mask_expression(
    expression: pl.Expr, method: object, k: object, options: Mapping[str, Any]
) -> pl.Expr:
    """Mask the fields of a struct expression together, or one column with a columnwise method."""
    plan = _expression_plan(method, k, options)

    def build(inputs: pl.Expr, dtype: pl.DataType) -> pl.Expr:
        masker = _expression_masker(plan, dtype)
        if not isinstance(dtype, pl.Struct):
            return node(inputs, _MaskingColumn(masker), masker.output(dtype))
        types = {f.name: masker.output(f.dtype) for f in dtype.fields}  # type: ignore[arg-type]
        return node(inputs, MaskNode(masker), pl.Struct(types))

    return expression.pipe_with_dtype(build)


def group_expression(
    expression: pl.Expr, method: object, k: object, options: Mapping[str, Any]
) -> pl.Expr:
    """Number the groups of a struct expression, or of one column with a columnwise method."""
    plan = _expression_plan(method, k, options)

    def build(inputs: pl.Expr, dtype: pl.DataType) -> pl.Expr:
        masker = one_grouping(_expression_masker(plan, dtype))
        column = GroupNode if isinstance(dtype, pl.Struct) else _GroupingColumn
        return node(inputs, column(masker), pl.UInt32())

    return expression.pipe_with_dtype(build)
