"""The Arrow path: mask a table of DuckDB without lists, for large data."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from duckdb import DuckDBPyConnection, DuckDBPyRelation

from polars_microagg.duckdb.columns import Column, lane_of, outline
from polars_microagg.duckdb.names import (
    OURS,
    ROW,
    axes,
    blocks_of,
    find,
    names_of,
    refuse_ours,
    refuse_twins,
)
from polars_microagg.errors import InvalidParameterError, NotNumericError
from polars_microagg.frames.functions import mask as mask_frame
from polars_microagg.frames.selection import as_frame
from polars_microagg.plan import Plan

__all__ = ["mask", "relation_of"]

WIDE = ("HUGEINT", "UHUGEINT")
"""Types that Arrow cannot hold; when masked they travel as text."""

WHOLE = 2**31 - 1
"""Rows of a batch: one for a table of any size, which polars then need not join."""

SURVIVE = re.compile(
    r"boolean|u?(tiny|small|big)int|u?integer|float|double|decimal|varchar|blob|date|interval|"
    r"time(_ns)?|timestamp(_s|_ms|_ns)?|timestamp with time zone"
)
"""Types that come back from Arrow as they were."""

PLAIN = re.compile(r"VARCHAR|BOOLEAN|U?(TINY|SMALL|BIG)?INT(EGER)?|FLOAT|DOUBLE|DATE|TIMESTAMP")
"""Types whose values are equal in polars where they are equal in DuckDB."""

# Under a LIMIT the join stops reading on the left and fills up with null, which no record is.
ALIGNED = (
    f"CASE WHEN {ROW} IS NULL THEN false WHEN {ROW} = {OURS}at THEN true ELSE "
    "error('BrokenPromiseError: rows came back in another order. Nothing was released. "
    "This is a bug of polars_microagg: please report the call and the versions.') END"
)


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
        As for the function of the method in `polars_microagg`.

    Returns
    -------
    duckdb.DuckDBPyRelation
        Same columns, rows, order and types. The masked values are computed when this is called
        and stay in memory as long as the relation.

    Raises
    ------
    InvalidParameterError
        A parameter is wrong, or a column unknown.
    InvalidDataError
        Nulls, NaN or infinities, a type without centroid, or fewer than k records.

    Notes
    -----
    The values are those of the Polars door and of the macros, bit for bit. Names are compared as
    DuckDB does, without regard to the case of ASCII letters.

    Examples
    --------
    >>> import duckdb
    >>> with duckdb.connect() as con:
    ...     people = con.sql("FROM (VALUES (23), (25), (47), (51)) t(age)")
    ...     mask(con, people, "age", k=2).fetchall()
    [(24,), (24,), (49,), (49,)]
    """
    plan = Plan.make(method, k, **options)
    blocks = blocks_of(columns)
    relation = relation_of(con, source)
    table = relation.columns
    refuse_ours(table)
    refuse_twins(table)
    blocks = [tuple(find("columns", block, table)) for block in blocks]
    masked = find("columns", [name for block in blocks for name in block], table)
    options |= axes(plan, blocks).options
    keys = find("strata", names_of("strata", strata), table)
    order = find("order_by", names_of("order_by", order_by), table)
    if both := [name for name in masked if name in keys]:
        raise InvalidParameterError.overlap("strata", both)
    source_ = _Source(con, relation, masked, keys, order)
    frame = source_.frame()
    result = mask_frame(
        frame,
        [list(block) for block in blocks],
        k,
        method=method,
        strata=source_.keys,
        order_by=source_.order,
        **options,
    )
    return source_.released(result, plan.dtype)


def relation_of(__mg_con: DuckDBPyConnection, __mg_source: Any) -> DuckDBPyRelation:
    """Take a table by its name, as a relation, or as a frame."""
    # DuckDB looks for a table of any name among the Python variables here.
    if isinstance(__mg_source, DuckDBPyRelation):
        return __mg_source
    if isinstance(__mg_source, str):
        return __mg_con.table_function("query_table", [__mg_source])
    if hasattr(__mg_source, "__arrow_c_stream__"):
        return __mg_con.from_arrow(__mg_source)
    need = "the name of a table, a relation, or a table that exports Arrow"
    raise InvalidParameterError.kind("source", type(__mg_source).__name__, need)


def _survives(type_: Any) -> bool:
    """Whether a type comes back from Arrow as it was."""
    if type_.id in ("list", "array", "struct", "map"):
        parts = [part for name, part in type_.children if name != "size"]
        return all(_survives(part) for part in parts)
    return bool(SURVIVE.fullmatch(type_.id)) and str(type_) != "JSON"


def _expression(text: str, name: str) -> Any:
    return duckdb.SQLExpression(text).alias(name)


class _Source:
    """A table read once into Arrow, save untouched columns whose types Arrow would change.

    Columns are named by their place and never by the user, so none of her names is in a query.
    DuckDB looks a view or a file up again when it reads it, so the names are compared once more.
    """

    def __init__(
        self,
        con: DuckDBPyConnection,
        relation: DuckDBPyRelation,
        masked: list[str],
        keys: list[str],
        order: list[str],
    ) -> None:
        self.con = con
        self.masked = masked
        self.types = dict(zip(relation.columns, relation.types, strict=True))
        for name in masked:
            if not lane_of(str(self.types[name])):
                raise NotNumericError.of(name, outline(str(self.types[name])))
        self.place = {name: f"{OURS}c{i}" for i, name in enumerate(self.types)}
        self.kept = [n for n, t in self.types.items() if n not in masked and not _survives(t)]
        # Equal values get equal numbers where those of polars might not be equal alike.
        plain = [n for n in keys if n not in self.kept and PLAIN.fullmatch(str(self.types[n]))]
        self.keys = [self.place[n] if n in plain else f"{OURS}s{i}" for i, n in enumerate(keys)]
        self.order = [f"{OURS}o{i}" for i in range(len(order))]
        named = zip([*self.keys, *self.order], [*keys, *order], strict=True)
        self._read(relation, {new: old for new, old in named if new not in self.place.values()})

    def _read(self, relation: DuckDBPyRelation, ranked: dict[str, str]) -> None:
        texts = [name for name, type_ in self.types.items() if str(type_) in WIDE]
        self.held = None
        if not (self.kept or ranked or texts):
            arrow = relation.to_arrow_table(WHOLE)
            self._require_same(arrow.column_names, self.con.from_arrow(arrow).types)
            self.arrow = arrow.rename_columns(list(self.place.values()))
            return
        number = _expression("row_number() OVER () - 1", ROW)
        found = relation.select(duckdb.StarExpression(), number).materialize()
        self._require_same(found.columns[:-1], found.types[:-1])
        places = [_expression(f"#{i}", name) for i, name in enumerate(self.place.values(), start=1)]
        rows = found.select(*places, ROW)
        self.held = rows.select(*map(self.place.get, self.kept), ROW) if self.kept else None
        columns = [
            _expression(f"{place}::VARCHAR" if name in texts else place, place)
            for name, place in self.place.items()
            if name not in self.kept
        ]
        self.arrow = rows.select(*columns).to_arrow_table(WHOLE)
        for new, old in ranked.items():
            # Strata are told apart as they are released: "30 days" is no "1 month".
            shown = f", encode({self.place[old]}::VARCHAR)" if new in self.keys else ""
            by = f"ORDER BY {self.place[old]} ASC NULLS LAST{shown}"
            rank = _expression(f"dense_rank() OVER ({by})", new)
            ranks = rows.select(rank, ROW).order(f"{ROW} ASC").to_arrow_table(WHOLE)
            self.arrow = self.arrow.append_column(new, ranks.column(0))

    def _require_same(self, names: Sequence[str], types: Sequence[Any]) -> None:
        """Refuse what was replaced after it was looked up."""
        if list(zip(names, types, strict=True)) != list(self.types.items()):
            raise InvalidParameterError.changed()

    def frame(self) -> Any:
        """What masking needs, as a frame in which dates and times are the steps behind them."""
        columns = {}
        for name in self.masked:
            column = self.arrow.column(self.place[name])
            if pa.types.is_temporal(column.type):
                column = column.cast(_steps(column.type))
                present = column.drop_null().to_numpy()
                Column(name, str(self.types[name]), present).require("raise")
            columns[self.place[name]] = column
        columns |= {name: self.arrow.column(name) for name in [*self.keys, *self.order]}
        frame = self._cast(as_frame(pa.table(columns)), lambda type_: type_)
        return frame.rename({self.place[name]: name for name in self.masked})

    def _cast(self, frame: Any, to: Callable[[str], str]) -> Any:
        """Turn the columns that travel as text into numbers or back; polars knows DuckDB's names."""
        wide = [name for name in self.masked if str(self.types[name]) in WIDE]
        if not wide:
            return frame
        casts = [
            f'CAST("{self.place[name]}" AS {to(str(self.types[name]))}) AS "{self.place[name]}"'
            for name in wide
        ]
        # Names and types are our own: places are numbers, and types are those of WIDE.
        return frame.sql(f"SELECT * REPLACE ({', '.join(casts)}) FROM self")  # noqa: S608

    def released(self, result: Any, dtype: str) -> DuckDBPyRelation:
        """Put the masked columns where the original ones were."""
        # By get_column: select would read names such as "*" as patterns.
        result = type(result)({self.place[n]: result.get_column(n) for n in self.masked})
        result = result if dtype == "float" else self._cast(result, lambda _: "VARCHAR")
        arrow = self.arrow
        for name in self.masked:
            place = self.place[name]
            type_ = arrow.schema.field(place).type
            column = result[place].to_arrow()
            if dtype == "keep" and pa.types.is_temporal(type_):
                column = column.cast(_steps(type_)).cast(type_)
            arrow = arrow.set_column(arrow.column_names.index(place), place, column)
        if self.held is None:
            rows = self.con.from_arrow(arrow)
        else:
            numbered = arrow.append_column(f"{OURS}at", pa.array(np.arange(arrow.num_rows)))
            rows = self.held.join(self.con.from_arrow(numbered), how="positional").filter(ALIGNED)
        columns = []
        for name, place in self.place.items():
            column = duckdb.SQLExpression(place)
            if name in self.masked:
                double = duckdb.type("DOUBLE")
                column = column.cast(double if dtype == "float" else self.types[name])
            columns.append(column.alias(name))
        return rows.select(*columns)


def _steps(type_: Any) -> Any:
    """Integers behind a type of dates or times."""
    return pa.int32() if pa.types.is_date(type_) else pa.int64()
