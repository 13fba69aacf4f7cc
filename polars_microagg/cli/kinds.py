"""Kinds of columns on the command line: their options, from the register, and the trees in files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from polars_microagg.cli.options import names_in, number, split, typed_as
from polars_microagg.core.kind import KeyOption
from polars_microagg.core.options import KEY_OPTIONS
from polars_microagg.errors import InvalidDataError, InvalidParameterError, mappings

__all__ = ["MAPPINGS", "add_kinds", "named_kinds", "read_kinds", "refuse_entries"]

MAPPINGS = (*(name for name, entry in KEY_OPTIONS.items() if entry.each), "column_weights")
"""Options that map columns to something."""

FORMS = {
    "prefix": lambda make, numbers: make.prefix(numbers[0], numbers[1:]),
    "intervals": lambda make, numbers: make.intervals(numbers),
}
"""Trees that are written as numbers and not as a file."""

NEEDS = {
    "prefix": "prefix: with the characters of a value and how many of them each class keeps, fewer and "
    "fewer, as in prefix:5,3,2",
    "intervals": "intervals: with widths from 2, or above 0 if one has decimals, each a multiple of the "
    "one before and wider, as in intervals:5,10,20",
}
"""Requirements of each form that a tree is typed in, by its first word."""

SOURCE = "the name of a file, or numbers as in prefix:5,3,2 and intervals:5,10"


def add_kinds(part: Any, *, column_weights: bool = True) -> None:
    """Add the options for the kinds of columns and, if asked, for their weights."""
    for name, entry in KEY_OPTIONS.items():
        short = " ".join(entry.doc.split()).partition(": ")[0]
        short = short.replace(f", a `mg.{entry.each.__name__}` each" if entry.each else "\n", "")
        metavar = "C=FILE" if entry.each else "A,B"
        way = (
            "; a file, prefix:5,3,2 or intervals:5,10; again for each column" if entry.each else ""
        )
        part.add_argument(
            typed_as(name), action="append", metavar=metavar, help=f"{short.rstrip('.')}{way}"
        )
    if column_weights:
        part.add_argument(
            typed_as("column_weights"),
            action="append",
            metavar="C=2",
            help="weight of a column in distances; again for each column",
        )


def read_kinds(
    configured: Mapping[str, Any], typed: Mapping[str, Any], folder: Path | None = None
) -> dict[str, Any]:
    """Read these options from a configuration and from what was typed, which wins column by column.

    Paths in a configuration are relative to its `folder`.

    >>> read_kinds({"column_weights": {"age": 2}, "nominal": "sex"}, {"taxonomy": ["zip=prefix:5,3"]})
    {'nominal': 'sex', 'taxonomy': {'zip': Taxonomy(prefixes, 2 levels)}, 'column_weights': {'age': 2}}
    """
    read: dict[str, Any] = {}
    for name in (*KEY_OPTIONS, "column_weights"):
        value, words = configured.get(name), typed.get(name)
        if name not in MAPPINGS:
            value = words if words is not None else value
        else:
            value = _mapped(name, value, folder) | _mapped(name, _pairs(name, words))
        if value:
            read[name] = value
    return read


def _pairs(name: str, words: Sequence[str] | None) -> dict[str, str]:
    """Split what was typed at its first equals sign, or at the last where a number is behind it."""
    pairs = dict[str, str]()
    for text in words or ():
        column, sign, value = (
            text.rpartition("=") if name == "column_weights" else text.partition("=")
        )
        if not (sign and column and value):
            need = (
                "a column, an equals sign and a number"
                if name == "column_weights"
                else "COLUMN=FILE"
            )
            raise InvalidParameterError.kind(name, text, need)
        if column in pairs:
            raise mappings.twice(name, column, value)
        pairs[column] = value
    return pairs


def _mapped(
    name: str, given: Mapping[str, Any] | None, folder: Path | None = None
) -> dict[str, Any]:
    """Read what columns are mapped to."""
    entry = KEY_OPTIONS.get(name)
    if entry is None:
        return {c: number(v) if isinstance(v, str) else v for c, v in (given or {}).items()}
    return {column: _made(entry, column, value, folder) for column, value in (given or {}).items()}


def refuse_entries(name: str, given: object) -> None:
    """Refuse a key of a configuration that is no table of what such an option maps columns to."""
    tree = name in KEY_OPTIONS
    line = 'education = "edu.csv"' if tree else "region = 2"
    way = f"Write a line for each column below [{name}], as in {line}."
    if not isinstance(given, dict):
        raise mappings.wrong_entry(name, given, "a table", way)
    for column, value in given.items():
        read = value if tree or not isinstance(value, str) else number(value)
        if isinstance(read, bool) or not isinstance(read, str if tree else int | float):
            need = SOURCE if tree else "a number above 0"
            raise mappings.wrong_entry(f"{name}.{column}", value, need, way)


def _made(entry: KeyOption, column: str, text: str, folder: Path | None) -> Any:
    """Read a file, or numbers behind the name of a form."""
    form, colon, rest = text.partition(":")
    make: Any = entry.each
    if colon and form in FORMS:
        try:
            return FORMS[form](make, [number(part) for part in split(rest) or [""]])
        except InvalidParameterError:
            # It names parameters of Python.
            problem = InvalidParameterError.kind(entry.name, text, NEEDS[form], column)
        raise problem
    return make.read(Path(text) if folder is None else folder / text)


def named_kinds(options: Mapping[str, Any], table: Sequence[str]) -> dict[str, Any]:
    """Find the columns of these options in a table."""
    found: dict[str, Any] = {}
    for name in (*KEY_OPTIONS, "column_weights"):
        value = options.get(name)
        if value is None:
            continue
        if name not in MAPPINGS:
            found[name] = names_in(name, value, table)
            continue
        for column in value:
            if column not in table:
                raise InvalidDataError.unknown_column(name, column, table)
        found[name] = dict(value)
    return found
