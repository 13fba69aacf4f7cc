"""The files of a source: one, a pattern, a folder, or a list of them, and the keys in their paths."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote

import polars as pl

from polars_microagg.errors import InvalidDataError
from polars_microagg.publishing.formats.files import Location
from polars_microagg.publishing.formats.register import ending_of, format_of
from polars_microagg.publishing.formats.text_types import TypesSeen, read_as
from polars_microagg.wording import shown_path

__all__ = ["SourceFile", "key_columns", "share_a_file", "source_files", "there"]

NOTHING = "__HIVE_DEFAULT_PARTITION__"
"""Null in the name of a folder."""


@dataclass(frozen=True)
class SourceFile:
    """One file of a source, and what the names of its folders say, as in ``year=2024``."""

    place: Location
    keys: tuple[tuple[str, str | None], ...] = ()


def there(ask: Callable[[], bool]) -> bool:
    """Return whether a path exists, which may be too long to be looked up."""
    with suppress(OSError, ValueError):
        return ask()
    return False


def source_files(places: Location | Sequence[Location]) -> list[SourceFile]:
    """Return the files of a source in order: those of folders and patterns are sorted by name.

    All are of one format and have keys of the same names. Each is refused once
    it is no longer as it is now.
    """
    listed = [places] if isinstance(places, Location) else list(places)
    found = [file for place in listed for file in _files(place)]
    files = [replace(file, place=file.place.pinned()) for file in found]
    first = files[0]
    name = shown_path(first.place.path.name)
    for file in files:
        if file.place.format != first.place.format:
            why = f"it is of another format than {name}. Name files of one format."
            raise InvalidDataError.unreadable(file.place, why)
        if [key for key, _ in file.keys] != [key for key, _ in first.keys]:
            why = f"the names of its folders have other keys than those of {name}."
            raise InvalidDataError.unreadable(file.place, f"{why} Name files of one partition.")
    return files


def share_a_file(one: Location, other: Location, *, source: bool = False) -> bool:
    """Return whether two places are one file. If `one` is a source, it may be a folder or a pattern.

    >>> share_a_file(Location(Path("a/../o.csv"), ""), Location(Path("o.csv"), ""))
    True
    """
    if one.piped or other.piped:
        return False
    # DuckDB compares names without case.
    if one.table and other.table and one.table.lower() != other.table.lower():
        return False
    paths = [one.path, *(_inner(one) if source else ())]
    return _itself(other.path) in map(_itself, paths)


def _inner(place: Location) -> list[Path]:
    """Return the files of a folder or a pattern; none if there are none."""
    with suppress(InvalidDataError, OSError, ValueError):
        return [file.place.path for file in _files(place)]
    return []


def _itself(path: Path) -> object:
    """Return what one file has in common under all of its names, also one that is not there yet."""
    with suppress(OSError, ValueError):
        found = path.stat()
        return found.st_dev, found.st_ino
    with suppress(OSError, ValueError):
        # Path.resolve() ends in a RuntimeError if symbolic links form a loop.
        return Path(os.path.realpath(path.parent)) / path.name
    return path


def _files(place: Location) -> list[SourceFile]:
    """Return the files of one place, or the place itself."""
    pattern = glob.has_magic(str(place.path)) and not there(place.path.exists)
    if place.table or place.piped or not (pattern or there(place.path.is_dir)):
        return [SourceFile(place)]
    if pattern:
        parts = place.path.parts
        fixed = list(map(glob.has_magic, parts)).index(True)
        root = Path(*parts[:fixed])
        found = list(root.glob("/".join(parts[fixed:])))
        found = [inner for path in found for inner in (_inside(path) if path.is_dir() else [path])]
    else:
        root, found = place.path, _inside(place.path)
    files = []
    for path in sorted(found):
        entry = format_of(ending_of(path))
        # Others, such as _SUCCESS and notes, are no data.
        if entry is not None:
            separator = place.separator if entry.separated else ""
            kept = replace(place, path=path, format=entry.name, separator=separator)
            files.append(SourceFile(kept, _keys(path.relative_to(root).parts[:-1])))
    if not files:
        why = "no file of a known format is there. Check the name and the folder."
        raise InvalidDataError.unreadable(place, why)
    return files


def _inside(folder: Path) -> list[Path]:
    """Return the files in a folder but for hidden ones and those of unfinished runs."""
    found = [path for path in folder.rglob("*") if path.is_file()]
    return [p for p in found if not any(part[0] in "._" for part in p.relative_to(folder).parts)]


def _keys(folders: Iterable[str]) -> tuple[tuple[str, str | None], ...]:
    pairs = [part.partition("=") for part in folders]
    return tuple(
        (unquote(name), None if value == NOTHING else unquote(value))
        for name, mark, value in pairs
        if mark and name
    )


def key_columns(files: Sequence[SourceFile]) -> list[pl.DataFrame]:
    """Return the keys of each file as a frame of one row; codes such as 007 stay text.

    >>> place = Location(Path("year=2024/a.parquet"), "parquet")
    >>> key_columns([SourceFile(place, (("year", "2024"),))])[0]["year"].to_list()
    [2024]
    """
    names = [name for name, _ in files[0].keys]
    text = dict.fromkeys(names, pl.String)
    table = pl.DataFrame([dict(file.keys) for file in files], schema=text)
    seen = TypesSeen([], names)
    seen.see(table)
    table = read_as(table, seen.types)
    return [table[number] for number in range(len(files))]
