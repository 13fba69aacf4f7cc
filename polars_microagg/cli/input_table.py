"""The raw table of a command: its place and its separator."""

from __future__ import annotations

from polars_microagg.cli.parser import Parser
from polars_microagg.errors import InvalidParameterError, usage
from polars_microagg.publishing.formats.files import Location

__all__ = ["add_separator", "source_of"]

WORDS = {"tab": "\t", "\\t": "\t", "space": " "}


def add_separator(parser: Parser, of: str = "IN") -> None:
    """Describe the option, which every command has that reads a raw table."""
    parser.add_argument("--separator", metavar="';'", help=f"of {of}, if a CSV; comma by default")


def source_of(text: str, separator: str | None, noted: str | None = None) -> Location:
    r"""Find the raw table, and check the separator of its cells.

    One that is `noted` in a configuration or a manifest is for files of CSV, and others are read without.

    >>> source_of("people.csv", "tab").separator, source_of("people.parquet", None, ";").separator
    ('\t', '')
    """
    if separator is None:
        if noted is None or not Location.of(text).separated:
            return Location.of(text)
        separator = noted
    mark = WORDS.get(separator, separator)
    if len(mark) != 1 or not mark.isascii() or mark.isalnum() or mark in "\"'\r\n\0.-":
        need = "one character such as ; or |, or the word tab or space"
        raise InvalidParameterError.kind("separator", separator, need)
    place = Location.of(text, mark)
    if not place.separated:
        raise usage.not_of_csv(place)
    return place
