"""Errors of a release that does not fit its manifest, or a table that is not its original."""

from __future__ import annotations

from collections.abc import Sequence

from polars_microagg.errors.data import InvalidDataError
from polars_microagg.wording import Parameter, PerDoor, Sentence, Setting, listed

__all__ = [
    "measures_differ",
    "not_as_the_manifest_says",
    "other_kinds",
    "other_original",
    "other_release",
    "other_rows",
    "repeated_in_release",
    "rows_differ",
    "rows_not_released",
    "uncentred",
    "unlike_keys",
    "unlike_order",
    "unlike_releases",
    "unmatched_key",
    "unmatched_releases",
    "unmatched_rows",
    "without_masked",
]

WITHOUT_DROPPED = Sentence(
    "f rows were dropped, leave them out of original, too, by a column that identifies a row{how}",
    how=PerDoor(
        ": original.join(masked, on=..., how='semi')",
        ": FROM original SEMI JOIN masked USING (...)",
        "",
    ),
)
"""The way to compare with a table of which some rows were not released, but for its first letter."""

SAME_TABLE = "Name the table that was protected, its rows in the same order."
"""The way out where the original is another table."""


def unmatched_rows(original: int, masked: int) -> InvalidDataError:
    """Refuse tables that cannot be matched by position."""
    return InvalidDataError.of_fields(
        "original has {original} rows and masked has {masked}; {need}. {way}",
        original=original,
        masked=masked,
        need="rows are matched by position",
        way=Sentence(
            "Give two tables of the same rows in the same order, or name a key column with {key}{dropped}.",
            key=PerDoor("key=", "key", Parameter("key")),
            dropped=Sentence("; i{way}", way=WITHOUT_DROPPED) if masked < original else "",
        ),
    )


def unmatched_key(key: object, problem: str) -> InvalidDataError:
    """Refuse a key that does not match rows one to one."""
    return InvalidDataError.of_fields(
        "{setting} does not match the rows of original and masked one to one: {found}. {way}",
        setting=Setting("key", key),
        found=problem,
        way="Name columns that identify a row in both tables.",
    )


def rows_not_released(key: object, rows: int) -> InvalidDataError:
    """Refuse an original that has more rows than the masked table, of which each was found."""
    return InvalidDataError.of_fields(
        "{setting} finds every row of masked, and original has {rows} more. {way}",
        setting=Setting("key", key),
        rows=rows,
        way=Sentence("I{way}.", way=WITHOUT_DROPPED),
    )


def unlike_releases(one: int, other: int) -> InvalidDataError:
    """Refuse two releases whose rows do not belong together by their order."""
    return InvalidDataError.of_fields(
        "One release has {one} rows and the other has {other}; {need}. {way}",
        one=one,
        other=other,
        need="without a key, rows belong together by their order",
        way=Sentence(
            "Name a column that identifies a row in both with {key}.", key=Parameter("key")
        ),
    )


def unlike_order(name: str) -> InvalidDataError:
    """Refuse two releases that have a column in another order, by which their rows do not belong together."""
    return InvalidDataError.of_fields(
        "Both releases have {column}, and not the same value row by row; {need}. {way}",
        column=repr(name),
        need="without a key, rows belong together by their order",
        way=Sentence(
            "Name it, or what identifies a row in both, with {key}.", key=Parameter("key")
        ),
    )


def unlike_keys(types: Sequence[Sequence[str]]) -> InvalidDataError:
    """Refuse keys of two releases whose types cannot be compared."""
    return InvalidDataError.of_fields(
        "The {key} of two releases is of type {types}, which cannot be compared. {way}",
        key=Parameter("key"),
        types=" and ".join(", ".join(of) for of in types),
        way="Name columns of text, numbers or dates that both have.",
    )


def repeated_in_release(rows: int) -> InvalidDataError:
    """Refuse a key that several rows of a release have."""
    return InvalidDataError.of_fields(
        "{rows} row(s) of a release repeat a {key}. {way}",
        rows=rows,
        key=Parameter("key"),
        way="Name columns that identify a row in both releases.",
    )


def unmatched_releases(rows: tuple[int, int], types: Sequence[Sequence[str]]) -> InvalidDataError:
    """Refuse two releases of which no row has the key of a row of the other."""
    return InvalidDataError.of_fields(
        "None of {one} rows of a release has the {key} of one of {other} rows of the other ({types}). {way}",
        one=rows[0],
        other=rows[1],
        key=Parameter("key"),
        types=" and ".join(", ".join(of) for of in types),
        way="Name columns that have the same values in both, or nobody is in both.",
    )


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


def without_masked(name: str) -> InvalidDataError:
    """Refuse an original that lacks a column that was masked."""
    return InvalidDataError.of_fields(
        "The original has no column {column}, which was masked. {way}",
        column=repr(name),
        way="Name the table that was protected, and the separator of its cells.",
    )
