"""Names of columns, compared as DuckDB compares them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, NoReturn

from polars_microagg.core.options import keys_asked, repeated
from polars_microagg.core.plan import Plan
from polars_microagg.errors import InvalidParameterError, tables
from polars_microagg.errors.release import in_two_roles

__all__ = [
    "GROUP",
    "OURS",
    "ROW",
    "axes",
    "copies_of",
    "counted_by",
    "find",
    "is_named",
    "keyed_by",
    "keys_in",
    "listed_blocks",
    "listed_names",
    "refuse_both",
    "refuse_copy",
    "refuse_ours",
    "refuse_twins",
    "require_match",
    "same",
]

OURS = "__mg_"
"""Prefix of the names of the macros' own columns."""

ROW = f"{OURS}row"
"""The number of a record."""

GROUP = "microagg_group"
"""The column that the macro `groups` adds."""

LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")


def same(name: str, other: str) -> bool:
    """Compare two names as DuckDB does: only ASCII letters have no case.

    >>> same("AGE", "age"), same("Ä", "ä")
    (True, False)
    """
    return name.translate(LOWER) == other.translate(LOWER)


def find(what: str, names: Sequence[str], table: Sequence[str], called: str = "table") -> list[str]:
    """Return the names of columns as they are written in a table.

    A name that is unknown or listed twice raises InvalidParameterError; `what` is the parameter
    that has the names, and `called` the name of the table in messages.

    >>> find("columns", ["AGE"], ["Age", "income"])
    ['Age']
    """
    written = []
    for name in names:
        alike = [name] if name in table else [known for known in table if same(name, known)]
        if len(alike) != 1:
            raise InvalidParameterError.unknown_column(what, name, table, called)
        written += alike
    if twice := repeated(written):
        raise InvalidParameterError.duplicate(what, twice)
    return written


def axes(plan: Plan, blocks: Sequence[Sequence[str]]) -> Plan:
    """Return the plan with a column that an option names written as in the table.

    >>> axes(Plan.make("fixed_size", 5, sort="AGE"), [["Age", "income"]]).options
    {'sort': 'Age'}
    """
    options = dict(plan.options)
    for name, value in plan.options.items():
        option = plan.method.options[name]
        if option.axis and value not in option.choices:
            alike = [known for block in blocks for known in block if same(known, str(value))]
            if len(alike) == 1 and alike[0] not in option.choices:
                options[name] = alike[0]
    return replace(plan, options=options)


def counted_by(plan: Plan, table: Sequence[str]) -> Plan:
    """Return the plan with the columns that privacy models count written as in the table.

    >>> counted_by(Plan.make("mdav", 5, entity="PATIENT"), ["age", "patient"]).entity
    ('patient',)
    """
    entity, hidden = plan.entity, plan.confidential
    if not (entity or hidden):
        return plan
    found = [
        find(what, names, table) for what, names in (("entity", entity), ("confidential", hidden))
    ]
    return replace(plan, entity=tuple(found[0]), confidential=tuple(found[1]))


def keys_in(kinds: Mapping[str, Any], table: Sequence[str]) -> dict[str, Any]:
    """Return what a call says of the kinds of columns, their names written as in the table.

    >>> keys_in({"nominal": ("ZIP",)}, ["age", "zip"])
    {'nominal': ('zip',)}
    """
    found: dict[str, Any] = {}
    for option, columns in kinds.items():
        names = find(option, [*columns], table)
        mapped = isinstance(columns, Mapping)
        found[option] = dict(zip(names, columns.values(), strict=True)) if mapped else names
    # Two ways to write a name are one column, which has one kind.
    return keys_asked(found)


def is_named(name: str, kinds: Mapping[str, Any]) -> bool:
    """Return whether a call says of which kind a column is.

    >>> is_named("zip", {"nominal": ("zip",)}), is_named("age", {})
    (True, False)
    """
    return any(name in columns for columns in kinds.values())


def keyed_by(plan: Plan, table: Sequence[str]) -> Plan:
    """Return the plan with the columns of which it has kinds and weights written as in the table.

    >>> keyed_by(Plan.make("mdav", 5, column_weights={"AGE": 2}), ["age"]).column_weights
    {'age': 2.0}
    """
    if not (plan.kinds or plan.column_weights):
        return plan
    names = find("column_weights", [*plan.column_weights], table)
    column_weights = dict(zip(names, plan.column_weights.values(), strict=True))
    return replace(plan, kinds=keys_in(plan.kinds, table), column_weights=column_weights)


def refuse_both(masked: Sequence[str], strata: Sequence[str], plan: Plan) -> None:
    """Refuse a column that has two roles."""
    roles = {"strata": strata, "entity": plan.entity, "confidential": plan.confidential}
    for what, listed in roles.items():
        if both := [name for name in masked if name in listed]:
            raise InvalidParameterError.overlap(what, both)
    for one, other in combinations(roles, 2):
        if both := [name for name in roles[one] if name in roles[other]]:
            raise in_two_roles(both[0], one, other)


def listed_names(what: str, names: object) -> tuple[str, ...]:
    """Return a parameter that names columns as a tuple; None names none."""
    listed = [names] if isinstance(names, str) else names
    if listed is None:
        return ()
    if not isinstance(listed, Sequence) or not all(isinstance(name, str) for name in listed):
        raise InvalidParameterError.kind(what, names, "a column name or a list of names")
    return tuple(listed)


def listed_blocks(columns: object) -> list[tuple[str, ...]]:
    """Return the parameter `columns` as blocks of names, at least one a block.

    >>> listed_blocks("age"), listed_blocks([["age"], ["income", "rent"]])
    ([('age',)], [('age',), ('income', 'rent')])
    """
    items = [columns] if isinstance(columns, str) else columns
    if not isinstance(items, Sequence):
        need = "a column name, a list of them, or a list of lists"
        raise InvalidParameterError.kind("columns", columns, need)
    nested = [isinstance(item, Sequence) and not isinstance(item, str) for item in items]
    blocks = [
        listed_names("columns", item) for item in (items if nested and all(nested) else [items])
    ]
    if not all(blocks):
        raise InvalidParameterError.no_columns()
    return blocks


def refuse_twins(names: Sequence[str]) -> None:
    """Refuse a table in which two columns have the same name, which then means neither."""
    seen: dict[str, str] = {}
    for name in names:
        # Not by identity: Python has one object for equal names of a single letter.
        if (low := name.translate(LOWER)) in seen:
            raise InvalidParameterError.duplicate_columns(seen[low], name)
        seen[low] = name


def refuse_ours(names: Sequence[str]) -> None:
    """Refuse names of the user that begin with the prefix of ours."""
    for name in names:
        if name.translate(LOWER).startswith(OURS):
            raise InvalidParameterError.taken(name)


def copies_of(masked: Sequence[str], others: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Find columns whose names are those DuckDB gives to second columns of a masked name.

    >>> list(copies_of(["age"], ["Age_1", "age:1", "age_group", "wage_1"]))
    [('Age_1', 'age'), ('age:1', 'age')]
    """
    for other in others:
        if numbered := re.fullmatch(r"(.*)[_:]\d+", other, re.DOTALL):
            yield from ((other, name) for name in masked if same(numbered[1], name))


def refuse_copy(copy: str, name: str) -> NoReturn:
    """Refuse to release a masked column a second time, unmasked."""
    raise tables.copy_of_masked(copy, name)


def require_match(key: object, ordered: object) -> None:
    """Refuse to match rows by position in a database that does not keep tables in order."""
    if not key and not ordered:
        raise tables.no_order()
