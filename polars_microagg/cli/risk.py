"""`microagg risk`: the loss and the risks of a release."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from typing import Any

import polars as pl

from polars_microagg.analysis.anonymity import anonymity, emptied
from polars_microagg.analysis.assess import assess, matched
from polars_microagg.cli.input_table import add_separator, source_of
from polars_microagg.cli.options import names_in, split
from polars_microagg.cli.output import show, show_json, table
from polars_microagg.cli.parser import Parser, example
from polars_microagg.cli.settings import table_of
from polars_microagg.core.registry import assessed, metrics
from polars_microagg.errors import originals, usage
from polars_microagg.publishing.manifest.compare_original import aligned, exchanged, off_centre
from polars_microagg.publishing.manifest.model import Manifest
from polars_microagg.publishing.manifest.precision import names_told, published, step
from polars_microagg.publishing.manifest.record import read_manifest
from polars_microagg.publishing.manifest.rounding import agree

__all__ = ["EXAMPLES", "add", "run"]

EXAMPLES = example(
    "microagg risk masked.parquet --original patients.parquet",
    "microagg risk masked.parquet --original patients.parquet --known age --json",
    "microagg risk masked.parquet --original patients.parquet --metrics dld,drisk",
    "microagg risk patients.parquet --columns age,income,region",
)


def add(parser: Parser) -> None:
    """Describe the options."""
    parser.add_argument("input", metavar="TABLE", help="the release, or any table")
    parser.add_argument("--original", metavar="IN", help="the table before, in the same order")
    parser.add_argument(
        "--columns", action="append", metavar="A,B", help="those of the manifest by default"
    )
    parser.add_argument("--strata", action="append", metavar="C", help="classes are counted within")
    parser.add_argument("--known", action="append", metavar="A", help="what an intruder knows")
    parser.add_argument("--metrics", metavar="M,N", help="those by default, or any by name")
    add_separator(parser, "the original, or of TABLE without one")
    parser.add_argument("--key", action="append", metavar="ID", help="matches the rows of both")
    parser.add_argument("--json", action="store_true", help="JSON on standard output")


def run(arguments: Namespace) -> int:
    """Measure a release, or count the classes of one table."""
    place = source_of(arguments.input, None if arguments.original else arguments.separator)
    frame = place.read()
    manifest = None
    if arguments.columns is None and place.record is not None and place.record.is_file():
        manifest = read_manifest(place.record)
    if arguments.columns is None and manifest is None:
        raise usage.without_a_manifest_to_ask()
    columns = manifest["roles"]["mask"] if manifest else arguments.columns
    names = names_in("columns", columns, frame.columns)
    strata = names_in(
        "strata", manifest["roles"]["stratum"] if manifest else arguments.strata, frame.columns
    )
    result: dict[str, Any] = anonymity(frame, names, strata=strata or None).row(0, named=True)
    if arguments.original is not None:
        source = source_of(arguments.original, arguments.separator)
        original = source.read()
        known = names_in("known", arguments.known, frame.columns) or None
        key = names_in("key", arguments.key, frame.columns) or None
        for name in (names, known or (), key or ()):
            names_in("columns", list(name), original.columns)
        if manifest and not key:
            original = aligned(manifest, original)
        before = table_of(original, [*names, *(known or ())], source.format)
        after = table_of(frame, [*names, *(known or ())], place.format)
        rows = not key and original.height == frame.height
        if manifest and rows and manifest["config"]["method"] is not None:
            _refuse_exchanged(manifest, original, frame)
        listed = list(assessed()) if arguments.metrics is None else split(arguments.metrics)
        # Published measures are compared with the manifest also where others are asked for.
        compared = _comparable(manifest, bool(known)) if manifest else []
        wanted = list(dict.fromkeys([*listed, *compared]))
        measured = assess(before, after, names, metrics=wanted, known=known, key=key)
        computed = measured.row(0, named=True)
        if manifest:
            _refuse_others(manifest, {name: computed[name] for name in compared})
            whole = matched(before, after, tuple(key)) if key else after
            if (rows or key) and (moved := off_centre(manifest, before, whole)):
                raise originals.uncentred(moved)
        result = {name: computed[name] for name in listed} | result
    elif arguments.known or arguments.key or arguments.metrics:
        raise usage.only_with_an_original()
    result["emptied"] = emptied(frame, names, strata)
    if manifest:
        result |= {name: manifest["rows"][name] for name in ("dropped", "suppressed")}
    if arguments.json:
        show_json(result)
        return 0
    summaries = {name: entry.summary for name, entry in metrics().items()}
    show(table(((n, v, summaries.get(n, COUNTED.get(n, ""))) for n, v in result.items())))
    return 0


PLAIN = ("loss", "il")
"""Measures that do not depend on what an intruder knows."""


def _comparable(manifest: Manifest, known: bool) -> list[str]:
    """Return measures of a manifest that are computed again and must agree."""
    names = names_told(assessed(), manifest["digits"])
    return [n for n in (PLAIN if known else names) if n in names and n in manifest["measures"]]


def _refuse_others(manifest: Manifest, measured: Mapping[str, Any]) -> None:
    """Refuse tables that give other measures than those of the manifest."""
    digits, measures = manifest["digits"], manifest["measures"]
    again = published(measured, digits)
    differ = [
        name
        for name, value in again.items()
        if not agree(measures[name], value, step(name, measures[name], digits))
    ]
    if differ:
        raise originals.measures_differ(differ)


def _refuse_exchanged(manifest: Manifest, before: pl.DataFrame, after: pl.DataFrame) -> None:
    """Refuse an original of which a kept column differs from that of the release."""
    differ = exchanged(manifest, before, after)
    if differ:
        raise originals.rows_differ(differ)


COUNTED = {
    "records": "Rows of the table.",
    "classes": "Distinct records on these columns.",
    "uniques": "Records alone in their class.",
    "emptied": "Records without any value in the masked columns and strata.",
    "dropped": "Records that were left out.",
    "suppressed": "Per cent of all records that were emptied or dropped.",
}
