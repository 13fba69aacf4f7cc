"""Options of the command line, written from the register, and their values read from text."""

from __future__ import annotations

import csv
from argparse import ArgumentParser
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from polars_microagg.core.options import CHOICES, MODEL_OPTIONS, repeated
from polars_microagg.core.registry import Option, methods
from polars_microagg.errors import InvalidDataError, InvalidParameterError, usage
from polars_microagg.wording import COMMAND_LINE

__all__ = [
    "Flag",
    "add_choices",
    "add_roles",
    "names_in",
    "number",
    "own_options",
    "split",
    "typed_as",
    "value_of",
]

WORDS = {"true": True, "yes": True, "false": False, "no": False}


class Flag:
    """One option that some methods have, under one name."""

    def __init__(self, name: str, by_method: Mapping[str, Option]) -> None:
        self.name, self.by_method = name, by_method

    @property
    def switch(self) -> bool:
        """Return whether the option is on or off."""
        return all(option.kind is bool for option in self.by_method.values())

    @property
    def help(self) -> str:
        """Write which methods have the option, and what each of them takes."""
        said: dict[str, list[str]] = {}
        for method, option in self.by_method.items():
            said.setdefault(_takes(option), []).append(method)
        return "; ".join(f"{', '.join(names)}: {takes}" for takes, names in said.items())


def _takes(option: Option) -> str:
    parts = [str(choice) for choice in option.choices]
    if option.axis:
        parts.append("a masked column")
    if option.kind is bool:
        parts.append("on or off")
    elif option.kind is not None and not option.choices:
        kind = "a whole number" if option.kind is int else "a number"
        parts.append(f"{kind} {option.range}" if option.range else kind)
    if option.several:
        parts.append("several with commas")
    if option.keys:
        parts.append(f"name=number of {', '.join(option.keys)}")
    return f"{', '.join(parts)} (default {_word(option.default)})"


def _word(value: object) -> str:
    for constant, word in ((True, "on"), (False, "off"), (None, "none")):
        if value is constant:
            return word
    return str(value)


@cache
def own_options() -> dict[str, Flag]:
    """Return the options of methods by name."""
    by_method: dict[str, dict[str, Option]] = {}
    for method in methods().values():
        for name, option in method.options.items():
            by_method.setdefault(name, {})[method.name] = option
    return {name: Flag(name, options) for name, options in sorted(by_method.items())}


def typed_as(name: str) -> str:
    """Write the name of a parameter as an option."""
    return COMMAND_LINE.parameter(name)


def add_roles(parser: ArgumentParser, about: str) -> None:
    """Describe the options that say what becomes of each column."""
    part = parser.add_argument_group("roles", about)
    part.add_argument("--columns", action="append", metavar="A,B", help="masked together")
    part.add_argument("--strata", action="append", metavar="C", help="kept; no group mixes them")
    part.add_argument("--entity", action="append", metavar="ID", help="whose a record is")
    part.add_argument(
        "--confidential", action="append", metavar="DX", help="kept; what nobody should learn"
    )
    part.add_argument("--keep", action="append", metavar="D", help="released as they are")
    part.add_argument("--drop", action="append", metavar="E", help="not released")


def add_choices(part: Any) -> None:
    """Describe the options that every method has."""
    for name, choices in CHOICES.items():
        part.add_argument(typed_as(name), metavar="|".join(choices), help=f"default {choices[0]}")
    part.add_argument("--refine", action="store_const", const="true", help="search on afterwards")
    part.add_argument("--workers", metavar="N", help="most processes; all processors by default")


def number(text: str) -> Any:
    """Read a number; other text stays text, and is refused with its name where it is used.

    >>> number("5"), number("0.5"), number("five")
    (5, 0.5, 'five')
    """
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def value_of(name: str, text: str, method: str) -> Any:
    """Read the value of an option of a method; text that cannot be read stays text.

    >>> value_of("gamma", "0.5", "vmdav"), value_of("refine", "true", "mdav")
    (0.5, True)
    """
    if name in (*CHOICES, "entity_mode"):
        return text
    if name == "refine":
        return WORDS.get(text.lower(), text)
    option = methods()[method].options.get(name) if method in methods() else None
    option = MODEL_OPTIONS.get(name, option)
    return number(text) if option is None else _read(option, text)


def _read(option: Option, text: str) -> Any:
    if option.keys and "=" in text:
        pairs = [item.partition("=") for item in split(text)]
        return {key.strip(): number(value) for key, _, value in pairs}
    if option.several and "," in text:
        return [_read_one(option, item) for item in split(text)]
    return _read_one(option, text)


def _read_one(option: Option, text: str) -> Any:
    for choice in option.choices:
        if text == str(choice):
            return choice
    if option.kind is bool:
        return WORDS.get(text.lower(), text)
    if option.kind is float:
        value = number(text)
        return float(text) if isinstance(value, int) else value
    return number(text) if option.kind is int else text


def split(text: str) -> list[str]:
    """Split at commas; a part with a comma in it is written in double quotes.

    >>> split('age,"income, net"')
    ['age', 'income, net']
    """
    try:
        return next(csv.reader([text], skipinitialspace=True, strict=True), [""])
    except csv.Error:
        raise usage.not_by_commas(text) from None


def names_in(option: str, columns: Any, table: Sequence[str]) -> list[str]:
    """Return the columns that an option names: one column of just this name, or names with commas.

    `columns` is what was typed, or read from a configuration; `option` names it in errors. A name
    that the table does not have raises InvalidDataError.
    """
    if columns is not None and not _text(columns):
        need = "a column name or a list of names"
        raise InvalidParameterError.kind(option, columns, need)
    listed = [columns] if isinstance(columns, str) else list(columns or ())
    known = set(table)
    names = [n for item in listed for n in ([item] if item in known else split(item))]
    for name in names:
        if name not in known:
            raise InvalidDataError.unknown_column(option, name, table)
    if twice := repeated(names):
        raise InvalidParameterError.duplicate(option, twice)
    return names


def _text(value: Any) -> bool:
    return isinstance(value, str) or (
        isinstance(value, Iterable) and all(isinstance(item, str) for item in value)
    )
