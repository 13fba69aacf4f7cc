"""The raw table of a command: its place, its separator, and checks of its text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from polars_microagg.cli.parser import Parser
from polars_microagg.errors import InvalidParameterError, usage
from polars_microagg.publishing.column_kinds import read_as_text
from polars_microagg.publishing.formats.file_content import opened
from polars_microagg.publishing.formats.files import Location
from polars_microagg.publishing.formats.register import formats

__all__ = ["add_separator", "raw", "source_of", "typed_columns"]

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


def raw(place: Location) -> pl.DataFrame:
    """Read a raw table; refuse a CSV file that looks malformed."""
    frame = place.read()
    if suspect := formats()[place.format].suspect:
        with opened(place.path, place.format) as file:
            suspect(place.path, file, [frame], place.separator)
    return frame


def typed_columns(
    place: Location,
    frame: pl.DataFrame,
    names: Sequence[str],
    kinds: Mapping[str, Any] | None = None,
) -> pl.DataFrame:
    """Read numbers, dates and times from the text of a CSV file, or name a cell that is not one.

    Columns that `kinds` names as categories without an order stay text, with all leading zeros.
    """
    codes = read_as_text(names, kinds or {})
    names = [name for name in names if name not in codes]
    read_types = formats()[place.format].typed
    return read_types(place.path, frame, names, place.separator) if read_types else frame
