"""Questions about one table: methods, verify and anonymity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from polars_microagg.analysis.counted_classes import (
    CountedClasses,
    options_of_models,
    settings_of_models,
)
from polars_microagg.core import registry
from polars_microagg.core.options import MODEL_OPTIONS, group_size
from polars_microagg.core.own_options import refuse_unknown
from polars_microagg.core.plan import Plan
from polars_microagg.errors import InvalidParameterError
from polars_microagg.frames.released_strata import class_keys
from polars_microagg.frames.safe_collect import collected, schema_of
from polars_microagg.frames.selection import (
    Columns,
    Names,
    as_frame,
    blocks_of,
    by_name,
    keys_of,
    resolve,
)

__all__ = [
    "anonymity",
    "classes",
    "emptied",
    "fewest_records",
    "methods",
    "plan_of",
    "selected",
    "verify",
]

SIZES = {
    "size_q25": pl.col("size").quantile(0.25, "linear"),
    "size_median": pl.col("size").quantile(0.5, "linear"),
    "size_q75": pl.col("size").quantile(0.75, "linear"),
    "size_max": pl.col("size").max().cast(pl.Int64),
}
PIECE = 1 << 16
"""Records that are counted at a time."""

HISTOGRAM = pl.List(pl.Struct({"size": pl.Int64, "classes": pl.Int64}))


def methods() -> pl.DataFrame:
    """List the registered methods.

    Returns
    -------
    polars.DataFrame
        One row a method: `method`, its name, what k counts (`unit`: records or values), the group
        sizes that come out, how its time grows with the number n of records (`cost`), the most
        records it takes at a time (`limit`, null if any number), the numbers of the papers, and
        a summary.

    Examples
    --------
    >>> methods().filter(method="mdav").select("method", "unit", "sizes").row(0)
    ('mdav', 'record', 'k..2k-1')
    """
    rows = [
        {
            "method": entry.name,
            "unit": entry.unit,
            "sizes": entry.sizes,
            "cost": entry.cost,
            "limit": entry.limit,
            "paper": entry.paper,
            "summary": entry.summary,
        }
        for entry in registry.methods().values()
    ]
    columns = ["method", "unit", "sizes", "cost", "limit", "paper", "summary"]
    return pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String) | {"limit": pl.Int64})


def selected(
    frame: pl.DataFrame | pl.LazyFrame, columns: object, table: str = "table"
) -> list[list[str]]:
    """Return the names of each block of columns."""
    schema = schema_of(frame)
    blocks = [
        [name for item in block for name in resolve(item, schema, "columns", table)]
        for block in blocks_of(columns)
    ]
    if not all(blocks):
        raise InvalidParameterError.no_columns()
    return blocks


def classes(
    frame: pl.DataFrame | pl.LazyFrame, names: Sequence[str], strata: Sequence[str] = ()
) -> pl.DataFrame:
    """Return the sizes of the classes of records that a reader cannot tell apart.

    Null is a value.
    """
    keys, schema = list(dict.fromkeys([*names, *strata])), schema_of(frame)
    numbered = frame.lazy().select(class_keys(keys, schema))
    sizes = numbered.group_by(pl.all()).agg(pl.len().alias("size"))
    return collected(sizes.select("size"))


def emptied(frame: pl.DataFrame, names: Sequence[str], strata: Sequence[str] = ()) -> int:
    """Count the records without any value in these columns."""
    blank = pl.all_horizontal(by_name(name).is_null() for name in (*names, *strata))
    return int(frame.select(blank.sum()).item())


def fewest_records(names: Sequence[str], *tables: pl.DataFrame) -> int:
    """Count the records that one or two of these columns have in common, where they are fewest.

    A record counts for a column with a value of it in each table.

    >>> fewest_records(["a", "b"], pl.DataFrame({"a": [1, None, 3], "b": [4, 5, 6]}))
    2
    """
    there = [
        np.logical_and.reduce(
            [t.get_column(name).alias("0").is_not_null().to_numpy() for t in tables]
        )
        for name in names
    ]
    fewest = min(int(column.sum()) for column in there)
    gaps = [column for column in there if not column.all()]
    if len(gaps) > 1:
        table, both = np.column_stack(gaps), np.zeros((len(gaps), len(gaps)))
        # The matrix product counts the records of every two columns at once; float32 counts exactly
        # up to 2^24 in a piece.
        for start in range(0, len(table), PIECE):
            piece = table[start : start + PIECE].astype(np.float32)
            both += piece.T @ piece
        fewest = min(fewest, int(both.min()))
    return fewest


def verify(
    frame: Any,
    columns: Columns,
    k: int,
    *,
    strata: Names = None,
    entity: Names = None,
    entity_mode: str | None = None,
    confidential: Names = None,
    **bounds: Any,
) -> None:
    """Check that at least k records, or entities, share each record, and raise if not.

    See `polars_microagg.verify`.
    """
    refuse_unknown(verify, bounds, MODEL_OPTIONS)
    frame = as_frame(frame)
    schema = schema_of(frame)
    keys, whose = keys_of(schema, "strata", strata), keys_of(schema, "entity", entity)
    hidden = keys_of(schema, "confidential", confidential)
    people = {"entity": whose, "entity_mode": entity_mode, "confidential": hidden}
    plan, counted = plan_of(k, people, bounds), [*whose, *hidden]
    blocks = selected(frame, columns)
    frame = _read(frame, blocks, keys, counted)
    for names in blocks:
        if counted:
            found = CountedClasses.of(frame, [*names, *keys], plan.entity, plan.confidential)
        else:
            found = CountedClasses.of_sizes(classes(frame, names, keys)["size"].to_numpy())
        found.hold(plan, names, keys)


def plan_of(k: int, people: Mapping[str, Any], bounds: Mapping[str, Any]) -> Plan:
    """Check what has to hold as a call of masking does."""
    return Plan.make("mdav", k, **people, **bounds)


def _read(
    frame: Any, blocks: Sequence[Sequence[str]], keys: Sequence[str], counted: Sequence[str]
) -> Any:
    """Collect the columns of a call once, where some of them are counted in classes."""
    if not counted:
        return frame
    needed = dict.fromkeys([*(name for block in blocks for name in block), *keys, *counted])
    return collected(frame.lazy().select(by_name(name) for name in needed))


def anonymity(
    frame: Any,
    columns: Columns,
    *,
    strata: Names = None,
    k: int | None = None,
    confidential: Names = None,
    entity: Names = None,
    **options: Any,
) -> pl.DataFrame:
    """Count the classes of equal records, and what they tell about confidential columns.

    See `polars_microagg.anonymity`.
    """
    frame = as_frame(frame)
    blocks = selected(frame, columns)
    schema = schema_of(frame)
    divided = keys_of(schema, "strata", strata)
    hidden = keys_of(schema, "confidential", confidential)
    people = keys_of(schema, "entity", entity)
    refuse_unknown(anonymity, options, settings_of_models())
    chosen = options_of_models("anonymity", options, hidden)
    if k is not None:
        k = group_size(k)
    frame = _read(frame, blocks, divided, [*people, *hidden])
    rows = [_counted(frame, names, divided, k, people, hidden, chosen) for names in blocks]
    if len(rows) == 1:
        return rows[0]
    return pl.concat(rows).insert_column(0, pl.Series("columns", blocks))


def _counted(
    frame: Any,
    names: Sequence[str],
    divided: Sequence[str],
    k: int | None,
    people: Sequence[str],
    hidden: Sequence[str],
    options: Mapping[str, Any],
) -> pl.DataFrame:
    """Count the classes on one block of columns."""
    counted = None
    if people or hidden:
        counted = CountedClasses.of(frame, [*names, *divided], people, hidden, options)
    sizes, size = counted.sizes if counted else classes(frame, names, divided), pl.col("size")
    row = [
        sizes.select(
            records=size.sum().cast(pl.Int64),
            classes=pl.len().cast(pl.Int64),
            k_min=size.min().cast(pl.Int64),
            k_prime=size.sum() / pl.when(pl.len() > 0).then(pl.len()),
            uniques=(size == 1).sum().cast(pl.Int64),
        )
    ]
    if k is not None or hidden:
        row += [sizes.select(**SIZES), _histogram(sizes)]
    if k is not None:
        few = pl.col("entities" if people else "size") < k
        row.append(sizes.select(at_risk=size.filter(few).sum().cast(pl.Int64)))
    if counted is not None:
        row += [counted.of_entities()] if people else []
        row += [counted.of_models()] if hidden else []
    return pl.concat(row, how="horizontal")


def _histogram(sizes: pl.DataFrame) -> pl.DataFrame:
    """List the sizes of classes and the number of classes of each, as one row."""
    counted = sizes.group_by("size").len("classes").sort("size").cast(pl.Int64)
    return pl.DataFrame([pl.Series("histogram", [counted.to_struct()], dtype=HISTOGRAM)])
