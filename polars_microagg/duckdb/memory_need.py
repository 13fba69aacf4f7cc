"""Memory that masking takes beside a table of DuckDB, against what its connection allows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from duckdb import DuckDBPyConnection, DuckDBPyRelation

from polars_microagg.bars import left
from polars_microagg.core.kind import Kind, is_embedded, kind_of
from polars_microagg.core.plan import Plan
from polars_microagg.core.work import seconds_of
from polars_microagg.duckdb.column_types import dtype_of, lane_of
from polars_microagg.duckdb.identifiers import is_named
from polars_microagg.errors import tables
from polars_microagg.kernels.embedding import most_coordinates

__all__ = ["MemoryNeed", "bytes_of_limit", "limit_of", "rows_at_once"]

RECORD = {"mask": 120, "macro": 160}
"""Bytes of a record at each door, however few its columns are: numbers, strata, groups, orders."""

VALUE = {"mask": 32, "macro": 84}
"""Bytes of a value that goes to Python and back: lists, Arrow, columns."""

TEXT = {"mask": 64, "macro": 128}
"""Bytes that a value takes besides where it travels as text."""

KEPT = 16
"""Bytes of a value that is not masked."""

SORTED, COMPARED = 24, 64
"""Bytes of a coordinate in methods that sort records, and in those that compare them."""

UNITS = {"bytes": 1} | {f"{unit}iB": 1024**power for power, unit in enumerate("KMGTP", start=1)}

REPORTED_SECONDS = 60.0
"""Least seconds that an error about memory reports as well."""

ONE_SCAN = re.compile(
    r"COLUMN_DATA_SCAN|UNGROUPED_AGGREGATE|PROJECTION|FILTER|SEQ_SCAN|(READ_)?PARQUET(_SCAN)?"
)
"""Steps of a plan that counts rows in no more than one scan of what is stored."""


@dataclass(frozen=True)
class MemoryNeed:
    """Memory that a call needs, by its door, its plan, and the types of its columns.

    The bytes were measured for 2e4 to 3e6 records of 1 to 16 columns, and rounded up.
    """

    door: str
    plan: Plan
    types: Mapping[str, str]
    kept: int = 0
    """Columns that go along and are not masked."""
    timed: bool = False
    """True if the method of the plan masks all rows as one stratum, so that its time can be estimated."""

    def bytes(self, rows: int, distinct: Mapping[str, int]) -> int:
        """Return the bytes that so many rows take; columns that are not in `distinct` all differ."""
        record = RECORD[self.door] + KEPT * self.kept
        each = SORTED if self.plan.method.cost == "n log n" else COMPARED
        for name, type_ in self.types.items():
            text = lane_of(type_) in ("t", "")
            record += VALUE[self.door] + (TEXT[self.door] if text else 0)
            record += each * self._coordinates(name, rows, distinct.get(name, rows))
        return rows * record

    @property
    def categories(self) -> list[str]:
        """Return the columns that have a coordinate for each of their values."""
        kinds = ((name, self._embedded(name)) for name in self.types)
        return [name for name, kind in kinds if kind is not None and not kind.numeric]

    def _embedded(self, name: str) -> Kind | None:
        """Return the kind of a column if its coordinates are not its values."""
        kinds = self.plan.kinds
        dtype = dtype_of(self.types[name], named=is_named(name, kinds))
        kind = None if dtype is None else kind_of(dtype, name, kinds)
        return kind if kind is not None and is_embedded(kind) else None

    def _coordinates(self, name: str, rows: int, distinct: int) -> int:
        """Return the most coordinates that a column gets."""
        kind = self._embedded(name)
        if kind is None:
            return 1
        # A time of day is on a circle; a tree has at most as many inner classes as values.
        return 2 if kind.numeric else min(distinct << kind.widens, most_coordinates(rows)) or 1

    def require(self, allowed: int, rows: int, distinct: Mapping[str, int]) -> None:
        """Refuse rows that take more than is allowed."""
        need = self.bytes(rows, distinct)
        if need > allowed:
            name, time = self.plan.method.name, self._time(rows)
            raise tables.beyond_memory(rows, len(self.types), need, allowed, name, time)

    def _time(self, rows: int) -> str:
        """Write how long the method takes; empty if that is short, or if it refuses so many rows."""
        method = self.plan.method
        if not self.timed or rows > (method.limit or rows):
            return ""
        seconds = seconds_of(method, rows, self.plan.k, self.plan.options)
        return left(seconds) if seconds >= REPORTED_SECONDS else ""


def limit_of(con: DuckDBPyConnection) -> int:
    """Return the bytes that DuckDB may take."""
    query = "SELECT current_setting('memory_limit')"
    return bytes_of_limit(con.cursor().execute(query).fetchall()[0][0])


def bytes_of_limit(text: str) -> int:
    """Read an amount of memory as DuckDB writes it.

    >>> bytes_of_limit("1.5 GiB"), bytes_of_limit("0 bytes")
    (1610612736, 0)
    """
    number, _, unit = text.partition(" ")
    return int(float(number) * UNITS[unit])


def rows_at_once(relation: DuckDBPyRelation) -> int | None:
    """Return the rows of a table; None if that takes more than one scan of what is stored.

    A stream can be read once, and a query may take long or be another one when it is read again.
    """
    count = relation.aggregate("count(*)")
    try:
        steps = _steps(json.loads(count.explain(format="json")))
    except TypeError:  # DuckDB before 2.0 only draws it
        steps = _drawn_steps(count.explain())
    return int(count.fetchall()[0][0]) if all(map(ONE_SCAN.fullmatch, steps)) else None


def _drawn_steps(plan: str) -> Iterator[str]:
    """Yield the names of all steps of a plan that is drawn: the first line of each box."""
    for above, line in pairwise(plan.splitlines()):
        if "┌" in above:
            yield from (name.strip() for name in line.split("│") if name.strip())


def _steps(plan: Any) -> Iterator[str]:
    """Yield the names of all steps of a plan."""
    for step in plan:
        yield step["name"].strip()
        yield from _steps(step["children"])
