"""Errors of a taxonomy: names that make no tree, tables and files that hold none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from polars_microagg.errors.base import MicroaggError
from polars_microagg.errors.data import InvalidDataError
from polars_microagg.errors.parameters import InvalidParameterError
from polars_microagg.wording import Setting, listed

__all__ = [
    "bad_file",
    "bad_row",
    "bad_shape",
    "circular",
    "no_value",
    "not_text",
    "of_column",
    "several_roots",
    "two_parents",
]


def bad_file(path: object, why: str) -> InvalidDataError:
    """Refuse a file that cannot be a taxonomy."""
    way = "Give a CSV without header, a value and its classes up to the root a row, or JSON of a taxonomy."
    return InvalidDataError.unreadable(path, f"{why}. {way}")


def bad_row(row: int, problem: str) -> InvalidParameterError:
    """Refuse a row of a table of paths, rows counted from 1."""
    return InvalidParameterError.of_fields(
        "Row {row} of the taxonomy {problem}; a row must be {need}. {way}",
        row=row,
        problem=problem,
        need="a value, its parent, and so on up to the root",
        way="Complete the row, or leave it out; cells after the root may be empty.",
    )


def bad_shape(name: str, got: object, need: str, way: str) -> InvalidParameterError:
    """Refuse a parameter of a taxonomy of the wrong type or range."""
    return InvalidParameterError.of_fields(
        "{setting} was given; it must be {need}. {way}",
        setting=Setting(name, got),
        need=need,
        way=way,
    )


def circular(names: Iterable[str] = ()) -> InvalidParameterError:
    """Refuse names that are above themselves; of a table they are not shown."""
    return InvalidParameterError.of_fields(
        "The taxonomy has a cycle: {names} lead(s) back to itself by its parents; {need}. {way}",
        names=listed(names) or "a name",
        need="every path must end at one root",
        way="Give one of them another parent, or none if it is the root.",
    )


def no_value() -> InvalidParameterError:
    """Refuse a taxonomy without edges."""
    return InvalidParameterError.of_fields(
        "The taxonomy has no value; {need}. {way}",
        need="at least one name with a parent is needed",
        way="Name the parent of each value, as in {'cat': 'animal'}.",
    )


def not_text(where: str, kind: str) -> InvalidParameterError:
    """Refuse a name that is not text."""
    return InvalidParameterError.of_fields(
        "{where} of the taxonomy is of type {value}; {need}. {way}",
        where=where,
        value=kind,
        need="names must be text",
        way="Write it as text, as the values of the column are once they are cast to text.",
    )


def of_column(option: str, column: str, named: str, error: MicroaggError) -> MicroaggError:
    """Add the column of a refused taxonomy to its error, and what it was given as."""
    return type(error).of_fields(
        "{setting}: {problem}", setting=Setting(option, named, column), problem=error.sentence
    )


def several_roots(roots: Sequence[str] | int) -> InvalidParameterError:
    """Refuse names that have no class in common; of a table they are only counted."""
    return InvalidParameterError.of_fields(
        "The taxonomy has {count} roots{names}; {need}. {way}",
        count=roots if isinstance(roots, int) else len(roots),
        names="" if isinstance(roots, int) else f", {listed(roots)}",
        need="it must have one",
        way="Give them a parent in common, such as '*'.",
    )


def two_parents(name: str, first: str, second: str) -> InvalidParameterError:
    """Refuse a name below two others."""
    return InvalidParameterError.of_fields(
        "{name} has two parents in the taxonomy, {first} and {second}; {need}. {way}",
        name=repr(name),
        first=repr(first),
        second=repr(second),
        need="a name is one node and must have one parent",
        way="Correct one of them, or give two nodes two names.",
    )
