"""Errors of a release before anything is read: roles, and requirements that exclude others."""

from __future__ import annotations

from collections.abc import Sequence

from polars_microagg.errors.data import InvalidDataError
from polars_microagg.errors.parameters import InvalidParameterError
from polars_microagg.wording import Parameter, PerDoor, Sentence, Setting, listed

__all__ = [
    "contradictory",
    "in_two_roles",
    "more_than_k",
    "none_compared",
    "none_measured",
    "not_compared",
    "only_masking",
    "only_whole",
    "without_role",
]


def without_role(names: Sequence[str]) -> InvalidParameterError:
    """Refuse columns that have no role."""
    way = "Put it into columns or strata, into entity or confidential,"
    return InvalidParameterError.of_fields(
        "{names} has no role, and no column is passed through by default. {way}",
        names=f"{'' if len(names) == 1 else 'Each of '}{listed(names)}",
        way=PerDoor(
            f"{way} into keep=[...] to release it as it is, or into drop=[...]; a selector such as "
            "keep=cs.all() or drop=cs.all() means all that are left.",
            f"{way} into keep := [...] to release it as it is, or into drop := [...].",
            f"{way} into keep to release it as it is, or into drop.",
        ),
    )


def in_two_roles(name: str, one: str, other: str) -> InvalidParameterError:
    """Refuse a column of two roles."""
    return InvalidParameterError.of_fields(
        "{name} is in {one} and in {other} as well; {need}. {way}",
        name=repr(name),
        one=one,
        other=other,
        need="a column has one role",
        way=f"Take it out of {one} or out of {other}.",
    )


def contradictory(one: object, other: object) -> InvalidParameterError:
    """Refuse two bounds that leave nothing between them."""
    return InvalidParameterError.of_fields(
        "{one} and {other} cannot both be met. {way}",
        one=one,
        other=other,
        way="Leave out one of them, or change its bound.",
    )


def more_than_k(k: int, least: int) -> InvalidParameterError:
    """Refuse to require larger groups than are made."""
    return InvalidParameterError.of_fields(
        "k={k} was asked for and k>={least} is required, which groups of {k} do not meet. {way}",
        k=k,
        least=least,
        way=f"Ask for k={least}, or require k={k}.",
    )


def not_compared(lacking: Sequence[str]) -> InvalidParameterError:
    """Refuse to recommend from a table that lacks columns of a comparison."""
    return InvalidParameterError.of_fields(
        "compared has no column {names}; it must be {need}. {way}",
        names=listed(lacking),
        need="the table that compare returned",
        way="Give that table as it is, or a filter of it.",
    )


def none_compared() -> InvalidDataError:
    """Refuse to recommend from a comparison without lines."""
    return InvalidDataError.of_fields(
        "compared has no row, so none can be recommended; it must be {need}. {way}",
        need="the table that compare returned, with one row or more",
        way="Filter it less, or compare some methods first.",
    )


def none_measured(lines: int, k: int) -> InvalidDataError:
    """Refuse a comparison of which no line can be recommended."""
    return InvalidDataError.of_fields(
        "None of the {lines} line(s) of compared with {need} was measured, so none can be "
        "recommended. {way}",
        lines=lines,
        need=f"a k of at least {k}",
        way="Read their notes, and allow larger ks, other methods or more seconds.",
    )


def only_masking(option: str, methods: Sequence[str]) -> InvalidParameterError:
    """Refuse an option that says how to mask, where a table is released that is masked already."""
    takes = f"that takes it: {listed(methods)}" if methods else "such as mdav"
    return InvalidParameterError.of_fields(
        "{parameter} says how a table is masked, and {without} masks nothing: it counts the classes of a "
        "table that is masked already. {way}",
        parameter=Parameter(option),
        without=Setting("method", None),
        way=f"Leave it out, or name a method {takes}.",
    )


def only_whole(setting: Setting, why: str, memory: tuple[str, str]) -> InvalidParameterError:
    """Refuse what only the whole table in memory can do, of which so much is needed and so much allowed."""
    need, limit = memory
    return InvalidParameterError.of_fields(
        "{setting} needs the whole table in memory, as {why}; that takes about {need}, and {limit} are "
        "allowed. {way}",
        setting=setting,
        why=why,
        need=need,
        limit=limit,
        way=Sentence("Give more, as in {memory}, or leave it out.", memory=Setting("memory", need)),
    )
