"""`microagg compare`: methods and ks side by side, and which to take."""

from __future__ import annotations

from argparse import Namespace
from contextlib import suppress
from typing import Any

import polars as pl

from polars_microagg.analysis.compare import TYPES, Comparison, comparison
from polars_microagg.analysis.recommend import recommend
from polars_microagg.analysis.time_budget import NotBegun
from polars_microagg.cli.input_table import add_separator, raw, source_of, typed_columns
from polars_microagg.cli.options import add_choices, add_roles, names_in, number, split
from polars_microagg.cli.output import show, show_json, table, tell
from polars_microagg.cli.parser import Parser, example
from polars_microagg.cli.settings import roles, settings
from polars_microagg.core.options import COMMON, group_size
from polars_microagg.core.registry import methods, metrics
from polars_microagg.core.requirements import measure_of, read_requirements
from polars_microagg.errors import (
    InvalidDataError,
    InvalidParameterError,
    UnknownMethodError,
    usage,
)
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
    parser.add_argument("--json", action="store_true", help="JSON on standard output")


def run(given: Namespace) -> int:
    """Show methods side by side and recommend one line."""
    listed = split(given.methods) if given.methods else None
    for name in listed or ():
        if name not in methods():
            raise UnknownMethodError.of(name, methods())
    asked = settings(given)
    if not asked.get("input"):
        raise usage.needed("compare", "IN")
    ks = _sizes(given.ks, asked)
    place = source_of(asked["input"], asked.get("separator"))
    frame = raw(place)
    role = roles(asked, frame.columns, released=False)
    options = {name: asked[name] for name in COMMON if name in asked}
    if asked.get("order_by"):
        options["order_by"] = names_in("order-by", asked["order_by"], frame.columns)
    required = _required(given.require or [], asked.get("require", []))
    bounded = {each.name for each in read_requirements(required, [*TYPES, *metrics()])}
    found = comparison(
        typed_columns(place, frame, role.mask),
        role.blocks if len(role.blocks) > 1 else role.mask,
        methods=listed,
        ks=ks,
        strata=role.strata or None,
        known=names_in("known", given.known, frame.columns) or None,
        seconds=number(given.seconds),
        metrics=sorted(bounded.intersection(metrics()).difference(TYPES)),
        **options,
    )
    table_ = found.table
    line = recommend(table_, require=required, k=asked.get("k", 2)).row(0, named=True)
    if given.json:
        show_json({"compared": table_.to_dicts(), "recommended": line})
        return 0
    shown = table_.filter(table_["note"].is_null()).drop("note")
    show(table(shown.rows(), head=shown.columns))
    _notes(found)
    show(f"\n{line['reason']}")
    return 0


def _sizes(typed: str | None, asked: dict[str, Any]) -> list[int]:
    if typed is not None:
        try:
            listed = [group_size(number(k)) for k in split(typed) or [typed]]
        except InvalidParameterError:
            need = "whole numbers of at least 2 with commas between them"
            raise InvalidParameterError.kind("ks", typed, need) from None
        if "k" in asked and max(listed) < group_size(asked["k"]):
            need = f"at least the k={asked['k']} of the configuration for one of them"
            raise InvalidParameterError.kind("ks", typed, need)
        return listed
    return sorted({*KS, *([group_size(asked["k"])] if "k" in asked else [])})


def _required(typed: list[str], asked: str | list[str]) -> list[str]:
    """What the line must meet, checked at once; of a configuration, what is measured here."""
    kept = []
    for text in [asked] if isinstance(asked, str) else asked:
        if text in typed or measure_of(text) in (None, *TYPES):
            kept.append(text)
        else:
            tell(f"{text} of the configuration is not measured here, and was left out.")
    required = kept or ["dld<=10"]
    with suppress(InvalidDataError):  # the table has no lines yet
        types = dict.fromkeys(metrics(), pl.Float64()) | TYPES
        recommend(pl.DataFrame(schema=types), require=required)
    return required


def _notes(found: Comparison) -> None:
    """Say what is not in the table: what had no time in one sentence, and why others failed."""
    late: dict[str, list[int]] = {}
    ks = found.table["k"].n_unique()
    for method, k in found.table.select("method", "k").rows():
        note = found.notes.get((method, k))
        if isinstance(note, NotBegun):
            late.setdefault(method, []).append(k)
        elif note is not None:
            tell(f"{method}, k={k}: {note.told(COMMAND_LINE)}")
    if late:
        told = [
            method + ("" if len(left) == ks else f" (k={', '.join(map(str, left))})")
            for method, left in late.items()
        ]
        way = "Allow more with --seconds, or name fewer with --methods."
        tell(f"There was no time for {', '.join(told)}. {way}")
