"""The options of `fit_leaves`, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from polars_microagg.core.options import COMMON, KEY_OPTIONS, VALUELESS, names_of, whole_number
from polars_microagg.core.plan import Plan
from polars_microagg.core.refusals import refuse_unnamed_mode
from polars_microagg.core.registry import methods
from polars_microagg.errors import InvalidParameterError
from polars_microagg.frames.columns import type_name
from polars_microagg.frames.mask import MaskRequest
from polars_microagg.frames.selection import Schema
from polars_microagg.leaves.masking import LARGE
from polars_microagg.leaves.strata import refuse_nested
from polars_microagg.wording import Sentence, Setting

__all__ = [
    "block_request",
    "leaf_columns",
    "leaf_options",
    "leaf_request",
    "leaf_roles",
    "leaf_size",
    "refuse_patterns",
    "with_kinds_of",
]

SIZE = 5000
"""Records of a leaf: about the most that MDAV groups without taking longer for each."""


def leaf_request(method: str, k: int, options: dict[str, Any]) -> MaskRequest:
    """Return a checked call, without its columns, refusing options that leaves cannot honour."""
    own = methods()[method].options if method in list(methods()) else options
    can = [*own, "size", "cut", "strata", "order_by", *COMMON]
    for name in options:
        if name not in can:
            raise InvalidParameterError.option(method, name, can)
    options = dict(options)
    strata, order_by = (names_of(name, options.pop(name, None)) for name in ("strata", "order_by"))
    plan = Plan.make(method, k, **options)
    # The table comes out with all of its columns.
    refuse_unnamed_mode(plan)
    whole = Sentence("Mask the table whole, with the function {method}.", method=method)
    refused = (
        (
            *(plan.workers is not None, "workers", plan.workers),
            "Give it to what masks, such as the mask method of the leaves.",
        ),
        (plan.entity_mode not in (None, "rows"), "entity_mode", plan.entity_mode, whole),
        # Which confidential values are left would be known only at the end.
        (
            plan.small_strata == "drop" and bool(plan.confidential),
            *("small_strata", "drop"),
            Sentence(
                "Empty small strata, with {setting}.", setting=Setting("small_strata", "null")
            ),
        ),
    )
    for wrong, name, value, instead in refused:
        if wrong:
            raise InvalidParameterError.cannot("fit_leaves", Setting(name, value), instead)
    if plan.groups_cells:
        what = "leaves, as it mixes values of several columns"
        raise InvalidParameterError.cannot(plan.method.name, what, "Mask the table whole.")
    return MaskRequest(plan, [], strata, order_by)


def leaf_options(request: MaskRequest, names: Sequence[str]) -> dict[str, Any]:
    """Return the options of a call for one block of columns, as JSON can hold them.

    >>> from polars_microagg.frames.mask import MaskRequest
    >>> request = MaskRequest.of("mdav", ["age"], 5, {"strata": "region", "center": "median"})
    >>> leaf_options(request, ["age"])
    {'scale': 'zscore', 'center': 'median', 'seed': 0, 'strata': ['region']}
    """
    plan = request.plan
    fields = {
        name: getattr(plan, name)
        for name in COMMON
        if hasattr(plan, name) and name not in VALUELESS
    }
    roles = {"strata": request.strata, "order_by": request.order_by}
    found = {**plan.options, **fields, **plan.models, **plan.kinds, **roles}
    options: dict[str, Any] = {}
    own: Any
    for name, value in found.items():
        if isinstance(value, Mapping) or name in KEY_OPTIONS:
            own = _of_columns(value, names)
        else:
            own = value.item() if isinstance(value, np.generic) else value
        own = list(own) if isinstance(own, tuple) else own
        # Where to cut depends on the scale, and on the seed in some methods.
        if name in ("scale", "seed") or (own not in ([], {}) and own != COMMON.get(name)):
            options[name] = own
    return options


def block_request(request: MaskRequest, names: Sequence[str]) -> MaskRequest:
    """Return a call of several blocks with the kinds and the weights of the columns of one."""
    plan = request.plan
    kinds = {option: _of_columns(value, names) for option, value in plan.kinds.items()}
    kinds = {option: own for option, own in kinds.items() if own}
    return replace(
        request,
        plan=replace(plan, kinds=kinds, column_weights=_of_columns(plan.column_weights, names)),
    )


def with_kinds_of(plans: Sequence[Plan]) -> Plan:
    """Return the first plan, with the kinds and the weights of the columns of all."""
    kinds: dict[str, Any] = {}
    for plan in plans:
        for option, own in plan.kinds.items():
            if isinstance(own, Mapping):
                kinds[option] = {**kinds.get(option, {}), **own}
            else:
                kinds[option] = (*kinds.get(option, ()), *own)
    column_weights = {
        name: weight for plan in plans for name, weight in plan.column_weights.items()
    }
    return replace(plans[0], kinds=kinds, column_weights=column_weights)


def _of_columns(value: Any, names: Sequence[str]) -> Any:
    """Return the part of a list of columns, or of a mapping from columns, that is about `names`."""
    if isinstance(value, Mapping):
        return {column: each for column, each in value.items() if column in names}
    return tuple(column for column in value if column in names)


def refuse_patterns(plan: Plan) -> None:
    """Refuse several blocks of columns whose nulls part the records that are suppressed."""
    # Records that one block suppresses are missing in the others, whose patterns may then be too small.
    if len(plan.blocks) > 1 and plan.nulls == "pattern" and plan.small_strata != "raise":
        what = Sentence(
            "{nulls} with {small} for several blocks of columns",
            nulls=Setting("nulls", "pattern"),
            small=Setting("small_strata", plan.small_strata),
        )
        way = Sentence("Use {impute}, or mask the table whole.", impute=Setting("nulls", "impute"))
        raise InvalidParameterError.cannot("fit_leaves", what, way)


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


def leaf_roles(names: Sequence[str], schema: Schema, request: MaskRequest) -> None:
    """Refuse columns of roles that are not there, or are of types that leaves cannot count."""
    plan = request.plan
    replace(request, blocks=[list(names)]).masker(schema)
    refuse_nested(request.strata, schema)
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
