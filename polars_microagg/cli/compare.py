"""`microagg compare`: methods and ks side by side, and a recommendation."""

from __future__ import annotations

from argparse import Namespace
from contextlib import suppress
from typing import Any

import polars as pl

from polars_microagg.analysis.compare import TYPES, Comparison, comparison
from polars_microagg.analysis.recommend import recommend
from polars_microagg.analysis.time_budget import NotBegun
from polars_microagg.cli.input_table import add_separator, source_of
from polars_microagg.cli.kinds import add_kinds, named_kinds
from polars_microagg.cli.models import add_models
from polars_microagg.cli.options import add_choices, add_roles, names_in, number, split
from polars_microagg.cli.output import show, show_json, table, tell
from polars_microagg.cli.parser import Parser, example
from polars_microagg.cli.settings import roles, settings
from polars_microagg.core.options import COMMON, KEY_OPTIONS, group_size
from polars_microagg.core.registry import methods, metrics
from polars_microagg.core.requirements import measure_of, read_requirements
from polars_microagg.errors import (
    InvalidDataError,
    InvalidParameterError,
    UnknownMethodError,
    usage,
)
from polars_microagg.publishing.judgement import refuse_uncounted
from polars_microagg.publishing.privacy_models import masking_options
from polars_microagg.publishing.raw_table import raw, typed_columns, typed_values
from polars_microagg.wording import COMMAND_LINE

__all__ = ["EXAMPLES", "add", "run"]

EXAMPLES = example(
    "microagg compare patients.parquet --columns age,income --ks 3,5,10",
    "microagg compare patients.csv --config job.toml --seconds 10",
    "microagg compare patients.parquet --columns age,income --methods mdav,lowloss --seconds 60 \\",
    "    --require 'dld<=10' --json",
)

KS = (3, 5, 10)
"""Group sizes of the literature."""


def add(parser: Parser) -> None:
    """Describe the options."""
    parser.usage = "microagg compare IN --columns A,B [options]"
    parser.add_argument("input", nargs="?", metavar="IN", help="the table before masking")
    parser.add_argument("--config", metavar="TOML", help="settings, as of protect")
    add_separator(parser)
    add_roles(parser, "As of protect; here a column without a role does no harm.")
    part = parser.add_argument_group("what is compared")
    part.add_argument("--methods", metavar="M,N", help="all that group records by default")
    part.add_argument("--ks", metavar="3,5,10", help="group sizes; also that of the configuration")
    part.add_argument("--seconds", default="60", metavar="60", help="how long it may take")
    part.add_argument("--known", action="append", metavar="A", help="what an intruder knows")
    part.add_argument("--seed", metavar="N", help=f"default {COMMON['seed']}")
    part.add_argument(
        "--require", action="append", metavar="'dld<=10'", help="what the line must meet"
    )
    add_choices(part)
    add_models(parser.add_argument_group("what every group must satisfy besides k"), caps=True)
    add_kinds(parser.add_argument_group("kinds of masked columns", "As of protect."))
    parser.add_argument("--json", action="store_true", help="JSON on standard output")


def run(arguments: Namespace) -> int:
    """Show methods side by side and recommend one line."""
    listed = split(arguments.methods) if arguments.methods else None
    for name in listed or ():
        if name not in methods():
            raise UnknownMethodError.of(name, methods())
    configured = settings(arguments)
    if not configured.get("input"):
        raise usage.needed("compare", "IN")
    ks = _sizes(arguments.ks, configured)
    place = source_of(configured["input"], arguments.separator, configured.get("separator"))
    frame = raw(place)
    role = roles(configured, frame.columns, released=False)
    options = {name: configured[name] for name in COMMON if name in configured}
    named = {"entity": role.entity, "confidential": role.confidential}
    options |= {name: list(names) for name, names in named.items() if names}
    asked = named_kinds(configured, frame.columns)
    options |= asked
    options = masking_options(options)
    if configured.get("order_by"):
        options["order_by"] = names_in("order-by", configured["order_by"], frame.columns)
    required = _required(arguments.require or [], configured.get("require", []))
    bounds = read_requirements(required, [*TYPES, *metrics()])
    refuse_uncounted(bounds, options)
    bounded = {bound.name for bound in bounds}
    read = typed_columns(place, frame, role.mask, {n: asked[n] for n in KEY_OPTIONS if n in asked})
    compared = comparison(
        typed_values(place, read, role.confidential),
        role.blocks if len(role.blocks) > 1 else role.mask,
        methods=listed,
        ks=ks,
        strata=role.strata or None,
        known=names_in("known", arguments.known, frame.columns) or None,
        seconds=number(arguments.seconds),
        metrics=sorted(bounded.intersection(metrics()).difference(TYPES)),
        **options,
    )
    table_ = compared.table
    line = recommend(table_, require=required, k=configured.get("k", 2)).row(0, named=True)
    if arguments.json:
        show_json({"compared": table_.to_dicts(), "recommended": line})
        return 0
    shown = table_.filter(table_["note"].is_null()).drop("note")
    show(table(shown.rows(), head=shown.columns))
    _notes(compared)
    show(f"\n{line['reason']}")
    return 0


def _sizes(typed: str | None, configured: dict[str, Any]) -> list[int]:
    if typed is not None:
        try:
            listed = [group_size(number(k)) for k in split(typed) or [typed]]
        except InvalidParameterError:
            need = "whole numbers of at least 2 with commas between them"
            raise InvalidParameterError.kind("ks", typed, need) from None
        if "k" in configured and max(listed) < group_size(configured["k"]):
            need = f"at least the k={configured['k']} of the configuration for one of them"
            raise InvalidParameterError.kind("ks", typed, need)
        return listed
    return sorted({*KS, *([group_size(configured["k"])] if "k" in configured else [])})


def _required(typed: list[str], configured: str | list[str]) -> list[str]:
    """Return the requirements on the line to recommend, checked at once.

    From a configuration, those measured here.
    """
    kept = []
    for text in [configured] if isinstance(configured, str) else configured:
        if text in typed or measure_of(text) in (None, *TYPES):
            kept.append(text)
        else:
            tell(f"{text} of the configuration is not measured here, and was left out.")
    required = kept or ["dld<=10"]
    with suppress(InvalidDataError):  # the table has no lines yet
        types = dict.fromkeys(metrics(), pl.Float64()) | TYPES
        recommend(pl.DataFrame(schema=types), require=required)
    return required


def _notes(compared: Comparison) -> None:
    """Report lines that were left out, and why; those without time with the seconds they need."""
    late: dict[str, list[str]] = {}
    for method, k in compared.table.select("method", "k").rows():
        note = compared.notes.get((method, k))
        if isinstance(note, NotBegun):
            late.setdefault(method, []).append(f"k={k}: {note.fields['expected']} s")
        elif note is not None:
            tell(f"{method}, k={k}: {note.told(COMMAND_LINE)}")
    if late:
        named = [f"{method} ({', '.join(lines)})" for method, lines in late.items()]
        way = "Allow more with --seconds, or name fewer with --methods."
        tell(f"There was no time for {', '.join(named)}. {way}")
