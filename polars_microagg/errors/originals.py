"""Errors of a release that does not fit its manifest, or a table that is not its original."""

from __future__ import annotations

from collections.abc import Sequence

from polars_microagg.errors.data import InvalidDataError
from polars_microagg.wording import Parameter, Sentence, listed

__all__ = [
    "measures_differ",
    "not_as_the_manifest_says",
    "other_kinds",
    "other_original",
    "other_release",
    "other_rows",
    "rows_differ",
    "uncentred",
]

SAME_TABLE = "Name the table that was protected, its rows in the same order."
"""The way out where the original is another table."""


def not_as_the_manifest_says(finding: str) -> InvalidDataError:
    """Refuse a release that is not the one of its manifest."""
    return InvalidDataError.of_fields(
        "The release is not what its manifest says: {finding}", finding=finding
    )


def other_release(finding: str) -> InvalidDataError:
    """Refuse to measure a file by the manifest of another."""
    return InvalidDataError.of_fields(
        "The release is not the one of its manifest: {finding} {way}",
        finding=finding,
        way=Sentence(
            "Name the one that was released, or measure it without its manifest, with {columns}.",
            columns=Parameter("columns"),
        ),
    )


def other_rows(original: int, released: int) -> InvalidDataError:
    """Refuse an original with more or fewer rows than the release, where no key can match them."""
    return InvalidDataError.of_fields(
        "The original has {original} rows to compare and the release has {released}; {need}. {way}",
        original=original,
        released=released,
        need="rows are matched by position",
        way=SAME_TABLE,
    )


def other_original(source: object, finding: str) -> InvalidDataError:
    """Refuse a table that is not the one that was protected."""
    return InvalidDataError.of_fields(
        "{source} is not the table before this release: {finding}",
        source=repr(str(source)),
        finding=finding,
    )


def uncentred(names: Sequence[str]) -> InvalidDataError:
    """Refuse an original whose values do not make the release."""
    return InvalidDataError.of_fields(
        "{names} of the release are not centres of values of this original. {way}",
        names=listed(names),
        way=SAME_TABLE,
    )


def measures_differ(names: Sequence[str]) -> InvalidDataError:
    """Refuse tables that give other measures than those of the manifest."""
    return InvalidDataError.of_fields(
        "The manifest has other values of {names} than this original and release. {way}",
        names=listed(names),
        way=SAME_TABLE,
    )


def rows_differ(names: Sequence[str]) -> InvalidDataError:
    """Refuse an original of which a kept column differs from that of the release."""
    return InvalidDataError.of_fields(
        "{names} of the original differ from the release, row by row. {way}",
        names=listed(names),
        way=SAME_TABLE,
    )


def other_kinds(columns: Sequence[str]) -> InvalidDataError:
    """Refuse an original whose columns are of other kinds than those of the release were."""
    return InvalidDataError.of_fields(
        "Column(s) {columns} of the original are of other types than those that were masked; {need}. {way}",
        columns=listed(columns[:10]),
        need="categories are measured in the order that they had",
        way="Name the table that was protected, in a format that keeps its types.",
    )
