"""Privacy models on the command line: their options, and what they find in a table."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from polars_microagg.analysis.counted_classes import ENTITY_COUNTS
from polars_microagg.cli.options import names_in, typed_as, value_of
from polars_microagg.core.model import models
from polars_microagg.core.options import ENTITY_MODES, MODEL_OPTIONS, check_option
from polars_microagg.core.plan import Plan
from polars_microagg.core.registry import Option
from polars_microagg.errors import InvalidParameterError
from polars_microagg.frames.selection import by_name
from polars_microagg.publishing.formats.files import Location
from polars_microagg.publishing.privacy_models import (
    PROMISES,
    Recount,
    masking_options,
)
from polars_microagg.publishing.raw_table import typed_values
from polars_microagg.wording import Setting

__all__ = ["add_columns", "add_models", "counted", "model_options", "summaries", "typed_values"]

KINDS = {int: "a whole number", float: "a number"}


def add_columns(part: Any) -> None:
    """Describe the options that say whose a record is, and what nobody should learn."""
    part.add_argument("--entity", action="append", metavar="ID", help="whose a record is")
    part.add_argument(
        "--confidential", action="append", metavar="DX", help="what nobody should learn"
    )


def add_models(part: Any, *, caps: bool = False, bounds: bool = True) -> None:
    """Describe the options of privacy models, from the register; without `bounds` those of measures."""
    part.add_argument(
        "--entity-mode", metavar="|".join(ENTITY_MODES), help="rows if ID is not released"
    )
    if caps:
        part.add_argument("--cap-rows", metavar="N", help="of one entity, with --entity-mode alike")
    for entry in models().values():
        known = [entry.bound] * (bounds and entry.bound.name in MODEL_OPTIONS)
        for option in (*known, *entry.options.values()):
            of = "" if option is entry.bound else f"for {typed_as(entry.name)}; "
            side = "least" if entry.at_least else "most"
            about = f"{of}{_help(option)}" if of else f"{_help(option)}: the {side} of {entry.what}"
            metavar = "|".join(map(str, option.choices)) or option.name.upper()
            part.add_argument(typed_as(option.name), metavar=metavar, help=about)


def _help(option: Option) -> str:
    if option.choices:
        return f"default {option.default}"
    kind = KINDS.get(option.kind or float, "a number")
    return f"{kind} {option.range}" if option.range else kind


def model_options(arguments: Namespace) -> dict[str, Any]:
    """Return the options of privacy models that were typed, names of columns as they were."""
    typed = {name: getattr(arguments, name, None) for name in PROMISES}
    return {
        name: value_of(name, value, "") if isinstance(value, str) else value
        for name, value in typed.items()
        if value is not None
    }


def counted(
    place: Location,
    frame: pl.DataFrame,
    columns: tuple[Sequence[str], Sequence[str]],
    k: Any,
    options: Mapping[str, Any],
    whose: pl.DataFrame | None = None,
    *,
    bounds: bool = True,
) -> Recount:
    """Count a table by its classes of masked columns and strata, the two parts of `columns`.

    `whose` has the entity of each row, if it is not in the table. Without `bounds` options of models
    are those of measures.
    """
    named = {name: names_in(name, options.get(name), _known(name, frame, whose)) for name in ROLES}
    read = typed_values(place, frame, named["confidential"])
    asked = {**options, **{name: names or None for name, names in named.items()}}
    if named["entity"]:
        whose = (frame if whose is None else whose).select(map(by_name, named["entity"]))
    measures = {} if bounds else {n: v for n, v in asked.items() if n in MODEL_OPTIONS}
    for name, value in measures.items():
        check_option(MODEL_OPTIONS[name], value)
        if not named["confidential"]:
            raise InvalidParameterError.needs(Setting(name, value), "confidential")
    asked = {name: value for name, value in asked.items() if name not in measures}
    plan = Plan.make("mdav", k, **masking_options(asked))
    plan = replace(plan, models={**plan.models, **measures})
    hidden = read.select(map(by_name, named["confidential"]))
    return Recount.of(plan, frame, [columns[0]], columns[1], whose, hidden)


ROLES = ("entity", "confidential")


def _known(name: str, frame: pl.DataFrame, whose: pl.DataFrame | None) -> list[str]:
    return frame.columns if whose is None or name != "entity" else whose.columns


def summaries() -> dict[str, str]:
    """Return the meaning of each number."""
    return {**{name: entry.summary for name, entry in models().items()}, **ENTITY_COUNTS}
