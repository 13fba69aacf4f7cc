"""Masking of expressions: a struct of columns, or a column by itself, as one plan node."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from polars_microagg.core.plan import Plan
from polars_microagg.core.refusals import refuse_unnamed_mode
from polars_microagg.errors import InvalidParameterError, TooFewRecordsError, UnreachableError
from polars_microagg.errors.release import in_two_roles
from polars_microagg.frames.batch import BatchMasker
from polars_microagg.frames.columns import refuse, type_name
from polars_microagg.frames.mask import GroupNode, MaskNode, node, one_grouping
from polars_microagg.frames.selection import named_options, selects
from polars_microagg.frames.with_dtype import with_dtype
from polars_microagg.wording import Setting, synonym

__all__ = ["group_expression", "mask_expression"]

PARTED = "Use the frame function, with strata= in place of .over(...)."
"""The way to suppress small strata: an expression under `.over(...)` sees them one by one."""


def _expression_plan(method: object, k: object, options: Mapping[str, Any]) -> Plan:
    """Check a call of an expression, which has no strata, order or dropped rows of its own."""
    if k is None:
        raise InvalidParameterError.missing_k(str(method))
    for name, value in options.items():
        if name == "strata" or synonym(name, ["strata"]):
            parted = options.get("small_strata") not in (None, "raise")
            way = "Write .over(...) after it, or use the frame function."
            refused = PARTED if parted else way
        elif name == "order_by":
            refused = "Use the frame function, which takes order_by."
        else:
            continue
        if value is not None:
            raise InvalidParameterError.cannot("An expression", name, refused)
    for name, drops in (
        ("small_strata", "drop"),
        ("max_rows_per_entity", options.get("max_rows_per_entity")),
    ):
        if drops is not None and options.get(name) == drops:
            instead = f"{PARTED} It may return fewer rows."
            raise InvalidParameterError.cannot("An expression", Setting(name, drops), instead)
    named = named_options(options, None)
    return Plan.make(
        method, k, **{n: v for n, v in named.items() if n not in ("strata", "order_by")}
    )


def _for_fields(plan: Plan, options: Mapping[str, Any], dtype: pl.DataType) -> Plan:
    """Return a plan with the fields of a struct in place of selectors in its options."""
    if not any(map(selects, options.values())):
        return plan
    fields: Any = dtype.to_schema() if isinstance(dtype, pl.Struct) else {"": dtype}
    named = _expression_plan(plan.method.name, plan.k, named_options(options, fields))
    return replace(named, progress_callback=plan.progress_callback)


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
    counted = {"entity": plan.entity, "confidential": plan.confidential}
    for what, names in counted.items():
        for name in names:
            if name not in fields:
                raise InvalidParameterError.unknown_column(what, name, fields)
    both = [name for name in plan.entity if name in plan.confidential]
    if both:
        raise in_two_roles(both[0], *counted)
    masked = [name for name in fields if name not in (*plan.entity, *plan.confidential)]
    if not masked:
        raise InvalidParameterError.no_columns()
    for name in masked:
        refuse(name, fields[name], plan.kinds, plan.method)  # type: ignore[arg-type]
    return BatchMasker(plan.bind([masked]))


@dataclass(frozen=True)
class _MaskingColumn:
    """The function of a plan node that masks a plain column."""

    masker: BatchMasker

    def __call__(self, batch: pl.Series) -> pl.Series:
        named = replace(self.masker.plan, blocks=((batch.name,),))
        return replace(self.masker, plan=named).mask(batch.to_frame()).columns[0].alias(batch.name)


@dataclass(frozen=True)
class _OneStratum:
    """The function of a plan node that may see one stratum of several, and then says so in its errors."""

    function: Callable[[pl.Series], pl.Series]

    def __call__(self, batch: pl.Series) -> pl.Series:
        try:
            return self.function(batch)
        except (TooFewRecordsError, UnreachableError) as error:
            raise error.of_stratum() from None


@dataclass(frozen=True)
class _FieldsInOrder:
    """The function of a plan node on a struct that has the entity or confidential columns as well.

    They come out as they are, all fields at their places; what is not a struct comes out by itself.
    """

    function: Callable[[pl.Series], pl.Series]
    names: tuple[str, ...]

    def __call__(self, batch: pl.Series) -> pl.Series:
        fields = {column.name: column for column in batch.struct.unnest().get_columns()}
        rest = [name for name in fields if name not in self.names]
        ordered = {name: fields[name] for name in (*rest, *self.names)}
        result = self.function(pl.DataFrame(ordered).to_struct(batch.name))
        if not isinstance(result.dtype, pl.Struct):
            return result
        masked = {column.name: column for column in result.struct.unnest().get_columns()}
        return pl.DataFrame(fields | masked).to_struct(batch.name)


def _of_struct(
    masker: BatchMasker, function: Callable[[pl.Series], pl.Series]
) -> Callable[[pl.Series], pl.Series]:
    """Return the function of a node on structs, which puts the counted fields last if there are any."""
    counted = (*masker.plan.entity, *masker.plan.confidential)
    return _FieldsInOrder(function, counted) if counted else function


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
    refuse_unnamed_mode(plan)

    def build(inputs: pl.Expr, dtype: pl.DataType) -> pl.Expr:
        masker = _expression_masker(_for_fields(plan, options, dtype), dtype)
        if not isinstance(dtype, pl.Struct):
            column = _OneStratum(_MaskingColumn(masker))
            return node(inputs, column, masker.output("", dtype))
        types: dict[str, Any] = {f.name: f.dtype for f in dtype.fields}
        types |= {name: masker.output(name, types[name]) for name in masker.names}
        made = _OneStratum(_of_struct(masker, MaskNode(masker)))
        return node(inputs, made, pl.Struct(types))

    return with_dtype(expression, build)


def group_expression(
    expression: pl.Expr, method: object, k: object, options: Mapping[str, Any]
) -> pl.Expr:
    """Number the groups of a struct expression, or of one column with a columnwise method."""
    plan = _expression_plan(method, k, options)

    def build(inputs: pl.Expr, dtype: pl.DataType) -> pl.Expr:
        masker = one_grouping(_expression_masker(_for_fields(plan, options, dtype), dtype))
        if not isinstance(dtype, pl.Struct):
            return node(inputs, _OneStratum(_GroupingColumn(masker)), pl.UInt32())
        return node(inputs, _OneStratum(_of_struct(masker, GroupNode(masker))), pl.UInt32())

    return with_dtype(expression, build)
