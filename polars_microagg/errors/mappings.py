"""Errors of options that map columns to something, as typed and as keys of a configuration."""

from __future__ import annotations

from polars_microagg.errors.parameters import InvalidParameterError
from polars_microagg.wording import Parameter, Setting

__all__ = ["twice", "wrong_entry"]

IN_TOML = {
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "text",
    list: "a list",
    dict: "a table",
}
"""Names of types in TOML; the rest are dates and times."""


def twice(option: str, column: str, value: str) -> InvalidParameterError:
    """Refuse a second value for a column, of which one would be lost."""
    return InvalidParameterError.of_fields(
        "{setting} was given, and {option} has column {column} already; it must be {need}. {way}",
        setting=Setting(option, value, column),
        option=Parameter(option),
        column=repr(column),
        need="given once for each column",
        way="Leave one of them out.",
    )


def wrong_entry(key: str, value: object, need: str, way: str) -> InvalidParameterError:
    """Refuse a key of a configuration by what it is in TOML; `key` may be one in a table."""
    got = next((word for type_, word in IN_TOML.items() if isinstance(value, type_)), "a date")
    return InvalidParameterError.of_fields(
        "The key {key} of the configuration is {got}; it must be {need}. {way}",
        key=repr(key),
        got=got,
        need=need,
        way=way,
    )
