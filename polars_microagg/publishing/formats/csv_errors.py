"""Errors of CSV files, with the line of each."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from typing import IO, Any

import numpy as np

from polars_microagg.errors import InvalidDataError, files

__all__ = ["line_of", "ragged_line", "refuse_encoding", "refuse_separator"]

PIECE = 1 << 24
"""Bytes that are looked at in one go."""

BREAK = re.compile(r"\r\n|\r|\n")


def refuse_encoding(file: IO[bytes]) -> None:
    """Refuse a file that is not UTF-8, and leave it at its beginning."""
    file.seek(0)
    decoder, lines = codecs.getincrementaldecoder("utf-8")(), 1
    while piece := file.read(PIECE):
        held = len(decoder.getstate()[0])
        try:
            decoder.decode(piece)
        except UnicodeDecodeError as error:
            lines += piece[: max(0, error.start - held)].count(b"\n")
            raise files.not_utf8(lines) from None
        lines += piece.count(b"\n")
    if decoder.getstate()[0]:
        raise files.not_utf8(lines)
    file.seek(0)


SEPARATORS = {";": "';'", "\t": "tab", "|": "'|'"}
"""Other separators, and how each is typed in a shell."""


def refuse_separator(header: str, record: str) -> None:
    """Refuse a table of one column with a header and a record that another separator cuts alike.

    >>> refuse_separator("age;income", "31;1234,5")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    polars_microagg.errors.InvalidDataError: it looks separated by ';', and would be a single column...
    """
    for mark, typed in SEPARATORS.items():
        if 0 < header.count(mark) == record.count(mark):
            raise files.other_separator(mark, typed)


def ragged_line(file: IO[bytes], width: int, separator: str) -> InvalidDataError:
    """Return an error that names the first line with another number of cells than the header."""
    line, cells = "some line", "other"
    with suppress(csv.Error), _records(file, separator) as reader:
        lengths = np.fromiter(map(len, reader), dtype=np.int64)
        wrong = np.flatnonzero((lengths != width) & (lengths > 0))
        if len(wrong):
            line = f"line {line_of(file, int(wrong[0]), separator, blank=True)}"
            cells = str(lengths[wrong[0]])
    return files.ragged(line, cells, width)


def line_of(file: IO[bytes], record: int, separator: str, *, blank: bool = False) -> int:
    r"""Find the line on which a record begins.

    >>> line_of(io.BytesIO(b'age,note\n31,"two\nlines"\n\n47,one\n'), 2, ",")
    5
    """
    with _records(file, separator) as reader:
        records: Any = reader if blank else filter(None, reader)
        cells: list[str] = next(islice(records, record, None), [])
        return int(reader.line_num) - sum(len(BREAK.findall(cell)) for cell in cells)


@contextmanager
def _records(file: IO[bytes], separator: str) -> Iterator[Any]:
    """Read a file record by record, as a spreadsheet does."""
    file.seek(0)
    text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
    limit = csv.field_size_limit(PIECE)
    try:
        yield csv.reader(text, delimiter=separator)
    finally:
        csv.field_size_limit(limit)
        text.detach()
