"""Errors of data: the call is right, and the table does not allow it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Self

from polars_microagg.errors.base import MicroaggError
from polars_microagg.errors.parameters import no_such_column
from polars_microagg.wording import Parameter, PerDoor, Sentence, Setting, listed, shown_path

__all__ = [
    "DROP",
    "EMPTY",
    "FILL",
    "PATTERNS",
    "InvalidDataError",
    "NotAnonymousError",
    "NotNumericError",
    "TooFewRecordsError",
]

EMPTY, DROP = Setting("small_strata", "null"), Setting("small_strata", "drop")
PATTERNS = Sentence(
    "; with {pattern}, records that lack the same values are a stratum",
    pattern=Setting("nulls", "pattern"),
)
"""The reason why there may be more strata than a call names."""

FILL = Sentence(" fill nulls with {impute},", impute=Setting("nulls", "impute"))


class InvalidDataError(MicroaggError):
    """The call is right and the data do not allow it."""

    @classmethod
    def unreadable(cls, what: object, why: object) -> Self:
        """Refuse a file, a table or a stream that cannot be read."""
        return cls.of_fields("{what} cannot be read: {why}", what=repr(shown_path(what)), why=why)

    @classmethod
    def unknown_column(cls, what: str, name: object, known: Iterable[str]) -> Self:
        """Refuse a table that lacks columns that were recorded for it."""
        return cls(no_such_column(what, name, known))

    @classmethod
    def nameless(cls, column: str, count: int) -> Self:
        """Refuse records whose entity is null."""
        return cls.of_fields(
            "Column {column} has {count} null value(s), and {need}. {way}",
            column=repr(column),
            count=count,
            need="an entity that is not known cannot be counted",
            way="Drop those rows first, or give each of them an entity of its own.",
        )

    @classmethod
    def unmerged(cls, why: object) -> Self:
        """Refuse records of leaves that were not merged for the table they are of."""
        return cls.of_fields(
            "These records cannot be masked by these leaves: {why}. {way}",
            why=why,
            way="Give the whole table to merge first, or to mask, which masks it at once.",
        )

    @classmethod
    def not_in_taxonomy(cls, column: str | None, count: int) -> Self:
        """Report how many distinct values are not in a taxonomy; the column need not be known."""
        return cls.of_fields(
            "{count} distinct value(s){column} are not in {whose} taxonomy, and {need}. {way}",
            count=count,
            column="" if column is None else f" of column {column!r}",
            whose="this" if column is None else "its",
            need="each value needs its path to the root",
            way="Add them, or replace them by the name of a class of the taxonomy or by its root.",
        )


class TooFewRecordsError(InvalidDataError):
    """Fewer than k records."""

    @classmethod
    def of(
        cls, n: int, k: int, way: object = "Lower k, or add records.", what: str = "records"
    ) -> Self:
        """Report how many records, or entities, there are."""
        return cls.of_fields(
            "k={k} needs at least {k} {what}, got {value}. {way}", k=k, value=n, what=what, way=way
        )

    @classmethod
    def strata(
        cls,
        small: int,
        total: int,
        fewest: int,
        k: int,
        what: str = "records",
        *,
        patterns: bool = False,
    ) -> Self:
        """Report how many strata are too small, where `patterns` of nulls are strata, too, or are not."""
        return cls.of_fields(
            "{small} of {total} strata have fewer than k={k} {what} (the smallest has {fewest}){patterns}. "
            "{way}",
            patterns=PATTERNS if patterns else "",
            small=small,
            total=total,
            k=k,
            what=what,
            fewest=fewest,
            way=Sentence(
                "Lower k, merge strata,{fill} or use {empty} to empty their masked cells and strata, or "
                "{drop} to leave their rows out.",
                fill=FILL if patterns else "",
                empty=EMPTY,
                drop=DROP,
            ),
        )

    @classmethod
    def alike(cls, few: int, total: int, fewest: int, k: int) -> Self:
        """Report that too few entities have as many rows as each other."""
        return cls.of_fields(
            "{setting} needs k={k} entities with as many rows in the same strata, and {few} of {total} "
            "such sets have fewer (the smallest has {fewest}). {way}",
            setting=Setting("entity_mode", "alike"),
            k=k,
            few=few,
            total=total,
            fewest=fewest,
            way=Sentence(
                "Lower k, leave out what an entity has beyond some rows by {parameter}, or use {drop} "
                "to leave such entities out.",
                parameter=Parameter("max_rows_per_entity"),
                drop=DROP,
            ),
        )

    @classmethod
    def emptied(cls, rows: int, k: int, need: int, what: str = "records") -> Self:
        """Report that the records to empty are fewer than are needed."""
        return cls.of_fields(
            "{setting} would empty {rows} {what}, and k={k} needs {need}. {way}",
            setting=EMPTY,
            rows=rows,
            what="record(s)" if what == "records" else what,
            k=k,
            need=f"at least {need} {what} that are alike, also emptied ones",
            way=Sentence("Use {drop} to leave them out, lower k, or merge strata.", drop=DROP),
        )

    def of_stratum(self) -> TooFewRecordsError:
        """Return the error of an expression, which under `.over(...)` sees one stratum at a time."""
        if self.fields.get("patterns"):
            return self  # it fills nulls and empties strata by itself
        way = "Lower k, or add records; where .over(...) parts them, the frame function with strata= and "
        way += "small_strata= can empty or drop the small strata of all together."
        return type(self)(Sentence(self.sentence.template, **{**self.fields, "way": way}))


class NotNumericError(InvalidDataError):
    """A column of a type that cannot be averaged."""

    @classmethod
    def of(
        cls,
        column: str,
        dtype: object,
        way: object = "Leave it out, cast it, or use it as a stratum.",
    ) -> Self:
        """Report which column and what type."""
        return cls.of_fields(
            "Column {column} is of type {dtype}, which has no centroid; {need}. {way}",
            column=repr(column),
            dtype=dtype,
            need="numbers, dates, times and categories can be masked",
            way=way,
        )

    @classmethod
    def known(cls, column: str, dtype: object) -> Self:
        """Refuse to link records by a column that has no distances."""
        counting = Sentence(
            ", or ask for measures that only count, as in {metrics}",
            metrics=Setting("metrics", ["k_min", "k_prime"]),
        )
        return cls.of_fields(
            "{parameter} names {column} of type {dtype}, which has no distances, so that no records "
            "are linked by it. {way}",
            parameter=Parameter("known"),
            column=repr(column),
            dtype=dtype,
            way=Sentence(
                "Leave it out of {parameter}{counting}.",
                parameter=Parameter("known"),
                counting=PerDoor(counting, counting, ""),
            ),
        )


class NotAnonymousError(InvalidDataError):
    """Some class of equal records is smaller than k, or breaks a bound."""

    @classmethod
    def of(
        cls, columns: Sequence[str], k: int, counts: tuple[int, int, int], strata: Iterable[str]
    ) -> Self:
        """Report how many classes and records fall short, and the size of the smallest class."""
        where, together = _where(columns, strata)
        return cls.of_fields(
            "The table is not {k}-anonymous on {columns}: {classes} class(es) with {records} record(s) "
            "in all are smaller than k={k} (the smallest has {smallest}). {way}",
            k=k,
            columns=where,
            classes=counts[0],
            records=counts[1],
            smallest=counts[2],
            way=f"Mask these columns together with this k{together} before releasing the table.",
        )

    @classmethod
    def entities(
        cls, columns: Sequence[str], k: int, counts: tuple[int, int, float], strata: Iterable[str]
    ) -> Self:
        """Report how many classes and records fall short, and the fewest entities of a class."""
        where, together = _where(columns, strata)
        return cls.of_fields(
            "The table is not {k}-anonymous on {columns}: {classes} class(es) with {records} record(s) "
            "in all are of fewer than k={k} entities (the fewest is {fewest}). {way}",
            k=k,
            columns=where,
            classes=counts[0],
            records=counts[1],
            fewest=int(counts[2]),
            way=Sentence(
                "Mask these columns together with this k and this {entity}{together} before releasing "
                "the table.",
                entity=Parameter("entity"),
                together=together,
            ),
        )

    @classmethod
    def alike(
        cls, columns: Sequence[str], k: int, counts: tuple[int, int], strata: Iterable[str]
    ) -> Self:
        """Report how many entities share all their rows with too few, and with how few."""
        return cls.of_fields(
            "The table is not {k}-anonymous on {columns} by all rows of an entity: the rows of {entities} "
            "entit(ies) are those of fewer than k={k} (the fewest is {fewest}). {way}",
            k=k,
            columns=_where(columns, strata)[0],
            entities=counts[0],
            fewest=counts[1],
            way=Sentence(
                "Mask these columns together with {alike} before releasing the table.",
                alike=Setting("entity_mode", "alike"),
            ),
        )

    @classmethod
    def model(
        cls,
        columns: Sequence[str],
        bound: Setting,
        what: str,
        counts: tuple[int, int, float],
        strata: Iterable[str],
    ) -> Self:
        """Report how many classes and records break a bound, and the worst number of a class."""
        where, together = _where(columns, strata)
        return cls.of_fields(
            "The table does not keep {setting} on {columns}: {classes} class(es) with {records} record(s) "
            "in all break it (at worst, {what} is {worst}). {way}",
            setting=bound,
            columns=where,
            classes=counts[0],
            records=counts[1],
            what=what,
            worst=f"{counts[2]:.12g}",
            way=f"Mask these columns together with this bound{together} before releasing the table.",
        )


def _where(columns: Sequence[str], strata: Iterable[str]) -> tuple[str, str]:
    """Return the words for the columns of classes, and that their strata have to be named again."""
    keys = [name for name in strata if name not in columns]
    within = f" within strata of {listed(keys)}" if keys else ""
    return f"{listed(columns)}{within}", " and these strata" * bool(keys)
