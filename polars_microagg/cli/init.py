"""`microagg init`: a configuration with a guess of the role of each column."""

from __future__ import annotations

import json
import re
import tomllib
from argparse import Namespace
from pathlib import Path

import polars as pl

from polars_microagg.cli.input_table import add_separator, source_of
from polars_microagg.cli.name_words import is_place
from polars_microagg.cli.options import number
from polars_microagg.cli.output import plain, show, tell
from polars_microagg.cli.parser import Parser, example
from polars_microagg.cli.role_guess import DELICATE, FEW_VALUES, GROUPS, as_prefixes, guess
from polars_microagg.cli.settings import apart
from polars_microagg.core.model import Model, models
from polars_microagg.core.options import group_size
from polars_microagg.core.registry import Range
from polars_microagg.out_of_core.counts import own_folder
from polars_microagg.publishing.atomic import free, put
from polars_microagg.publishing.formats.batches import BATCH, frames_of, set_down
from polars_microagg.publishing.formats.files import Location
from polars_microagg.publishing.formats.register import formats
from polars_microagg.publishing.formats.source_files import source_files
from polars_microagg.publishing.formats.text_types import ZEROS, quantities
from polars_microagg.publishing.raw_table import raw

__all__ = ["EXAMPLES", "add", "configuration", "guess", "run", "toml_string"]

EXAMPLES = example(
    "microagg init patients.parquet -o job.toml",
    "microagg protect patients.parquet -o masked.parquet --config job.toml --dry-run",
)


def add(parser: Parser) -> None:
    """Describe the options."""
    parser.add_argument("input", metavar="IN", help="the table to protect, as for protect")
    parser.add_argument("-o", "--output", metavar="TOML", help="standard output by default")
    parser.add_argument("-k", "--k", default="5", metavar="K", help="default 5")
    add_separator(parser)
    parser.add_argument("--overwrite", action="store_true", help="replace TOML")


def run(arguments: Namespace) -> int:
    """Write the configuration."""
    k = group_size(number(arguments.k))
    place = source_of(arguments.input, arguments.separator)
    frame, typeless = _table(place)
    text = configuration(frame, k, place.separator, typeless=typeless)
    if arguments.output is None:
        show(text, None)
        return 0
    path = Path(arguments.output)
    apart({"IN": place, "-o": Location(path, "")})
    free(arguments.overwrite, path)
    put(path, text.encode())
    written = tomllib.loads(text)
    unanswered = frame.width - sum(len(written[role]) for role in ROLES)
    about = f" It asks about {unanswered} column(s), and protect refuses it until you answer."
    tell(
        f"Wrote {path}.{about * bool(unanswered)} Check the role of every column before you use it."
    )
    return 0


def _table(place: Location) -> tuple[pl.DataFrame, bool]:
    """Read a table, or the files of one, and whether their format has no types."""
    files = source_files(place)
    entry = formats().get(files[0].place.format)
    if files[0].place == place:
        frame = raw(place)
    else:
        with own_folder(None) as folder:
            source = set_down(place, folder, batch=BATCH, raw=True)
            frame = pl.concat(frames_of(source, BATCH), rechunk=True)
    return frame, bool(entry and entry.typed)


def configuration(
    frame: pl.DataFrame, k: int, separator: str = "", *, typeless: bool = False
) -> str:
    """Write the configuration of a table, without any of its values.

    Of a format that is `typeless`, text may be numbers, dates and times.
    """
    # Codes such as 007 are no numbers; 1e3 may be one.
    read = quantities(frame, frame.columns, ZEROS) if typeless else frame
    guesses = {name: guess(read, name, k) for name in read.columns}
    types = read.schema
    room = _room(read, [name for name in guesses if guesses[name][0] == "strata"], k)
    for name in set(guesses) - room:
        if guesses[name][0] == "strata":
            why = "would make some strata too small together with those listed"
            guesses[name] = ("ask", f"{why}. Drop it, keep it, or take it in place of one of them?")
    persons = [name for name, (role, _) in guesses.items() if role == "entity"]
    if len(persons) > 1:
        for name in persons:
            why = "looks like the id of a person, as another column does"
            guesses[name] = ("ask", f"{why}. Drop it, or make it the entity?")
    lines = [
        "# Settings of microagg protect; the keys are those of its options.",
        "# Roles are guesses: every column must be in one list, and only you know what it means.",
        "",
    ]
    for role, what in ROLES.items():
        lines += [f"# {what}", f"{role} = ["]
        for name, (guessed, why) in guesses.items():
            if guessed == role or (guessed, role) == ("nominal", "columns"):
                lines.append(f"    {toml_string(name)},  # {plain(types[name])}; {why}")
            elif role == "confidential" and why.startswith(OFFERED):
                lines.append(f"    # {toml_string(name)},  # {plain(types[name])}; yours to decide")
        lines.append("]")
    lines += _kinds(guesses) + _questions(guesses)
    if separator:
        lines += [
            "",
            "# What is between two cells of the table.",
            f"separator = {toml_string(separator)}",
        ]
    lines += [
        "",
        "# Smallest number of records, or of entities if there is one, that may share a value.",
        f"k = {k}",
        "# microagg methods lists them; microagg compare shows which loses least here.",
        'method = "mdav"',
        '# Publish nothing unless these hold, for instance also "dld<=10" or "loss<=15".',
        f'require = ["k={k}"]',
        *_nulls(frame, guesses),
        '# small_strata = "drop"     # leave out strata below k; "null" empties them',
    ]
    if any(why.startswith(OFFERED) for _, why in guesses.values()):
        lines += ["# Bounds on what a group tells of its members, for each confidential column:"]
        lines += [_bound(entry) for entry in models().values() if entry.of == "confidential"]
    lines += _trees(frame, guesses)
    return "\n".join(lines) + "\n"


def _kinds(guesses: dict[str, tuple[str, str]]) -> list[str]:
    """Name the masked columns of categories; which of them have an order, nobody can see."""
    nominal = [toml_string(name) for name, (role, _) in guesses.items() if role == "nominal"]
    if not nominal:
        return []
    return [
        "# Masked as categories. Those with an order go in ordinal instead, if they are numbers or an Enum.",
        f"nominal = [{', '.join(nominal)}]",
        "# ordinal = []",
    ]


def _nulls(frame: pl.DataFrame, guesses: dict[str, tuple[str, str]]) -> list[str]:
    """Name columns with nulls that protect masks or asks about, and the ways to mask them."""
    counts = {
        name: frame.get_column(name).null_count()
        for name, (role, _) in guesses.items()
        if role in ("columns", "nominal", "ask")
    }
    found = ", ".join(f"{toml_string(name)} ({n:,})" for name, n in counts.items() if n)
    about = f"# These columns have nulls: {found}. If you mask them, protect needs one of:"
    return [
        *([about] if found else []),
        '# nulls = "impute"          # fill them with the centre of their group',
        '# nulls = "pattern"         # keep them, and group records that lack the same columns',
    ]


def _trees(frame: pl.DataFrame, guesses: dict[str, tuple[str, str]]) -> list[str]:
    """Suggest a tree for each code of a place, in comments at the end, as it is a table of TOML."""
    found = [
        f'# {toml_string(name)} = "prefix:{",".join(map(str, [codes[0], *codes[1]]))}"'
        for name, (role, _) in guesses.items()
        if role == "ask" and is_place(name) and (codes := as_prefixes(frame.get_column(name)))
    ]
    about = (
        "# Codes that are masked may give way to their first characters, or to classes of a file:"
    )
    return ["", about, "# [taxonomy]", *found] if found else []


def _bound(entry: Model) -> str:
    """Suggest a bound that asks for a little, in a comment."""
    span = entry.bound.range or Range(0, 1)
    value = span.low + 1 if entry.at_least else (span.low + span.high) / 2
    side = "at least" if entry.at_least else "at most"
    return f"# {entry.name} = {value:g}".ljust(28) + f"# {entry.what}: {side} this"


def _questions(guesses: dict[str, tuple[str, str]]) -> list[str]:
    """List the columns in doubt in comments, so that none of them has a role."""
    lines = [
        f"# {name if NAME.fullmatch(name) else toml_string(name)}: {why}"
        for name, (role, why) in guesses.items()
        if role == "ask"
    ]
    ask = "# These have no role yet, and protect refuses the file: put each into one of the lists."
    return ["", ask, *lines] if lines else []


OFFERED = (DELICATE, FEW_VALUES)
"""Advice on columns that may be confidential."""

NAME = re.compile(r"[A-Za-z0-9_-]+")
"""Names that TOML takes without quotes."""

ROLES = {
    "columns": "Masked together: what others could know of a person.",
    "strata": "Kept as they are; no group mixes their values.",
    "entity": "Whose a row is: not released, and k counts these instead of rows.",
    "confidential": "Released as they are: what nobody should learn of a person, with a bound below.",
    "keep": "Released as they are: k does not protect them.",
    "drop": "Not released.",
}


def _room(frame: pl.DataFrame, names: list[str], k: int) -> set[str]:
    """Return the strata, in order, that leave every combination enough records for some groups."""
    taken: list[str] = []
    for name in names:
        columns = [frame.get_column(n).alias(str(i)) for i, n in enumerate([*taken, name])]
        sizes = pl.DataFrame(columns).group_by(pl.all()).len("size")["size"]
        if min(sizes.to_list(), default=0) >= GROUPS * k:
            taken.append(name)
    return set(taken) | (set(frame.columns) - set(names))


def toml_string(name: str) -> str:
    """Write any text as TOML does."""
    text = json.dumps(name, ensure_ascii=False)
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in text)
