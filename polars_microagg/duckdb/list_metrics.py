"""Metrics of a release, from lists of DuckDB as the tables that `assess` measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from polars_microagg.analysis.anonymity import classes as equal_records
from polars_microagg.analysis.coordinates import coordinates
from polars_microagg.analysis.matched_rows import matched
from polars_microagg.core import registry
from polars_microagg.core.evaluate import evaluate, inputs
from polars_microagg.core.options import keys_asked
from polars_microagg.core.partition import Labels, Matrix
from polars_microagg.duckdb.arrow_lists import ListColumn
from polars_microagg.duckdb.column_types import NANOSECONDS, outline, refuse_kind, typed
from polars_microagg.duckdb.identifiers import OURS, find, is_named, same
from polars_microagg.duckdb.macro_call import AssessCall
from polars_microagg.errors import InvalidParameterError, NotNumericError
from polars_microagg.frames.attributes import entity_of
from polars_microagg.frames.columns import is_number
from polars_microagg.frames.safe_collect import quietly

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

STRATUM = f"{OURS}stratum"
"""The number of a record's stratum."""


@dataclass(frozen=True)
class _Release:
    """The inputs of metrics from a release."""

    original: Matrix
    masked: Matrix
    joint: Labels | None
    numeric: npt.NDArray[np.bool_] | None
    known: tuple[Matrix, Matrix, Labels | None] | None
    subsets: Sequence[tuple[int, ...]]
    entity: Labels | None
    strata: Labels | None
    classes: Sequence[Labels]


def assess_lists(
    call: AssessCall, original: Table, masked: Table, classes: Labels, strata: Labels
) -> list[float | int | None]:
    """Measure a release: the metrics that the macro has columns for, None for those not wanted.

    Both tables have their rows in any order; a key has the same number in both. `classes` (c,) are
    the sizes of the classes of masked records that are equal in what an intruder knows, if that is
    not the measured columns, and `strata` (n,) the strata of the masked records in their order, if
    there are any.
    """
    pairs, rows = _paired(call.key, original, masked)
    within = strata[rows.to_numpy()] if call.strata else None
    asked = _named_as_written(call.kinds, pairs)
    # By default numbers, dates and times, and what the call says to be categories.
    others = [*call.entity, *call.strata]
    numbers = [pair for pair in pairs if not any(same(pair[0].name, n) for n in others)]
    measured = _chosen(call.columns, pairs) if call.columns else _counted(numbers, asked)
    if not measured:
        raise InvalidParameterError.no_columns()
    known = _chosen(call.known, pairs) if call.known else measured
    _require_known(call, known)
    distances = len(_measurable(known)) == len(call.known or known)
    _require(measured, asked)
    _require(known if distances else [], asked)
    tables = _tables(pairs, asked)
    names, known_names = ([before.name for before, _ in part] for part in (measured, known))
    found = coordinates(*tables, names, asked)
    seen = found if known == measured or not distances else coordinates(*tables, known_names, asked)
    release = _Release(
        found.before,
        found.after,
        found.several,
        None if found.numeric.all() else found.numeric,
        known=(seen.before, seen.after, seen.several) if distances else None,
        subsets=[tuple(range(len(known)))],
        entity=_persons(call, original),
        strata=within,
        # What is known may be of types that are not in the lists: DuckDB has counted then.
        classes=[classes if call.known else _class_sizes(measured, within)],
    )
    metrics, computed = registry.metrics(), dict[str, Any]()
    return [
        evaluate(metrics[name], release, computed) if name in call.wanted else None
        for name in call.offered
    ]


def _persons(call: AssessCall, original: Table) -> Labels | None:
    """Return the number of the person of each record, where a metric counts persons."""
    entries = registry.metrics()
    if not any("entity" in inputs(entries[name]) for name in call.wanted):
        return None
    held = {column.name: column for column in _sorted(original)[1]}
    names = find("entity", call.entity, list(held))
    return entity_of([held[name].counted() for name in names], names).codes


def _paired(key: tuple[str, ...], original: Table, masked: Table) -> tuple[Pairs, pl.Series]:
    """Return the columns that both tables have without our own, and the masked row of each original one."""
    keys, columns = _sorted(original)
    other_keys, others = _sorted(masked)
    rows = _matching_rows(key, keys, other_keys)
    pairs = [
        (column, other.take(rows))
        for column in columns
        for other in others
        if same(column.name, other.name) and not column.name.startswith(OURS)
    ]
    return pairs, rows


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


def _counted(pairs: Pairs, asked: Mapping[str, Any]) -> Pairs:
    """Return the pairs that are measured where no columns are named."""
    return [
        (before, after)
        for before, after in _measurable(pairs)
        if is_named(before.name, asked)
        or all(is_number(column.values.dtype) for column in (before, after))  # type: ignore[union-attr]
    ]


def _named_as_written(kinds: Mapping[str, Any], pairs: Pairs) -> dict[str, Any]:
    """Return the kinds of the columns that there are, by their names in the table before."""
    found: dict[str, Any] = {}
    for option, columns in kinds.items():
        written = {
            name: before.name for name in columns for before, _ in pairs if same(name, before.name)
        }
        found[option] = (
            {written[name]: columns[name] for name in written}
            if isinstance(columns, Mapping)
            else tuple(written.values())
        )
    return keys_asked(found)


def _require(pairs: Pairs, asked: Mapping[str, Any]) -> None:
    """Refuse columns that cannot be measured; null is a value like any other."""
    for before, after in pairs:
        for column in (before, replace(after, name=before.name)):
            refuse_kind(column.name, column.type_, asked)
            column.require("keep")


def _tables(pairs: Pairs, asked: Mapping[str, Any]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return both tables, with columns of one name in comparable units."""
    both = {}
    for before, after in _measurable(pairs):
        as_named = is_named(before.name, asked) or not is_number(before.values.dtype)  # type: ignore[union-attr]
        both[before.name] = (_as_named if as_named else _comparable)(before, after)
    one, other = (pl.DataFrame({n: pair[i] for n, pair in both.items()}) for i in (0, 1))
    return one, other


def _class_sizes(pairs: Pairs, strata: Labels | None) -> Labels:
    """Return the sizes of the classes of equal masked records, as they were released."""
    table = pl.DataFrame({after.name: after.values for _, after in pairs})
    if strata is not None:
        table = table.with_columns(pl.Series(STRATUM, strata))
    sizes: Labels = equal_records(table, table.columns)["size"].to_numpy()
    return sizes


def _as_named(before: ListColumn, after: ListColumn) -> tuple[pl.Series, pl.Series]:
    """Return categories, or what a call names, before and after in the type before."""
    x, y = (
        pl.Series() if column.values is None else typed(column.type_, column.values)
        for column in (before, after)
    )
    # A category that the type before does not have would be shown by the error of the cast.
    return x, y if x.dtype == y.dtype else quietly(lambda: y.cast(x.dtype), "masked")


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
