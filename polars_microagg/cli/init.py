"""`microagg init`: a configuration with a guess of the role of each column."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path

import polars as pl

from polars_microagg.cli.options import number
from polars_microagg.cli.parser import Parser, example
from polars_microagg.cli.say import plain, show, tell
from polars_microagg.cli.settings import apart
from polars_microagg.cli.source import add_separator, raw, source_of
from polars_microagg.frames.columns import can_mask
from polars_microagg.parameters import group_size
from polars_microagg.release.csv import typed
from polars_microagg.release.files import Place
from polars_microagg.release.swap import free, put

__all__ = ["EXAMPLES", "add", "configuration", "guess", "quoted", "run"]

EXAMPLES = example(
    "microagg init patients.parquet -o job.toml",
    "microagg protect patients.parquet -o masked.parquet --config job.toml --dry-run",
)

MANY = 0.9
"""Share of distinct values from which a column looks like the name or number of a person."""

FEW = 20
"""Distinct values up to which a column looks like a class."""

GROUPS = 3
"""Groups that every stratum should have room for."""


def add(parser: Parser) -> None:
    """Describe the options."""
    parser.add_argument("input", metavar="IN", help="the table to protect")
    parser.add_argument("-o", "--output", metavar="TOML", help="standard output by default")
    parser.add_argument("-k", "--k", default="5", metavar="K", help="default 5")
    add_separator(parser)
    parser.add_argument("--overwrite", action="store_true", help="replace TOML")


def run(given: Namespace) -> int:
    """Write the configuration."""
    k = group_size(number(given.k))
    place = source_of(given.input, given.separator)
    text = configuration(raw(place), k, place.separator)
    if given.output is None:
        show(text, None)
        return 0
    path = Path(given.output)
    apart({"IN": place, "-o": Place(path, "")})
    free(given.overwrite, path)
    put(path, text.encode())
    tell(f"Wrote {path}. Check the role of every column before you use it.")
    return 0


def guess(frame: pl.DataFrame, name: str, k: int) -> tuple[str, str]:
    """Guess the role of a column.

    Parameters
    ----------
    frame : polars.DataFrame
        The table, with numbers and dates read from text.
    name : str
        The column.
    k : int
        Smallest group size.

    Returns
    -------
    tuple of str
        The role, and why.

    Examples
    --------
    >>> people = pl.DataFrame({"name": ["Ann", "Ben", "Cem"], "age": [31, 47, 31]})
    >>> guess(people, "name", 2)[0], guess(people, "age", 2)[0]
    ('drop', 'columns')
    """
    column = frame.get_column(name)
    sizes = column.alias("0").drop_nulls().value_counts()["count"]
    distinct, rows = len(sizes), max(1, len(column))
    counted = f"{distinct} distinct values in {len(column)} rows"
    whole = column.dtype.is_integer() or column.dtype == pl.String
    number_ = can_mask(column.dtype) and column.dtype != pl.Boolean
    if whole and distinct > MANY * rows:
        return "drop", f"{counted}: it looks like the name or number of a person"
    if not distinct:
        return "drop", "it holds nothing"
    if number_ and distinct > 2 and not (column.dtype.is_integer() and distinct <= FEW // 4):
        return "columns", f"{counted}: it can be masked"
    smallest = min(sizes.to_list())
    if distinct <= FEW and smallest >= GROUPS * k and not column.null_count():
        return "strata", f"{counted}, the rarest in {smallest}: few classes, all large enough"
    if number_:
        return "columns", f"{counted}: it can be masked"
    if distinct <= FEW:
        return "keep", f"{counted}: others may know it; think about strata or drop"
    return "drop", f"{counted}: too many to keep, and it has no centre"


def configuration(frame: pl.DataFrame, k: int, separator: str = "") -> str:
    """Write the configuration of a table, without any of its values."""
    read = typed(frame, frame.columns)
    found = {name: guess(read, name, k) for name in read.columns}
    types = read.schema
    room = _room(read, [name for name in found if found[name][0] == "strata"], k)
    for name in set(found) - room:
        if found[name][0] == "strata":
            found[name] = ("keep", "with the other strata, some would be too small")
    lines = [
        "# Settings of microagg protect; the keys are those of its options.",
        "# Roles are guesses: every column must be in one list, and only you know what it means.",
        "",
    ]
    for role, what in ROLES.items():
        lines += [f"# {what}", f"{role} = ["]
        for name, (guessed, why) in found.items():
            if guessed == role:
                lines.append(f"    {quoted(name)},  # {plain(types[name])}; {why}")
        lines.append("]")
    if separator:
        lines += [
            "",
            "# What is between two cells of the table.",
            f"separator = {quoted(separator)}",
        ]
    lines += [
        "",
        "# Smallest number of records that may share a value.",
        f"k = {k}",
        "# microagg methods lists them; microagg compare shows which loses least here.",
        'method = "mdav"',
        '# Publish nothing unless these hold, for instance also "dld<=10" or "loss<=15".',
        f'require = ["k={k}"]',
        '# nulls = "impute"          # fill them with the centre of their group, or "pattern"',
        '# small_strata = "drop"     # leave out strata below k; "null" empties them',
    ]
    return "\n".join(lines) + "\n"


ROLES = {
    "columns": "Masked together: what others could know of a person, as a number or a date.",
    "strata": "Kept as they are; no group mixes their values.",
    "keep": "Released as they are: k does not protect them.",
    "drop": "Not released.",
}


def _room(frame: pl.DataFrame, names: list[str], k: int) -> set[str]:
    """Strata that leave every combination with room for some groups, taken in order."""
    taken: list[str] = []
    for name in names:
        columns = [frame.get_column(n).alias(str(i)) for i, n in enumerate([*taken, name])]
        sizes = pl.DataFrame(columns).group_by(pl.all()).len("size")["size"]
        if min(sizes.to_list(), default=0) >= GROUPS * k:
            taken.append(name)
    return set(taken) | (set(frame.columns) - set(names))


def quoted(name: str) -> str:
    """Write any text as TOML does."""
    text = json.dumps(name, ensure_ascii=False)
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in text)
