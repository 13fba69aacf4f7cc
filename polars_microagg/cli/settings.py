"""Settings of `protect`: options over a configuration file, and a role for every column."""

from __future__ import annotations

import tomllib
from argparse import Namespace
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import polars as pl

from polars_microagg.cli.kinds import MAPPINGS, read_kinds, refuse_entries
from polars_microagg.cli.options import names_in, number, own_options, value_of
from polars_microagg.core.options import COMMON, KEY_OPTIONS
from polars_microagg.errors import InvalidDataError, mappings, usage
from polars_microagg.publishing.column_roles import ColumnRoles
from polars_microagg.publishing.formats.csv_suspicions import refuse_written_otherwise
from polars_microagg.publishing.formats.files import Location
from polars_microagg.publishing.formats.register import formats
from polars_microagg.publishing.formats.source_files import share_a_file
from polars_microagg.publishing.formats.text_types import typed

__all__ = ["KEYS", "apart", "hash_key", "roles", "settings", "table_of"]

KEYS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(
        ("input", "output", "separator", "manifest", "hash_key_file", "report"), (str,)
    ),
    **dict.fromkeys(("columns", "strata", "keep", "drop", "order_by", "require"), (str, list)),
    **dict.fromkeys(("entity", "confidential"), (str, list)),
    **dict.fromkeys(KEY_OPTIONS, (str, list)),
    **dict.fromkeys(MAPPINGS, (dict,)),
    "k": (int,),
    "method": (str,),
    "overwrite": (bool,),
    "memory": (str, int),
}
"""Keys of a configuration besides the options of the methods."""


def _known() -> list[str]:
    return [*KEYS, *COMMON, *own_options()]


def settings(arguments: Namespace) -> dict[str, Any]:
    """Merge options and the configuration; an option wins over its key.

    Requirements add up: none of the configuration is dropped because another was typed.
    """
    merged = {} if arguments.config is None else _read(Path(arguments.config))
    typed_ = {name: value for name, value in vars(arguments).items() if value is not None}
    folder = None if arguments.config is None else Path(arguments.config).parent
    kinds = read_kinds(merged, typed_, folder)
    method = str(typed_.get("method", merged.get("method", "mdav")))
    wanted = merged.get("require", [])
    wanted = [wanted] if isinstance(wanted, str) else list(wanted)
    if "require" in typed_:
        typed_["require"] = [*wanted, *typed_["require"]]
    for name, value in typed_.items():
        if name in KEYS or name in COMMON or name in own_options():
            raw = isinstance(value, str) and name not in KEYS
            merged[name] = value_of(name, value, method) if raw else value
    if isinstance(merged.get("k"), str):
        merged["k"] = number(merged["k"])
    return merged | kinds


def _read(path: Path) -> dict[str, Any]:
    try:
        configured = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        why = "there is no such file. Write one with microagg init."
        raise usage.unreadable_configuration(path, why) from None
    except tomllib.TOMLDecodeError as error:
        where = str(error).rpartition("(")[2].rstrip(")")
        raise usage.unlike_toml(path, where) from None
    except RecursionError:
        why = "its lists or tables are too deep. Write it again."
        raise usage.unreadable_configuration(path, why) from None
    except (OSError, ValueError):
        why = "it is no text file."
        raise usage.unreadable_configuration(path, why) from None
    for name, value in configured.items():
        if name not in _known():
            raise usage.unknown_key(name, _known())
        if name in MAPPINGS:
            refuse_entries(name, value)
        kinds = KEYS.get(name)
        if kinds and (
            not isinstance(value, kinds) or (isinstance(value, bool) and kinds == (int,))
        ):
            need = " or ".join(
                {
                    str: "text",
                    list: "a list",
                    int: "a whole number",
                    bool: "true or false",
                    dict: "a table",
                }[kind]
                for kind in kinds
            )
            if isinstance(value, dict):
                way = "Write it as a key above all tables, or leave it out for the default."
                raise mappings.wrong_entry(name, value, need, way)
            raise usage.wrong_key(name, value, need)
    return configured


def roles(
    options: Mapping[str, Any], table: Sequence[str], *, released: bool = True
) -> ColumnRoles:
    """Read the role of every column of a table from the settings.

    Only where the table is `released` does every column need one.
    """
    columns = options.get("columns")
    listed: list[Any] = [columns]
    if isinstance(columns, list) and columns and all(isinstance(item, list) for item in columns):
        listed = columns
    blocks = [names_in("columns", item, table) for item in listed]
    others = ("strata", "keep", "drop", "entity", "confidential")
    named = {name: names_in(name, options.get(name), table) for name in others}
    # An entity is not released, but for the columns of it that are kept as well.
    followed = [name for name in named["keep"] if name in named["entity"]]
    named["keep"] = [name for name in named["keep"] if name not in followed]
    chosen = ColumnRoles(blocks, **named, followed=followed)
    if not chosen.mask:
        raise usage.no_columns()
    if twice := chosen.repeated:
        raise usage.several_roles(twice)
    if released and (none := chosen.missing(table)):
        raise usage.columns_without_role(none, options.get("config"))
    return chosen


def table_of(frame: pl.DataFrame, names: Sequence[str], form: str) -> pl.DataFrame:
    """Read numbers and dates from the text of a CSV file, in the columns that are masked."""
    if not formats()[form].typed:
        return frame
    read = typed(frame, names)
    refuse_written_otherwise(read, names)
    return read


def hash_key(path: str | None) -> bytes | None:
    """Read the key of the hash of the input."""
    if path is None:
        return None
    try:
        return Path(path).read_bytes().strip()
    except (OSError, ValueError):
        why = "there is no such file. Make one with openssl rand -hex 32."
        raise InvalidDataError.unreadable(path, why) from None


SOURCES = ("IN", "--original")
"""Names of the files of a call that are read."""


def apart(files: Mapping[str, Location]) -> None:
    """Refuse a call in which one file would take the place of another."""
    for one, other in combinations(files, 2):
        # A source may be a folder or a pattern; another name with a star is a name.
        source, file = (other, one) if other in SOURCES else (one, other)
        if share_a_file(files[source], files[file], source=source in SOURCES):
            raise usage.same_file(files[one], one, other)
