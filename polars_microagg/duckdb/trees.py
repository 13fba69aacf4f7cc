"""Trees of categories that a call names by the table that has them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from duckdb import DuckDBPyConnection, StarExpression

from polars_microagg.core.options import KEY_OPTIONS
from polars_microagg.duckdb.safe_read import in_its_order, read_safely, relation_of
from polars_microagg.errors import InvalidParameterError, MicroaggError
from polars_microagg.errors.taxonomies import of_column

__all__ = ["BY_TABLE", "Rows", "rows_of", "stand_ins", "tables_read", "with_trees"]

Rows = Sequence[Mapping[str, Any]]
"""Tables as the macro `_trees` reads them: parameter, column, name of the table, rows as JSON."""

BY_TABLE: dict[str, Any] = {
    name: entry.each for name, entry in KEY_OPTIONS.items() if hasattr(entry.each, "from_table")
}
"""Parameters that map columns to what is made of a table, with its type."""


def stand_ins(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options of a macro with an object for each table, which is read when the query runs.

    What is written as JSON is read at once.

    >>> prefix = '{"version": 1, "taxonomy": "prefix", "length": 5, "kept": [3]}'
    >>> stand_ins({"taxonomy": {"zip": prefix}, "nominal": "job"})
    {'taxonomy': {'zip': Taxonomy(prefixes, 2 levels)}, 'nominal': 'job'}
    """
    made = dict(options)
    for option, type_ in BY_TABLE.items():
        value = options.get(option)
        if value is None:
            continue
        if not isinstance(value, Mapping) or not all(isinstance(t, str) for t in value.values()):
            need = "a struct of columns, each with the name of a table or with JSON of a taxonomy"
            got = dict.fromkeys(value, "...") if isinstance(value, Mapping) else value
            raise InvalidParameterError.kind(option, got, need)
        made[option] = {
            column: _made(option, column, "{...}", type_.from_json, text)
            if _is_json(text)
            else type_.__new__(type_)
            for column, text in value.items()
        }
    return made


def rows_of(scalar: Any) -> Rows:
    """Unpack what the macro `_trees` made."""
    return scalar.as_py() or []


def with_trees(kinds: Mapping[str, Any], rows: Rows) -> dict[str, Any]:
    """Return the kinds of a call with what these rows make in the place of the stand-ins.

    >>> kinds = stand_ins({"taxonomy": {"pet": "pets"}})
    >>> rows = {"rows": ['{"value": "cat", "all": "*"}'], "source": "pets"}
    >>> with_trees(kinds, [{"option": "taxonomy", "name": "pet"} | rows])
    {'taxonomy': {'pet': Taxonomy(1 value, 1 level)}}
    """
    made = {
        option: dict(kinds[option]) if option in BY_TABLE else kinds[option] for option in kinds
    }
    for tree in rows:
        option, column = tree["option"], tree["name"]
        table = [list(json.loads(row).values()) for row in tree["rows"] or []]
        make = BY_TABLE[option].from_table
        made[option][column] = _made(option, column, tree["source"], make, table)
    return made


def tables_read(con: DuckDBPyConnection, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options of Python with trees where a table is named, or given."""
    made = dict(options)
    for option, type_ in BY_TABLE.items():
        if isinstance(value := options.get(option), Mapping):
            made[option] = {
                column: each if isinstance(each, type_) else _read(con, option, column, each)
                for column, each in value.items()
            }
    return made


def _read(con: DuckDBPyConnection, option: str, column: str, source: Any) -> Any:
    """Read one tree, from a table or from JSON."""
    type_ = BY_TABLE[option]
    if isinstance(source, str) and _is_json(source):
        return _made(option, column, "{...}", type_.from_json, source)
    relation = read_safely(lambda: relation_of(con, source, option), option)
    table = read_safely(lambda: in_its_order(con, relation, [StarExpression()]), option)
    named = source if isinstance(source, str) else "..."
    return _made(option, column, named, type_.from_table, table)


def _made(option: str, column: str, named: str, make: Callable[[Any], Any], written: Any) -> Any:
    """Make a tree; an error says of which column it is."""
    try:
        return make(written)
    except MicroaggError as error:
        failed = of_column(option, column, named, error)
    raise failed


def _is_json(text: str) -> bool:
    """Return whether a text is an object of JSON and no name of a table."""
    return text.lstrip().startswith("{")
