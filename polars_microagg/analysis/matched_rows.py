"""The rows of a masked table in the order of the original ones."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

import polars as pl

from polars_microagg.errors.originals import (
    rows_not_released,
    unmatched_key,
    unmatched_rows,
)
from polars_microagg.frames.columns import type_name
from polars_microagg.frames.selection import by_name
from polars_microagg.wording import Parameter, Sentence, listed

__all__ = ["matched", "warn_of_order"]

LOG = logging.getLogger("polars_microagg")


def matched(
    original: pl.DataFrame,
    masked: pl.DataFrame,
    key: tuple[str, ...],
    named: tuple[str, ...] | None = None,
) -> pl.DataFrame:
    """Return the masked rows in the order of the original ones; errors name the key as `named`."""
    named = key if named is None else named
    if not key:
        if original.height != masked.height:
            raise unmatched_rows(original.height, masked.height)
        return masked
    _refuse_types(original, masked, key)
    for frame, what in ((original, "original"), (masked, "masked")):
        repeated = frame.height - frame.select(by_name(name) for name in key).n_unique()
        if repeated:
            raise unmatched_key(named, f"{repeated} row(s) of {what} repeat a key")
    matched = original.select(by_name(name) for name in key).join(
        masked,
        on=[by_name(name) for name in key],
        how="inner",
        maintain_order="left",
        nulls_equal=True,
    )
    if not matched.height == original.height == masked.height:
        if matched.height == masked.height:
            raise rows_not_released(named, original.height - masked.height)
        counts = f"{matched.height} of {original.height} and {masked.height} rows match"
        raise unmatched_key(named, counts)
    return matched


def _refuse_types(original: pl.DataFrame, masked: pl.DataFrame, key: tuple[str, ...]) -> None:
    """Refuse keys whose types cannot be compared."""
    for name in key:
        tables = [table.clear().select(by_name(name)) for table in (original, masked)]
        try:
            tables[0].join(tables[1], on=by_name(name)).n_unique()
        except pl.exceptions.PolarsError:
            kinds = " and ".join(type_name(table.schema[name]) for table in tables)
            problem = f"{name!r} is of type {kinds}, which cannot be compared"
            raise unmatched_key(key, problem) from None


def warn_of_order(
    original: pl.DataFrame,
    masked: pl.DataFrame,
    measured: Sequence[str],
    losses: Iterable[float | None],
    *,
    every: bool = False,
) -> None:
    """Warn if rows that were matched by position seem to be in two orders.

    With `every` all columns should have been measured, so that one that changed and was not is named.

    A column that is not measured and has the same values in another order shows it, and so does a loss
    above 100 %, as no group is farther from its center than from the mean of all.
    """
    changed, types = list[str](), masked.schema
    for name, dtype in original.schema.items():
        alike = types.get(name) == dtype and not (dtype.is_nested() or dtype == pl.Object)
        if name in measured or not alike:
            continue
        before, after = (table[name].alias("0") for table in (original, masked))
        if before.equals(after):
            continue
        if before.sort().equals(after.sort()):
            LOG.warning("%s", _in_other_order(name))
            return
        changed.append(name)
    if any(loss is not None and loss > 100 for loss in losses):
        LOG.warning("%s", _in_other_order(None))
    elif every and changed:
        LOG.warning("%s", _not_measured(changed))


def _in_other_order(column: str | None) -> Sentence:
    """Warn that the rows of two tables seem to be matched wrongly."""
    found = (
        "the loss is above 100 %"
        if column is None
        else f"column {column!r} has the same values in another order"
    )
    return Sentence(
        "The rows of original and masked were matched by position, and {found}: the tables seem to be "
        "in different orders. Name columns that identify a row with {key}.",
        found=found,
        key=Parameter("key"),
    )


def _not_measured(columns: list[str]) -> Sentence:
    """Warn that columns of categories have changed and are not among those measured by default."""
    return Sentence(
        "Without {parameter} only numbers are measured: {columns} changed and not measured. Name "
        "every masked column in {parameter}, with the kinds of the mask.",
        parameter=Parameter("columns"),
        columns=f"{listed(columns)} {'was' if len(columns) == 1 else 'were'}",
    )
