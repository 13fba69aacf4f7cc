"""`microagg risk` and `microagg compare`: what a release risks, and which method to take."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from polars_microagg.cli.options import names_in, number, split
from polars_microagg.cli.parser import Parser, example
from polars_microagg.cli.say import as_flags, show, show_json, table, tell
from polars_microagg.cli.settings import table_of
from polars_microagg.cli.source import add_separator, raw, source_of, typed_columns
from polars_microagg.errors import InvalidParameterError
from polars_microagg.frames.assess import assess
from polars_microagg.frames.compare import compare as compared
from polars_microagg.frames.measures import anonymity
from polars_microagg.frames.recommend import recommend
from polars_microagg.registry import assessed, methods
from polars_microagg.release.manifest import read_manifest

__all__ = ["add_compare", "add_risk", "compare", "risk"]

RISK = example(
    "microagg risk masked.parquet --original patients.parquet",
    "microagg risk masked.parquet --original patients.parquet --known age --json",
    "microagg risk patients.parquet --columns age,income,region",
)
COMPARE = example(
    "microagg compare patients.parquet --columns age,income --ks 3,5,10",
    "microagg compare patients.parquet --columns age,income --methods mdav,lowloss --seconds 60 \\",
    "    --require 'dld<=10' --json",
)


def add_risk(parser: Parser) -> None:
    """Describe the options of `risk`."""
    parser.add_argument("input", metavar="TABLE", help="the release, or any table")
    parser.add_argument("--original", metavar="IN", help="the table before, in the same order")
    parser.add_argument(
        "--columns", action="append", metavar="A,B", help="those of the manifest by default"
    )
    parser.add_argument("--strata", action="append", metavar="C", help="classes are counted within")
    parser.add_argument("--known", action="append", metavar="A", help="what an intruder knows")
    add_separator(parser, "the original, or of TABLE without one")
    parser.add_argument("--key", action="append", metavar="ID", help="matches the rows of both")
    parser.add_argument("--json", action="store_true", help="JSON on standard output")


def risk(given: Namespace) -> int:
    """Measure a release, or count the classes of one table."""
    place = source_of(given.input, None if given.original else given.separator)
    frame = place.read()
    told = None
    if given.columns is None and place.record is not None and place.record.is_file():
        told = read_manifest(place.record)
    if given.columns is None and told is None:
        raise InvalidParameterError(
            "risk needs --columns, as there is no manifest beside the table to take them from. Name "
            "them, as in --columns age,income."
        )
    columns = told["roles"]["mask"] if told else given.columns
    names = names_in("columns", columns, frame.columns)
    strata = names_in("strata", told["roles"]["stratum"] if told else given.strata, frame.columns)
    found: dict[str, Any] = anonymity(frame, names, strata=strata or None).row(0, named=True)
    if given.original is not None:
        source = source_of(given.original, given.separator)
        before = source.read()
        known = names_in("known", given.known, frame.columns) or None
        key = names_in("key", given.key, frame.columns) or None
        for name in (names, known or (), key or ()):
            names_in("columns", list(name), before.columns)
        before = table_of(before, [*names, *(known or ())], source.format)
        after = table_of(frame, [*names, *(known or ())], place.format)
        measured = assess(before, after, names, known=known, key=key)
        found = measured.row(0, named=True) | found
    elif given.known or given.key:
        raise InvalidParameterError(
            "--known and --key are for measures of a release against its original. Add --original."
        )
    if given.json:
        show_json(found)
        return 0
    summaries = {name: entry.summary for name, entry in assessed().items()}
    show(table(((n, v, summaries.get(n, COUNTED.get(n, ""))) for n, v in found.items())))
    return 0


COUNTED = {
    "records": "Rows of the table.",
    "classes": "Distinct records on these columns.",
    "uniques": "Records alone in their class.",
}


def add_compare(parser: Parser) -> None:
    """Describe the options of `compare`."""
    parser.add_argument("input", metavar="IN", help="the table before masking")
    parser.add_argument("--columns", action="append", metavar="A,B", help="to mask")
    parser.add_argument("--methods", metavar="M,N", help="all that group records by default")
    add_separator(parser)
    parser.add_argument("--ks", default="3,5,10", metavar="3,5,10", help="group sizes")
    parser.add_argument("--strata", action="append", metavar="C", help="no group mixes them")
    parser.add_argument("--seconds", default="60", metavar="60", help="how long it may take")
    parser.add_argument("--known", action="append", metavar="A", help="what an intruder knows")
    parser.add_argument("--seed", default="0", metavar="N", help="default 0")
    parser.add_argument(
        "--require", action="append", metavar="'dld<=10'", help="what the line must meet"
    )
    parser.add_argument("--json", action="store_true", help="JSON on standard output")


def compare(given: Namespace) -> int:
    """Show methods side by side and recommend one line."""
    listed = split(given.methods) if given.methods else None
    for name in listed or ():
        if name not in methods():
            raise InvalidParameterError.choice("--methods", name, methods())
    place = source_of(given.input, given.separator)
    frame = raw(place)
    names = names_in("columns", given.columns, frame.columns)
    if not names:
        raise InvalidParameterError(
            "compare needs --columns, and none was given. Name them, as in --columns age,income."
        )
    found = compared(
        typed_columns(place, frame, names),
        names,
        methods=listed,
        ks=[number(k) for k in split(given.ks)],
        strata=names_in("strata", given.strata, frame.columns) or None,
        known=names_in("known", given.known, frame.columns) or None,
        seconds=number(given.seconds),
        seed=number(given.seed),
    )
    line = recommend(found, require=given.require or "dld<=10").row(0, named=True)
    if given.json:
        show_json({"compared": found.to_dicts(), "recommended": line})
        return 0
    shown = found.filter(found["note"].is_null()).drop("note")
    show(table(shown.rows(), head=shown.columns))
    for row in found.filter(found["note"].is_not_null()).to_dicts():
        tell(f"{row['method']}, k={row['k']}: {as_flags(row['note'])}")
    show(f"\n{as_flags(line['reason'])}")
    return 0
