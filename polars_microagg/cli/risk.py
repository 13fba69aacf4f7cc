"""`microagg risk`: the loss and the risks of a release."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import polars as pl

from polars_microagg.analysis.anonymity import anonymity, emptied
from polars_microagg.analysis.assess import assess
from polars_microagg.analysis.matched_rows import matched
from polars_microagg.cli.input_table import add_separator, source_of
from polars_microagg.cli.kinds import add_kinds, named_kinds, read_kinds
from polars_microagg.cli.models import (
    add_columns,
    add_models,
    model_options,
    options_of_manifest,
    summaries,
)
from polars_microagg.cli.options import names_in, split
from polars_microagg.cli.output import show, show_json, table
from polars_microagg.cli.parser import Parser, example
from polars_microagg.cli.risk_in_batches import figures_in_batches, refuse_another
from polars_microagg.cli.settings import table_of
from polars_microagg.cli.table_classes import counted
from polars_microagg.core.options import keys_asked
from polars_microagg.core.registry import assessed, metrics
from polars_microagg.errors import originals, usage
from polars_microagg.publishing.column_kinds import kinds_of, read_as_text
from polars_microagg.publishing.formats.files import Location
from polars_microagg.publishing.formats.text_types import in_one_type, retyped
from polars_microagg.publishing.large.sampled_checks import of_sample
from polars_microagg.publishing.manifest.compare_original import (
    aligned,
    entity_in,
    exchanged,
    not_text,
    off_centre,
    other_measures,
)
from polars_microagg.publishing.manifest.model import Manifest
from polars_microagg.publishing.manifest.precision import names_told
from polars_microagg.publishing.manifest.recheck import Recheck
from polars_microagg.publishing.manifest.record import read_manifest, separator_in, separator_of

__all__ = ["EXAMPLES", "add", "run"]

EXAMPLES = example(
    "microagg risk masked.parquet --original patients.parquet",
    "microagg risk masked.parquet --original patients.parquet --known age --json",
    "microagg risk masked.parquet --original patients.parquet --metrics dld,drisk",
    "microagg risk patients.parquet --columns age,income,region",
    "microagg risk masked.parquet --original patients.parquet --memory 2GB",
    "microagg risk visits.parquet --columns age,income --entity patient --confidential diagnosis",
)


def add(parser: Parser) -> None:
    """Describe the options."""
    parser.add_argument("input", metavar="TABLE", help="the release, or any table")
    parser.add_argument("--original", metavar="IN", help="the table before, in the same order")
    parser.add_argument(
        "--columns", action="append", metavar="A,B", help="those of the manifest by default"
    )
    parser.add_argument(
        "--strata", action="append", metavar="C", help="columns that an attacker knows"
    )
    parser.add_argument("--known", action="append", metavar="A", help="what an intruder knows")
    parser.add_argument("--metrics", metavar="M,N", help="those by default, or any by name")
    add_separator(parser, "the original, or of TABLE without one")
    parser.add_argument("--key", action="append", metavar="ID", help="matches the rows of both")
    about = "With --original; those of the manifest by default."
    add_kinds(parser.add_argument_group("kinds of masked columns", about), column_weights=False)
    part = parser.add_argument_group(
        "persons and confidential columns", "Those of the manifest by default."
    )
    add_columns(part)
    add_models(part, bounds=False)
    parser.add_argument("--memory", metavar="2GB", help="most to take, for larger tables")
    parser.add_argument("--json", action="store_true", help="JSON on standard output")


def run(arguments: Namespace) -> int:
    """Measure a release, or count the classes of one table."""
    place = source_of(arguments.input, None if arguments.original else arguments.separator)
    manifest = None
    if arguments.columns is None and place.record is not None and os.path.lexists(place.record):
        manifest = read_manifest(place.record)
        place = place.separated_by(separator_of(manifest))
    if arguments.columns is None and manifest is None:
        raise usage.without_a_manifest_to_ask()
    if arguments.original is None and (
        arguments.known or arguments.key or arguments.metrics or read_kinds({}, vars(arguments))
    ):
        raise usage.only_with_an_original()
    measure = _whole if arguments.memory is None else figures_in_batches
    result = measure(arguments, place, manifest)
    if arguments.json:
        show_json(result)
        return 0
    known = {n: entry.summary for n, entry in metrics().items()}
    means = {**COUNTED, **LINKED, **summaries(), **known}
    show(table(((name, value, means.get(name, "")) for name, value in result.items())))
    return 0


def _whole(arguments: Namespace, place: Location, manifest: Manifest | None) -> dict[str, Any]:
    """Measure tables that are in memory."""
    frame = place.read()
    columns = manifest["roles"]["mask"] if manifest else arguments.columns
    names = names_in("columns", columns, frame.columns)
    strata = names_in(
        "strata", manifest["roles"]["stratum"] if manifest else arguments.strata, frame.columns
    )
    known = names_in("known", arguments.known, frame.columns) or None
    # An attacker knows the strata, whatever else they know.
    within = [name for name in strata if name not in (known or ())]
    classes = known or names, within
    result: dict[str, Any] = anonymity(frame, classes[0], strata=within or None).row(0, named=True)
    whose, aside = None, frame
    if arguments.original is not None:
        if manifest:
            refuse_another(Recheck(manifest, place, frame))
        source = source_of(arguments.original, arguments.separator, separator_in(manifest))
        original = source.read()
        key = names_in("key", arguments.key, frame.columns) or None
        for name in (names, known or (), key or ()):
            names_in("columns", list(name), original.columns)
        if manifest and not key:
            original = aligned(manifest, original)
        typed_ = read_kinds({}, vars(arguments))
        kinds = kinds_of(manifest["config"]) if manifest else {}
        kinds = kinds | keys_asked(named_kinds(typed_, frame.columns))
        codes = {*names}.difference(not_text(manifest) if manifest else names)
        codes |= {*read_as_text([*names, *(known or ())], kinds)}
        numbers = [name for name in (*names, *(known or ())) if name not in codes]
        before = table_of(original, numbers, source.format)
        after = table_of(frame, numbers, place.format)
        # Text has no types: categories are compared in those of the original.
        of = {n: t for n, t in before.schema.items() if n in names and t in OF_CATEGORIES}
        after = retyped(after, of)
        for part in key or ():
            # Types that cannot be compared are refused where rows are matched.
            with suppress(pl.exceptions.PolarsError):
                one, other = in_one_type(before.get_column(part), after.get_column(part))
                before, after = before.with_columns(one), after.with_columns(other)
        rows = not key and original.height == frame.height
        whose = original if rows else None
        if manifest and rows and manifest["config"]["method"] is not None:
            _refuse_exchanged(manifest, original, frame)
        entity = entity_in(manifest, original) if manifest else []
        if arguments.entity:
            everywhere = list(dict.fromkeys([*original.columns, *frame.columns]))
            entity = arguments.entity = names_in("entity", arguments.entity, everywhere)
            entity = entity if {*entity} <= {*original.columns} else []
        default = list(assessed(entity=bool(entity)))
        listed = default if arguments.metrics is None else split(arguments.metrics)
        # Published measures are compared with the manifest also where others are asked for.
        compared = _comparable(manifest, entity, bool(known)) if manifest else []
        wanted = list(dict.fromkeys([*listed, *compared]))
        asked = {"metrics": wanted, "known": known, "key": key, "entity": entity, **kinds}
        measured = assess(before, after, names, strata=strata, **asked)
        computed = measured.row(0, named=True)
        if manifest:
            if differ := other_measures(manifest, {name: computed[name] for name in compared}):
                raise originals.measures_differ(differ)
            whole = matched(before, after, tuple(key)) if key else after
            if (rows or key) and (moved := off_centre(manifest, before, whole)):
                raise originals.uncentred(moved)
        if key and arguments.entity and not {*arguments.entity} <= {*frame.columns}:
            keyed = frame.with_columns(after.get_column(name) for name in key)
            whose, aside = original, matched(before, keyed, tuple(key))
        result = {name: computed[name] for name in listed} | result
    result |= _models(arguments, place, aside, classes, manifest, whose)
    result["emptied"] = emptied(frame, names, strata)
    if manifest:
        result |= {name: manifest["rows"][name] for name in ("dropped", "suppressed")}
    return result


def _models(
    arguments: Namespace,
    place: Location,
    frame: pl.DataFrame,
    columns: tuple[Sequence[str], Sequence[str]],
    manifest: Manifest | None,
    original: pl.DataFrame | None,
) -> dict[str, Any]:
    """Count entities and confidential values in the classes, as far as they are known."""
    options = model_options(arguments)
    if manifest:
        options = options_of_manifest(manifest) | options
    whose = None
    if (names := options.get("entity")) and not {*names} <= {*frame.columns}:
        there = original is not None and {*names} <= {*original.columns}
        if not there and not arguments.entity:
            options = {n: v for n, v in options.items() if n not in ("entity", "entity_mode")}
        whose = original if there else None
    if not options:
        return {}
    return counted(place, frame, columns, 2, options, whose, bounds=False).figures()


OF_CATEGORIES = (pl.Boolean, pl.Categorical, pl.Enum)
"""Types of categories that text does not keep."""

PLAIN = ("loss", "il")
"""Measures that do not depend on what an intruder knows."""


def _comparable(manifest: Manifest, entity: Sequence[str], known: bool) -> list[str]:
    """Return measures of a manifest that must agree, those of persons only if they are its own."""
    own = {*entity} == {*manifest["roles"].get("entity", [])}
    default = assessed(entity=own and bool(entity))
    names = set(names_told(default, manifest["digits"])).difference(of_sample(manifest))
    wanted = PLAIN if known else default
    return [n for n in wanted if n in names and n in manifest["measures"]]


def _refuse_exchanged(manifest: Manifest, before: pl.DataFrame, after: pl.DataFrame) -> None:
    """Refuse an original of which a kept column differs from that of the release."""
    differ = exchanged(manifest, before, after)
    if differ:
        raise originals.rows_differ(differ)


LINKED = {
    "dld_low": "The least that dld of all records may be, in 95 of 100 samples.",
    "dld_high": "The most that dld of all records may be, in 95 of 100 samples.",
    "dld_sampled": "Records of which the nearest masked one was looked for.",
}

COUNTED = {
    "records": "Rows of the table.",
    "classes": "Distinct records on these columns.",
    "uniques": "Records alone in their class.",
    "emptied": "Records without any value in the masked columns and strata.",
    "dropped": "Records that were left out.",
    "suppressed": "Per cent of all records that were emptied or dropped.",
}
