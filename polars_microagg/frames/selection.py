"""The table and the columns that a call names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import polars as pl
import polars.selectors as cs

from polars_microagg.core.options import KEY_OPTIONS, names_of, repeated
from polars_microagg.errors import InvalidParameterError
from polars_microagg.errors.tables import indexed, not_a_frame
from polars_microagg.frames.safe_collect import quietly

__all__ = [
    "MASKED",
    "ORIGINAL",
    "Columns",
    "F",
    "Names",
    "Schema",
    "as_frame",
    "blocks_of",
    "by_name",
    "items_of",
    "keys_of",
    "named_options",
    "own_text",
    "refuse_index",
    "refuse_repeated",
    "resolve",
    "selects",
]

F = TypeVar("F", pl.DataFrame, pl.LazyFrame)
Columns: TypeAlias = "str | pl.Expr | Sequence[str | pl.Expr | Sequence[str | pl.Expr]]"
"""A name, a selector, a list of them, or a list of lists: blocks masked each on its own."""
Names: TypeAlias = "str | pl.Expr | Sequence[str | pl.Expr] | None"
"""A name, a selector, or a list of them: columns that are not masked but have another role."""
Schema: TypeAlias = "Mapping[str, pl.DataType]"

ORIGINAL, MASKED = "original table", "masked table"
"""Names in messages of the two tables of a comparison."""


def blocks_of(columns: object) -> list[list[str | pl.Expr]]:
    """Return a column specification as blocks of names and selectors."""
    need = "a column name, a selector, a list of them, or a list of lists"
    items = [columns] if isinstance(columns, str | pl.Expr) else columns
    if not isinstance(items, Sequence) or isinstance(items, bytes):
        raise InvalidParameterError.kind("columns", type(columns).__name__, need)
    nested = [isinstance(item, Sequence) and not isinstance(item, str | bytes) for item in items]
    blocks = [list(item) for item in items] if nested and all(nested) else [list(items)]
    for block in blocks:
        if not block:
            raise InvalidParameterError.no_columns()
        _refuse_others("columns", block, need)
    refuse_repeated([item for block in blocks for item in block if isinstance(item, str)])
    return blocks


def items_of(what: str, columns: object) -> list[str | pl.Expr]:
    """Check a parameter that names columns or selects them."""
    need = "a column name, a selector, or a list of them"
    items = [columns] if isinstance(columns, str | pl.Expr) else () if columns is None else columns
    if not isinstance(items, Sequence) or isinstance(items, bytes):
        raise InvalidParameterError.kind(what, type(columns).__name__, need)
    _refuse_others(what, items, need)
    refuse_repeated([item for item in items if isinstance(item, str)], what)
    return list(items)


def _refuse_others(what: str, items: Sequence[object], need: str) -> None:
    """Refuse what is neither a name nor a selection of columns."""
    for item in items:
        if not isinstance(item, str | pl.Expr):
            raise InvalidParameterError.kind(what, type(item).__name__, need)
        if isinstance(item, pl.Expr) and not item.meta.is_column_selection():
            raise InvalidParameterError.kind(what, str(item), need)


def refuse_repeated(names: Iterable[str], what: str = "columns") -> None:
    """Refuse a column that is listed twice."""
    if twice := repeated(names):
        raise InvalidParameterError.duplicate(what, twice)


def resolve(
    item: str | pl.Expr, schema: Schema, what: str = "columns", table: str = "table"
) -> list[str]:
    """Return the names that a name or a selector stands for."""
    if isinstance(item, str):
        if item not in schema:
            raise InvalidParameterError.unknown_column(what, item, schema, table)
        return [item]
    try:
        return pl.LazyFrame(schema=schema).select(item).collect_schema().names()
    except pl.exceptions.ColumnNotFoundError:
        raise InvalidParameterError.unknown_column(what, str(item), schema, table) from None


def selects(columns: object) -> bool:
    """Return whether a parameter has a selector, so that it takes a table to name its columns."""
    items = columns if isinstance(columns, list | tuple) else [columns]
    return any(isinstance(item, pl.Expr) for item in items)


def keys_of(schema: Schema, what: str, columns: object, table: str = "table") -> tuple[str, ...]:
    """Return the columns that a parameter names or selects, or ().

    >>> keys_of({"age": pl.Int64(), "sex": pl.String()}, "strata", cs.string())
    ('sex',)
    """
    items = items_of(what, columns) if selects(columns) else names_of(what, columns)
    names = [name for item in items for name in resolve(item, schema, what, table)]
    if items and not names:
        raise InvalidParameterError.selects_nothing(what, items[0], table)
    refuse_repeated(names, what)
    return tuple(names)


def named_options(options: Mapping[str, Any], schema: Schema | None) -> dict[str, Any]:
    """Return the options of a call with names in place of selectors.

    Without a schema each selector is replaced by its text, for checks that need no table.
    """
    named = dict(options)
    lists = [option.name for option in KEY_OPTIONS.values() if option.each is None]
    for what in ("strata", "order_by", "entity", "confidential", *lists):
        if not selects(given := named.get(what)):
            continue
        if schema is None:
            named[what] = [str(item) for item in items_of(what, given)]
        else:
            named[what] = list(keys_of(schema, what, given))
    return named


def by_name(name: str) -> pl.Expr:
    """Select the column of exactly this name; pl.col would read "^a$" and "*" as patterns."""
    pattern = name == "*" or (name.startswith("^") and name.endswith("$"))
    if not pattern:
        return pl.col(name)
    # Polars before 2.0 takes the name for a pattern here, too: one that only this name fits.
    one = hasattr(pl.Expr, "pipe_with_dtype")
    return cs.by_name(name).as_expr() if one else pl.col(f"^{re.escape(name)}$")


def own_text(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame that holds no text but its own.

    Text that came by Arrow is not copied: a few rows of a batch keep all text of the batch in memory.
    """
    if all(dtype.is_numeric() or dtype.is_temporal() for dtype in frame.dtypes):
        return frame
    # Arrow does not take every name that columns have here.
    plain = pl.DataFrame([c.alias(str(j)) for j, c in enumerate(frame.get_columns())])
    own: pl.DataFrame = as_frame(plain.to_arrow(compat_level=pl.CompatLevel.oldest()))
    own.columns = frame.columns
    return own


@dataclass(frozen=True)
class _Stream:
    """An Arrow stream without the rest of its table, whose type polars would keep alive."""

    __arrow_c_stream__: Callable[..., object]


def _labels(frame: Any) -> list[str]:
    """Return the column names of a table that is not of polars, if it has them."""
    return [name for name in getattr(frame, "columns", ()) if isinstance(name, str)]


def as_frame(frame: Any, what: str = "frame") -> Any:
    """Return a polars frame as it is, and any other table that exports Arrow as a DataFrame.

    `what` is the name of the parameter in messages.
    """
    if isinstance(frame, pl.DataFrame | pl.LazyFrame):
        return frame
    if hasattr(frame, "__arrow_c_stream__") and not isinstance(frame, pl.Series):
        # Pandas knows which of its columns are an index; of other tables only the stream is needed.
        pandas = refuse_index(frame, what)
        source = frame if pandas else _Stream(frame.__arrow_c_stream__)
        return quietly(lambda: pl.DataFrame(source), what, lambda: _labels(frame))
    raise not_a_frame(what, frame)


def refuse_index(frame: Any, what: str) -> bool:
    """Refuse a frame of pandas that has more of an index than the numbers of its rows.

    The result is whether it is a frame of pandas.
    """
    # Narwhals wraps a frame of pandas, and exports it without its index.
    frame = frame.to_native() if hasattr(frame, "to_native") else frame
    if not any(base.__module__.partition(".")[0] == "pandas" for base in type(frame).__mro__):
        return False
    index = frame.index
    counted = type(index).__name__ == "RangeIndex" and (index.start, index.step) == (0, 1)
    if not counted or index.name is not None:
        raise indexed(what, list(index.names))
    return True
