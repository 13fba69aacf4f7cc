"""The SQL text of the repository's top-level sql/ folder, and the macros written from it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from string import Template
from typing import Any

from polars_microagg.analysis.counted_classes import confidential_models
from polars_microagg.core import registry
from polars_microagg.core.options import COMMON, KEY_OPTIONS, MODEL_OPTIONS
from polars_microagg.duckdb.column_types import categories, texts_of_kinds
from polars_microagg.duckdb.compare_call import DEFAULT, numbers
from polars_microagg.duckdb.descriptions import (
    comment,
    described,
    example_of,
    options_of,
    summaries,
)
from polars_microagg.duckdb.macro_call import counts
from polars_microagg.duckdb.trees import BY_TABLE

__all__ = ["INTERNALS", "identifier", "literal", "macros", "sql_text"]

TEMPLATES = ("checks", "compare", "each_method", "help", "mask", "methods")

INTERNALS = "internals"
"""Schema of the catalog for what is behind the macros, so that tools list only what is for use."""

METHOD = ("name", "unit", "sizes", "cost", "limit", "paper", "summary")


def _folder() -> Traversable:
    """Find the SQL files, in the package or in a source tree."""
    try:
        return resources.files("polars_microagg.sql")
    except ModuleNotFoundError:
        # In a source tree that is not installed the folder is not inside the package.
        return Path(__file__).parents[2] / "sql"


@cache
def sql_text() -> Mapping[str, str]:
    """Read the SQL files that ship with the package: the text of each, by name without ``.sql``.

    >>> "MACRO microagg.k_min(x)" in sql_text()["measures"]
    True
    """
    files = {item.name: item for item in _folder().iterdir() if item.name.endswith(".sql")}
    return {
        name.removesuffix(".sql"): files[name].read_text(encoding="utf-8") for name in sorted(files)
    }


def identifier(name: str) -> str:
    """Quote a name.

    >>> identifier('a "b') == '"a ""b"'
    True
    """
    return '"' + name.replace('"', '""') + '"'


def literal(value: object) -> str:
    """Write a value as SQL.

    >>> [literal(value) for value in ("it's", None, True, 0.1, 3)]
    ["'it''s'", 'NULL', 'true', '0.1::DOUBLE', '3']
    """
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value!r}::DOUBLE"
    return str(value) if isinstance(value, int) else "'" + str(value).replace("'", "''") + "'"


def macros(catalog: str) -> Iterator[str]:
    """Write the statements that create all macros in a catalog, and a comment on each."""
    written = list(_macros(catalog))
    yield from written
    # What the macros take is read from what was written, whoever wrote it.
    name = re.escape(identifier(catalog))
    made = re.compile(
        rf"^CREATE OR REPLACE MACRO {name}\.\"?(\w+)\"?\(([^()]*)\)\s+AS\s+(TABLE)?", re.M
    )
    found = {m[1]: (m[2], bool(m[3])) for text in written for m in made.finditer(text)}
    found |= dict.fromkeys(("help", "options"), ("macro := NULL", True))
    shown = catalog if re.fullmatch("[a-z_]+", catalog) else identifier(catalog)
    said = {each: (what, example_of(each)) for each, what in summaries().items() if each in found}
    parameters = {
        each: " ".join(text.replace('"', "").split()) for each, (text, _) in found.items()
    }
    rows = [
        (each, what, parameters[each], example) for each, (what, example) in sorted(said.items())
    ]
    yield Template(_named("help", catalog, "$$")).substitute(
        macros=", ".join(f"({', '.join(map(literal, row))})" for row in rows),
        options=", ".join(
            f"({', '.join(map(literal, option))}, [{', '.join(map(literal, having))}])"
            for option, having in options_of(parameters).items()
        ),
    )
    for each, (what, example) in said.items():
        text = f"{what} Example: {example.replace('microagg.', f'{shown}.')}"
        yield comment(identifier(catalog), identifier(each), text, found[each][1])
    inside = f"{identifier(catalog)}.{INTERNALS}"
    for file in sql_text().values():
        for schema, each, text, table in described(file):
            if schema != "microagg":
                yield comment(inside, each, text, table)


def _macros(catalog: str) -> Iterator[str]:
    """Write the statements that create the macros that do something, by rooms."""
    # A dollar sign in a template is a place to fill in.
    forms = {name: Template(_named(name, catalog, "$$")) for name in TEMPLATES if name != "help"}
    yield f"CREATE SCHEMA IF NOT EXISTS {identifier(catalog)}.{INTERNALS}"
    yield _named("measures", catalog)
    yield _named("losses", catalog)
    yield forms["mask"].substitute(
        kinds=", ".join(map(literal, texts_of_kinds())),
        categories=", ".join(map(literal, categories())),
        trees=", ".join(map(literal, BY_TABLE)),
        named=", ".join(map(literal, KEY_OPTIONS)),
    )
    # Those by default come first, in their order.
    measured = {**registry.assessed(entity=True), **registry.on_demand()}
    options = [name for entry in confidential_models().values() for name in entry.options]
    asked, asked_call = _beside("strata", "entity", "confidential", *options)
    keys, keys_call = _beside(*KEY_OPTIONS)
    held, held_call = _beside("strata", "entity", "entity_mode", "confidential", *MODEL_OPTIONS)
    yield forms["checks"].substitute(
        metrics=_columns({name: metric.whole for name, metric in measured.items()}),
        names=", ".join(map(literal, measured)),
        counts=_columns(counts()),
        asked=asked,
        asked_call=asked_call,
        keys=keys,
        keys_call=keys_call,
        held=held,
        held_call=held_call,
    )
    shared, shared_call = _beside("strata", *COMMON)
    compared = _columns(numbers()).split(",\n    ")
    yield forms["compare"].substitute(
        numbers=",\n    ".join(compared[:DEFAULT]),
        further=",\n    ".join(compared[DEFAULT:]),
        names=", ".join(map(literal, registry.metrics())),
        parameters=shared,
        call=shared_call,
    )
    yield forms["methods"].substitute(rows=", ".join(map(_row, registry.methods().values())))
    yield forms["each_method"].substitute(_macro("mask", None))
    yield forms["each_method"].substitute(_macro("groups", None))
    yield forms["each_method"].substitute(_macro("release", None))
    for entry in registry.methods().values():
        yield forms["each_method"].substitute(_macro(entry.name, entry))


def _named(file: str, catalog: str, dollar: str = "$") -> str:
    """Return the text of a file for a catalog of any name."""
    name = identifier(catalog).replace("$", dollar)
    # In a file both are schemas, which a bare database makes; here they are in a catalog.
    text = re.sub(r"^ *(--|CREATE SCHEMA|COMMENT ON) .*\n", "", sql_text()[file], flags=re.M)
    text = re.sub(r"\bmicroagg_internals\.", lambda _: f"{name}.{INTERNALS}.", text)
    return re.sub(r"\bmicroagg\.", lambda _: f"{name}.", text)


def _columns(measured: Mapping[str, bool]) -> str:
    """Write the columns of `assess` or of `anonymity`, one a number, which may be whole."""
    columns = []
    for place, (name, whole) in enumerate(measured.items(), start=1):
        cast = "::BIGINT" if whole else ""
        columns.append(f"__mg_r[{place}]{cast} AS {identifier(name)}")
    return ",\n    ".join(columns)


def _beside(*names: str) -> tuple[str, str]:
    """Write optional parameters of a macro, and the same as fields of a struct."""
    defaults = {"strata": None} | COMMON
    parameters = (f"{identifier(name)} := {literal(defaults[name])}" for name in names)
    return ", ".join(parameters), _fields({name: identifier(name) for name in names})


def _fields(call: Mapping[str, str]) -> str:
    """Write the fields of a struct of SQL."""
    return ", ".join(f"{literal(field)}: {value}" for field, value in call.items())


def _row(entry: registry.Method) -> str:
    """Write the row of a method in the table of methods."""
    values = {name: literal(getattr(entry, name)) for name in METHOD}
    values["limit"] += "::BIGINT"
    return f"({', '.join(values.values())})"


def _macro(name: str, entry: registry.Method | None) -> dict[str, str]:
    """Return what a template needs for the macro of a method, or of any method if that is None."""
    own = {option.name: option.default for option in entry.options.values()} if entry else {}
    parameters: dict[str, Any] = {"strata": None} | COMMON | own
    call = {name: identifier(name) for name in ("strata", *COMMON)}
    if entry:
        call |= {"method": literal(entry.name), "options": _struct(own)}
    else:
        roles = {"keep": None, "drop": None} if name == "release" else {}
        parameters = {"method": "mdav"} | roles | parameters | {"options": None}
        call |= {role: role for role in roles}
        call |= {"method": "method", "options": "options"}
    call |= {"groups": literal(name == "groups" and entry is None)}
    return {
        "name": identifier(name),
        "macro": "_groups" if name == "groups" and entry is None else "_mask",
        "parameters": ", ".join(f"{identifier(p)} := {literal(d)}" for p, d in parameters.items()),
        "call": _fields(call),
    }


def _struct(own: Mapping[str, Any]) -> str:
    """Write the options of a method as a struct of SQL."""
    fields = (f"{literal(name)}: {identifier(name)}" for name in own)
    return "{" + ", ".join(fields) + "}" if own else "NULL"
