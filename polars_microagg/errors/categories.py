"""Errors of columns of categories."""

from __future__ import annotations

from polars_microagg.errors.data import InvalidDataError, NotNumericError
from polars_microagg.wording import Parameter, Sentence

__all__ = ["nearly_unique", "not_as_fitted", "not_of_kind", "without_order"]


def nearly_unique(column: str, alone: int, values: int) -> InvalidDataError:
    """Refuse categories that nearly every record has for itself."""
    return InvalidDataError.of_fields(
        "Column {column} has {alone} categories of a single record each, in {values} records; "
        "{need}. {way}",
        column=repr(column),
        alone=alone,
        values=values,
        need="categories of fewer than k records are not released, so next to nothing would be left",
        way=Sentence(
            "Leave it out if it names persons; or make its categories wider, or give their "
            "classes with {taxonomy}.",
            taxonomy=Parameter("taxonomy"),
        ),
    )


def not_of_kind(column: str, dtype: object, option: str) -> NotNumericError:
    """Refuse a column that is named as of a kind that its type cannot be."""
    return NotNumericError.of_fields(
        "Column {column} is of type {dtype} and cannot be {option}. {way}",
        column=repr(column),
        dtype=dtype,
        option=Parameter(option),
        way="Take it out of that parameter, or cast it to a type that can be: text, or a time of day.",
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
