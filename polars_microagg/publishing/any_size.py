"""The choice between a release of the whole table in memory and one by leaves out of core."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from polars_microagg.errors import MicroaggError, OutputError
from polars_microagg.errors.release import only_whole
from polars_microagg.frames.selection import Schema, as_frame
from polars_microagg.out_of_core.arrow_memory import given_back
from polars_microagg.out_of_core.counts import own_folder
from polars_microagg.out_of_core.parquet_source import ParquetSource
from polars_microagg.out_of_core.workspace import working_folder
from polars_microagg.publishing.atomic import system_message
from polars_microagg.publishing.column_roles import ColumnRoles
from polars_microagg.publishing.formats.batches import BATCH, Typed, frames_of
from polars_microagg.publishing.formats.files import Location
from polars_microagg.publishing.formats.register import formats
from polars_microagg.publishing.formats.text_types import TypesSeen, read_as
from polars_microagg.publishing.large.preview import (
    FIRST,
    disk_need,
    disk_problems,
    preview_large,
)
from polars_microagg.publishing.large.release import Room, release_large
from polars_microagg.publishing.manifest.model import How, Manifest
from polars_microagg.publishing.memory import Memory, amount, whole_bytes
from polars_microagg.publishing.preview import preview
from polars_microagg.publishing.release import NONE, Hooks, release, work_path
from polars_microagg.publishing.request import ReleaseRequest
from polars_microagg.publishing.sources import (
    PlaceSource,
    Size,
    Source,
    StreamSource,
    size_of_parquet,
)
from polars_microagg.publishing.staging import require_place
from polars_microagg.wording import Setting

__all__ = ["Door", "Target", "chosen", "need_of", "preview_any", "release_any", "said_of"]


@dataclass(frozen=True)
class Door:
    """Facts that a door knows of its call before the table is read.

    `whole` reads the table, unless it is given one, and names its columns; `named` names them by a
    schema, and `texts` are the columns whose text is read as numbers. `told` is called with the reason
    before leaves are masked.
    """

    source: Source
    whole: Callable[[pl.DataFrame | None], tuple[ReleaseRequest, ColumnRoles, pl.DataFrame]]
    named: Callable[[Schema], tuple[ReleaseRequest, ColumnRoles]]
    texts: Callable[[list[str]], Typed] = lambda _: Typed()
    told: Callable[[str], object] = lambda _: None
    seen: Callable[[ReleaseRequest, ColumnRoles, pl.DataFrame], object] = lambda *_: None
    """Called with what is masked whole, before it is."""
    sized: Callable[[int], object] = lambda _: None
    """Called with the number of rows before leaves are masked."""


@dataclass(frozen=True)
class Target:
    """The place of a release, and that of its manifest."""

    place: Location
    record: Path | None = None
    overwrite: bool = False


def need_of(size: Size) -> int:
    """Return the bytes that it takes to mask a table whole."""
    return whole_bytes(size.rows, size.width, size.masked, persons=size.persons)


def chosen(size: Size, memory: Memory) -> How:
    """Choose how to mask a table of this size.

    What a manifest says of it tells nothing of the original but that it fits, or does not.

    >>> chosen(Size(1_000_000, 40.0, 2), Memory.of("2GB"))["why"]
    'The whole table fits into the memory given.'
    """
    fits = need_of(size) <= memory.limit
    into = "the memory given" if memory.given else "its share of the memory that is free"
    return {
        "engine": "whole" if fits else "leaves",
        "why": f"The whole table {'fits' if fits else 'does not fit'} into {into}.",
        "memory_limit": memory.limit if memory.given or not fits else None,
    }


SET_DOWN = 430 * 10**6
"""Bytes that it takes to set down a table that is no Parquet, 65,536 rows at a time."""


def said_of(size: Size, memory: Memory, *, copied: bool = False) -> str:
    """Describe the choice to the owner of the table, with an estimate of its cost.

    A table that is `copied` to Parquet first takes more memory than the least that may be given.

    >>> said_of(Size(1_000_000, 40.0, 2), Memory.of("2GB"))
    'The whole table takes about 590 MB, and 2 GB are allowed.'
    """
    need = need_of(size)
    only = "" if need <= memory.limit else "only "
    said = f"The whole table takes about {amount(need)}, and {only}{memory} are allowed."
    if copied and memory.limit < min(need, SET_DOWN):
        said += f" To set it down as Parquet takes up to {amount(SET_DOWN)} nevertheless."
    return said


def release_any(
    door: Door,
    target: Target,
    memory: Memory,
    *,
    hashed: Location | None = None,
    hooks: Hooks = NONE,
) -> tuple[Manifest, list[str]]:
    """Release a table of any size; return the manifest and all warnings.

    `hashed` is the place whose hash goes into the manifest.
    """
    where: dict[str, Any] = {"record": target.record, "overwrite": target.overwrite}
    where |= {"source": hashed and hashed.pinned(), "hooks": hooks}
    source: Source = door.source
    read = None
    if isinstance(source, PlaceSource) and source.place.piped:
        source = stream = StreamSource.of(memory.limit)
        read = stream.frame
    size = source.size()
    how = None if size is None else chosen(size, memory)
    if how is not None and how["engine"] == "whole":
        request, roles, frame = door.whole(read)
        door.seen(request, roles, frame)
        return release(request, roles, frame, target.place, how=how, **where)
    require_place(target.place, target.record, target.overwrite)
    with (
        _named_errors(target.place),
        given_back(),
        working_folder(work_path(target.place)) as folder,
    ):
        hooks.stage("reading")
        table = source.set_down(folder, BATCH, door.texts)
        request, roles = door.named(table.empty.schema)
        size = size_of_parquet(table, len(roles.mask), persons=bool(roles.entity))
        how = chosen(size, memory)
        if how["engine"] == "whole":
            frame = _whole(table)
            door.seen(request, roles, frame)
            return release(request, roles, frame, target.place, how=how, **where)
        _refuse_only_whole(request, need_of(size), memory)
        copied = _copied(table, folder)
        there = sum(path.stat().st_size for path in table.paths) if copied else 0
        for problem in disk_problems(target.place, disk_need(size, len(roles.mask)) - there):
            raise problem
        door.told(said_of(size, memory, copied=copied))
        door.sized(table.rows)
        room = Room(memory.limit, folder)
        return release_large(request, roles, table, target.place, room, how, **where)


def preview_any(door: Door, target: Target, memory: Memory) -> dict[str, Any]:
    """Find what `release_any` would do with a table in a place."""
    where = target.place, target.record, target.overwrite
    source: PlaceSource = door.source  # type: ignore[assignment]
    size = source.size()
    with own_folder(None) as folder:
        if size is None:
            # Of several files and of a stream nobody knows more before they are read.
            table = source.set_down(folder, BATCH, door.texts)
            request, roles = door.named(table.empty.schema)
            size = size_of_parquet(table, len(roles.mask), persons=bool(roles.entity))
            how = chosen(size, memory)
            if how["engine"] == "whole":
                return preview(request, _whole(table), roles, *where) | _choice(how, size, memory)
            first, copied = as_frame(next(table.even(FIRST, FIRST))), _copied(table, folder)
        else:
            how = chosen(size, memory)
            if how["engine"] == "whole":
                request, roles, frame = door.whole(None)
                return preview(request, frame, roles, *where) | _choice(how, size, memory)
            first, copied = source.first(folder, FIRST), source.place.format != "parquet"
            asked = door.texts(first.columns)
            seen = TypesSeen(asked.names, asked.quantities)
            if formats()[source.place.format].typed:
                seen.see(first)
            first = read_as(first, seen.types)
        request, roles = door.named(first.schema)
        size = replace(size, masked=len(roles.mask), persons=bool(roles.entity))
        how = chosen(size, memory)
        if how["engine"] == "whole":
            request, roles, frame = door.whole(None)
            return preview(request, frame, roles, *where) | _choice(how, size, memory)
        _refuse_only_whole(request, need_of(size), memory)
        return preview_large(request, first, roles, where, size, memory.limit) | _choice(
            how, size, memory, copied=copied
        )


def _choice(how: How, size: Size, memory: Memory, *, copied: bool = False) -> dict[str, Any]:
    """Describe how a table would be masked, and why."""
    why = said_of(size, memory, copied=copied)
    return {"how": {**how, "why": why, "memory_limit": memory.limit}}


def _copied(table: ParquetSource, folder: Path) -> bool:
    """Return whether a table was written to a folder, and is not read where it was."""
    return folder in table.paths[0].parents


def _whole(table: ParquetSource) -> pl.DataFrame:
    """Read a table of Parquet into memory."""
    return pl.concat(frames_of(table, BATCH), rechunk=True)


def _refuse_only_whole(request: ReleaseRequest, need: int, memory: Memory) -> None:
    """Refuse what leaves cannot do, since they are not masked together."""
    plan = request.promise
    why = "which confidential values are left is known only when all strata are masked"
    refused = [
        ("entity_mode", plan.entity_mode, "the rows of an entity are masked together")
        if plan.merges_rows
        else None,
        ("method", plan.method.name, "it groups values of all columns together")
        if plan.groups_cells
        else None,
        ("small_strata", "drop", why)
        if plan.small_strata == "drop" and plan.confidential
        else None,
    ]
    for name, value, reason in filter(None, refused):
        raise only_whole(Setting(name, value), reason, (amount(1.05 * need), str(memory)))


@contextmanager
def _named_errors(place: Location) -> Iterator[None]:
    """Report that the device of the target fails, as a full one does, without data of a table."""
    import pyarrow as pa

    try:
        yield
    except (MicroaggError, BrokenPipeError, InterruptedError):
        raise
    except (OSError, pa.ArrowException) as error:
        problem = OutputError.of(place, system_message(error))
    else:
        return
    raise problem
