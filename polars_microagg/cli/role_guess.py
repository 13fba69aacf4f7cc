"""The role of a column, guessed from its name, its type and counts.

A question if it is in doubt.
"""

from __future__ import annotations

import polars as pl

from polars_microagg.cli.name_words import (
    is_amount,
    is_code,
    is_confidential,
    is_contact,
    is_id,
    is_person,
    is_place,
    is_stratum,
)
from polars_microagg.frames.columns import is_number
from polars_microagg.publishing.formats.csv_suspicions import written_otherwise

__all__ = ["DELICATE", "FEW_VALUES", "GROUPS", "as_prefixes", "guess"]

MANY = 0.9
"""Share of distinct values from which a column identifies nearly every record."""

FEW = 20
"""Distinct values up to which a column looks like a class."""

FEWEST = 5
"""Distinct numbers up to which they look like a class."""

GROUPS = 5
"""Groups that every stratum should have room for."""

SOME = 200
"""Distinct values from which a column may be an id, though its name does not say so."""

TAKEN = 500
"""Values that are compared with a pattern."""

ENOUGH = 50_000
"""Rows in which equal values are compared."""

CLASSES = (pl.String, pl.Boolean, pl.Categorical, pl.Enum)
"""Types of columns that may be the same in all rows of a person."""

PATTERNS = {
    "a UUID": r"^\{?[0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}\}?$",
    "an email address": r"^[^@\s]+@[^@\s]+\.[^@\s]+$",
    "a telephone number": r"^\+?\(?\d[\d\s()/.-]{6,}\d$",
}
"""Patterns of values that identify a person."""

EITHER = "an id or a quantity"
"""Whole numbers that nearly all differ, and whose name has no known word."""

DELICATE = "looks like a confidential attribute"
"""Advice on a column that nobody should learn of a person."""

FEW_VALUES = "has few values"
"""Advice on a column of unknown meaning that may be confidential as well."""

WRITTEN = {
    "dates": ("dates such as DD.MM.YYYY", "Write them as YYYY-MM-DD"),
    "numbers": ("numbers with other marks than a point", "Write them as 1234.5"),
}
"""Text that would be a quantity if it was written as protect reads it, and how that is."""

OUT = "Drop it, or keep it?"
"""The question about a column that cannot be masked."""


def guess(frame: pl.DataFrame, name: str, k: int) -> tuple[str, str]:
    """Guess the role of a column and say why; or return ``"ask"`` and a question.

    `frame` has numbers and dates read from text. A wrong guess must not release anything: a column
    is masked, as ``"nominal"`` where it has categories, or dropped, says whose a row is, or is a stratum
    of few large classes whose name is not of anything confidential. No column is kept by a guess.

    >>> people = pl.DataFrame({"name": ["Ann", "Ben", "Cem"], "age": [31, 47, 31]})
    >>> guess(people, "name", 2)[0], guess(people, "age", 2)[0]
    ('drop', 'columns')
    """
    column = frame.get_column(name).alias("0")
    if column.null_count() == len(column):
        return "drop", "it holds nothing"
    if column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Object):
        return "ask", f"holds several values in each cell, or bytes. {OUT}"
    sizes = column.drop_nulls().value_counts()["count"]
    counted = f"{len(sizes):,} distinct in {len(column):,} rows"
    if written := _written(name, column):
        return (
            "ask",
            f"looks like {written[0]} ({counted}), which are not read. {written[1]}, or drop it?",
        )
    if is_place(name) and len(sizes) > FEWEST:
        ways = "Drop it, make it a stratum, or mask it with a tree of its first characters?"
        return "ask", f"looks like the code of a place ({counted}). {ways}"
    masked = is_amount(name) or not _whole(column)
    if is_confidential(name) and not (masked and _quantity(column, len(sizes))):
        ways = "Drop it, mask it, or take it into confidential, with a bound on what a group tells?"
        return "ask", f"{DELICATE} ({counted}). {ways}"
    unique = len(sizes) > MANY * len(column)
    if (unique or len(sizes) > FEW) and (who := _who(frame, name, column, len(sizes))):
        if who == EITHER:
            return "ask", f"looks like {who} ({counted}). Drop it, or mask it?"
        if unique:
            return "drop", f"{counted}: it looks like {who}"
        if is_person(name) and not column.null_count():
            return "entity", f"{counted}: it looks like {who}, of whom there are several rows"
        return "ask", f"looks like {who} ({counted}). {OUT}"
    return _plain(name, column, sizes, counted, k)


def _written(name: str, column: pl.Series) -> tuple[str, str] | None:
    """Return what a column of text looks like that is written as protect does not read it."""
    if column.dtype != pl.String or is_id(name) or is_contact(name):
        return None
    written = written_otherwise(column.drop_nulls().head(ENOUGH))
    # Numbers with spaces or several points may be telephone numbers, dates are none.
    return None if written == "numbers" and _pattern(column) else WRITTEN.get(written)


def _plain(name: str, column: pl.Series, sizes: pl.Series, counted: str, k: int) -> tuple[str, str]:
    """Guess the role of a column that neither identifies a person nor is confidential."""
    coded = is_code(name)
    smallest = min(sizes.to_list())
    if _quantity(column, len(sizes)) and not coded:
        return "columns", f"{counted}: it can be masked"
    if len(sizes) <= FEW and smallest >= GROUPS * k and not column.null_count():
        if not is_stratum(name):
            # A stratum is released as it is, and a column of unknown meaning may be a diagnosis.
            return (
                "ask",
                f"{FEW_VALUES} ({counted}), and may be confidential. Drop it, mask it, take it into "
                "confidential, or make it a stratum?",
            )
        return "strata", f"{counted}, the rarest in {smallest:,}: few classes, all large enough"
    common = int(sizes.filter(sizes >= k).sum())
    if is_stratum(name) and (len(sizes) <= FEW or not is_number(column.dtype)):
        # Too many or too small for strata. Masked, no category of fewer than k is released.
        if 2 * common >= len(column):
            return "nominal", f"{counted}, the rarest in {smallest:,}: masked as categories"
        return "drop", f"{counted}: most are of fewer than {k} records, so little would be left"
    if len(sizes) <= FEW and (coded or not is_number(column.dtype)):
        why = f"{FEW_VALUES} ({counted}), of which the rarest has {smallest:,} records or some are null"
        ways = "Drop it, mask it as categories, take it into confidential, or merge its classes to strata?"
        return "ask", f"{why}. {ways}"
    if is_number(column.dtype) and not coded:
        return "columns", f"{counted}: it can be masked"
    if is_number(column.dtype):
        return "ask", f"looks like a code ({counted}). Drop it, or mask it, and name it in nominal?"
    if 2 * common >= len(column):
        return (
            "ask",
            f"has many categories ({counted}). Drop it, or mask it, perhaps with a tree of them?",
        )
    return "drop", f"{counted}: most are of fewer than {k} records, so little would be left"


def as_prefixes(column: pl.Series) -> tuple[int, list[int]] | None:
    """Return the length of codes, and how many first characters their classes keep; None for others.

    >>> as_prefixes(pl.Series(["10115", "01067"])), as_prefixes(pl.Series(["N", "SW"]))
    ((5, [3, 2]), None)
    """
    if column.dtype != pl.String:
        return None
    lengths = column.drop_nulls().str.len_chars().unique()
    if len(lengths) != 1 or column.str.contains("*", literal=True).any():
        return None
    whole = int(lengths[0])
    return (whole, sorted({whole // 2, -(-whole // 2)}, reverse=True)) if whole > 3 else None


def _quantity(column: pl.Series, distinct: int) -> bool:
    """Return whether a column looks like a quantity and not like the numbers of some classes."""
    if not is_number(column.dtype):
        return False
    return distinct > (FEWEST if _whole(column) else 2)


def _whole(column: pl.Series) -> bool:
    """Return whether a column holds whole numbers, whatever its type."""
    if column.dtype.is_integer():
        return True
    if not column.dtype.is_numeric():
        return False
    real = column.drop_nulls().cast(pl.Float64)
    return bool((real.is_finite() & (real == real.floor())).all())


def _who(frame: pl.DataFrame, name: str, column: pl.Series, distinct: int) -> str:
    """Return how a column identifies a person, or an empty text."""
    if column.dtype.is_temporal() or (column.dtype.is_numeric() and not _whole(column)):
        return ""
    number = column.dtype.is_numeric()
    if is_id(name):  # of digits, it looks like a telephone number as well
        return "the id of a person"
    if not number and (what := _pattern(column)):
        return what
    if is_contact(name):
        return "the name or the address of a person"
    if number and is_amount(name):
        return ""
    if distinct > MANY * len(column):
        return (
            "the name or number of a person" if not number or _running(column, distinct) else EITHER
        )
    if distinct > SOME and ((number and _running(column, distinct)) or _determines(frame, name)):
        return "the id of a person"
    return ""


def _pattern(column: pl.Series) -> str:
    """Find what most values look like."""
    sample = column.drop_nulls().head(TAKEN).cast(pl.String, strict=False)
    for what, pattern in PATTERNS.items():
        if (sample.str.contains(pattern).mean() or 0.0) > 0.5:  # type: ignore[operator]
            return what
    return ""


def _running(column: pl.Series, distinct: int) -> bool:
    """Return whether most whole numbers between the least and the largest are there."""
    lowest, highest = column.min(), column.max()
    return float(highest) - float(lowest) < 2.0 * distinct  # type: ignore[arg-type]


def _determines(frame: pl.DataFrame, name: str) -> bool:
    """Return whether equal values mean equal persons, as another column never differs among them.

    A column of intervals of a quantity never differs either. Sorted by the
    quantity, it has one run for each of its values, and such a column proves nothing.
    """
    frame = frame.head(ENOUGH)
    keys = frame.get_column(name).alias("key").rank("dense")
    repeated = keys.is_duplicated() & keys.is_not_null()
    if int(repeated.sum()) < frame.height / 2:
        return False
    classes = [other for other, dtype in frame.schema.items() if dtype in CLASSES and other != name]
    return any(_constant(keys, frame.get_column(other), repeated) for other in classes[:FEW])


def _constant(keys: pl.Series, values: pl.Series, repeated: pl.Series) -> bool:
    """Return whether equal keys always have one value of some, which are not intervals of them."""
    value = values.alias("value").cast(pl.String).rank("dense")
    table = pl.DataFrame([keys, value]).filter(repeated)
    pairs = table.unique().sort("key")
    distinct = pairs["value"].n_unique()
    if not 2 <= distinct <= FEW or len(pairs) != table["key"].n_unique():
        return False
    common = max(table["value"].value_counts()["count"].to_list())
    runs = len(pairs["value"].rle())
    return runs > 2 * distinct and common < MANY * len(table)
