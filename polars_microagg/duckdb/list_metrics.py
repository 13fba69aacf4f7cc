"""Metrics of a release, from lists of DuckDB as the tables that `assess` measures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import polars as pl

from polars_microagg.analysis.anonymity import classes as equal_records
from polars_microagg.analysis.assess import matched
from polars_microagg.analysis.coordinates import matrices
from polars_microagg.core import registry
from polars_microagg.core.evaluate import evaluate, inputs
from polars_microagg.core.partition import Labels, Matrix
from polars_microagg.duckdb.arrow_lists import ListColumn
from polars_microagg.duckdb.column_types import NANOSECONDS, outline
from polars_microagg.duckdb.identifiers import OURS, same
from polars_microagg.duckdb.macro_call import AssessCall
from polars_microagg.errors import InvalidParameterError, NotNumericError

__all__ = ["Table", "assess_lists"]

Table: TypeAlias = "tuple[Labels, Labels, Sequence[ListColumn]]"
"""Numbers of the records and of their keys, and the columns."""

Pairs: TypeAlias = "list[tuple[ListColumn, ListColumn]]"

EXACT = 2**53
"""Integers up to this size are exact in float64."""

HUGE = 2**126
"""Differences of integers up to this size have at most 128 bits."""

KEY = f"{OURS}key"
"""The number of a record's key."""


@dataclass(frozen=True)
class _Release:
    """The inputs of metrics from a release."""

    original: Matrix
    masked: Matrix
    known: tuple[Matrix, Matrix, None] | None
    subsets: Sequence[tuple[int, ...]]
    classes: Sequence[Labels]
    joint: None = None
    numeric: None = None


def assess_lists(
    call: AssessCall, original: Table, masked: Table, classes: Labels
) -> list[float | int | None]:
    """Measure a release: the metrics that the macro has columns for, None for those not wanted.

    Both tables have their rows in any order; a key has the same number in both. `classes` (c,) are
    the sizes of the classes of masked records that are equal in what an intruder knows, if that is
    not the measured columns.
    """
    pairs = _paired(call.key, original, masked)
    measured = _chosen(call.columns, pairs) if call.columns else _measurable(pairs)
    if not measured:
        raise InvalidParameterError.no_columns()
    known = _chosen(call.known, pairs) if call.known else measured
    _require_known(call, known)
    distances = len(_measurable(known)) == len(call.known or known)
    _require(measured)
    _require(known if distances else [])
    tables = _tables(pairs)
    names, known_names = ([before.name for before, _ in part] for part in (measured, known))
    both = matrices(*tables, names)
    release = _Release(
        *both,
        known=(*(both if known == measured else matrices(*tables, known_names)), None)
        if distances
        else None,
        subsets=[tuple(range(len(known)))],
        # What is known may be of types that are not in the lists: DuckDB has counted then.
        classes=[classes if call.known else _class_sizes(measured)],
    )
    metrics, computed = registry.metrics(), dict[str, Any]()
    return [
        evaluate(metrics[name], release, computed) if name in call.wanted else None
        for name in call.offered
    ]


def _paired(key: tuple[str, ...], original: Table, masked: Table) -> Pairs:
    """Return the columns that both tables have, rows matched."""
    keys, columns = _sorted(original)
    other_keys, others = _sorted(masked)
    rows = _matching_rows(key, keys, other_keys)
    return [
        (column, other.take(rows))
        for column in columns
        for other in others
        if same(column.name, other.name)
    ]


def _sorted(table: Table) -> tuple[pl.DataFrame, list[ListColumn]]:
    """Return keys and columns in the order of the table."""
    rows, keys, columns = table
    order = pl.Series(rows).arg_sort()
    return pl.DataFrame({KEY: pl.Series(keys).gather(order)}), [c.take(order) for c in columns]


def _matching_rows(key: tuple[str, ...], before: pl.DataFrame, after: pl.DataFrame) -> pl.Series:
    """Return the rows of the masked table in the order of the original ones."""
    if not key:
        matched(before, after, ())  # as many of them
    return matched(before, after.with_row_index("row"), (KEY,), key)["row"]


def _chosen(names: Sequence[str], pairs: Pairs) -> Pairs:
    """Return the pairs of these names that exist, in the order of the names."""
    return [pair for name in names for pair in pairs if same(name, pair[0].name)]


def _measurable(pairs: Pairs) -> Pairs:
    """Return the pairs that have values on both sides."""
    return [pair for pair in pairs if all(column.values is not None for column in pair)]


def _require(pairs: Pairs) -> None:
    """Refuse columns that cannot be measured; null is a value like any other."""
    for pair in pairs:
        for column in pair:
            column.require("keep")


def _tables(pairs: Pairs) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return both tables, with columns of one name in comparable units."""
    both = {before.name: _comparable(before, after) for before, after in _measurable(pairs)}
    before, after = (pl.DataFrame({n: pair[i] for n, pair in both.items()}) for i in (0, 1))
    return before, after


def _class_sizes(pairs: Pairs) -> Labels:
    """Return the sizes of the classes of equal masked records, as they were released."""
    table = pl.DataFrame({after.name: after.values for _, after in pairs})
    sizes: Labels = equal_records(table, table.columns)["size"].to_numpy()
    return sizes


def _comparable(before: ListColumn, after: ListColumn) -> tuple[pl.Series, pl.Series]:
    """Return a column before and after: integers of one type, dates and times in equal steps.

    >>> day = ListColumn("a", "DATE", pl.Series([1]))
    >>> _comparable(day, ListColumn("a", "TIMESTAMP_S", pl.Series([86_400])))[1].to_list()
    [1]
    """
    x, y = before.values, after.values
    if x is None or y is None:
        raise NotNumericError.of(before.name, outline(before.type_))
    if before.type_ != after.type_ and {before.type_, after.type_} <= set(NANOSECONDS):
        counted = pl.col("steps").cast(pl.Int128) * NANOSECONDS[after.type_]
        y = y.to_frame("steps").select(counted // NANOSECONDS[before.type_]).to_series()
    if not x.dtype.is_integer():
        return x, y
    whole = [column for column in (x, y) if column.dtype.is_integer()]
    # The difference of such integers may not fit 128 bits; Python's integers hold it.
    if max(abs(end) for column in whole for end in _ends(column)) >= HUGE:
        low, high = _ends(x)
        low = 0 if low >= -EXACT and high <= EXACT else low
        return _from_low(x, low), _from_low(y, low)
    if x.dtype == y.dtype or not y.dtype.is_integer():
        return x, y
    return x.cast(pl.Int128), y.cast(pl.Int128)


def _ends(column: pl.Series) -> tuple[int, int]:
    """Return the smallest and the largest integer."""
    low, high = column.min(), column.max()
    return (0, 0) if low is None else (int(low), int(high))  # type: ignore[arg-type]


def _from_low(column: pl.Series, low: int) -> pl.Series:
    """Count from a number, with Python's integers: differences may have more than 128 bits."""
    counted = [None if step is None else float(step - low) for step in column.to_list()]
    return pl.Series(counted, dtype=pl.Float64)


def _require_known(call: AssessCall, known: Pairs) -> None:
    """Refuse a measure of linkage where a known column has no distances."""
    metrics = registry.metrics()
    if not call.known or not any("subsets" in inputs(metrics[name]) for name in call.wanted):
        return
    there = [before.name for before, _ in known]
    for name in call.known:
        if not any(same(name, other) for other in there):
            raise InvalidParameterError.unknown_column("known", name, there)
    for pair in known:
        for column in pair:
            if column.values is None:
                raise NotNumericError.known(column.name, outline(column.type_))
