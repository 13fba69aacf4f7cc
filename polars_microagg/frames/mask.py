"""Masking of frames: a DataFrame at once, a LazyFrame by one node in its plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import polars as pl

from polars_microagg.core.options import names_of
from polars_microagg.core.plan import Plan
from polars_microagg.core.refusals import refuse_unnamed_mode
from polars_microagg.errors import InvalidParameterError
from polars_microagg.errors.release import in_two_roles
from polars_microagg.frames.batch import BatchMasker
from polars_microagg.frames.columns import refuse
from polars_microagg.frames.released_strata import released_keys
from polars_microagg.frames.same_records import PlanRuns, SameRecords
from polars_microagg.frames.selection import (
    F,
    Schema,
    as_frame,
    blocks_of,
    by_name,
    named_options,
    refuse_repeated,
    resolve,
    selects,
)

__all__ = [
    "GroupNode",
    "MaskNode",
    "MaskRequest",
    "group_frame",
    "mask_frame",
    "mask_table",
    "node",
    "one_grouping",
    "suppressed_rows",
]


@dataclass(frozen=True)
class MaskRequest:
    """A call as it was typed: the plan, and columns that are looked up in a schema later."""

    plan: Plan
    blocks: list[list[str | pl.Expr]]
    strata: tuple[str, ...]
    order_by: tuple[str, ...]
    selectors: Mapping[str, Any] | None = None
    """The options as they were typed, if selectors in them name no column yet."""

    @classmethod
    def of(
        cls, method: object, columns: object, k: object, options: Mapping[str, Any]
    ) -> MaskRequest:
        """Check everything that can be checked without the data."""
        named = named_options(options, None)
        late = options if any(map(selects, options.values())) else None
        strata = names_of("strata", named.pop("strata", None))
        order_by = names_of("order_by", named.pop("order_by", None))
        plan = Plan.make(method, k, **named)
        return cls(plan, blocks_of(columns), strata, order_by, late)

    def on(self, schema: Schema) -> MaskRequest:
        """Return the call with the columns of a table in place of selectors."""
        if self.selectors is None:
            return self
        options, plan = named_options(self.selectors, schema), self.plan
        made = MaskRequest.of(plan.method.name, self.blocks, plan.k, options)
        plan = replace(made.plan, progress_callback=plan.progress_callback)
        return replace(made, plan=plan)

    @property
    def keys(self) -> tuple[str, ...]:
        """Columns that come out and tell records apart, in which -0.0 and 0.0 are to be one value."""
        return (*self.strata, *self.plan.entity)

    def masker(self, schema: Schema, *, unread: bool = False) -> BatchMasker:
        """Bind the call to the columns of a table; `unread` text may still become numbers."""
        roles = {
            "strata": self.strata,
            "entity": self.plan.entity,
            "confidential": self.plan.confidential,
        }
        for what, listed in (*roles.items(), ("order_by", self.order_by)):
            for name in listed:
                if name not in schema:
                    raise InvalidParameterError.unknown_column(what, name, schema)
        blocks = [[n for item in block for n in resolve(item, schema)] for block in self.blocks]
        names = [name for block in blocks for name in block]
        if not all(blocks):
            raise InvalidParameterError.no_columns()
        refuse_repeated(names)
        for what, listed in roles.items():
            if both := [name for name in names if name in listed]:
                raise InvalidParameterError.overlap(what, both)
        for one, other in combinations(roles, 2):
            if both := [name for name in roles[one] if name in roles[other]]:
                raise in_two_roles(both[0], one, other)
        for name in names:
            if not (unread and schema[name] == pl.String):
                refuse(name, schema[name], self.plan.kinds, self.plan.method)
        return BatchMasker(self.plan.bind(blocks), len(self.strata), len(self.order_by))

    def inputs(self, masker: BatchMasker) -> list[pl.Expr]:
        """Return the columns of the batch, under names that cannot clash."""
        plan = self.plan
        names = [*masker.names, *self.strata, *plan.entity, *plan.confidential, *self.order_by]
        return [by_name(name).alias(str(i)) for i, name in enumerate(names)]


FLAG_FIELD = "suppressed"
"""Field that says which rows are suppressed; the fields beside it have numbers for names."""


def _settle(
    frame: F, request: MaskRequest, masked: list[pl.Expr], keys: list[pl.Expr], flag: pl.Expr
) -> F:
    """Return a frame with its masked columns; empty or drop the rows with a true flag.

    `masked` is empty where the frame, a DataFrame, has its masked columns already.
    """
    if request.plan.drops:
        return frame.filter(~flag).with_columns(*masked, *keys)
    # A key would show who was in a small stratum, so it becomes null where the masked cells do.
    written = {key.meta.output_name(): key for key in keys}
    emptied = [
        pl.when(~flag).then(written.get(name, by_name(name))).alias(name) for name in request.strata
    ]
    kept = [key for name, key in written.items() if name not in request.strata]
    return frame.with_columns(*masked, *emptied, *kept)


def _spare(schema: Schema) -> str:
    """Return a name that no column has."""
    name = "__microagg__"
    while name in schema:
        name += "_"
    return name


def _each_type(masker: BatchMasker, schema: Schema) -> dict[str, pl.DataType]:
    """Return the types of the fields that a masking node emits."""
    return {str(i): masker.output(name, schema[name]) for i, name in enumerate(masker.names)}


@dataclass(frozen=True)
class MaskNode:
    """The function of a plan node that masks; a class, so that plans can be serialised."""

    masker: BatchMasker
    suppresses: bool = False
    """True if the result has one more field, which marks suppressed rows."""

    def __call__(self, batch: pl.Series) -> pl.Series:
        """Mask the fields of a struct column."""
        fields = batch.struct.unnest()
        masked = self.masker.mask(fields)
        # By a dict: in a list, a column of the name "" would be named anew.
        named = dict(zip(fields.columns, masked.columns, strict=False))
        if self.suppresses:
            named[FLAG_FIELD] = masked.flags(fields.height)
        return pl.DataFrame(named).to_struct(batch.name)


@dataclass(frozen=True)
class GroupNode:
    """The function of a plan node that numbers groups."""

    masker: BatchMasker

    def __call__(self, batch: pl.Series) -> pl.Series:
        """Number the groups of a struct column."""
        return self.masker.groups(batch.struct.unnest()).alias(batch.name)


def node(
    inputs: pl.Expr, function: Callable[[pl.Series], pl.Series], dtype: pl.DataType
) -> pl.Expr:
    """Write a plan node that takes all records at once: no later filter may be moved before it."""
    return inputs.map_batches(
        function, return_dtype=dtype, is_elementwise=False, returns_scalar=False
    )


def mask_frame(
    frame: Any, method: object, columns: object, k: object, options: Mapping[str, Any]
) -> Any:
    """Mask columns of a DataFrame or LazyFrame; columns, their order and the kind of frame stay."""
    typed = MaskRequest.of(method, columns, k, options)
    refuse_unnamed_mode(typed.plan)
    frame = as_frame(frame)
    if isinstance(frame, pl.DataFrame):
        return mask_table(frame, typed)[0]
    runs = PlanRuns()

    def build(lazy: pl.LazyFrame, schema: Schema) -> pl.LazyFrame:
        request = typed.on(schema)
        masker = request.masker(schema)
        spare, types = _spare(schema), _each_type(masker, schema)
        # Where nothing can be suppressed, strata do not depend on the node.
        suppresses = request.plan.small_strata != "raise" or request.plan.drops
        if suppresses:
            types[FLAG_FIELD] = pl.Boolean()
        function = SameRecords(MaskNode(masker, suppresses), runs.planned())
        made = node(pl.struct(request.inputs(masker)), function, pl.Struct(types))
        field = pl.col(spare).struct.field
        fields = [field(str(i)).alias(name) for i, name in enumerate(masker.names)]
        keys = released_keys(request.keys, schema)
        lazy = lazy.with_columns(made.alias(spare))
        if suppresses:
            return _settle(lazy, request, fields, keys, field(FLAG_FIELD)).drop(spare)
        return lazy.with_columns(*fields, *keys).drop(spare)

    return frame.pipe_with_schema(build)


def mask_table(
    frame: pl.DataFrame, request: MaskRequest, *, sample: bool = False
) -> tuple[pl.DataFrame, pl.Series]:
    """Mask a table; the second result says which of its rows are emptied or dropped.

    In a `sample` of a table rare categories are not refused; the whole table is there to do it.
    """
    request = request.on(frame.schema)
    masker = replace(request.masker(frame.schema), sample=sample)
    released = masker.mask(frame.select(request.inputs(masker)))
    flags = released.flags(frame.height)
    columns = [
        column.alias(name) for name, column in zip(masker.names, released.columns, strict=True)
    ]
    keys = released_keys(request.keys, frame.schema)
    if released.suppressed is None:
        return frame.with_columns(*columns, *keys), flags
    # Side by side first: as literals in an expression, columns could not be filtered.
    spare = _spare(frame.schema)
    frame = frame.with_columns([*columns, flags.alias(spare)])
    return _settle(frame, request, [], keys, pl.col(spare)).drop(spare), flags


def suppressed_rows(frame: pl.DataFrame, request: MaskRequest) -> pl.Series:
    """Find the rows of a table that masking would empty or drop."""
    masker = request.masker(frame.schema)
    return masker.find_suppressed(frame.select(request.inputs(masker)))


def one_grouping(masker: BatchMasker) -> BatchMasker:
    """Refuse a call that makes several groupings of records, or none."""
    plan = masker.plan
    if plan.groups_cells or len(plan.blocks) > 1:
        what = "groups of records for more than one block of columns"
        raise InvalidParameterError.cannot(
            plan.method.name, what, "Ask for the groups of one block, or of one column, at a time."
        )
    return masker


def group_frame(
    frame: Any, method: object, columns: object, k: object, name: object, options: Mapping[str, Any]
) -> Any:
    """Add the group of each record as a column; parameters as for `mask_frame`."""
    typed = MaskRequest.of(method, columns, k, options)
    if not isinstance(name, str):
        raise InvalidParameterError.kind("name", name, "a column name")
    frame = as_frame(frame)

    def bound(schema: Schema) -> tuple[MaskRequest, BatchMasker]:
        if name in schema:
            raise InvalidParameterError.taken(name)
        request = typed.on(schema)
        return request, one_grouping(request.masker(schema))

    # A record without a group is one that masking would suppress.
    drops = typed.plan.drops
    if isinstance(frame, pl.DataFrame):
        request, masker = bound(frame.schema)
        numbers = masker.groups(frame.select(request.inputs(masker)))
        grouped = frame.with_columns(numbers.alias(name))
        return grouped.filter(numbers.is_not_null()) if drops else grouped
    runs = PlanRuns()

    def build(lazy: pl.LazyFrame, schema: Schema) -> pl.LazyFrame:
        request, masker = bound(schema)
        function = SameRecords(GroupNode(masker), runs.planned())
        made = node(pl.struct(request.inputs(masker)), function, pl.UInt32())
        lazy = lazy.with_columns(made.alias(name))
        return lazy.filter(by_name(name).is_not_null()) if drops else lazy

    return frame.pipe_with_schema(build)
