"""Errors of a call: which parameter is wrong."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from polars_microagg.errors.base import MicroaggError
from polars_microagg.wording import (
    Given,
    Listed,
    Parameter,
    PerDoor,
    Sentence,
    Setting,
    hint,
    listed,
    synonym,
)

__all__ = ["InvalidParameterError", "UnknownMethodError", "no_such_column"]

FIVE = Setting("k", 5)


class InvalidParameterError(MicroaggError):
    """A parameter is wrong; raised when the call is typed."""

    @classmethod
    def k(cls, got: object) -> Self:
        """Refuse a `k` that is not an integer of at least 2."""
        return cls.of_fields(
            "{setting} is not a group size; k must be {need}. {way}",
            setting=Setting("k", got),
            need="an integer of at least 2",
            way=Sentence(
                "Give the smallest number of records that may share a value, for example {five}.",
                five=FIVE,
            ),
        )

    @classmethod
    def choice(cls, name: str, got: object, choices: Iterable[object]) -> Self:
        """Refuse a value outside a closed list."""
        return cls.of_choices(Setting(name, got), got, choices)

    @classmethod
    def key(cls, name: str, got: object, keys: Iterable[str]) -> Self:
        """Refuse a name in the value of a parameter that has one number for each of some names."""
        return cls.of_choices(Setting(name, got), got, keys, "a key of ")

    @classmethod
    def measure(cls, got: str, known: Iterable[str]) -> Self:
        """Refuse a requirement on a measure that there is not."""
        subject = Sentence(
            "The measure {value} of {parameter}", value=Given(got), parameter=Parameter("require")
        )
        return cls.of_choices(subject, got, known)

    @classmethod
    def of_choices(
        cls, setting: Setting | Sentence, got: object, choices: Iterable[object], of: str = ""
    ) -> Self:
        """Refuse an unknown value, and suggest the choice that is most like it."""
        choices = tuple(choices)
        return cls.of_fields(
            of + "{setting} is not known; it must be one of {need}. {way}",
            setting=setting,
            value=Given(got),
            need=Listed(choices),
            way=hint(got, [choice for choice in choices if isinstance(choice, str)], shown=True),
        )

    @classmethod
    def kind(cls, name: str, got: object, need: object, key: str | None = None) -> Self:
        """Refuse a value, or the part of it that `key` names, of the wrong type or range."""
        # Which columns are masked has no default.
        way = "Change it or leave it out for the default." if name != "columns" else "Name columns."
        return cls.of_fields(
            "{setting} was given; it must be {need}. {way}",
            setting=Setting(name, got, key),
            need=need,
            way=way,
        )

    @classmethod
    def switch(cls, name: str, got: object) -> Self:
        """Refuse what is neither true nor false."""
        python = "True or False"
        return cls.kind(name, got, PerDoor(python, "true or false", python))

    @classmethod
    def option(cls, method: str, name: str, options: Iterable[str]) -> Self:
        """Refuse an option that the method does not have."""
        options = list(options)
        return cls.of_fields(
            "{method} has no option {value}. {way}",
            method=method,
            value=Given(name),
            way=synonym(name, options) or hint(name, options),
        )

    @classmethod
    def missing_k(cls, method: str) -> Self:
        """Report that `k` was left out."""
        return cls.of_fields(
            "{method} needs {need}, and none was given. {way}",
            method=method,
            need="k, the smallest group size",
            way=Sentence("Add {five}.", five=FIVE),
        )

    @classmethod
    def missing_entity(cls, metric: str) -> Self:
        """Report that a metric that counts persons was not told whose the records are."""
        return cls.of_fields(
            "{method} needs {need}, and none was given. {way}",
            method=metric,
            need=Sentence(
                "{entity}, columns that say whose a record is", entity=Parameter("entity")
            ),
            way="Name them, or take dld, which counts records.",
        )

    @classmethod
    def too_many(cls, method: str, records: int, limit: int, cost: str) -> Self:
        """Name methods for more records than this one takes."""
        return cls.of_fields(
            "{method} takes at most {limit} records at a time, as its time grows like {cost}, and "
            "got {records}. {way}",
            method=method,
            limit=limit,
            cost=cost,
            records=records,
            way=Sentence(
                "Use {option} mdav, or fixed_size for millions of records, or name strata of fewer "
                "records.",
                option=PerDoor("method", "method", Parameter("method")),
            ),
        )

    @classmethod
    def no_columns(cls, got: str = "No column", way: str = "['age', 'income']") -> Self:
        """Refuse an empty selection."""
        return cls.of_fields(
            "{got} was given to mask; {need}. {way}",
            got=got,
            need="at least one is needed",
            way=Sentence("Name it, as in {example}.", example=way),
        )

    @classmethod
    def duplicate(cls, what: str, names: Iterable[str]) -> Self:
        """Refuse a name that is listed twice."""
        return cls.of_fields(
            "{parameter} lists {names} more than once. {way}",
            parameter=Parameter(what),
            names=listed(names),
            way="Name each column once.",
        )

    @classmethod
    def unknown_column(
        cls, what: str, name: object, known: Iterable[str], table: str = "table"
    ) -> Self:
        """Refuse a column that the table does not have."""
        return cls(no_such_column(what, name, known, table))

    @classmethod
    def selects_nothing(cls, what: str, selector: object, table: str) -> Self:
        """Refuse a selector without a column."""
        return cls.of_fields(
            "{parameter} selects no column of the {table}: {value}. {way}",
            parameter=Parameter(what),
            table=table,
            value=str(selector),
            way="Select columns that it has, or leave it out.",
        )

    @classmethod
    def duplicate_columns(cls, first: str, second: str) -> Self:
        """Refuse a table in which two columns have the same name."""
        same = "" if first == second else f" ({second!r} is the same name in DuckDB)"
        return cls.of_fields(
            "The table has two columns of the name {name}{same}, and {need}. {way}",
            name=repr(first),
            same=same,
            need="a release must say which one is meant",
            way="Name every column once, as in SELECT a.age, b.age AS age_2.",
        )

    @classmethod
    def changed(cls) -> Self:
        """Refuse a table that was replaced while it was read."""
        return cls.of_fields(
            "The source had other columns when it was read than when it was looked up: it was replaced "
            "in between. Nothing was released. {way}",
            way="Read it when nobody writes it, or in one transaction.",
        )

    @classmethod
    def overlap(cls, what: str, names: Iterable[str]) -> Self:
        """Refuse a masked column that also plays another role."""
        return cls.of_fields(
            "{names} is masked and is in {parameter} as well; {need}. {way}",
            names=listed(names),
            parameter=Parameter(what),
            need="a column has one role",
            way=Sentence(
                "Take it out of the masked columns or out of {parameter}.",
                parameter=Parameter(what),
            ),
        )

    @classmethod
    def needs(cls, setting: Setting, *others: str | Setting) -> Self:
        """Refuse an option that means nothing without another one."""
        named = [Parameter(other) if isinstance(other, str) else other for other in others]
        either: object = named[0]
        for other in named[1:]:
            either = Sentence("{one} or {other}", one=either, other=other)
        return cls.of_fields(
            "{setting} was given without {either}. {way}",
            setting=setting,
            either=either,
            way=Sentence("Give {either} as well, or leave it out.", either=either),
        )

    @classmethod
    def unnamed_mode(cls, names: Iterable[str]) -> Self:
        """Refuse an entity that is released, without a word on its rows."""
        return cls.of_fields(
            "{setting} is released with the table, so that the rows of one entity can be put together, "
            "and {parameter} is not named. {way}",
            setting=Setting("entity", list(names)),
            parameter=Parameter("entity_mode"),
            way=Sentence(
                "Use {alike} if k entities must have the same rows, {mean} if the rows of each are masked "
                "as one, or {rows} if it is enough that k entities share each row; or leave the column out.",
                alike=Setting("entity_mode", "alike"),
                mean=Setting("entity_mode", "mean"),
                rows=Setting("entity_mode", "rows"),
            ),
        )

    @classmethod
    def taken(cls, name: str) -> Self:
        """Refuse an output name that the table already uses."""
        return cls.of_fields(
            "The table already has a column {name}, which the result needs. {way}",
            name=repr(name),
            way="Rename that column, or give another name.",
        )

    @classmethod
    def not_joint(cls, method: str, dtype: object) -> Self:
        """Refuse a plain column where records are to be grouped."""
        return cls.of_fields(
            "microagg.{method} groups records by several columns at once and was called on a "
            "plain column of type {dtype}: each column would be masked alone and records "
            "would not be k-anonymous. {way}",
            method=method,
            dtype=dtype,
            way=f'Write pl.struct("a", "b").microagg.{method}(...).',
        )

    @classmethod
    def cannot(cls, method: str, what: object, way: object) -> Self:
        """Refuse what a method cannot honour."""
        return cls.of_fields(
            "{method} cannot honour {setting}. {way}", method=method, setting=what, way=way
        )


class UnknownMethodError(InvalidParameterError):
    """No method of that name is registered."""

    @classmethod
    def of(cls, name: object, known: Iterable[str]) -> Self:
        """Name the method asked for and the closest one there is."""
        lists = PerDoor("mg.methods()", "microagg.methods()", "microagg methods")
        return cls.of_fields(
            "There is no method {value}. {way}",
            value=Given(name),
            way=Sentence("{hint} {lists} lists them all.", hint=hint(name, known), lists=lists),
        )


def no_such_column(what: str, name: object, known: Iterable[str], table: str = "table") -> Sentence:
    """Write that a parameter names an unknown column."""
    return Sentence(
        "{parameter} names {value}, which is not a column of the {table}. {way}",
        table=table,
        parameter=Parameter(what),
        value=Given(name),
        way=hint(name, known),
    )
