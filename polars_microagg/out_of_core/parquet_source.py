"""Parquet files read as one table, a batch of records at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Self

import polars as pl

from polars_microagg.core.options import repeated
from polars_microagg.errors import InvalidDataError, InvalidParameterError
from polars_microagg.errors.files import other_schema
from polars_microagg.frames.selection import as_frame
from polars_microagg.leaves.metadata_scrub import empty_table, has_dictionary
from polars_microagg.out_of_core.unchanged import FileState, state_of, unchanged

__all__ = ["ParquetSource"]

NEED = "a Parquet file, a list of them, a pattern such as 'in/*.parquet', or a folder that has some"


@dataclass(frozen=True)
class ParquetSource:
    """Files of one schema, in order. Every pass reads the same files, or is refused."""

    paths: tuple[Path, ...]
    states: tuple[FileState | None, ...]
    schema: Any
    rows: int
    wide: float

    @classmethod
    def of(cls, source: object) -> Self:
        """Return the source of files, patterns or folders; those in folders are sorted by name."""
        import pyarrow.parquet as pq

        listed = source if isinstance(source, list | tuple) else [source]
        paths = [path for item in listed for path in _files(item)]
        if not paths:
            raise InvalidParameterError.kind("source", source, NEED)
        schema: Any = None
        rows, size = 0, 0
        states = tuple(map(state_of, paths))
        for path, state in zip(paths, states, strict=True):
            with unchanged(path, state), _reading(path), pq.ParquetFile(path) as file:
                schema = file.schema_arrow if schema is None else schema
                if not file.schema_arrow.equals(schema):
                    raise other_schema(path, paths[0].name)
                rows += file.metadata.num_rows
                groups = range(file.metadata.num_row_groups)
                size += sum(file.metadata.row_group(group).total_byte_size for group in groups)
        if twice := repeated(schema.names):
            raise InvalidParameterError.duplicate_columns(twice[0], twice[0])
        _refuse_unknown(paths[0], schema)
        return cls(tuple(paths), states, schema, rows, size / max(rows, 1))

    @property
    def empty(self) -> pl.DataFrame:
        """The table without rows."""
        frame: pl.DataFrame = as_frame(empty_table(self.schema))
        return frame

    def batches(self, size: int, columns: Sequence[str] | None = None) -> Iterator[Any]:
        """Yield tables of at most `size` records in order, with all columns by default."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        types = self.schema.types
        for path, state in zip(self.paths, self.states, strict=True):
            # With a buffer, a column of a row group is read piece by piece.
            with (
                unchanged(path, state),
                _reading(path),
                pq.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False) as file,
            ):
                # Categories within lists or structs cannot be read across row groups.
                inner = any(has_dictionary(t) and not pa.types.is_dictionary(t) for t in types)
                groups = range(file.metadata.num_row_groups)
                for group in [[group] for group in groups] if inner else [groups]:
                    read = file.iter_batches(size, group, columns, use_threads=False)
                    for batch in read:
                        yield pa.Table.from_batches([batch])
            pa.default_memory_pool().release_unused()

    def even(self, batch: int, size: int, columns: Sequence[str] | None = None) -> Iterator[Any]:
        """Yield tables of `size` records, but for the last, reading at most `batch` at a time."""
        import pyarrow as pa

        waiting: list[Any] = []
        rows = 0
        for table in self.batches(min(batch, size), columns):
            waiting.append(table)
            rows += table.num_rows
            if rows >= size:
                whole = pa.concat_tables(waiting)
                yield whole.slice(0, size)
                waiting, rows = [whole.slice(size)], rows - size
        if rows:
            yield pa.concat_tables(waiting)


def _refuse_unknown(path: Path, schema: Any) -> None:
    """Refuse types that polars does not have, where it would panic."""
    import pyarrow as pa

    for field in schema:
        try:
            # Of some types it holds a column only as long as that is empty.
            pl.DataFrame(pa.table([pa.nulls(1, field.type)], names=[field.name]))
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
            why = f"column {field.name!r} is of type {field.type}, which polars does not have."
            instead = f"{why} Cast it or leave it out of the file."
            raise InvalidDataError.unreadable(path, instead) from None


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Name a file that cannot be read, and never what is in it."""
    import pyarrow as pa

    try:
        yield
    except pa.ArrowNotImplementedError:
        why = "it has a type that only other libraries know, such as whole numbers of 128 bits. Cast it"
        raise InvalidDataError.unreadable(path, f"{why} or leave it out of the file.") from None
    except (pa.ArrowException, OSError) as error:
        why = "it is no whole Parquet file"
        if isinstance(error, OSError) and error.strerror:
            why = error.strerror
        way = (
            "Give a Parquet file, for example one that scan_csv(...).sink_parquet(...) has written."
        )
        raise InvalidDataError.unreadable(path, f"{why}. {way}") from None


def _files(item: object) -> list[Path]:
    """Return the files of a path, pattern or folder, sorted."""
    if not isinstance(item, str | PathLike):
        raise InvalidParameterError.kind("source", item, NEED)
    path = Path(fspath(item))
    if path.is_dir():
        paths = [file.relative_to(path) for file in path.rglob("*.parquet") if file.is_file()]
        # Hidden files and those of unfinished runs are no data.
        shown = [f for f in paths if not any(part[0] in "._" for part in f.parts)]
        return [path / file for file in sorted(shown)]
    if path.is_file():
        return [path]
    base = Path(path.anchor)
    paths = sorted(base.glob(str(path.relative_to(base))))
    return [file for one in paths for file in (_files(one) if one.is_dir() else [one])]
