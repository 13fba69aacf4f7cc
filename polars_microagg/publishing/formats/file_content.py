"""The kind of a file by its first bytes: compressed text is unpacked, wrong names are refused."""

from __future__ import annotations

import io
import re
import shutil
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from polars_microagg.errors import InvalidDataError
from polars_microagg.errors.files import other_format, packed
from polars_microagg.publishing.atomic import is_special
from polars_microagg.publishing.formats.register import Format, formats

__all__ = ["PACKERS", "opened", "refuse_foreign", "refuse_special"]

UNPACK = "Unpack it first."
ARCHIVE = "Unpack it first, and name one of its files."
SHEET = "Save its sheet as CSV, in UTF-8."
UTF_16 = "Save it as UTF-8, as with iconv -f utf-16 -t utf-8."

PIECE = 1 << 20
"""Bytes that are unpacked at a time."""

HEAD = 4096
"""Bytes that are looked at."""

PACKERS = (
    ("gzip", rb"\x1f\x8b"),
    ("zstd", rb"\x28\xb5\x2f\xfd"),
    ("bz2", rb"BZh[1-9]1AY&SY"),
)
"""First bytes of compressed files that Arrow can unpack."""

FOREIGN = (
    (rb"SQLite format 3\0", "an SQLite file", "Export the table as CSV."),
    (rb"\xfd7zXZ\0", "compressed with xz", UNPACK),
    (rb"\x04\x22\x4d\x18", "compressed with lz4", UNPACK),
    (rb"7z\xbc\xaf\x27\x1c", "a 7z archive", ARCHIVE),
    (rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an Excel workbook", SHEET),
    (rb"PK\x03\x04.*(xl/|docProps/|\[Content_Types\])", "an Excel workbook", SHEET),
    (rb"PK\x03\x04", "a zip archive", ARCHIVE),
    (rb"%PDF-", "a PDF document", "Export the table as CSV."),
    (rb"\s*<(?i:!doctype html|html)", "a web page", "Download the table itself."),
    (rb"\xff\xfe\0\0|\0\0\xfe\xff", "UTF-32", UTF_16.replace("16", "32")),
    (rb"\xff\xfe|\xfe\xff|[^\0]\0[^\0]\0|\0[^\0]\0[^\0]", "UTF-16", UTF_16),
)  # fmt: skip
"""First bytes of files of other programs, what they are, and the way out."""


def opened(path: Path, form: str, folder: Path | None = None) -> IO[bytes]:
    """Open a file; text that is compressed is unpacked into memory, or to a file of a folder."""
    file = path.open("rb")
    packer = _packer(file.read(16)) if formats()[form].compressed else None
    file.seek(0)
    if packer is None:
        return file
    import pyarrow as pa

    with file:
        unpacked = _unnamed(folder)
        try:
            shutil.copyfileobj(pa.CompressedInputStream(file, packer), unpacked, PIECE)
            unpacked.seek(0)
            return unpacked
        except (OSError, ValueError):
            unpacked.close()
            why = f"it is compressed with {packer} and damaged. Write it again."
            raise InvalidDataError.unreadable(path, why) from None


def _unnamed(folder: Path | None) -> IO[bytes]:
    return TemporaryFile(dir=folder) if folder else io.BytesIO()


def _packer(start: bytes) -> str | None:
    return next((name for name, begin in PACKERS if re.match(begin, start)), None)


def refuse_foreign(file: IO[bytes], form: str) -> None:
    """Refuse a file of another format than its ending says, and leave it at its beginning.

    >>> refuse_foreign(io.BytesIO(b"%PDF-1.7"), "csv")
    Traceback (most recent call last):
        ...
    polars_microagg.errors.InvalidDataError: it is a PDF document. Export the table as CSV.
    """
    file.seek(0)
    start = file.read(HEAD)
    file.seek(0)
    # A format of this register may begin as a foreign one does, such as a zip archive.
    if (own := formats()[form].begins) and re.match(own, start, re.DOTALL):
        return
    if packer := _packer(start):
        raise packed(packer, UNPACK)
    others = [entry for name, entry in formats().items() if name != form and entry.begins]
    for begin, what, way in (*map(_signature, others), *FOREIGN):
        if re.match(begin, start, re.DOTALL):
            raise other_format(what, way)


def _signature(entry: Format) -> tuple[bytes, str, str]:
    """Return how files of a format begin, what they are, and the way out."""
    way = f"Rename or save it with the ending {entry.endings[0]}."
    if entry.tables:
        way = f"Rename it with the ending {entry.endings[0]}, and write ::table behind."
    return entry.begins, entry.described or f"a {entry.title} file", way


def refuse_special(path: Path) -> None:
    """Refuse to read a pipe or a device, which cannot be read twice."""
    if is_special(path):
        why = (
            "it is a pipe or a device, and a table is read more than once. Write it to a file first, "
            "or send an Arrow stream to -."
        )
        raise InvalidDataError.unreadable(path, why)
