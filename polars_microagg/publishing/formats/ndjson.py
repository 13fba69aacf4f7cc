"""NDJSON: one JSON object a line."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator
from typing import IO, Any

import polars as pl

from polars_microagg.frames.selection import by_name
from polars_microagg.publishing.formats.register import Format, register

__all__ = ["NDJSON"]

PIECE = 1 << 23
"""Bytes that are parsed at a time; a line that is longer is one piece."""


def _read(file: IO[bytes], _: str) -> pl.DataFrame:
    """Read it with its columns in the order of its lines, which Polars loses above 32 of them."""
    frame = pl.read_ndjson(file, infer_schema_length=None)
    file.seek(0)
    return _ordered(frame, _names(file))


def _names(file: IO[bytes]) -> list[str]:
    """Return the names in the first line."""
    return list(json.loads(file.readline()))


def _ordered(frame: pl.DataFrame, first: list[str]) -> pl.DataFrame:
    columns = dict.fromkeys(frame.columns)
    names = [name for name in first if name in columns]
    return frame.select(map(by_name, dict.fromkeys(names) | columns)) if names else frame


def _pieces(file: IO[bytes]) -> Iterator[io.BytesIO]:
    """Yield whole lines."""
    file.seek(0)
    waiting: list[bytes] = []
    while piece := file.read(PIECE):
        lines, end, rest = piece.rpartition(b"\n")
        if end:
            yield io.BytesIO(b"".join([*waiting, lines, end]))
            waiting = []
        waiting.append(rest)
    yield io.BytesIO(b"".join(waiting))


def _filled(file: IO[bytes]) -> Iterator[io.BytesIO]:
    return (piece for piece in _pieces(file) if piece.getbuffer().tobytes().strip())


def _merged(schemas: Iterable[pl.Schema]) -> pl.Schema:
    """Return names and types as Polars finds them where these are of the lines of one file."""
    lines = [json.dumps({n: _value(t) for n, t in schema.items()}) for schema in schemas]
    text = "\n".join(dict.fromkeys(lines)).encode()
    return _read(io.BytesIO(text), "").schema


def _value(dtype: pl.DataType) -> Any:
    """Return a value from which Polars infers a type."""
    if isinstance(dtype, pl.Struct):
        return {field.name: _value(field.dtype) for field in dtype.fields}  # type: ignore[arg-type]
    if isinstance(dtype, pl.List):
        return [_value(dtype.inner)]  # type: ignore[arg-type]
    return VALUES[dtype.base_type()]


VALUES: dict[type[pl.DataType], Any] = {
    pl.Null: None,
    pl.Boolean: True,
    pl.Int64: 1,
    pl.Int128: 1 << 100,
    pl.Float64: 0.5,
    pl.String: "",
}


def _batches(file: IO[bytes], _: str, rows: int, shape: pl.Schema | None) -> Iterator[pl.DataFrame]:
    """Read it piece by piece: first for names and types, then for values."""
    shape = shape or _merged(_read(piece, "").schema for piece in _filled(file))
    yield shape.to_frame()
    for piece in _filled(file):
        yield from pl.read_ndjson(piece, schema=shape).iter_slices(rows)


def _write(frames: Iterable[pl.DataFrame], file: IO[bytes]) -> None:
    for frame in frames:
        frame.write_ndjson(file)


NDJSON = register(
    Format(
        "ndjson",
        "NDJSON",
        (".ndjson", ".jsonl"),
        read=_read,
        read_batches=_batches,
        merged=_merged,
        write=lambda frame, file: _write([frame], file),
        write_batches=lambda made, file: _write(made.frames(), file),
        holds=lambda dtype: not isinstance(dtype, pl.Object | pl.Binary),
        typeless=True,
        compressed=True,
    )
)
