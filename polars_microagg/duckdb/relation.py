"""Masking of a DuckDB table by way of Arrow, without lists, for large data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from duckdb import DuckDBPyConnection, DuckDBPyRelation

from polars_microagg.core.plan import Plan
from polars_microagg.core.refusals import refuse_unnamed_mode
from polars_microagg.duckdb.identifiers import (
    axes,
    counted_by,
    find,
    keyed_by,
    listed_blocks,
    listed_names,
    refuse_both,
    refuse_ours,
    refuse_twins,
)
from polars_microagg.duckdb.macros import identifier
from polars_microagg.duckdb.memory_need import MemoryNeed, limit_of, rows_at_once
from polars_microagg.duckdb.safe_read import connection, read_safely, relation_of
from polars_microagg.duckdb.source_table import SourceTable
from polars_microagg.duckdb.trees import tables_read
from polars_microagg.frames.mask import MaskRequest

__all__ = ["estimate_memory", "mask"]


def mask(
    con: DuckDBPyConnection,
    source: Any,
    columns: str | Sequence[str] | Sequence[Sequence[str]],
    k: int,
    *,
    method: str = "mdav",
    strata: str | Sequence[str] | None = None,
    order_by: str | Sequence[str] | None = None,
    **options: Any,
) -> DuckDBPyRelation:
    """Mask columns of a DuckDB table by way of Arrow: faster than the macros on large data.

    Parameters
    ----------
    con : duckdb.DuckDBPyConnection
        The connection; nothing needs to be registered.
    source : str, duckdb.DuckDBPyRelation, or a table that exports Arrow
        Name of a table, view, file or registered object, qualified or not; a relation of this
        connection; or a frame. It is read once.
    columns : str, list of str, or list of lists
        What to mask; each of several lists on its own.
    k : int
        Smallest group size, at least 2.
    method : str, default 'mdav'
        Name of a method.
    strata : str or list of str, optional
        Columns whose values keep records apart; null is a stratum of its own.
    order_by : str or list of str, optional
        Columns that fix the order of the records for equal distances.
    **options : Any
        As for the function of the method in `polars_microagg`; in `taxonomy` a column may also be mapped
        to a table, named or given like the source, with one row a value as `Taxonomy.from_table` takes.

    Returns
    -------
    duckdb.DuckDBPyRelation
        Same columns, rows, order and types; with ``small_strata="drop"`` without the rows of small
        strata. The masked values are computed when this is called
        and stay in memory as long as the relation.

    Raises
    ------
    InvalidParameterError
        A parameter is wrong, a column unknown, or a kept column the copy of a masked one.
    InvalidDataError
        Nulls, NaN or infinities, a type without centroid, or fewer than k records; the source fails,
        DuckDB runs out of memory, or masking would take more than its ``memory_limit``: see `needs`.

    Notes
    -----
    The values are those of the macros, bit for bit, and those of the Polars door for every type that
    Polars has: means are rounded to the step of their column, and Polars has TIME in nanoseconds and
    TIMESTAMP_S in milliseconds. Names are compared as DuckDB does, without regard to the case of
    ASCII letters. Where `preserve_insertion_order` is off, rows are read by their number.

    Examples
    --------
    >>> import duckdb
    >>> with duckdb.connect() as con:
    ...     people = con.sql("FROM (VALUES (23), (25), (47), (51)) t(age)")
    ...     mask(con, people, "age", k=2).fetchall()
    [(24,), (24,), (49,), (49,)]
    """
    call = _Call.of(con, source, columns, k, method, strata, order_by, options)
    plan, relation = call.plan, call.relation
    need, allowed = call.need("mask"), limit_of(con)
    rows = read_safely(lambda: rows_at_once(relation), "source")
    # Values are counted only where that can make the difference.
    if rows is not None and need.bytes(rows, {}) > allowed:
        need.require(allowed, rows, call.distinct(need.categories))
    table_ = SourceTable(
        con, relation, call.masked, call.keys, call.order, call.counted, plan.entity, plan.kinds
    )
    named = {"strata": table_.keys, "order_by": table_.order}
    request = MaskRequest.of(method, [*map(list, call.blocks)], k, {**call.options, **named})
    frame = table_.frame()
    if rows is None and need.bytes(frame.height, {}) > allowed:
        seen = {name: frame.get_column(name).n_unique() for name in need.categories}
        need.require(allowed, frame.height, seen)
    masker = request.masker(frame.schema)
    released = masker.mask(frame.select(request.inputs(masker)))
    result = type(frame)(dict(zip(masker.names, released.columns, strict=True)))
    return table_.released(result, released.suppressed, plan)


def estimate_memory(
    con: DuckDBPyConnection,
    source: Any,
    columns: str | Sequence[str] | Sequence[Sequence[str]],
    k: int,
    *,
    method: str = "mdav",
    strata: str | Sequence[str] | None = None,
    order_by: str | Sequence[str] | None = None,
    **options: Any,
) -> dict[str, int]:
    """Estimate the memory that masking a DuckDB table takes beside it, without masking it.

    Beyond the ``memory_limit`` of the connection, `mask` and the macros refuse the table.

    Parameters
    ----------
    con, source, columns, k, method, strata, order_by, **options
        As for `mask`. A stream that can be read once is read by this.

    Returns
    -------
    dict of str to int
        `rows`, the rows of the table; `mask` and `macro`, the bytes that `mask` and the macros take; and
        `memory_limit`, the bytes that the connection allows.

    Raises
    ------
    InvalidParameterError
        A parameter is wrong, or a column unknown.
    InvalidDataError
        The source fails.

    Examples
    --------
    >>> import duckdb
    >>> with duckdb.connect() as con:
    ...     con.execute("SET memory_limit = '1GiB'")
    ...     estimate_memory(con, con.sql("FROM range(1000000) r(age)"), "age", k=5)
    <...>
    {'rows': 1000000, 'mask': 216000000, 'macro': 308000000, 'memory_limit': 1073741824}
    """
    call = _Call.of(con, source, columns, k, method, strata, order_by, options)
    rows = read_safely(lambda: call.relation.aggregate("count(*)").fetchall()[0][0], "source")
    seen = call.distinct(call.need("mask").categories)
    taken = {door: call.need(door).bytes(rows, seen) for door in ("mask", "macro")}
    return {"rows": rows, **taken, "memory_limit": limit_of(con)}


@dataclass(frozen=True)
class _Call:
    """A call whose columns are found in its source."""

    plan: Plan
    relation: DuckDBPyRelation
    blocks: list[tuple[str, ...]]
    masked: list[str]
    keys: list[str]
    order: list[str]
    options: dict[str, Any]

    @classmethod
    def of(
        cls,
        con: DuckDBPyConnection,
        source: Any,
        columns: Any,
        k: int,
        method: str,
        strata: Any,
        order_by: Any,
        options: Mapping[str, Any],
    ) -> Self:
        """Check everything that can be checked without reading the source."""
        options = tables_read(connection(con), options)
        plan = Plan.make(method, k, **options)
        refuse_unnamed_mode(plan)
        blocks = listed_blocks(columns)
        relation = read_safely(lambda: relation_of(connection(con), source), "source")
        table = relation.columns
        refuse_ours(table)
        refuse_twins(table)
        blocks = [tuple(find("columns", block, table)) for block in blocks]
        masked = find("columns", [name for block in blocks for name in block], table)
        plan = keyed_by(counted_by(plan, table), table)
        options = {**options, **axes(plan, blocks).options}
        options |= {"entity": plan.entity, "confidential": plan.confidential}
        options |= {**plan.kinds, "column_weights": plan.column_weights}
        keys = find("strata", listed_names("strata", strata), table)
        order = find("order_by", listed_names("order_by", order_by), table)
        refuse_both(masked, keys, plan)
        return cls(plan, relation, blocks, masked, keys, order, options)

    @property
    def counted(self) -> list[str]:
        """Return the columns that privacy models count."""
        return [*self.plan.entity, *self.plan.confidential]

    def need(self, door: str) -> MemoryNeed:
        """Return what the call takes at a door."""
        types = dict(zip(self.relation.columns, map(str, self.relation.types), strict=True))
        beside = {*self.keys, *self.order, *self.counted} - {*self.masked}
        kept = len(types) - len(self.masked) - len(beside)
        chosen = {name: types[name] for name in [*self.masked, *sorted(beside)]}
        kept = kept if door == "mask" else 0
        return MemoryNeed(door, self.plan, chosen, kept, timed=not self.keys)

    def distinct(self, names: Sequence[str]) -> Mapping[str, int]:
        """Return about how many distinct values columns have."""
        if not names:
            return {}
        counts = ", ".join(f"approx_count_distinct({identifier(name)})" for name in names)
        counted = read_safely(lambda: self.relation.aggregate(counts).fetchall()[0], "source")
        return dict(zip(names, counted, strict=True))
