"""Measures of DuckDB tables by way of Arrow: any metrics, where macros have fixed columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
from duckdb import DuckDBPyConnection, DuckDBPyRelation

from polars_microagg.analysis.assess import assess as assess_frames
from polars_microagg.analysis.compare import compare as compare_frame
from polars_microagg.core.options import KEY_OPTIONS
from polars_microagg.duckdb.column_types import counted, list_type, outline
from polars_microagg.duckdb.identifiers import OURS, find, refuse_twins, require_match
from polars_microagg.duckdb.safe_read import (
    connection,
    in_its_order,
    ordered,
    read_safely,
    relation_of,
)
from polars_microagg.duckdb.trees import tables_read
from polars_microagg.errors import NotNumericError
from polars_microagg.frames.columns import is_number
from polars_microagg.frames.safe_collect import quietly
from polars_microagg.frames.selection import MASKED, ORIGINAL, as_frame

__all__ = ["assess", "compare"]

KEYS = (*KEY_OPTIONS, "column_weights")
"""Parameters that say what a column is, or that map columns to something."""

NAMES = (*KEYS, "strata", "entity", "confidential", "order_by", "known", "by", "key")
"""Parameters that name columns."""

WORDS = ("all", "subsets")
"""Values of `known` that are not columns."""

ALIEN = re.compile(r"INTERVAL|TIME WITH TIME ZONE|MAP\(|UNION\(|BIT|BIGNUM|VARIANT")
"""Types that polars cannot hold, or not in full; as keys they are read as text."""


def assess(
    con: DuckDBPyConnection,
    original: Any,
    masked: Any,
    columns: str | Sequence[str] | None = None,
    **options: Any,
) -> DuckDBPyRelation:
    """Measure the loss and the risk of a release: any metric, by group, for sets of known columns.

    Parameters
    ----------
    con : duckdb.DuckDBPyConnection
        The connection; nothing needs to be registered.
    original, masked : str, duckdb.DuckDBPyRelation, or a table that exports Arrow
        The table before and after, as for `mask`.
    columns : str or list of str, optional
        Columns to measure; all numeric and temporal ones that both tables have by default, and those that
        are named as categories.
    **options : Any
        As for `polars_microagg.assess`: metrics, known, known_sample, by, key, seed, and which columns
        are categories. In `taxonomy` a column may also be mapped to a table, as for `mask`.

    Returns
    -------
    duckdb.DuckDBPyRelation
        One row, or one for each value of `by`; one column a metric.

    Examples
    --------
    >>> import duckdb
    >>> with duckdb.connect() as con:
    ...     before = con.sql("FROM (VALUES (1, 30), (2, 32), (3, 41), (4, 43)) t(id, age)")
    ...     after = con.sql("FROM (VALUES (4, 42), (3, 42), (2, 31), (1, 31)) t(id, age)")
    ...     assess(con, before, after, "age", metrics=["dld", "drisk"], key="ID").fetchall()
    [(50.0, 0.0)]
    """
    before = _table(con, original, "original")
    after = _table(con, masked, "masked")
    require_match(options.get("key"), ordered(con))
    columns = None if columns is None else _found("columns", columns, before.columns, ORIGINAL)
    options = tables_read(con, options)
    # What an intruder knows is looked up in the masked table, all else in the original one.
    tables = dict.fromkeys(NAMES, (before, ORIGINAL)) | {"known": (after, MASKED)}
    named = {name: _named(name, value, tables) for name, value in options.items()}
    original_ = _frame(con, before, "original", columns, named)
    masked_ = _frame(con, after, "masked", columns, named)
    return con.from_arrow(assess_frames(original_, masked_, columns, **named).to_arrow())


def compare(
    con: DuckDBPyConnection,
    source: Any,
    columns: str | Sequence[str] | Sequence[Sequence[str]],
    **options: Any,
) -> DuckDBPyRelation:
    """Mask a table by several methods and measure what each loses and risks.

    Parameters
    ----------
    con : duckdb.DuckDBPyConnection
        The connection; nothing needs to be registered.
    source : str, duckdb.DuckDBPyRelation, or a table that exports Arrow
        The table, as for `mask`.
    columns : str, list of str, or list of lists
        What to mask and measure.
    **options : Any
        As for `polars_microagg.compare`: methods, ks, strata, known, known_sample, seconds, seed,
        workers and the options that all methods share, `taxonomy` as for `mask`.

    Returns
    -------
    duckdb.DuckDBPyRelation
        One row a k and method.

    Examples
    --------
    >>> import duckdb
    >>> with duckdb.connect() as con:
    ...     people = con.sql("FROM (VALUES (23), (25), (47), (51)) t(age)")
    ...     table = compare(con, people, "age", methods=["mdav", "fixed_size"], ks=2)
    ...     table.select("method, k, k_prime, pareto").fetchall()
    [('mdav', 2, 2.0, True), ('fixed_size', 2, 2.0, True)]
    """
    relation = _table(con, source, "source")
    columns = _found("columns", columns, relation.columns)
    options = tables_read(con, options)
    tables = dict.fromkeys(NAMES, (relation, "table"))
    named = {name: _named(name, value, tables) for name, value in options.items()}
    frame = _frame(con, relation, "source", columns, named)
    return con.from_arrow(compare_frame(frame, columns, **named).to_arrow())


def _table(con: Any, source: Any, what: str) -> DuckDBPyRelation:
    """Return a table, unless two of its columns have the same name."""
    relation = read_safely(lambda: relation_of(connection(con), source, what), what)
    refuse_twins(relation.columns)
    return relation


def _frame(
    con: DuckDBPyConnection,
    relation: DuckDBPyRelation,
    what: str,
    columns: Any,
    options: dict[str, Any],
) -> Any:
    """Read the columns that are needed: those named, or all that can be measured.

    HUGEINT has more digits than decimals of Arrow and is read as text; polars has a type of that
    name.
    """
    keys = {text for name in KEYS for text in _texts(options.get(name))}
    wanted = set(_texts(columns)) if columns is not None else keys
    labels = {text for name in NAMES for text in _texts(options.get(name))} - wanted
    chosen, names, wide, enums = [], [], [], dict[str, str]()
    for i, (name, type_) in enumerate(zip(relation.columns, map(str, relation.types), strict=True)):
        if name in wanted and ALIEN.search(type_):
            raise NotNumericError.of(name, outline(type_))
        if name in wanted or name in labels or (columns is None and _is_number(type_)):
            place, text = f"{OURS}c{i}", name in labels and ALIEN.search(type_)
            if type_ == "HUGEINT" and name not in labels:
                wide.append(place)
            if type_.startswith("ENUM("):
                enums[place] = type_
            column = f"#{i + 1}::VARCHAR" if text or place in wide else f"#{i + 1}"
            chosen.append(duckdb.SQLExpression(column).alias(place))
            names.append(name)
    if not chosen:
        return as_frame(pa.table({}))
    frame = as_frame(read_safely(lambda: in_its_order(con, relation, chosen), what, names))
    if wide:
        casts = [f"CAST({place} AS HUGEINT) AS {place}" for place in wide]
        frame = frame.sql(f"SELECT * REPLACE ({', '.join(casts)}) FROM self")  # noqa: S608
    for place, type_ in enums.items():
        texts = frame.get_column(place).cast(pl.String)
        frame = frame.with_columns(quietly(lambda: counted(type_, texts), what))  # noqa: B023
    return frame.rename(dict(zip(frame.columns, names, strict=True)))


def _is_number(type_: str) -> bool:
    """Return whether a column is measured where none is named."""
    carried = list_type(type_)
    return carried is not None and is_number(carried.dtype)


def _texts(value: Any) -> Iterator[str]:
    """Yield all texts, however deeply nested in lists."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Sequence | Mapping):
        for item in value:
            yield from _texts(item)


def _named(option: str, value: Any, tables: dict[str, tuple[DuckDBPyRelation, str]]) -> Any:
    """Find the columns that an option names."""
    if option not in tables or (option == "known" and value in WORDS):
        return value
    relation, called = tables[option]
    return _found(option, value, relation.columns, called)


def _found(what: str, value: Any, table: Sequence[str], called: str = "table") -> Any:
    """Write names as in the table, however deeply nested in lists."""
    if isinstance(value, str):
        return find(what, [value], table, called)[0]
    if isinstance(value, Sequence):
        return [_found(what, item, table, called) for item in value]
    if isinstance(value, Mapping):
        return dict(zip(find(what, [*value], table, called), value.values(), strict=True))
    return value
