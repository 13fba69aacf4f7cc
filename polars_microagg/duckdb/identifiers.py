"""Names of columns, found in a table as DuckDB finds them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NoReturn

from polars_microagg.core.options import repeated
from polars_microagg.core.plan import Plan
from polars_microagg.errors import InvalidParameterError, tables

__all__ = [
    "GROUP",
    "OURS",
    "ROW",
    "axes",
    "blocks_of",
    "copies_of",
    "find",
    "names_of",
    "refuse_copy",
    "refuse_ours",
    "refuse_twins",
    "require_match",
    "same",
]

OURS = "__mg_"
"""What the names of the macros' own columns begin with."""

ROW = f"{OURS}row"
"""The number of a record."""

GROUP = "microagg_group"
"""The column that the macro `groups` adds."""

LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")


def same(name: str, other: str) -> bool:
    """Compare two names as DuckDB does: only ASCII letters have no case.

    Examples
    --------
    >>> same("AGE", "age"), same("Ä", "ä")
    (True, False)
    """
    return name.translate(LOWER) == other.translate(LOWER)


def find(what: str, names: Sequence[str], table: Sequence[str]) -> list[str]:
    """Find columns in a table.

    Parameters
    ----------
    what : str
        Parameter that names the columns.
    names : sequence of str
        Names asked for.
    table : sequence of str
        Names of all columns.

    Returns
    -------
    list of str
        Their names in the table.

    Raises
    ------
    InvalidParameterError
        A name is unknown or listed twice.

    Examples
    --------
    >>> find("columns", ["AGE"], ["Age", "income"])
    ['Age']
    """
    found = []
    for name in names:
        alike = [name] if name in table else [known for known in table if same(name, known)]
        if len(alike) != 1:
            raise InvalidParameterError.unknown_column(what, name, table)
        found += alike
    if twice := repeated(found):
        raise InvalidParameterError.duplicate(what, twice)
    return found


def axes(plan: Plan, blocks: Sequence[Sequence[str]]) -> Plan:
    """Write a column that an option of a method names as in the table.

    Parameters
    ----------
    plan : Plan
        The call.
    blocks : sequence of sequence of str
        The columns to mask, as in the table.

    Returns
    -------
    Plan
        The same call.

    Examples
    --------
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


def names_of(what: str, names: object) -> tuple[str, ...]:
    """Bring a parameter that names columns into a tuple; None names none."""
    listed = [names] if isinstance(names, str) else names
    if listed is None:
        return ()
    if not isinstance(listed, Sequence) or not all(isinstance(name, str) for name in listed):
        raise InvalidParameterError.kind(what, names, "a column name or a list of names")
    return tuple(listed)


def blocks_of(columns: object) -> list[tuple[str, ...]]:
    """Bring the parameter `columns` into blocks of names, at least one a block.

    Examples
    --------
    >>> blocks_of("age"), blocks_of([["age"], ["income", "rent"]])
    ([('age',)], [('age',), ('income', 'rent')])
    """
    items = [columns] if isinstance(columns, str) else columns
    if not isinstance(items, Sequence):
        need = "a column name, a list of them, or a list of lists"
        raise InvalidParameterError.kind("columns", columns, need)
    nested = [isinstance(item, Sequence) and not isinstance(item, str) for item in items]
    blocks = [names_of("columns", item) for item in (items if nested and all(nested) else [items])]
    if not all(blocks):
        raise InvalidParameterError.no_columns()
    return blocks


def refuse_twins(names: Sequence[str]) -> None:
    """Refuse a table in which a name is that of two columns, and so means neither."""
    seen: dict[str, str] = {}
    for name in names:
        # Not by identity: Python has one object for equal names of a single letter.
        if (low := name.translate(LOWER)) in seen:
            raise InvalidParameterError.duplicate_columns(seen[low], name)
        seen[low] = name


def refuse_ours(names: Sequence[str]) -> None:
    """Refuse names of the user's that begin as ours do."""
    for name in names:
        if name.translate(LOWER).startswith(OURS):
            raise InvalidParameterError.taken(name)


def copies_of(masked: Sequence[str], others: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Pair columns named as DuckDB names a second column of a name with the masked one of it.

    Examples
    --------
    >>> list(copies_of(["age"], ["Age_1", "age:1", "age_group", "wage_1"]))
    [('Age_1', 'age'), ('age:1', 'age')]
    """
    for other in others:
        if found := re.fullmatch(r"(.*)[_:]\d+", other, re.DOTALL):
            yield from ((other, name) for name in masked if same(found[1], name))


def refuse_copy(copy: str, name: str) -> NoReturn:
    """Refuse to release a masked column a second time, as it was."""
    raise tables.copy_of_masked(copy, name)


def require_match(key: object, ordered: object) -> None:
    """Refuse to match rows by position in a database that keeps tables in no order."""
    if not key and not ordered:
        raise tables.no_order()
