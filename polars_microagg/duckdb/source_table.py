"""A table of DuckDB, read once, every row with its number."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
from duckdb import DuckDBPyConnection, DuckDBPyRelation

from polars_microagg.core.plan import Plan
from polars_microagg.duckdb.column_types import (
    as_steps,
    counted,
    lane_of,
    refuse_infinite,
    refuse_kind,
    typed,
)
from polars_microagg.duckdb.identifiers import OURS, ROW, copies_of, is_named, refuse_copy
from polars_microagg.duckdb.macros import identifier
from polars_microagg.duckdb.materialized import beside, materialized
from polars_microagg.duckdb.safe_read import WHOLE, by_number, ordered, read_safely
from polars_microagg.errors import InvalidParameterError
from polars_microagg.frames.safe_collect import quietly
from polars_microagg.frames.selection import as_frame

__all__ = ["SourceTable"]

WIDE = ("HUGEINT", "UHUGEINT")
"""Types that Arrow cannot hold; when masked they travel as text."""

HIDDEN = f"{OURS}hidden"
"""Column that marks records that are emptied or dropped."""

AT = f"{OURS}at"
"""The number of a record once more, compared with that of the record it is put beside."""

SURVIVE = re.compile(
    r"boolean|u?(tiny|small|big)int|u?integer|float|double|decimal|varchar|blob|date|interval|"
    r"time(_ns)?|timestamp(_s|_ms|_ns)?|timestamp with time zone"
)
"""Types that come back from Arrow unchanged."""

PLAIN = re.compile(r"VARCHAR|BOOLEAN|U?(TINY|SMALL|BIG)?INT(EGER)?|FLOAT|DOUBLE|DATE|TIMESTAMP")
"""Types whose values are equal in Polars where they are equal in DuckDB."""

ENUM = re.compile(r"ENUM\(")
"""Types that come from Arrow without their order; when masked they travel as text."""

SIGNED = re.compile(r"FLOAT|DOUBLE|VARIANT")
"""Types that hold, however deep, values that are equal and read differently: -0.0 and 0.0."""

# Under a LIMIT the join stops reading on the left and fills up with null, which no record is.
ALIGNED = (
    f"CASE WHEN {ROW} IS NULL THEN false WHEN {ROW} = {AT} THEN true ELSE "
    "error('GuaranteeError: rows came back in another order. Nothing was released. "
    "This is a bug of polars_microagg: please report the call and the versions.') END"
)


def _expression(text: str, name: str) -> Any:
    return duckdb.SQLExpression(text).alias(name)


def _select(relation: DuckDBPyRelation, columns: Iterable[tuple[str, str]]) -> DuckDBPyRelation:
    """Select SQL under a name, column by column, as one text.

    DuckDB compares each of several expressions with the names of all columns, which takes seconds
    for thousands of them.
    """
    return relation.select(", ".join(f"{text} AS {identifier(name)}" for text, name in columns))


def _unsigned(column: str, type_: object) -> str:
    """Write SQL for a stratum in which equal values read alike: -0.0 as 0.0.

    DuckDB compares nested values by a key that has one zero and one NaN, and gives the smallest of
    a list of lists back from its key.

    >>> _unsigned("x", "DOUBLE[]"), _unsigned("x", "DATE")
    ('list_min([[x]])[1]', 'x')
    """
    return f"list_min([[{column}]])[1]" if SIGNED.search(str(type_)) else column


def _survives(type_: Any) -> bool:
    """Return whether a type comes back from Arrow unchanged."""
    if type_.id in ("list", "array", "struct", "map"):
        parts = [part for name, part in type_.children if name != "size"]
        return all(_survives(part) for part in parts)
    return bool(SURVIVE.fullmatch(type_.id)) and str(type_) != "JSON"


def _counts_as_it_is(type_: str) -> bool:
    """Return whether Polars counts and orders values of a type as they come from Arrow."""
    return bool(lane_of(type_) or PLAIN.fullmatch(type_))


class SourceTable:
    """A table read once into Arrow, except untouched columns whose types Arrow would change.

    Columns are named by their position until they are released, so that no query contains a name of
    the user. DuckDB looks a view or a file up again when it reads it, so names and types are
    compared once more. What several queries read has the number of its row in each and is sorted by
    it: DuckDB promises no order where `preserve_insertion_order` is off.
    """

    def __init__(
        self,
        con: DuckDBPyConnection,
        relation: DuckDBPyRelation,
        masked: list[str],
        keys: list[str],
        order: list[str],
        counted: list[str],
        entity: Sequence[str],
        kinds: Mapping[str, Any],
    ) -> None:
        self.con = con
        self.ordered = ordered(con)
        self.masked = masked
        self.strata = keys
        # -0.0 and 0.0 are one stratum and one entity, so they are released as one value.
        self.one_zero = {*keys, *entity}
        self.counted = counted
        self.kinds = kinds
        self.types = dict(zip(relation.columns, relation.types, strict=True))
        for name in masked:
            refuse_kind(name, str(self.types[name]), kinds)
        self.place = {name: f"{OURS}c{i}" for i, name in enumerate(self.types)}
        self.kept = [n for n, t in self.types.items() if n not in masked and not _survives(t)]
        # Equal values get equal numbers where those of polars might not be equal alike.
        plain = [n for n in keys if n not in self.kept and PLAIN.fullmatch(str(self.types[n]))]
        self.keys = [self.place[n] if n in plain else f"{OURS}s{i}" for i, n in enumerate(keys)]
        self.order = [f"{OURS}o{i}" for i in range(len(order))]
        # Values of other types are counted by what is read of them.
        alien = [n for n in counted if n in self.kept or not _counts_as_it_is(str(self.types[n]))]
        self.texts = {name: f"{OURS}t{i}" for i, name in enumerate(alien)}
        named = zip([*self.keys, *self.order], [*keys, *order], strict=True)
        ranked = {new: old for new, old in named if new not in self.place.values()}
        read_safely(lambda: self._read(relation, ranked), "source", relation.columns)

    def _read(self, relation: DuckDBPyRelation, ranked: dict[str, str]) -> None:
        """Read the table at once if nothing needs row numbers, else from a materialised copy."""
        texts = [n for n, t in self.types.items() if str(t) in WIDE or ENUM.match(str(t))]
        texts = [name for name in texts if name not in self.kept]
        signed = any(SIGNED.search(str(self.types[name])) for name in self.one_zero)
        self.held = None
        if self.ordered and not (self.kept or ranked or texts or signed or self.texts):
            arrow = relation.to_arrow_table(WHOLE)
            self._require_same(arrow.column_names, self.con.from_arrow(arrow).types)
            self.arrow = arrow.rename_columns(list(self.place.values()))
            self._refuse_copies(self.con.from_arrow(self.arrow))
            return
        number = _expression("row_number() OVER () - 1", ROW)
        # Numbered and materialised in one query: every later query reads the same rows with the same
        # numbers, even if a view, a file or a random function would give others.
        numbered, done = materialized(self.con, relation.select(duckdb.StarExpression(), number))
        self._require_same(numbered.columns[:-1], numbered.types[:-1])
        places = [
            (_unsigned(f"#{i}", type_) if name in self.one_zero else f"#{i}", place)
            for i, ((name, place), type_) in enumerate(
                zip(self.place.items(), self.types.values(), strict=True), start=1
            )
        ]
        rows = _select(numbered, [*places, (ROW, ROW)])
        self._refuse_copies(rows)
        kept = [(self.place[name], self.place[name]) for name in self.kept]
        self.held = _select(rows, [*kept, (ROW, ROW)]) if kept else None
        columns = [
            (f"{place}::VARCHAR" if name in texts else place, place)
            for name, place in self.place.items()
            if name not in self.kept
        ]
        for name, text in self.texts.items():
            value = _unsigned(self.place[name], self.types[name])
            columns.append((f"{value}::VARCHAR", text))
        # Threads may write rows in any order where DuckDB keeps none; their numbers restore it.
        self.arrow = by_number(_select(rows, [*columns, (ROW, ROW)]))
        for new, old in ranked.items():
            shown = f", encode({self.place[old]}::VARCHAR)" if new in self.keys else ""
            # Strata that read differently are different strata: "30 days" equals "1 month" and does
            # not read like it. So the rank goes by the value, then by its text.
            by = f"ORDER BY {self.place[old]} ASC NULLS LAST{shown}"
            rank = _expression(f"dense_rank() OVER ({by})", new)
            ranks = by_number(rows.select(rank, ROW))
            self.arrow = self.arrow.append_column(new, ranks.column(0))
        if self.held is None:
            done()

    def _require_same(self, names: Sequence[str], types: Sequence[Any]) -> None:
        """Refuse a table that was replaced after it was looked up."""
        if list(zip(names, types, strict=True)) != list(self.types.items()):
            raise InvalidParameterError.changed()

    def _refuse_copies(self, rows: DuckDBPyRelation) -> None:
        """Refuse to release a masked column again under the name that DuckDB gave its copy."""
        for copy, name in copies_of(self.masked, [n for n in self.types if n not in self.masked]):
            texts = [f"{self.place[column]}::VARCHAR" for column in (copy, name)]
            alike = _expression(f"bool_and({texts[0]} = {texts[1]})", "alike")
            if rows.aggregate([alike]).fetchall() == [(True,)]:
                refuse_copy(copy, name)

    def frame(self) -> Any:
        """Return the columns that masking needs; dates and times are integers."""
        columns = {}
        for name in [*self.masked, *self.counted]:
            column = self.arrow.column(self.texts.get(name, self.place[name]))
            if pa.types.is_temporal(column.type):
                column = column.cast(_steps(column.type))
                if name in self.masked:
                    refuse_infinite(name, str(self.types[name]), pl.Series(column))
            columns[self.place[name]] = column
        columns |= {name: self.arrow.column(name) for name in [*self.keys, *self.order]}
        frame = self._cast(as_frame(pa.table(columns)))
        for name in self.masked:
            type_, column = str(self.types[name]), frame.get_column(self.place[name])
            if ENUM.match(type_):
                frame = frame.with_columns(counted(type_, column))
            elif is_named(name, self.kinds):
                frame = frame.with_columns(typed(type_, column))
        for name in self.texts:
            frame = frame.with_columns(self._counted(name, frame.get_column(self.place[name])))
        return frame.rename({self.place[name]: name for name in [*self.masked, *self.counted]})

    def _counted(self, name: str, texts: pl.Series) -> pl.Series:
        """Return a column that was read as text as privacy models count it."""
        return quietly(lambda: counted(str(self.types[name]), texts), "source", lambda: [name])

    def _cast(self, frame: Any) -> Any:
        """Cast the columns that are read as text into numbers.

        Polars has DuckDB's type names.
        """
        wide = [name for name in self.masked if str(self.types[name]) in WIDE]
        if not wide:
            return frame
        casts = [
            f'CAST("{self.place[name]}" AS {self.types[name]}) AS "{self.place[name]}"'
            for name in wide
        ]
        # Names and types are our own: places are numbers, and types are those of WIDE.
        return frame.sql(f"SELECT * REPLACE ({', '.join(casts)}) FROM self")  # noqa: S608

    def released(self, result: Any, hidden: Any, plan: Plan) -> DuckDBPyRelation:
        """Replace the original columns by masked ones, and empty or drop the hidden rows.

        `result` has the masked columns of all rows, `hidden` which rows are suppressed; None if no
        row is.
        """
        rows = self._beside(self._put(result), hidden)
        if hidden is not None and plan.drops:
            rows = rows.filter(f"NOT {HIDDEN}")
        columns = []
        for name, place in self.place.items():
            empty = hidden is not None and name in self.strata
            text = f"CASE WHEN NOT {HIDDEN} THEN {place} END" if empty else place
            if name in self.masked:
                float_ = plan.dtype == "float" and result.schema[name] == pl.Float64
                text = f"CAST({text} AS {'DOUBLE' if float_ else self.types[name]})"
            columns.append((text, name))
        return _select(rows, columns)

    def _put(self, result: Any) -> Any:
        """Return the Arrow table with its masked columns."""
        # By get_column: select would read names such as "*" as patterns.
        columns = {n: result.get_column(n) for n in self.masked}
        for name, column in columns.items():
            type_ = str(self.types[name])
            if ENUM.match(type_) or (type_ in WIDE and not column.dtype.is_float()):
                columns[name] = column.cast(pl.String)
            elif is_named(name, self.kinds):
                columns[name] = as_steps(type_, column)
        result = {self.place[name]: column for name, column in columns.items()}
        arrow = self.arrow
        for name in self.masked:
            place = self.place[name]
            type_ = arrow.schema.field(place).type
            column = result[place].to_arrow()
            if pa.types.is_temporal(type_) and not pa.types.is_floating(column.type):
                column = column.cast(_steps(type_)).cast(type_)
            arrow = arrow.set_column(arrow.column_names.index(place), place, column)
        return arrow

    def _beside(self, arrow: Any, hidden: Any) -> DuckDBPyRelation:
        """Join the columns that Arrow cannot hold to the others, matched by row number."""
        if hidden is not None:
            arrow = arrow.append_column(HIDDEN, hidden.to_arrow())
        if self.ordered and self.held is None:
            return self.con.from_arrow(arrow)
        numbers = pa.array(np.arange(arrow.num_rows))
        rows = self.con.from_arrow(arrow.append_column(AT, numbers))
        # A positional join puts row i beside row i. ALIGNED compares the numbers of both, so a
        # change of order stops the release instead of mixing records.
        if self.held is not None:
            rows, kept = beside(self.held, rows, f"{ROW} = {AT}")
            rows = rows.filter(ALIGNED)
            return rows if self.ordered and kept else rows.order(f"{AT} ASC")
        return rows if self.ordered else rows.order(f"{AT} ASC")


def _steps(type_: Any) -> Any:
    """Return the integer type in which a type of dates or times is stored."""
    return pa.int32() if pa.types.is_date(type_) else pa.int64()
