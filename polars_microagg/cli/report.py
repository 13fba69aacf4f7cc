"""`microagg report`: the page of a release, for those who decide on it."""

from __future__ import annotations

from argparse import Namespace
from functools import partial
from pathlib import Path
from typing import Any

from polars_microagg.cli.input_table import add_separator, source_of
from polars_microagg.cli.options import names_in, number
from polars_microagg.cli.output import tell
from polars_microagg.cli.parser import Parser, example
from polars_microagg.cli.report_map import release_map
from polars_microagg.cli.settings import apart
from polars_microagg.errors import originals, usage
from polars_microagg.publishing.atomic import free, put
from polars_microagg.publishing.formats.files import Location
from polars_microagg.publishing.large.tables import on_disk
from polars_microagg.publishing.manifest.check import check
from polars_microagg.publishing.manifest.compare_original import in_types
from polars_microagg.publishing.manifest.model import Manifest
from polars_microagg.publishing.manifest.record import read_manifest, separator_in, separator_of
from polars_microagg.report.release_page import WITHOUT, large_page, page, require_templates
from polars_microagg.report.svg import drawable

__all__ = ["EXAMPLES", "add", "run"]

EXAMPLES = example(
    "microagg report masked.parquet --original patients.parquet -o report.html",
    "microagg report masked.csv --original patients.csv --manifest audit.json -o report.html",
)


def add(parser: Parser) -> None:
    """Describe the options."""
    parser.add_argument("input", metavar="OUT", help="the release")
    parser.add_argument("--original", metavar="IN", help="the table before")
    add_separator(parser, "the original")
    parser.add_argument("--manifest", metavar="JSON", help="OUT.manifest.json by default")
    parser.add_argument(
        "--seconds", default="20", metavar="20", help="for the map of methods and ks; 0 for none"
    )
    parser.add_argument("--memory", metavar="2GB", help="most to take, for larger tables")
    parser.add_argument("-o", "--output", metavar="HTML", help="OUT.report.html by default")
    parser.add_argument("--overwrite", action="store_true", help="replace HTML")


def run(arguments: Namespace) -> int:
    """Check the release against its manifest, and write the page."""
    place = Location.of(arguments.input)
    if not arguments.original:
        raise usage.no_original()
    require_templates()
    record = Path(arguments.manifest) if arguments.manifest else place.record
    if record is None:
        raise usage.report_without_manifest()
    path = Path(arguments.output or f"{place.path}.report.html")
    files = {"the release": place, "the manifest": Location(record, ""), "-o": Location(path, "")}
    source = source_of(arguments.original, arguments.separator)
    apart(files | {"--original": source})
    free(arguments.overwrite, path)
    manifest = read_manifest(record)
    source = source.separated_by(separator_in(manifest))
    place = place.separated_by(separator_of(manifest))
    most = arguments.memory
    if wrong := [f for f in check(place, record, memory=most) if not f.holds]:
        raise originals.not_as_the_manifest_says(wrong[0].says)
    if wrong := [f for f in check(place, record, original=source, memory=most) if not f.holds]:
        raise originals.other_original(source, wrong[0].says)
    make = _whole if most is None else partial(_in_batches, memory=most)
    put(path, make(place, source, manifest, number(arguments.seconds)))
    if not drawable():
        tell(WITHOUT)
    tell(f"Wrote {path}.")
    return 0


def _whole(place: Location, source: Location, manifest: Manifest, seconds: Any) -> bytes:
    """Write the page of tables that are in memory."""
    masked, original = place.read(), source.read()
    blocks, strata = manifest["config"]["columns"], manifest["roles"]["stratum"]
    names = [name for block in blocks for name in block]
    names_in("original", [*names, *strata], original.columns)
    before, after = in_types(manifest, place.format, original, masked)
    compared = release_map(before, manifest, seconds)
    return page(before, after, blocks, manifest["k"]["asked"], strata, manifest, compared)


def _in_batches(
    place: Location, source: Location, manifest: Manifest, seconds: Any, *, memory: object
) -> bytes:
    """Write the page of tables on disk: all records are counted, charts and the map are of a sample."""
    with on_disk(manifest, place, source, memory) as tables:
        compared = release_map(tables.survey.before, manifest, seconds)
        classes = tables.counted(manifest["config"]["columns"])
        return large_page(tables.survey, classes, manifest, compared)
