"""Every error the library raises, and the wording of each message.

::

    MicroaggError(ValueError)
      InvalidParameterError     you called it wrongly; raised when the call is typed
        UnknownMethodError
      InvalidDataError          the data cannot do it
        TooFewRecordsError
        MissingValuesError
        NotNumericError
        NotAnonymousError       verify: a class is smaller than k
      NotPublishedError         publish: no file was put in place
        RequirementError        a requirement is not met
        OutputError             the file cannot be written
          TargetExistsError     it is there and may not be replaced
      BrokenPromiseError        our bug; nothing was released

A message names columns, counts and parameters and never a data value of a record. It is a
sentence that stands alone, because DuckDB keeps only the text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from polars_microagg.wording import hint, listed, written

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "BrokenPromiseError",
    "InvalidDataError",
    "InvalidParameterError",
    "MicroaggError",
    "MissingValuesError",
    "NotAnonymousError",
    "NotNumericError",
    "NotPublishedError",
    "OutputError",
    "RequirementError",
    "TargetExistsError",
    "TooFewRecordsError",
    "UnknownMethodError",
]


class MicroaggError(ValueError):
    """Base of every error of this library."""


class InvalidParameterError(MicroaggError):
    """A parameter is wrong; raised when the call is typed."""

    @classmethod
    def k(cls, got: object) -> Self:
        """Refuse a `k` that is not an integer of at least 2."""
        return cls(
            f"k={written(got)} is not a group size; k must be an integer of at least 2. "
            "Give the smallest number of records that may share a value, for example k=5."
        )

    @classmethod
    def choice(cls, name: str, got: object, choices: Iterable[str]) -> Self:
        """Refuse a value outside a closed list."""
        choices = list(choices)
        return cls(
            f"{name}={written(got)} is not known; it must be one of {listed(choices)}. "
            f"{hint(got, choices, told=True)}".rstrip()
        )

    @classmethod
    def kind(cls, name: str, got: object, need: str) -> Self:
        """Refuse a value of the wrong type or range."""
        return cls(
            f"{name}={written(got)} was given; it must be {need}. Change it or leave it out for the default."
        )

    @classmethod
    def option(cls, method: str, name: str, options: Iterable[str]) -> Self:
        """Refuse an option that the method does not have."""
        return cls(f"{method} has no option {name!r}. {hint(name, options)}")

    @classmethod
    def missing_k(cls, method: str) -> Self:
        """Ask for the `k` that was left out."""
        return cls(f"{method} needs k, the smallest group size, and none was given. Add k=5.")

    @classmethod
    def too_many(cls, method: str, records: int, limit: int, cost: str) -> Self:
        """Name methods for more records than this one takes."""
        return cls(
            f"{method} takes at most {limit} records at a time, as its time grows like {cost}, and "
            f"got {records}. Use method mdav, or fixed_size for millions of records, or name strata "
            "of fewer records."
        )

    @classmethod
    def no_columns(cls, got: str = "No column", way: str = "['age', 'income']") -> Self:
        """Refuse an empty selection."""
        return cls(f"{got} was given to mask; at least one is needed. Name it, as in {way}.")

    @classmethod
    def duplicate(cls, what: str, names: Iterable[str]) -> Self:
        """Refuse a name that is listed twice."""
        return cls(f"{what} lists {listed(names)} more than once. Name each column once.")

    @classmethod
    def unknown_column(cls, what: str, name: object, known: Iterable[str]) -> Self:
        """Refuse a column that the table does not have."""
        return cls(
            f"{what} names {written(name)}, which is not a column of the table. {hint(name, known)}"
        )

    @classmethod
    def twins(cls, first: str, second: str) -> Self:
        """Refuse a table in which two columns have the same name."""
        same = "" if first == second else f" ({second!r} is the same name in DuckDB)"
        return cls(
            f"The table has two columns of the name {first!r}{same}, and a release must say which one "
            "is meant. Name every column once, as in SELECT a.age, b.age AS age_2."
        )

    @classmethod
    def changed(cls) -> Self:
        """Refuse a table that was replaced while it was read."""
        return cls(
            "The source had other columns when it was read than when it was looked up: it was replaced "
            "in between. Nothing was released. Read it when nobody writes it, or in one transaction."
        )

    @classmethod
    def overlap(cls, what: str, names: Iterable[str]) -> Self:
        """Refuse a masked column that also plays another role."""
        return cls(
            f"{listed(names)} is masked and is in {what} as well; a column has one role. "
            f"Take it out of the masked columns or out of {what}."
        )

    @classmethod
    def taken(cls, name: str) -> Self:
        """Refuse an output name that the table already uses."""
        return cls(
            f"The table already has a column {name!r}, which the result needs. "
            "Rename that column, or give another name."
        )

    @classmethod
    def not_joint(cls, method: str, dtype: object) -> Self:
        """Refuse a plain column where records are to be grouped."""
        return cls(
            f"microagg.{method} groups records by several columns at once and was called on a "
            f"plain column of type {dtype}: each column would be masked alone and records "
            f'would not be k-anonymous. Write pl.struct("a", "b").microagg.{method}(...).'
        )

    @classmethod
    def cannot(cls, method: str, what: str, instead: str) -> Self:
        """Refuse what a method cannot honour."""
        return cls(f"{method} cannot honour {what}. {instead}")


class UnknownMethodError(InvalidParameterError):
    """No method of that name is registered."""

    @classmethod
    def of(cls, name: object, known: Iterable[str]) -> Self:
        """Name the method asked for and the closest one there is."""
        known = list(known)
        return cls(
            f"There is no method {written(name)}. {hint(name, known)} mg.methods() lists them all."
        )


class InvalidDataError(MicroaggError):
    """The call is right and the data cannot do it."""

    @classmethod
    def rows(cls, original: int, masked: int) -> Self:
        """Refuse tables that cannot be matched by position."""
        return cls(
            f"original has {original} rows and masked has {masked}; rows are matched by position. "
            "Give two tables of the same rows in the same order, or name a key column with key=."
        )

    @classmethod
    def key(cls, key: object, found: str) -> Self:
        """Refuse a key that does not match rows one to one."""
        return cls(
            f"key={written(key)} does not match the rows of original and masked one to one: {found}. "
            "Name columns that identify a row in both tables."
        )

    @classmethod
    def unreadable(cls, what: object, why: str) -> Self:
        """Refuse a file, a table or a stream that cannot be read."""
        return cls(f"{str(what)!r} cannot be read: {why}")


class TooFewRecordsError(InvalidDataError):
    """Fewer than k records."""

    @classmethod
    def of(cls, n: int, k: int, instead: str = "") -> Self:
        """Say how many records there are."""
        return cls(
            f"k={k} needs at least {k} records, got {n}. {instead or 'Lower k, or add records.'}"
        )

    @classmethod
    def strata(cls, small: int, total: int, fewest: int, k: int) -> Self:
        """Say how many strata are too small."""
        return cls(
            f"{small} of {total} strata have fewer than k={k} records (the smallest has {fewest}). "
            "Lower k, merge strata, or use small_strata='null' to empty their masked cells and "
            "strata, or small_strata='drop' to leave their rows out."
        )

    @classmethod
    def emptied(cls, rows: int, k: int) -> Self:
        """Say that the records to empty are too few to be alike."""
        return cls(
            f"small_strata='null' would empty {rows} record(s), and k={k} needs at least {k} records "
            "that are alike, also emptied ones. Use small_strata='drop' to leave them out, lower k, "
            "or merge strata."
        )


class MissingValuesError(InvalidDataError):
    """Nulls, NaN or infinities where numbers are needed."""

    @classmethod
    def nulls(cls, column: str, count: int, instead: str = "") -> Self:
        """Say which column has nulls and how many."""
        instead = instead or (
            "Use nulls='impute' to fill them with the centroid of their group, nulls='pattern' to "
            "keep them, or drop those rows first."
        )
        return cls(f"Column {column!r} has {count} null value(s). {instead}")

    @classmethod
    def not_finite(cls, column: str, count: int, instead: str = "") -> Self:
        """Say which column has NaN or infinities and how many."""
        instead = instead or (
            "Replace them by null (fill_nan(None), in SQL nullif(x, 'nan')) or by a number, or drop "
            "those rows first."
        )
        what = f"{count} NaN or infinite value(s), which have no centroid"
        return cls(f"Column {column!r} has {what}. {instead}")


class NotNumericError(InvalidDataError):
    """A column of a type that has no centroid."""

    @classmethod
    def of(cls, column: str, dtype: object, instead: str = "") -> Self:
        """Say which column and what type."""
        can = "numbers, decimals, dates and times can be masked"
        instead = instead or "Leave it out, cast it, or use it as a stratum."
        return cls(f"Column {column!r} is of type {dtype}, which has no centroid; {can}. {instead}")

    @classmethod
    def known(cls, column: str, dtype: object) -> Self:
        """Refuse to link records by a column that has no distances."""
        return cls(
            f"known names {column!r} of type {dtype}, which has no distances, so that no records are "
            "linked by it. Leave it out of known, or ask for measures that only count, as in "
            "metrics=['k_min', 'k_prime']."
        )


class NotAnonymousError(InvalidDataError):
    """Some class of equal records is smaller than k."""

    @classmethod
    def of(
        cls, columns: Sequence[str], k: int, counts: tuple[int, int, int], strata: Iterable[str]
    ) -> Self:
        """Say how many classes and records fall short, and the size of the smallest class."""
        keys = [name for name in strata if name not in columns]
        on = f"{listed(columns)} within strata of {listed(keys)}" if keys else listed(columns)
        return cls(
            f"The table is not {k}-anonymous on {on}: {counts[0]} class(es) with {counts[1]} "
            f"record(s) in all are smaller than k={k} (the smallest has {counts[2]}). Mask these "
            f"columns together with this k{' and these strata' * bool(keys)} before releasing the table."
        )


class NotPublishedError(MicroaggError):
    """No file was put in place; what was there before is still there."""


class RequirementError(NotPublishedError):
    """A requirement on the release is not met."""

    @classmethod
    def unmet(cls, unmet: Iterable[str]) -> Self:
        """Say what was required and what was found."""
        return cls(
            f"The release does not meet {' and '.join(unmet)}. Nothing was published. Choose another "
            "method or k, or require what can be reached: compare shows what each method reaches."
        )


class OutputError(NotPublishedError):
    """The file cannot be written."""

    @classmethod
    def of(cls, what: object, why: str) -> Self:
        """Say what cannot be written and why."""
        return cls(f"{str(what)!r} cannot be written: {why} Nothing was published.")


class TargetExistsError(OutputError):
    """The target is there already and may not be replaced."""

    @classmethod
    def of(cls, what: object, why: str = "it is there already.") -> Self:
        """Say what is there, and what allows to replace it."""
        return super().of(what, f"{why} Allow it with overwrite=True.")


class BrokenPromiseError(MicroaggError):
    """A result broke our own promise; a bug of ours, and nothing was released."""

    @classmethod
    def small_class(cls, method: str, smallest: int, k: int) -> Self:
        """Say which promise was broken."""
        return cls(
            f"{method} made a class of {smallest} record(s) where k={k} was promised. Nothing was "
            "released. This is a bug of polars_microagg: please report the call and the versions."
        )

    @classmethod
    def shape(cls, method: str, got: int, need: int) -> Self:
        """Say that a result has the wrong length."""
        return cls(
            f"{method} labelled {got} of {need} records. Nothing was released. This is a bug of "
            "polars_microagg: please report the call and the versions."
        )
