"""The Arrow path of the measures: what the macros cannot say in one row of fixed columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from duckdb import DuckDBPyConnection, DuckDBPyRelation

from polars_microagg.duckdb.names import find
from polars_microagg.duckdb.relation import relation_of
from polars_microagg.frames.assess import assess as assess_frames
from polars_microagg.frames.compare import compare as compare_frame
from polars_microagg.frames.selection import as_frame

__all__ = ["assess", "compare"]

NAMES = ("strata", "order_by", "known", "by", "key")
"""Parameters that name columns."""

WORDS = ("all", "subsets")
"""What `known` may be other than columns."""


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
        Columns to measure; all that both tables have and that can be masked by default.
    **options : Any
        As for `polars_microagg.assess`: metrics, known, known_sample, by, key, seed.

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
    before, after = relation_of(con, original), relation_of(con, masked)
    columns = None if columns is None else _found("columns", columns, before.columns)
    # What an intruder knows is looked up in the masked table, all else in the original one.
    tables = {name: after if name == "known" else before for name in NAMES}
    named = {name: _named(name, value, tables) for name, value in options.items()}
    result = assess_frames(_frame(before), _frame(after), columns, **named)
    return con.from_arrow(result.to_arrow())


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
        As for `polars_microagg.compare`: methods, ks, strata, known, known_sample, seconds, seed
        and the options that all methods share.

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
    relation = relation_of(con, source)
    columns = _found("columns", columns, relation.columns)
    tables = dict.fromkeys(NAMES, relation)
    named = {name: _named(name, value, tables) for name, value in options.items()}
    return con.from_arrow(compare_frame(_frame(relation), columns, **named).to_arrow())


def _frame(relation: DuckDBPyRelation) -> Any:
    return as_frame(relation.to_arrow_table())


def _named(option: str, value: Any, tables: dict[str, DuckDBPyRelation]) -> Any:
    """Find the columns that an option names."""
    if option not in tables or (option == "known" and value in WORDS):
        return value
    return _found(option, value, tables[option].columns)


def _found(what: str, value: Any, table: Sequence[str]) -> Any:
    """Write names, however deep in lists, as in the table."""
    if isinstance(value, str):
        return find(what, [value], table)[0]
    if isinstance(value, Sequence):
        return [_found(what, item, table) for item in value]
    return value
