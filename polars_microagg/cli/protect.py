"""`microagg protect`: from a raw table to a release that can be defended."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import polars as pl

from polars_microagg.analysis.anonymity import classes
from polars_microagg.cli import dry_run
from polars_microagg.cli.exit_codes import PUBLISHED, code_of
from polars_microagg.cli.input_table import add_separator, raw, source_of, typed_columns
from polars_microagg.cli.options import add_choices, add_roles, names_in, own_options, typed_as
from polars_microagg.cli.output import sent, show, show_json, tell
from polars_microagg.cli.parser import Parser, example
from polars_microagg.cli.progress_bar import Bar
from polars_microagg.cli.report_page import WITHOUT, draws, page
from polars_microagg.cli.settings import Roles, apart, hash_key, roles, settings
from polars_microagg.core.options import COMMON
from polars_microagg.core.registry import methods
from polars_microagg.errors import InvalidParameterError, MicroaggError, OutputError, usage
from polars_microagg.progress import progress
from polars_microagg.publishing.atomic import checked, free, said, waiting, writable
from polars_microagg.publishing.formats.files import Location
from polars_microagg.publishing.manifest.model import Manifest, Rows
from polars_microagg.publishing.manifest.precision import FEWEST
from polars_microagg.publishing.publish import ReleaseRequest, release
from polars_microagg.wording import COMMAND_LINE

__all__ = ["EXAMPLES", "add", "job", "protect", "publish", "run"]

EXAMPLES = example(
    "microagg protect patients.parquet -o masked.parquet --columns age,income --k 5 \\",
    "    --strata region --drop name --require 'dld<=10' --require 'loss<=15'",
    "microagg protect patients.csv -o masked.csv --config job.toml --overwrite",
    "microagg protect register.duckdb::people -o - --config job.toml > masked.arrows",
)


def add(parser: Parser) -> None:
    """Describe the options; those of the methods come from the register."""
    parser.usage = "microagg protect IN -o OUT --columns A,B --k K [options]"
    parser.add_argument("input", nargs="?", metavar="IN", help="a file, file.duckdb::table, or -")
    parser.add_argument("-o", "--output", metavar="OUT", help="a file, file.duckdb::table, or -")
    parser.add_argument("--config", metavar="TOML", help="settings; microagg init writes one")
    add_separator(parser)
    add_roles(parser, "Every column has one; commas between names.")
    part = parser.add_argument_group("masking")
    part.add_argument("-k", "--k", metavar="K", help="smallest group size, at least 2")
    part.add_argument("--method", metavar="NAME", help="mdav by default; microagg methods")
    add_choices(part)
    part.add_argument("--seed", metavar="N", help=f"default {COMMON['seed']}")
    part.add_argument("--order-by", action="append", metavar="F", help="fixes the order of records")
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
    part.add_argument("--dry-run", action="store_true", help="say what would be done, and stop")
    part.add_argument("--json", action="store_true", help="the manifest on standard output")


def run(given: Namespace) -> int:
    """Do it, or say what would be done."""
    told = protect(given)
    problems = told["problems"] if given.dry_run else []
    if given.json and given.dry_run:
        said = [{"error": type(error).__name__, "says": str(error)} for error in problems]
        show_json({**told, "problems": said})
    elif given.json:
        _manifest(told)
    return code_of(type(problems[0])) if problems else 0


def _manifest(told: Mapping[str, Any]) -> None:
    """Show the manifest; what is published stays so, whether anybody reads it or not."""
    try:
        show_json(told)
        sent()
    except (BrokenPipeError, OutputError):
        why = "the manifest could not be written to standard output; it is in its file."
        raise OutputError.after_publishing(told["output"]["name"], why) from None


def protect(given: Namespace) -> Mapping[str, Any]:
    """Do it; the manifest, or of a dry run what would be done."""
    asked = settings(given) | {"config": given.config}
    for name, place in (("input", "IN"), ("output", "-o OUT")):
        if not asked.get(name) and not (name == "output" and given.dry_run):
            raise usage.needed("protect", place)
    source = source_of(asked["input"], asked.get("separator"))
    target = Location.to(asked.get("output", "-"))
    if given.json and target.piped and not given.dry_run:
        raise usage.both_to_standard_output()
    _apart(source, target, asked)
    key = hash_key(asked.get("hash_key_file"))
    job(asked, Roles([["a"]], [], [], []), key)
    if not target.piped:
        checked(target.path)
    if asked.get("report"):
        writable(Path(asked["report"]))
        free(bool(asked.get("overwrite")), Path(asked["report"]))
    frame = raw(source)
    role = roles(asked, frame.columns)
    frame = typed_columns(source, frame, role.mask)
    asked["order_by"] = names_in("order-by", asked.get("order_by"), frame.columns) or None
    made = job(asked, role, key)
    if given.dry_run:
        manifest = Path(asked["manifest"]) if asked.get("manifest") else None
        found = dry_run.preview(made, frame, role, target, manifest, bool(asked.get("overwrite")))
        if not given.json:
            _show(found, sys.stderr if asked.get("output") == "-" else None)
        return found
    return publish(made, frame, role, source, target, asked)


def job(asked: dict[str, Any], role: Roles, key: bytes | None = None) -> ReleaseRequest:
    """Check all that can be checked before the table is read."""
    known = set().union(*(entry.options for entry in methods().values())) | set(COMMON)
    options = {name: value for name, value in asked.items() if name in known}
    if role.stratum:
        options["strata"] = role.stratum
    if asked.get("order_by"):
        options["order_by"] = asked["order_by"]
    if asked.get("k") is None:
        raise InvalidParameterError.missing_k("protect")
    blocks = role.blocks if len(role.blocks) > 1 else role.mask
    _refuse_foreign(asked.get("method", "mdav"), options)
    return ReleaseRequest.of(
        blocks,
        asked["k"],
        asked.get("method", "mdav"),
        options,
        require=asked.get("require", ()),
        dropped=role.drop,
        hash_key=key,
    )


def _refuse_foreign(method: str, options: Iterable[str]) -> None:
    """Say whose option it is that the method does not have."""
    if method not in methods():
        return
    for name in set(options) & set(own_options()) - set(methods()[method].options):
        raise usage.foreign_option(method, name, list(own_options()[name].found))


def _apart(source: Location, target: Location, asked: dict[str, Any]) -> None:
    """Refuse a call in which one file would take the place of another."""
    files = {"IN": source, "OUT": target}
    named = {"--manifest": "manifest", "--report": "report", "--hash-key-file": "hash_key_file"}
    files |= {flag: Location(Path(asked[key]), "") for flag, key in named.items() if asked.get(key)}
    if target.record is not None:
        files.setdefault("--manifest", Location(target.record, ""))
    if asked.get("config"):
        files["--config"] = Location(Path(asked["config"]), "")
    apart(files)


def _show(found: dict[str, Any], file: Any) -> None:
    show(dry_run.said(found), file)
    for sentence in found["warnings"]:
        tell(f"Warning: {COMMAND_LINE.write(sentence)}")
    for problem in found["problems"]:
        tell(problem.told(COMMAND_LINE))


def publish(
    made: ReleaseRequest,
    frame: pl.DataFrame,
    role: Roles,
    source: Location,
    target: Location,
    asked: dict[str, Any],
) -> Manifest:
    """Mask and publish, with a bar, a report and a last line."""
    bar = Bar(_weights(frame, role.stratum))
    manifest = Path(asked["manifest"]) if asked.get("manifest") else None
    with ExitStack() as held:
        held.callback(bar.clear)
        finish: list[Any] = []
        warned: list[str] = []

        def before(told: Manifest, masked: pl.DataFrame) -> None:
            if asked.get("report"):
                html = page(frame, masked, role.blocks, made.k, role.stratum, told)
                finish.append(held.enter_context(waiting(Path(asked["report"]), html)))

        held.enter_context(progress(bar if bar.on else None))
        told, _ = release(
            made,
            frame,
            target,
            source=source,
            record=manifest,
            overwrite=bool(asked.get("overwrite")),
            stages=bar.stage,
            warn=warned.append,
            before=before,
        )
        try:
            _finish(told, target, finish, warned, asked)
        except BaseException as error:
            error.add_note(f"{target}{PUBLISHED}")
            raise
    return told


def _finish(
    told: Manifest,
    target: Location,
    finish: list[Any],
    warned: list[str],
    asked: dict[str, Any],
) -> None:
    """Put the report in place and say what was published, which is so whatever fails here."""
    try:
        for rename in finish:
            rename()
    except OSError as error:
        why = f"its report could not be put in place: {said(error)}"
        raise OutputError.after_publishing(target, why) from None
    for sentence in warned:
        tell(f"Warning: {COMMAND_LINE.write(sentence)}")
    if asked.get("report") and not draws():
        tell(WITHOUT)
    manifest = Path(asked["manifest"]) if asked.get("manifest") else target.record
    tell(_last_line(told, target, manifest))


def _weights(frame: pl.DataFrame, strata: Sequence[str]) -> list[float]:
    try:
        return [float(n) for n in classes(frame, strata)["size"]] if strata else [1.0]
    except MicroaggError:
        return [1.0]


def _suppressed(rows: Rows) -> list[str]:
    """How many rows were emptied and dropped, and what share of all, if any were."""
    return [
        f"{rows[how]:,} {how} ({100 * rows[how] / rows['in']:.2g} %)"
        for how in ("emptied", "dropped")
        if rows[how]
    ]


def _last_line(told: Manifest, target: Location, manifest: Path | None) -> str:
    found, k = told["measures"], told["k"]
    parts = [f"{told['rows']['out']:,} records", f"k={k['found']}", *_suppressed(told["rows"])]
    cells = told["cells"]
    some = cells["compared"] is not None and cells["compared"] < cells["all"]
    over = f" over {cells['compared']:,} of {cells['all']:,} cells" if some else ""
    parts += [
        f"{name} {found[name]:g} %{over * (name == 'loss')}"
        for name in ("loss", "dld")
        if isinstance(found.get(name), float)
    ]
    if not told["digits"]:
        parts.append(f"no loss told of fewer than {FEWEST} records")
    where = "" if manifest is None else f" Its manifest is {manifest}."
    return f"Published {target}: {', '.join(parts)}.{where}"
