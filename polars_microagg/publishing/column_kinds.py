"""The kinds of masked columns of a release: as asked for, as written, and what became of categories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from polars_microagg.core.kind import kind_of
from polars_microagg.core.options import KEY_OPTIONS, keys_asked
from polars_microagg.frames.columns import kind_for
from polars_microagg.frames.selection import by_name

__all__ = [
    "categories",
    "kinds_of",
    "of_numbers",
    "options_of",
    "rare_shares",
    "read_as_text",
    "replaceable",
    "written",
]


def written(value: object) -> Any:
    """Write what columns are mapped to, as a taxonomy, in values that JSON can hold.

    >>> from polars_microagg.core.taxonomy import Taxonomy
    >>> written({"zip": Taxonomy.prefix(5, [3])})
    {'zip': {'version': 1, 'taxonomy': 'prefix', 'length': 5, 'kept': [3]}}
    """
    if isinstance(value, Mapping):
        return {str(key): written(item) for key, item in value.items()}
    made = tuple(entry.each for entry in KEY_OPTIONS.values() if entry.each)
    return value.to_dict() if made and isinstance(value, made) else value  # type: ignore[attr-defined]


def options_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a configuration as a call takes them: what `written` wrote is read.

    >>> options_of({"k": 5, "taxonomy": written({"zip": {"version": 1, "taxonomy": "prefix", "length": 5,
    ...     "kept": [3]}})})
    {'k': 5, 'taxonomy': {'zip': Taxonomy(prefixes, 2 levels)}}
    """
    read = dict(config)
    for name, entry in KEY_OPTIONS.items():
        if entry.each is not None and isinstance(read.get(name), Mapping):
            made: Any = entry.each
            read[name] = {column: made.from_dict(tree) for column, tree in read[name].items()}
    return read


def kinds_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a configuration that say of which kind columns are.

    >>> kinds_of({"k": 5, "nominal": ["zip"], "ordinal": None})
    {'nominal': ('zip',)}
    """
    return keys_asked(options_of({name: config.get(name) for name in KEY_OPTIONS}))


def read_as_text(names: Iterable[str], kinds: Mapping[str, Any]) -> list[str]:
    """Return the columns of which numbers are codes, so that 01067 stays as it is.

    >>> read_as_text(["age", "zip", "grade"], {"nominal": ("zip",), "ordinal": ("grade",)})
    ['zip']
    """
    text = pl.String()
    named = {name for columns in kinds.values() for name in columns}
    found = []
    for name in names:
        # A number in a text has an order; who asks for categories without one means its characters.
        if name in named and not _ordered(name, text, kinds):
            found.append(name)
    return found


def _ordered(name: str, dtype: pl.DataType, kinds: Mapping[str, Any]) -> bool:
    """Return whether a column has an order, or cannot be of its kind as text."""
    entry, columns = next((KEY_OPTIONS[o], c) for o, c in kinds.items() if name in c)
    kind = entry.make(columns[name]) if entry.each else entry.make()
    return kind.ordered or not kind.can_take(dtype)


def categories(
    schema: Mapping[str, pl.DataType], names: Iterable[str], kinds: Mapping[str, Any]
) -> dict[str, str]:
    """Return the columns that have categories, and the option that each is of, also where its type decides.

    >>> table = {"age": pl.Int64(), "sex": pl.String(), "zip": pl.Int64()}
    >>> categories(table, table, {"nominal": ("zip",)})
    {'sex': 'nominal', 'zip': 'nominal'}
    """
    found = {}
    for name in names:
        kind = kind_for(name, schema[name], kinds)
        if not kind.numeric:
            found[name] = next(o for o, entry in KEY_OPTIONS.items() if type(kind) is entry.make)
    return found


def replaceable(found: Mapping[str, str]) -> list[str]:
    """Return the columns of `categories` whose rare categories are replaced by others.

    A taxonomy replaces all of them by wider classes, which is what was requested and no loss of rare ones.

    >>> replaceable({"sex": "nominal", "zip": "taxonomy"})
    ['sex']
    """
    return [
        name for name, kind in found.items() if not getattr(KEY_OPTIONS[kind].make, "widens", False)
    ]


def of_numbers(
    schema: Mapping[str, pl.DataType], names: Iterable[str], kinds: Mapping[str, Any] | None = None
) -> list[str]:
    """Return the columns that have numbers, dates or times, and are not named as categories.

    >>> table = {"age": pl.Int64(), "sex": pl.String(), "zip": pl.Int64()}
    >>> of_numbers(table, table, {"nominal": ("zip",)})
    ['age']
    """
    found = {name: kind_of(schema[name], name, kinds) for name in names}
    return [name for name, kind in found.items() if kind is not None and kind.numeric]


def _rare_cells(
    before: pl.DataFrame,
    after: pl.DataFrame,
    names: Sequence[str],
    strata: Sequence[str],
    entity: Sequence[str],
    k: int,
) -> pl.DataFrame:
    """Return which cells lost a category that fewer than k records, or entities, of their stratum have.

    One column for each name: true where it got another category, a wider class or none; null where
    there was no category. `entity` are columns of `before`.

    >>> before = pl.DataFrame({"sex": ["f", "f", "x", None]})
    >>> _rare_cells(before, pl.DataFrame({"sex": ["f", "f", "f", "f"]}), ["sex"], [], [], 2)["sex"].to_list()
    [False, False, True, None]
    """
    keys = [before[name].alias(f"s{i}") for i, name in enumerate(strata)]
    whose = [before[name].alias(f"e{i}") for i, name in enumerate(entity)]
    who = pl.struct(column.name for column in whose).n_unique() if whose else pl.len()
    cells = {}
    for name in names:
        table = pl.DataFrame([*keys, *whose, before[name].alias("old"), after[name].alias("new")])
        text = table.with_columns(pl.col("old", "new").cast(pl.String))
        holders = who.over(["old", *(key.name for key in keys)])
        lost = (holders < k) & pl.col("old").ne_missing(pl.col("new"))
        cells[name] = text.select(pl.when(pl.col("old").is_not_null()).then(lost)).to_series()
    return pl.DataFrame([column.alias(name) for name, column in cells.items()])


def rare_shares(
    before: pl.DataFrame,
    after: pl.DataFrame,
    names: Sequence[str],
    columns: tuple[Sequence[str], Sequence[str], Sequence[str]],
    k: int,
) -> dict[str, tuple[float, int]]:
    """Return the per cent of the cells of some columns that lost a rare category, and of how many cells.

    `columns` are all masked ones, strata and entity. Rows that were emptied as a whole are not counted.

    >>> before = pl.DataFrame({"sex": ["f", "f", "x", None]})
    >>> rare_shares(before, before.fill_null("f"), ["sex"], (["sex"], [], []), 2)
    {'sex': (0.0, 3)}
    """
    if not names:
        return {}
    masked, strata, entity = columns
    there = after.select(
        pl.any_horizontal(by_name(n).is_not_null() for n in (*masked, *strata)).alias("0")
    ).to_series()
    cells = _rare_cells(before, after, names, strata, entity, k).filter(there)
    counted = [cells.get_column(name).alias("0").drop_nulls() for name in names]
    shares = [float(column.mean() or 0.0) for column in counted]  # type: ignore[arg-type]
    return {n: (100.0 * s, len(c)) for n, s, c in zip(names, shares, counted, strict=True)}
