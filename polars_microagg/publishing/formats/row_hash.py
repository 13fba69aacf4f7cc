"""The hash of the rows of a table, the same for the same values, taken in parts of bounded memory."""

from __future__ import annotations

import hashlib
import hmac
import io
from collections.abc import Iterable

import polars as pl

from polars_microagg.frames.selection import by_name
from polars_microagg.publishing.formats.column_batches import CELLS, even

__all__ = ["digest_of", "rows_digest"]


def _serialised(frame: pl.DataFrame) -> bytes:
    """Rows as one uncompressed Arrow stream, the same for the same values.

    Two equal columns of Arrow may differ where nobody looks: in what lies under a null, and in the
    order in which texts are stored. Both are settled.
    """
    buffer = io.BytesIO()
    frame = frame.select(_settled(by_name(name), dtype) for name, dtype in frame.schema.items())
    level = pl.CompatLevel.oldest()
    # Copied as one of two parts, so that a column without nulls has no bitmap that says so.
    frame = pl.concat([frame, frame.head(1)], rechunk=True).head(frame.height)
    frame.write_ipc_stream(buffer, compression="uncompressed", compat_level=level)
    return buffer.getvalue()


def _settled(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Return the same values, with the same bytes under every null."""
    if dtype.is_nested():
        return pl.struct(column).struct.json_encode().name.keep()
    if dtype in (pl.Categorical, pl.Enum):
        column, dtype = column.cast(pl.String), pl.String()
    if dtype.is_numeric() or dtype.is_temporal():
        nothing = pl.lit(0).cast(dtype)
    elif dtype in (pl.String, pl.Binary, pl.Boolean):
        nothing = pl.lit(False if dtype == pl.Boolean else "").cast(dtype)
    else:
        return column
    return pl.when(column.is_not_null()).then(column.fill_null(nothing)).name.keep()


def rows_digest(frame: pl.DataFrame) -> str:
    """Hash the rows of a table."""
    return digest_of([frame])


def digest_of(frames: Iterable[pl.DataFrame], key: bytes | None = None) -> str:
    """Hash the rows of a table in parts, however it is parted; with a key if there is one.

    >>> whole = pl.DataFrame({"age": [31, 47]})
    >>> digest_of([whole[:1], whole[1:]]) == rows_digest(whole)
    True
    """
    digest = hashlib.sha256() if key is None else hmac.new(key, digestmod="sha256")
    for piece in even(frames, lambda frame: max(1, CELLS // max(1, frame.width))):
        digest.update(_serialised(piece))
    return digest.hexdigest()
