"""The options of `fit_leaves`, checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from polars_microagg.core.options import COMMON, whole_number
from polars_microagg.core.plan import Plan
from polars_microagg.core.refusals import refuse_unnamed_mode
from polars_microagg.core.registry import methods
from polars_microagg.errors import InvalidParameterError
from polars_microagg.frames.columns import type_name
from polars_microagg.frames.mask import MaskRequest
from polars_microagg.frames.selection import Schema
from polars_microagg.leaves.masking import LARGE
from polars_microagg.wording import Sentence, Setting

__all__ = ["leaf_columns", "leaf_plan", "leaf_roles", "leaf_size"]

SIZE = 5000
"""Records of a leaf: about the most that MDAV groups without taking longer for each."""

HONOURED = {
    "nulls": ("raise", "Drop rows with nulls, fill them, or mask the table whole."),
    "small_strata": ("raise", "Leaves know no strata. Leave it out."),
    "strata": (None, "Fit the leaves of each stratum to a table of its own."),
    "order_by": (None, "Leave it out: the order of rows does not count."),
}
"""Options of other doors: the only value that leaves can honour, and the way out."""


def leaf_plan(method: str, k: int, options: dict[str, Any]) -> Plan:
    """Return the plan of a call, refusing options that leaves cannot honour."""
    for name, (value, instead) in HONOURED.items():
        if (passed := options.pop(name, value)) != value:
            raise InvalidParameterError.cannot("fit_leaves", Setting(name, passed), instead)
    own = methods()[method].options if method in list(methods()) else options
    can = [*own, "size", "cut", *(name for name in COMMON if name not in HONOURED)]
    for name in options:
        if name not in can:
            raise InvalidParameterError.option(method, name, can)
    plan = Plan.make(method, k, **options)
    # The table comes out with all of its columns.
    refuse_unnamed_mode(plan)
    if plan.entity_mode not in (None, "rows"):
        instead = Sentence("Mask the table whole, with the function {method}.", method=method)
        mode = Setting("entity_mode", plan.entity_mode)
        raise InvalidParameterError.cannot("fit_leaves", mode, instead)
    if plan.groups_cells:
        what = "leaves, as it mixes values of several columns"
        raise InvalidParameterError.cannot(method, what, "Mask the table whole.")
    return plan


def leaf_size(size: object, plan: Plan) -> int:
    """Return the size of leaves, checked or chosen."""
    most = plan.method.limit and plan.method.limit // LARGE
    if size is None:
        return max(min(SIZE, most or SIZE), 2 * plan.k)
    need = f"a whole number of at least 2k={2 * plan.k}"
    number = whole_number("size", size, need, 2 * plan.k)
    if most and number > most:
        need = f"at most {most}, as {plan.method.name} takes at most {plan.method.limit} records"
        raise InvalidParameterError.kind("size", number, need)
    return number


def leaf_roles(names: Sequence[str], schema: Schema, plan: Plan) -> None:
    """Refuse columns of the entity and confidential ones that leaves cannot count."""
    MaskRequest(plan, [list(names)], (), ()).masker(schema)
    for what, listed in (("entity", plan.entity), ("confidential", plan.confidential)):
        for name in listed:
            if schema[name].is_nested() or isinstance(schema[name], pl.Object):
                need = (
                    f"columns of single values, and {name!r} is of type {type_name(schema[name])}"
                )
                raise InvalidParameterError.kind(what, list(listed), need)


def leaf_columns(names: Sequence[str], plan: Plan) -> None:
    """Refuse columns that a plan cannot mask together, leaf by leaf."""
    if plan.method.columnwise and len(names) > 1:
        what = "leaves of several columns, as it groups values and not records"
        raise InvalidParameterError.cannot(plan.method.name, what, "Mask one column at a time.")
    plan.bind([names])
