"""Arrow IPC: files, and the stream that standard input and output carry."""

from __future__ import annotations

import polars as pl

from polars_microagg.publishing.formats.register import Format, register

__all__ = ["ARROW", "STREAM"]


def _holds(dtype: pl.DataType) -> bool:
    # An array of no width has no place in Arrow's buffers.
    return not isinstance(dtype, pl.Object) and not (
        isinstance(dtype, pl.Array) and 0 in dtype.shape
    )


ARROW = register(
    Format(
        "arrow",
        "Arrow IPC",
        (".arrow", ".ipc", ".feather"),
        read=lambda file, _: pl.read_ipc(file),
        write=lambda frame, file: frame.write_ipc(file, compression="zstd"),
        holds=_holds,
        exact=True,
        begins=rb"ARROW1\0\0",
        described="an Arrow IPC file",
    )
)

STREAM = register(
    Format(
        "stream",
        "Arrow IPC stream",
        (".arrows",),
        read=lambda file, _: pl.read_ipc_stream(file),
        write=lambda frame, file: frame.write_ipc_stream(file),
        holds=_holds,
        cannot="an Arrow IPC stream cannot hold",
        exact=True,
        begins=rb"\xff{4}.{3}\0",
        described="an Arrow IPC stream",
    )
)
