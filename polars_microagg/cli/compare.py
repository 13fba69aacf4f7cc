"""`microagg compare`: methods and ks side by side, and which to take."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

import polars as pl

from polars_microagg.analysis.compare import TYPES, compare
from polars_microagg.analysis.recommend import recommend
from polars_microagg.cli.input_table import add_separator, raw, source_of, typed_columns
from polars_microagg.cli.options import add_choices, add_roles, names_in, number, split
from polars_microagg.cli.output import as_flags, show, show_json, table, tell
from polars_microagg.cli.parser import Parser, example
from polars_microagg.cli.settings import roles, settings
from polars_microagg.core.options import COMMON, group_size
from polars_microagg.core.registry import methods
from polars_microagg.errors import InvalidDataError, InvalidParameterError, UnknownMethodError

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
        raise InvalidParameterError("compare needs IN, and none was given.")
    ks = _sizes(given.ks, asked)
    place = source_of(asked["input"], asked.get("separator"))
    frame = raw(place)
    role = roles(asked, frame.columns, released=False)
    options = {name: asked[name] for name in COMMON if name in asked}
    if asked.get("order_by"):
        options["order_by"] = names_in("order-by", asked["order_by"], frame.columns)
    required = _required(given.require or [], asked.get("require", []))
    found = compare(
        typed_columns(place, frame, role.mask),
        role.blocks if len(role.blocks) > 1 else role.mask,
        methods=listed,
        ks=ks,
        strata=role.stratum or None,
        known=names_in("known", given.known, frame.columns) or None,
        seconds=number(given.seconds),
        **options,
    )
    line = recommend(found, require=required, k=asked.get("k", 2)).row(0, named=True)
    if given.json:
        show_json({"compared": found.to_dicts(), "recommended": line})
        return 0
    shown = found.filter(found["note"].is_null()).drop("note")
    show(table(shown.rows(), head=shown.columns))
    _notes(found.filter(found["note"].is_not_null()).to_dicts(), found["k"].unique().to_list())
    show(f"\n{as_flags(line['reason'])}")
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
        if text in typed or str(text).split("<")[0].split(">")[0].split("=")[0].strip() in TYPES:
            kept.append(text)
        else:
            tell(f"{text} of the configuration is not measured here, and was left out.")
    required = kept or ["dld<=10"]
    with suppress(InvalidDataError):  # the table has no lines yet
        recommend(pl.DataFrame(schema=TYPES), require=required)
    return required


def _notes(rows: Iterable[dict[str, Any]], ks: Sequence[int]) -> None:
    """Say what is not in the table: what had no time in one sentence, and why others failed."""
    late: dict[str, list[int]] = {}
    for row in rows:
        if row["note"].startswith(f"{row['method']} was not begun"):
            late.setdefault(row["method"], []).append(row["k"])
        else:
            tell(f"{row['method']}, k={row['k']}: {as_flags(row['note'])}")
    if late:
        told = [
            method + ("" if len(left) == len(ks) else f" (k={', '.join(map(str, left))})")
            for method, left in late.items()
        ]
        way = "Allow more with --seconds, or name fewer with --methods."
        tell(f"There was no time for {', '.join(told)}. {way}")
