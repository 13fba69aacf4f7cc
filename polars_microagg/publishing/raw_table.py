"""A raw table read whole, and the types of what is text in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from polars_microagg.publishing.column_kinds import read_as_text
from polars_microagg.publishing.formats.batches import Typed
from polars_microagg.publishing.formats.file_content import opened
from polars_microagg.publishing.formats.files import Location
from polars_microagg.publishing.formats.register import formats
from polars_microagg.publishing.formats.text_types import quantities

__all__ = ["raw", "texts_of", "typed_columns", "typed_values"]


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
    names = texts_of(names, (), kinds or {}).names
    read_types = formats()[place.format].typed
    return read_types(place.path, frame, names, place.separator) if read_types else frame


def typed_values(place: Location, frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Read numbers and dates from the text of confidential columns of a file without types."""
    return quantities(frame, names) if formats()[place.format].typed else frame


def texts_of(masked: Iterable[str], confidential: Sequence[str], kinds: Mapping[str, Any]) -> Typed:
    """Return the columns that are read as numbers, dates and times, if they are text in a file.

    >>> texts_of(["age", "zip"], [], {"nominal": ("zip",)}).names
    ['age']
    """
    listed = list(masked)
    codes = read_as_text(listed, kinds)
    return Typed([name for name in listed if name not in codes], list(confidential))
