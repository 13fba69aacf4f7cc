"""`microagg verify`: check a release against its manifest, or for k-anonymity."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from polars_microagg.analysis.anonymity import emptied, verify
from polars_microagg.cli.input_table import add_separator, source_of
from polars_microagg.cli.models import (
    add_columns,
    add_models,
    model_options,
    summaries,
)
from polars_microagg.cli.options import names_in, number
from polars_microagg.cli.output import plain, show, show_json, table
from polars_microagg.cli.parser import Parser, example
from polars_microagg.cli.settings import hash_key
from polars_microagg.cli.table_classes import CountedTable, counted
from polars_microagg.cli.two_releases import beside
from polars_microagg.errors import InvalidParameterError, usage
from polars_microagg.out_of_core.counts import own_folder
from polars_microagg.publishing.formats.files import Location
from polars_microagg.publishing.manifest.check import check
from polars_microagg.publishing.privacy_models import figures_of
from polars_microagg.wording import Setting

__all__ = ["EXAMPLES", "add", "run"]

EXAMPLES = example(
    "microagg verify masked.parquet",
    "microagg verify masked.parquet --manifest audit.json --original patients.parquet \\",
    "    --hash-key-file key.txt",
    "microagg verify masked.parquet --beside masked2025.parquet --key id",
    "microagg verify other.csv --columns age,income --k 5",
    "microagg verify other.csv --columns age,income --k 5 --entity patient --confidential dx --l 2",
)


def add(parser: Parser) -> None:
    """Describe the options."""
    parser.add_argument("input", metavar="OUT", help="the release")
    parser.add_argument("--manifest", metavar="JSON", help="OUT.manifest.json by default")
    parser.add_argument("--original", metavar="IN", help="take measures, give warnings again")
    add_separator(parser, "the original, or of OUT without a manifest")
    parser.add_argument("--hash-key-file", metavar="KEY", help="check the seal of the manifest")
    parser.add_argument("--columns", action="append", metavar="A,B", help="without a manifest")
    parser.add_argument("--strata", action="append", metavar="C", help="without a manifest")
    parser.add_argument("-k", "--k", metavar="K", help="without a manifest")
    parser.add_argument("--memory", metavar="2GB", help="most to take, for larger tables")
    parser.add_argument("--beside", metavar="OUT2", help="another release of the same people")
    parser.add_argument("--key", action="append", metavar="ID", help="matches the rows of both")
    part = parser.add_argument_group("what every class must satisfy besides k, without a manifest")
    add_columns(part)
    add_models(part)
    parser.add_argument("--json", action="store_true", help="JSON on standard output")


def run(arguments: Namespace) -> int:
    """Check a release; return 4 if something does not hold."""
    _refuse_alone(arguments)
    if arguments.columns is not None or arguments.k is not None or model_options(arguments):
        return _without(arguments, source_of(arguments.input, arguments.separator))
    place = Location.of(arguments.input)
    if arguments.separator is not None and arguments.original is None:
        raise usage.separator_of_the_original()
    record, key = (
        Path(arguments.manifest) if arguments.manifest else None,
        hash_key(arguments.hash_key_file),
    )
    findings = check(
        place,
        record,
        original=source_of(arguments.original, arguments.separator) if arguments.original else None,
        hash_key=key,
        memory=arguments.memory,
    )
    both = []
    if arguments.beside is not None:
        other = Location.of(arguments.beside)
        both.append(beside(place, other, record, arguments.key, findings, key))
    alone = all(finding.holds for finding in findings)
    findings += both
    holds = all(finding.holds for finding in findings)
    if arguments.json:
        checks = [
            {"check": f.what, "holds": f.holds, "checked": f.checked, "says": f.says}
            for f in findings
        ]
        show_json({"holds": holds, "checks": checks})
    else:
        show(table([(f.state, f.what, f.says) for f in findings]))
        verdict = "is what its manifest says" if alone else "is not what its manifest says"
        unproven = alone and not all(f.checked for f in findings)
        show(f"{plain(place)} {verdict}{', as far as it was checked' * unproven}.")
        for finding in both:
            keep = "keep" if finding.holds else "do not keep"
            far = ", as far as it was checked" * (not finding.checked)
            show(f"It and {plain(other)} together {keep} k for who has both{far}.")
    return 0 if holds else 4


def _refuse_alone(arguments: Namespace) -> None:
    """Refuse options of a check of two releases where there is one, or where they are not read whole."""
    if arguments.beside is None:
        if arguments.key:
            raise InvalidParameterError.needs(Setting("key", arguments.key), "beside")
        return
    way = "Leave it out: a check of two releases reads both whole, and what is masked in their manifests."
    for name in ("columns", "k", "memory"):
        if getattr(arguments, name) is not None:
            setting = Setting(name, getattr(arguments, name))
            raise InvalidParameterError.cannot("A check beside another release", setting, way)


def _without(arguments: Namespace, place: Location) -> int:
    """Check for k-anonymity without a manifest."""
    if arguments.columns is None or arguments.k is None or arguments.manifest:
        raise usage.columns_and_k()
    if arguments.memory is not None:
        return _large(arguments, place)
    frame = place.read()
    names = names_in("columns", arguments.columns, frame.columns)
    strata = names_in("strata", arguments.strata, frame.columns)
    options, found = model_options(arguments), dict[str, Any]()
    if not options:
        verify(frame, names, number(arguments.k), strata=strata or None)
    else:
        # With an entity k counts entities, so that a class of too few records is told of by those.
        recount = counted(place, frame, (names, strata), number(arguments.k), options)
        recount.hold()
        found = recount.figures()
    return _holds(arguments, place, emptied(frame, names, strata), found)


def _large(arguments: Namespace, place: Location) -> int:
    """Check a table that may be larger than memory, in batches."""
    asked = arguments.columns, arguments.strata
    options = model_options(arguments)
    with own_folder(None) as folder:
        told = number(arguments.k), options, arguments.memory
        found = CountedTable.of(place, folder, asked, *told)
        found.classes.hold(found.plan, found.columns, found.strata)
        figures = figures_of(found.classes) if options else {}
        return _holds(arguments, place, found.emptied(), figures)


def _holds(arguments: Namespace, place: Location, blank: int, found: dict[str, Any]) -> int:
    """Print that a table is anonymous, with the number of its empty records and what models found."""
    if arguments.json:
        show_json({"holds": True, "checks": [], "emptied": blank, **found})
    else:
        blanks = f"; {blank:,} record(s) are empty in all of them, a class like any other"
        show(f"{plain(place)} is {arguments.k}-anonymous on these columns{blanks * bool(blank)}.")
        if found:
            means = summaries()
            show(table((name, value, means[name]) for name, value in found.items()))
    return 0
