"""What the command line says: sentences to standard error, tables and JSON to standard output."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import IO, Any

from polars_microagg.cli.options import flags, typed_as
from polars_microagg.publishing.formats.standard_output import lost
from polars_microagg.publishing.manifest.record import dumped

__all__ = ["as_flags", "plain", "sent", "show", "show_json", "table", "tell"]

VALUE = r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|\[([^\[\]]*)\]|([\w-][\w.-]*)"""
ASSIGNED = re.compile(rf"(?<![\w-])([a-z_]+)=(?:{VALUE})(?!\w*\()")
"""A parameter of Python with its value."""

NAMED = (
    (re.compile(r"\bk=(?:'([^']*)'|(\S+)) is not a group size"), r"--k \1\2 is not a group size"),
    (re.compile(r"(for example|Add) k=5\b"), r"\1 --k 5"),
    (re.compile(r"\bLeave (\w+) out\b"), lambda found: f"Leave {_option(found[1])} out"),
    (re.compile(r"\b(with) key="), r"\1 --key"),
    (re.compile(r"\bUse method "), "Use --method "),
    (re.compile(r" \(fill_nan\(None\), in SQL [^)]*\)\)"), ""),
    (re.compile(r"\bmg\.methods\(\)"), "microagg methods"),
    (re.compile(r"\bmeasure='(\w+)' is not"), r"The measure \1 of --require is not"),
    (re.compile(r"^known names "), "--known names "),
    (
        re.compile(r"\bLeave it out of known, or ask for [^=]*metrics=\[[^]]*\]"),
        "Leave it out of --known",
    ),
)
"""Other words of Python that messages have for its users."""

OTHERWISE = {"hash_key": "hash_key_file"}
"""Options that have another name here."""


def _option(name: str) -> str:
    return typed_as(name) if name.replace("_", "-") in flags() else name


def plain(text: object) -> str:
    """Write any text so that a terminal does nothing but show it."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in str(text))


def as_flags(text: str) -> str:
    """Say a parameter of Python as the option it is here.

    Examples
    --------
    >>> as_flags("Lower k, or use small_strata='null'.")
    'Lower k, or use --small-strata null.'
    >>> as_flags("mic1d cannot honour center='median'. Leave center out.")
    'mic1d cannot honour --center median. Leave --center out.'
    """

    def flag(found: re.Match[str]) -> str:
        name, single, double, listed, bare = found.groups()
        name = OTHERWISE.get(name, name)
        if name == "k" or name.replace("_", "-") not in flags():
            return found[0]
        if listed is not None:
            names = ",".join(re.findall(r"'([^']*)'", listed))
            return f"{typed_as(name)} {shlex.quote(names)}" if name == "key" else found[0]
        end = "." if (bare or "").endswith(".") else ""
        value = (bare or "").removesuffix(".") or shlex.quote(single or double or "")
        return typed_as(name) + ("" if value == "True" else f" {value}") + end

    text = ASSIGNED.sub(flag, text)
    for words, here in NAMED:
        text = words.sub(here, text)
    return text


def tell(text: str) -> None:
    """Say a sentence on standard error."""
    try:
        sys.stderr.write(plain(text) + "\n")
        sys.stderr.flush()
    except OSError:
        return


def show(text: str, file: IO[str] | None = None) -> None:
    """Write a line of the result."""
    if file is None:
        _write(f"{text}\n")
    else:
        with suppress(OSError):
            file.write(f"{text}\n")


def _write(text: str) -> None:
    try:
        sys.stdout.write(text)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise lost(error) from None


def sent() -> None:
    """Send off what was shown.

    Raises
    ------
    BrokenPipeError
        Its reader went away.
    OutputError
        It cannot be written.
    """
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise lost(error) from None


def show_json(value: Mapping[str, Any] | Sequence[Any]) -> None:
    """Write the result as JSON."""
    if isinstance(value, Mapping):
        _write(dumped(value).decode())
    else:
        _write(json.dumps(value, indent=2) + "\n")


def table(rows: Iterable[Sequence[object]], head: Sequence[str] = ()) -> str:
    """Lay rows out in columns; numbers to the right.

    Examples
    --------
    >>> print(table([("age", 12), ("income", 7)], head=("column", "distinct")))
    column  distinct
    age           12
    income         7
    """
    given = [list(row) for row in rows]
    cells = [[_cell(item) for item in row] for row in ([list(head)] if head else []) + given]
    if not cells:
        return ""
    right = [all(isinstance(row[j], int | float) for row in given) for j in range(len(cells[0]))]
    widths = [max(len(row[j]) for row in cells) for j in range(len(cells[0]))]
    lines = [
        "  ".join(
            cell.rjust(width) if number else cell.ljust(width)
            for cell, width, number in zip(row, widths, right, strict=True)
        )
        for row in cells
    ]
    return "\n".join(line.rstrip() for line in lines)


def _cell(item: object) -> str:
    if item is None:
        return "-"
    if isinstance(item, bool):
        return "yes" if item else "no"
    return f"{item:.4g}" if isinstance(item, float) else plain(item)
