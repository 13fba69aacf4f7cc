"""Errors of columns of categories."""

from __future__ import annotations

from collections.abc import Iterable

from polars_microagg.errors.data import InvalidDataError, NotNumericError
from polars_microagg.errors.parameters import InvalidParameterError
from polars_microagg.wording import Given, Parameter, Sentence, hint

__all__ = [
    "mostly_rare",
    "nearly_unique",
    "new_categories",
    "not_as_fitted",
    "not_masked",
    "not_of_kind",
    "unlike_kinds",
    "without_order",
]


def mostly_rare(
    column: str, lost: tuple[int, int], fewest: int, entities: bool, numbers: bool
) -> InvalidDataError:
    """Refuse categories of which so many values of so many have one that fewer than the fewest have.

    `entities` says that entities are counted and not records, and `numbers` that most values are
    numbers in texts.
    """
    what = "entities" if entities else "records"
    return InvalidDataError.of_fields(
        "Column {column} has {lost} of {values} values in categories that fewer than {fewest} {what} "
        "have; {need}. {way}{cast}",
        column=repr(column),
        lost=lost[0],
        values=lost[1],
        fewest=fewest,
        what=what,
        need=f"categories of fewer than k {what} are not released, so most of it would be lost",
        way=_ways(),
        cast=" If its texts are numbers, cast them: cast(pl.Float64), in SQL CAST(... AS DOUBLE)."
        if numbers
        else "",
    )


def _ways() -> Sentence:
    """Write what can be done about categories that are too rare."""
    return Sentence(
        "Leave it out if it names persons; or make its categories wider, or give their "
        "classes with {taxonomy}.",
        taxonomy=Parameter("taxonomy"),
    )


def nearly_unique(column: str, alone: int, values: int, records: int) -> InvalidDataError:
    """Refuse categories that nearly every record of a sample of so many has for itself."""
    return InvalidDataError.of_fields(
        "Column {column} has {alone} categories of a single record each, in {values} records that were "
        "drawn from {records}; {need}. {way}",
        column=repr(column),
        alone=alone,
        values=values,
        records=records,
        need="categories of fewer than k records are not released, so next to nothing would be left",
        way=_ways(),
    )


def unlike_kinds(column: str, original: str, masked: str) -> InvalidDataError:
    """Refuse a column that has numbers in one table and categories in the other."""
    return InvalidDataError.of_fields(
        "Column {column} is of type {original} in original and of type {masked} in masked; {need}. {way}",
        column=repr(column),
        original=original,
        masked=masked,
        need="numbers are not compared with categories",
        way="Convert one of them to the type of the other.",
    )


def new_categories(column: str, count: int) -> InvalidDataError:
    """Refuse to measure categories that the table did not have before it was masked."""
    return InvalidDataError.of_fields(
        "Column {column} has {count} distinct value(s) after masking that it did not have before; {need}. "
        "{way}",
        column=repr(column),
        count=count,
        need="how far they are from the others is not known",
        way=Sentence(
            "Give their classes with {taxonomy}, or leave the column out.",
            taxonomy=Parameter("taxonomy"),
        ),
    )


def not_masked(option: str, name: str, masked: Iterable[str]) -> InvalidParameterError:
    """Refuse to say of which kind a column is that is not masked."""
    return InvalidParameterError.of_fields(
        "{option} names {value}, which is not among the masked columns. {way}",
        option=Parameter(option),
        value=Given(name),
        way=hint(name, masked),
    )


def not_of_kind(column: str, dtype: object, option: str, takes: str) -> NotNumericError:
    """Refuse a column that is named as of a kind that its type cannot be."""
    return NotNumericError.of_fields(
        "Column {column} is of type {dtype}; {option} takes {takes}. {way}",
        column=repr(column),
        dtype=dtype,
        option=Parameter(option),
        takes=takes,
        way="Cast it, or take it out of that parameter.",
    )


def without_order(column: str, method: str, *, ordinal: bool) -> NotNumericError:
    """Refuse categories for a method that groups values by size."""
    named = Sentence(", or name the column in {ordinal}", ordinal=Parameter("ordinal"))
    return NotNumericError.of_fields(
        "Column {column} has categories, and {method} groups values by their size. {way}",
        column=repr(column),
        method=method,
        way=Sentence(
            "Use a method that groups records, such as mdav{named}.",
            named=named if ordinal else "",
        ),
    )


def not_as_fitted(column: str, dtype: object) -> NotNumericError:
    """Refuse a column of another kind than the one that leaves were fitted to."""
    return NotNumericError.of_fields(
        "Column {column} is of type {dtype}, and {need}. {way}",
        column=repr(column),
        dtype=dtype,
        need="the leaves were fitted to another kind of column",
        way="Cast it to the type that it had there, or fit leaves to this table.",
    )
