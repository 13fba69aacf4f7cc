"""Metrics of a release, from columns of numpy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from polars_microagg.core import registry
from polars_microagg.core.evaluate import evaluate, inputs
from polars_microagg.core.partition import Labels, Matrix
from polars_microagg.duckdb.columns import Column, lane_of, outline, value_pair
from polars_microagg.duckdb.identifiers import same
from polars_microagg.duckdb.macro_call import AssessCall
from polars_microagg.errors import InvalidDataError, InvalidParameterError, NotNumericError

__all__ = ["Table", "assessed"]

Table: TypeAlias = "tuple[Labels, Labels, Sequence[Column]]"
"""Numbers of the records and of their keys, and the columns."""

Pairs: TypeAlias = "list[tuple[Column, Column]]"


@dataclass(frozen=True)
class _Release:
    """What metrics take of a release."""

    original: Matrix
    masked: Matrix
    known: tuple[Matrix, Matrix] | None
    subsets: Sequence[tuple[int, ...]]
    classes: Sequence[Labels]


def assessed(
    asked: AssessCall, original: Table, masked: Table, classes: Labels
) -> list[float | int | None]:
    """Measure a release.

    Parameters
    ----------
    asked : Measuring
        The call.
    original, masked : tuple
        Both tables, rows in any order; a key has the same number in both.
    classes : array of shape (c,)
        Sizes of the classes of masked records that are equal in what an intruder knows, if that
        is not the measured columns.

    Returns
    -------
    list of float, int or None
        The metrics that the macro has columns for; None for those that are not wanted.

    Raises
    ------
    InvalidDataError
        The rows cannot be matched, or a column cannot be measured.
    """
    pairs = _paired(asked.key, original, masked)
    measured = _chosen(asked.columns, pairs) if asked.columns else _measurable(pairs)
    if not measured:
        raise InvalidParameterError.no_columns()
    known = _chosen(asked.known, pairs) if asked.known else measured
    _require_known(asked, known)
    release = _Release(
        *_matrices(measured),
        known=_matrices(known) if len(_measurable(known)) == len(asked.known or known) else None,
        subsets=[tuple(range(len(known)))],
        classes=[classes if asked.known else _class_sizes([after for _, after in measured])],
    )
    metrics, computed = registry.metrics(), dict[str, Any]()
    return [
        evaluate(metrics[name], release, computed) if name in asked.wanted else None
        for name in asked.offered
    ]


def _paired(key: tuple[str, ...], original: Table, masked: Table) -> Pairs:
    """Columns that both tables have, their rows matched."""
    keys, columns = _sorted(original)
    other_keys, others = _sorted(masked)
    rows = _matched(key, keys, other_keys)
    return [
        (column, _rows(other, rows))
        for column in columns
        for other in others
        if same(column.name, other.name)
    ]


def _chosen(names: Sequence[str], pairs: Pairs) -> Pairs:
    """Pairs of these names, in their order, as far as there are any."""
    return [pair for name in names for pair in pairs if same(name, pair[0].name)]


def _measurable(pairs: Pairs) -> Pairs:
    return [pair for pair in pairs if all(lane_of(column.type_) for column in pair)]


def _require_known(asked: AssessCall, known: Pairs) -> None:
    """Refuse a measure of linkage that is asked for where a known column has no distances."""
    metrics = registry.metrics()
    if not asked.known or not any("subsets" in inputs(metrics[name]) for name in asked.wanted):
        return
    there = [before.name for before, _ in known]
    for name in asked.known:
        if not any(same(name, other) for other in there):
            raise InvalidParameterError.unknown_column("known", name, there)
    for pair in known:
        for column in pair:
            if not lane_of(column.type_):
                raise NotNumericError.known(column.name, outline(column.type_))


def _matrices(pairs: Pairs) -> tuple[Matrix, Matrix]:
    """Both tables in the same units."""
    for pair in pairs:
        for column in pair:
            column.require("keep")
    both = zip(*(value_pair(before, after) for before, after in pairs), strict=True)
    before, after = (np.asfortranarray(np.column_stack(part)) for part in both)
    return before, after


def _class_sizes(columns: Sequence[Column]) -> Labels:
    """Sizes of the classes of equal records; null is a value like any other."""
    classes = np.zeros(len(columns[0].values), dtype=np.intp)
    for column in columns:
        here = ~column.absent if column.absent is not None else np.ones(len(classes), np.bool_)
        number = np.zeros(len(classes), dtype=np.intp)
        number[here] = np.unique(column.values[here], return_inverse=True)[1] + 1
        both = classes * (number.max(initial=0) + 1) + number
        classes = np.unique(both, return_inverse=True)[1].astype(np.intp)
    return np.bincount(classes)


def _rows(column: Column, rows: Labels) -> Column:
    # A column of a type that cannot be measured comes without values.
    return column.take(rows) if len(column.values) else column


def _sorted(table: Table) -> tuple[Labels, list[Column]]:
    """Keys and columns in the order of the table."""
    rows, keys, columns = table
    order = np.argsort(rows, kind="stable")
    return keys[order], [_rows(column, order) for column in columns]


def _matched(key: tuple[str, ...], before: Labels, after: Labels) -> Labels:
    """Rows of the masked table in the order of the original ones."""
    if not key and len(before) != len(after):
        raise InvalidDataError.rows(len(before), len(after))
    for keys, what in ((before, "original"), (after, "masked")):
        if repeated := len(keys) - len(np.unique(keys)):
            raise InvalidDataError.key(key, f"{repeated} row(s) of {what} repeat a key")
    both = len(np.intersect1d(before, after))
    if not both == len(before) == len(after):
        counts = f"{both} of {len(before)} and {len(after)} rows match"
        raise InvalidDataError.key(key, counts)
    rows = np.empty(len(after), dtype=np.intp)
    rows[np.argsort(before)] = np.argsort(after)
    return rows
