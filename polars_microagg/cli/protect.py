"""`microagg protect`: from a raw table to a checked release."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from polars_microagg.cli import dry_run
from polars_microagg.cli.exit_codes import PUBLISHED, code_of
from polars_microagg.cli.input_table import add_separator, source_of
from polars_microagg.cli.kinds import add_kinds, named_kinds
from polars_microagg.cli.last_line import last_line
from polars_microagg.cli.models import add_models
from polars_microagg.cli.options import add_choices, add_roles, names_in, own_options, typed_as
from polars_microagg.cli.output import sent, show, show_json, tell
from polars_microagg.cli.parser import Parser, example
from polars_microagg.cli.progress_bar import Bar, add_progress, way_shown
from polars_microagg.cli.settings import apart, hash_key, roles, settings
from polars_microagg.core.options import COMMON
from polars_microagg.core.registry import methods
from polars_microagg.errors import InvalidParameterError, OutputError, usage
from polars_microagg.progress import progress
from polars_microagg.publishing.any_size import Door, Target, preview_any, release_any
from polars_microagg.publishing.atomic import checked
from polars_microagg.publishing.column_roles import ColumnRoles
from polars_microagg.publishing.formats.batches import Typed
from polars_microagg.publishing.formats.files import Location
from polars_microagg.publishing.manifest.model import Manifest
from polars_microagg.publishing.memory import Memory
from polars_microagg.publishing.raw_table import raw, texts_of, typed_columns, typed_values
from polars_microagg.publishing.release import Hooks
from polars_microagg.publishing.request import ReleaseRequest
from polars_microagg.publishing.sources import PlaceSource
from polars_microagg.report.release_page import ReportFile
from polars_microagg.wording import COMMAND_LINE

__all__ = ["EXAMPLES", "add", "protect", "run"]

EXAMPLES = example(
    "microagg protect patients.parquet -o masked.parquet --columns age,income --k 5 \\",
    "    --strata region --drop name --require 'dld<=10' --require 'loss<=15'",
    "microagg protect patients.csv -o masked.csv --config job.toml --overwrite",
    "microagg protect 'visits/*.parquet' -o masked.parquet --config job.toml --memory 4GB --dry-run",
    "microagg protect register.duckdb::people -o - --config job.toml > masked.arrows",
)


KINDS = "Text is nominal, and has categories; numbers and ordered text need to be named."
"""Heading of the options of kinds."""


def add(parser: Parser) -> None:
    """Describe the options; those of the methods come from the register."""
    parser.usage = "microagg protect IN -o OUT --columns A,B --k K [options]"
    parser.add_argument(
        "input", nargs="?", metavar="IN", help="a file, folder, pattern, file.duckdb::table, or -"
    )
    parser.add_argument("-o", "--output", metavar="OUT", help="a file, file.duckdb::table, or -")
    parser.add_argument("--config", metavar="TOML", help="settings; microagg init writes one")
    add_separator(parser)
    add_roles(parser, "Every column has one; commas between names.")
    add_models(parser.add_argument_group("what every group must satisfy besides k"), caps=True)
    part = parser.add_argument_group("masking")
    part.add_argument("-k", "--k", metavar="K", help="smallest group size, at least 2")
    part.add_argument("--method", metavar="NAME", help="mdav by default; microagg methods")
    add_choices(part)
    part.add_argument("--seed", metavar="N", help=f"default {COMMON['seed']}")
    part.add_argument("--order-by", action="append", metavar="F", help="fixes the order of records")
    add_kinds(parser.add_argument_group("kinds of masked columns", KINDS))
    part = parser.add_argument_group("options of single methods")
    for name, flag in own_options().items():
        if flag.switch:
            part.add_argument(typed_as(name), action="store_const", const="true", help=flag.help)
            part.add_argument(
                typed_as(f"no-{name}"), dest=name, action="store_const", const="false", help="off"
            )
        else:
            part.add_argument(typed_as(name), metavar="VALUE", help=flag.help.replace("%", "%%"))
    part = parser.add_argument_group("publishing")
    part.add_argument("--require", action="append", metavar="'dld<=10'", help="or publish nothing")
    part.add_argument("--manifest", metavar="JSON", help="OUT.manifest.json by default")
    part.add_argument("--report", metavar="HTML", help="write the report as well")
    part.add_argument("--hash-key-file", metavar="KEY", help="hash the input, seal the manifest")
    part.add_argument("--overwrite", action="store_const", const=True, help="replace OUT")
    add_progress(part)
    part.add_argument("--memory", metavar="2GB", help="most to take; larger tables go by leaves")
    part.add_argument("--dry-run", action="store_true", help="say what would be done, and stop")
    part.add_argument("--json", action="store_true", help="the manifest on standard output")


def run(arguments: Namespace) -> int:
    """Publish the table, or print what would be done."""
    result = protect(arguments)
    problems = result["problems"] if arguments.dry_run else []
    if arguments.json and arguments.dry_run:
        said = [{"error": type(error).__name__, "says": str(error)} for error in problems]
        show_json({**result, "problems": said})
    elif arguments.json:
        _manifest(result)
    return code_of(type(problems[0])) if problems else 0


def _manifest(manifest: Mapping[str, Any]) -> None:
    """Show the manifest; what is published stays so, whether anybody reads it or not."""
    try:
        show_json(manifest)
        sent()
    except (BrokenPipeError, OutputError):
        why = "the manifest could not be written to standard output; it is in its file."
        raise OutputError.after_publishing(manifest["output"]["name"], why) from None


def protect(arguments: Namespace) -> Mapping[str, Any]:
    """Publish the table; return the manifest, or what a dry run found."""
    beside = {"config": arguments.config, "progress": way_shown(arguments.progress)}
    options = settings(arguments) | beside
    for name, place in (("input", "IN"), ("output", "-o OUT")):
        if not options.get(name) and not (name == "output" and arguments.dry_run):
            raise usage.needed("protect", place)
    source = source_of(options["input"], arguments.separator, options.get("separator"))
    target = Location.to(options.get("output", "-"))
    if arguments.json and target.piped and not arguments.dry_run:
        raise usage.both_to_standard_output()
    _apart(source, target, options)
    request = _request(options)
    if not target.piped:
        checked(target.path)
    path, report = _path(options, "report"), None
    if path:
        report = ReportFile(path, overwrite=bool(options.get("overwrite")))
    call = _Call(request, source, options)
    if arguments.dry_run:
        return _preview(call, target, arguments)
    return _publish(call, target, options, report)


def _preview(call: _Call, target: Location, arguments: Namespace) -> Mapping[str, Any]:
    """Print what would be done."""
    record, overwrite = _path(call.options, "manifest"), bool(call.options.get("overwrite"))
    door = Door(PlaceSource(call.source), call.whole, call.named, call.texts)
    memory = Memory.of(call.options.get("memory"))
    result = preview_any(door, Target(target, record, overwrite), memory)
    if not arguments.json:
        _show(result, sys.stderr if call.options.get("output") == "-" else None)
    return result


@dataclass(frozen=True)
class _Call:
    """A request, checked without the table, with the place of the table and the settings."""

    request: ReleaseRequest
    source: Location
    options: Mapping[str, Any]

    def roles(self, names: Sequence[str]) -> tuple[ColumnRoles, dict[str, Any]]:
        """Return the roles and kinds of the columns of a table."""
        kinds = named_kinds(self.options, names)
        kinds.pop("column_weights", None)
        return roles(self.options, names), kinds

    def texts(self, names: Sequence[str]) -> Typed:
        """Return the columns whose text is read as numbers."""
        role, kinds = self.roles(names)
        return texts_of(role.mask, role.confidential, kinds)

    def named(self, schema: Iterable[str]) -> tuple[ReleaseRequest, ColumnRoles]:
        """Name the columns of a table in the request."""
        names = list(schema)
        role, kinds = self.roles(names)
        order_by = names_in("order-by", self.options.get("order_by"), names)
        return self.request.on(role, order_by, kinds), role

    def whole(self, read: pl.DataFrame | None) -> tuple[ReleaseRequest, ColumnRoles, pl.DataFrame]:
        """Read the table into memory, unless it is there."""
        frame = raw(self.source) if read is None else read
        role, kinds = self.roles(frame.columns)
        frame = typed_columns(self.source, frame, role.mask, kinds)
        frame = typed_values(self.source, frame, role.confidential)
        return (*self.named(frame.columns), frame)


def _request(options: Mapping[str, Any]) -> ReleaseRequest:
    """Check all that can be checked before the table is read."""
    key = hash_key(options.get("hash_key_file"))
    if options.get("k") is None:
        raise InvalidParameterError.missing_k("protect")
    method = options.get("method", "mdav")
    own = {n: v for n, v in options.items() if n in COMMON or n in own_options()}
    _refuse_foreign(method, own)
    require = options.get("require", ())
    return ReleaseRequest.of(None, options["k"], method, own, require=require, hash_key=key)


def _path(options: Mapping[str, Any], name: str) -> Path | None:
    return Path(options[name]) if options.get(name) else None


def _refuse_foreign(method: str, options: Iterable[str]) -> None:
    """Refuse options that the method does not have."""
    if method not in methods():
        return
    for name in set(options) & set(own_options()) - set(methods()[method].options):
        raise usage.foreign_option(method, name, list(own_options()[name].by_method))


def _apart(source: Location, target: Location, options: dict[str, Any]) -> None:
    """Refuse a call in which one file would take the place of another."""
    files = {"IN": source, "OUT": target}
    named = {"--manifest": "manifest", "--report": "report", "--hash-key-file": "hash_key_file"}
    files |= {
        flag: Location(Path(options[key]), "") for flag, key in named.items() if options.get(key)
    }
    if target.record is not None:
        files.setdefault("--manifest", Location(target.record, ""))
    if options.get("config"):
        files["--config"] = Location(Path(options["config"]), "")
    apart(files)


def _show(result: dict[str, Any], file: Any) -> None:
    show(dry_run.preview_text(result), file)
    for sentence in result["warnings"]:
        tell(f"Warning: {COMMAND_LINE.write(sentence)}")
    for problem in result["problems"]:
        tell(problem.told(COMMAND_LINE))


def _publish(
    call: _Call, target: Location, options: dict[str, Any], report: ReportFile | None
) -> Manifest:
    """Release a table, with a bar, a report and a last line."""
    bar = Bar([1.0], how=options.get("progress"))

    def whole(there: pl.DataFrame | None) -> tuple[ReleaseRequest, ColumnRoles, pl.DataFrame]:
        request, role, frame = call.whole(there)
        request.refuse_unnamed_mode(role)
        return request, role, frame

    def named(schema: Iterable[str]) -> tuple[ReleaseRequest, ColumnRoles]:
        request, role = call.named(schema)
        request.refuse_unnamed_mode(role)
        return request, role

    def seen(request: ReleaseRequest, role: ColumnRoles, frame: pl.DataFrame) -> None:
        bar.weigh([frame.height] * len(role.blocks))
        if report:
            report.seen(request, role, frame)

    def say(why: str) -> None:
        bar.clear()
        tell(f"{why} It is masked by leaves, out of core.")

    with ExitStack() as stack:
        stack.callback(bar.clear)
        hooks = Hooks(bar.stage, report.ready) if report else Hooks(bar.stage)
        if report:
            stack.enter_context(report)
        stack.enter_context(progress(bar if bar.on else None))
        manifest, warnings = release_any(
            Door(
                PlaceSource(call.source),
                whole,
                named,
                call.texts,
                say,
                seen,
                lambda n: bar.weigh([n]),
            ),
            Target(target, _path(options, "manifest"), bool(options.get("overwrite"))),
            Memory.of(options.get("memory")),
            hashed=call.source,
            hooks=hooks,
        )
        bar.clear()
        try:
            if report:
                report.publish(target)
            _finish(manifest, target, warnings, options, report.warning if report else None)
        except BaseException as error:
            error.add_note(f"{target}{PUBLISHED}")
            raise
    return manifest


def _finish(
    manifest: Manifest,
    target: Location,
    warnings: Iterable[str],
    options: dict[str, Any],
    without: str | None,
) -> None:
    """Print what was published, which is so whatever fails here."""
    for sentence in warnings:
        tell(f"Warning: {COMMAND_LINE.write(sentence)}")
    if without:
        tell(without)
    tell(last_line(manifest, target, _path(options, "manifest") or target.record))
