"""NDJSON: one JSON object a line."""

from __future__ import annotations

import json
from typing import IO

import polars as pl
import polars.selectors as cs

from polars_microagg.publishing.formats.register import Format, register

__all__ = ["NDJSON"]


def _read(file: IO[bytes], _: str) -> pl.DataFrame:
    """Read it with its columns in the order of its lines, which Polars loses above 32 of them."""
    frame = pl.read_ndjson(file, infer_schema_length=None)
    file.seek(0)
    columns = set(frame.columns)
    names = [name for name in json.loads(file.readline()) if name in columns]
    return frame.select(cs.by_name(*names), ~cs.by_name(*names)) if names else frame


NDJSON = register(
    Format(
        "ndjson",
        "NDJSON",
        (".ndjson", ".jsonl"),
        read=_read,
        write=lambda frame, file: frame.write_ndjson(file),
        holds=lambda dtype: not isinstance(dtype, pl.Object | pl.Binary),
        typeless=True,
        compressed=True,
    )
)
