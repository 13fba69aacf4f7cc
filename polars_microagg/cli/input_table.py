"""The raw table of a command: its place and its separator."""

from __future__ import annotations

from polars_microagg.cli.parser import Parser
from polars_microagg.errors import InvalidParameterError, usage
from polars_microagg.publishing.formats.files import Location
from polars_microagg.publishing.formats.register import formats

__all__ = ["add_separator", "source_of"]

WORDS = {"tab": "\t", "\\t": "\t", "space": " "}


def add_separator(parser: Parser, of: str = "IN") -> None:
    """Describe the option, which every command has that reads a raw table."""
    parser.add_argument("--separator", metavar="';'", help=f"of {of}, if a CSV; comma by default")


def source_of(text: str, separator: str | None) -> Location:
    r"""Find the raw table, and check the separator of its cells.

    >>> source_of("people.csv", "tab").separator
    '\t'
    """
    if separator is None:
        return Location.of(text)
    mark = WORDS.get(separator, separator)
    if len(mark) != 1 or not mark.isascii() or mark.isalnum() or mark in "\"'\r\n\0.-":
        need = "one character such as ; or |, or the word tab or space"
        raise InvalidParameterError.kind("separator", separator, need)
    place = Location.of(text, mark)
    if place.format != "folder" and not formats()[place.format].separated:
        raise usage.not_of_csv(place)
    return place
