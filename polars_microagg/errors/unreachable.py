"""The error of a bound that no grouping keeps, and what could be had."""

from __future__ import annotations

import math
from typing import Self

from polars_microagg.errors.data import DROP, EMPTY, FILL, PATTERNS, InvalidDataError
from polars_microagg.wording import Parameter, Sentence, Setting

__all__ = ["UnreachableError"]

ALL = "all records"
"""Where a bound is broken, if not in one stratum of several."""


class UnreachableError(InvalidDataError):
    """A bound that no grouping of the records satisfies."""

    @classmethod
    def of(
        cls,
        bound: Setting,
        what: str,
        column: str,
        reached: float,
        *,
        stratum: int | None,
        at_least: bool,
        empties: bool = True,
        patterns: bool = False,
        whole: float | None = None,
    ) -> Self:
        """Refuse a bound that even all records of a stratum as one group do not satisfy.

        `whole` is what all records as one group reach, if that does not satisfy it, either.
        """
        could, most = (_rounded(n or 0, at_least=at_least) for n in (reached, whole))
        side = "at most" if at_least else "at least"
        merge = "; or merge strata,{fill} use {empty} to empty such strata, or use {drop} to leave them out"
        if whole is not None:
            merge = "; with all strata merged {side} {most}"
        patterns = patterns and stratum is not None
        return cls.of_fields(
            "{setting} cannot be reached: in {where}, {what} of {column} is {value}, and no grouping "
            "changes that{patterns}. {way}",
            setting=bound,
            patterns=PATTERNS if patterns else "",
            where=ALL if stratum is None else f"a stratum of {stratum} records",
            what=what,
            column=repr(column),
            value=could,
            way=Sentence(
                "{parameter} can be {side} {value}{strata}.",
                parameter=Parameter(bound.name),
                side=side,
                value=could,
                strata=Sentence(
                    ""
                    if stratum is None
                    else merge
                    if empties or whole is not None
                    else "; or use {drop}",
                    side=side,
                    most=most,
                    fill=FILL if patterns else "",
                    empty=EMPTY,
                    drop=DROP,
                ),
            ),
        )

    @classmethod
    def emptied(
        cls, bound: Setting, what: str, column: str, reached: float, *, records: int, at_least: bool
    ) -> Self:
        """Refuse a bound that the records to empty do not satisfy as one group."""
        return cls.of_fields(
            "{setting} cannot be reached: {empty} would empty {records} record(s), which are a class like "
            "any other, and in it {what} of {column} is {value}. {way}",
            setting=bound,
            empty=EMPTY,
            records=records,
            what=what,
            column=repr(column),
            value=_rounded(reached, at_least=at_least),
            way=Sentence(
                "Use {drop} to leave them out, {ease} {parameter}, or merge strata.",
                drop=DROP,
                ease="lower" if at_least else "raise",
                parameter=Parameter(bound.name),
            ),
        )

    def of_stratum(self) -> UnreachableError:
        """Return the error of an expression, which under `.over(...)` sees one stratum at a time."""
        fields = dict(self.fields)
        if "empty" in fields:
            fields["way"] = Sentence(
                "Use the frame function with {drop}, and strata= in place of .over(...), to leave them out.",
                drop=DROP,
            )
        elif fields.get("where") == ALL:
            fields["where"] = "the records that are masked together"
            fields["way"] = Sentence(
                "{way} Under .over(...) they are one stratum: the frame function with strata= and "
                "small_strata= can empty or drop it.",
                way=fields["way"],
            )
        return type(self)(Sentence(self.sentence.template, **fields))


def _rounded(reached: float, *, at_least: bool) -> str:
    """Write a number, rounded to the side on which it can be had."""
    rounded = math.floor if at_least else math.ceil
    return f"{rounded(reached * 1e4) / 1e4:g}"
