"""Groups whose centre shows the value of one record, counted on what is released."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import polars as pl

from polars_microagg.analysis.counted_classes import entity_models
from polars_microagg.frames.columns import floats
from polars_microagg.publishing.column_kinds import of_numbers
from polars_microagg.publishing.warnings.persons import Persons
from polars_microagg.wording import Counted, Parameter, Sentence, Setting

__all__ = ["DOMINATES", "MAJORITY", "exposed"]

DOMINATES = 0.8
"""Share of the total of a group above which one record shows through the group's mean."""

MAJORITY = 0.5
"""Share of the rows of a group above which their mean is near that of one person."""


def exposed(
    original: pl.DataFrame,
    masked: pl.DataFrame,
    blocks: Sequence[Sequence[str]],
    strata: Sequence[str],
    center: str = "mean",
    kinds: Mapping[str, Any] | None = None,
    who: Persons | None = None,
) -> list[str]:
    """Count the groups whose centre is, or nearly is, the value of one record, or of one person.

    Both tables are in the same order; cells that are empty afterwards are not released and count
    nowhere. Categories are passed over: one that is released has k holders. `who` are the persons of the
    records, if they are known: what a person adds to the total of a group are all their records in it.
    Groups of which one person has most records are counted as well.

    >>> before = pl.DataFrame({"age": [30, 31, 39]})
    >>> exposed(before, before.with_columns(age=31), [["age"]], [], "median")[0].partition(":")[0]
    "In 1 of 1 groups the centre of 'age' is the value of one record"
    """
    warnings = []
    for block in blocks:
        numbers = set(of_numbers(original.schema, block, kinds))
        groups = _groups(original, masked, block, strata, numbers, who)
        for i, name in enumerate(block):
            if name in numbers:
                released = groups.filter(pl.col(f"k{i}").is_not_null())
                numeric = original.schema[name].is_numeric()
                warnings += _sentences(released, i, name, center, numeric, who)
        if who is not None and not who.mean:
            keys = [pl.col(f"k{i}").is_not_null() for i in range(len(block))]
            warnings += _majorities(groups.filter(pl.any_horizontal(keys)))
    return warnings


def _groups(
    original: pl.DataFrame,
    masked: pl.DataFrame,
    block: Sequence[str],
    strata: Sequence[str],
    numbers: Collection[str],
    who: Persons | None,
) -> pl.DataFrame:
    """Return the centres k0, k1, ... of each group, and how the values of each column lie."""
    # Methods of a Series look it up by its name, where "^a$" would be a pattern.
    columns = [masked.get_column(n).alias(f"k{i}") for i, n in enumerate([*block, *strata])]
    keys, counted, summed = [key.name for key in columns], list[pl.Expr](), list[pl.Expr]()
    for i, name in enumerate(block):
        value = original.get_column(name).alias("0")
        if name not in numbers:
            continue
        size = floats(value).abs()
        same = _same(value, masked.get_column(name).alias("0"))
        columns += [size.alias(f"x{i}"), same.alias(f"same{i}")]
        x = pl.col(f"x{i}")
        # What a person adds to the total of the group. The sum of no values is no value.
        added = x.mean() if who and who.mean else pl.when(x.count() > 0).then(x.sum())
        summed += [added.alias(f"x{i}"), pl.col(f"same{i}").any()]
        counted += [
            x.count().alias(f"values{i}"),
            pl.col(f"same{i}").sum(),
            (x.max() / x.sum()).alias(f"largest{i}"),
        ]
    table = pl.DataFrame(columns)
    if who is not None:
        summed.append(pl.len().alias("rows"))
        counted.append((pl.col("rows").max() / pl.col("rows").sum()).alias("share"))
        table = table.with_columns(who.numbers.alias("who")).group_by([*keys, "who"]).agg(summed)
    return table.group_by(keys).agg(counted)


def _same(value: pl.Series, masked: pl.Series) -> pl.Series:
    """Compare values, also of instants that a database gives back in a zone of another name."""
    zones = [getattr(column.dtype, "time_zone", None) for column in (value, masked)]
    if all(zones) and zones[0] != zones[1]:
        masked = masked.dt.convert_time_zone(str(zones[0]))
    return value == masked


def _majorities(groups: pl.DataFrame) -> list[str]:
    """Warn of groups of which one person has most records."""
    most = groups.filter(pl.col("share") > MAJORITY).height
    if not most:
        return []
    return [
        Sentence(
            f"In {{most}} of {{all}} groups one person has more than {MAJORITY:.0%} of the rows, so their "
            "center is close to that of this person alone. Bound the share with "
            f"{' or '.join(f'{{{name}}}' for name in entity_models())}, or use {{mode}}.",
            most=Counted(most, groups.height),
            all=groups.height,
            mode=Setting("entity_mode", "mean"),
            **{name: Parameter(name) for name in entity_models()},
        )
    ]


def _sentences(
    groups: pl.DataFrame, i: int, name: str, center: str, numeric: bool, persons: Persons | None
) -> list[str]:
    who = "record" if persons is None else "person"
    # What the mean of a group, times how many of what, is close to.
    shown = ("rows", "the total of that person")
    if persons is None:
        shown = ("records", "that value")
    elif persons.mean:
        shown = ("persons", "the mean of that person")
    several = pl.col(f"values{i}") > 1
    one = groups.filter(pl.col(f"values{i}") == 1).height
    same = groups.filter(several, pl.col(f"same{i}") == 1).height
    over = groups.filter(several, pl.col(f"largest{i}").fill_nan(0) > DOMINATES).height
    warnings = list[str]()
    if center == "mean" and numeric and over:
        warnings.append(
            Sentence(
                f"In {{over}} of {{all}} groups one {who} makes more than {DOMINATES:.0%} of the "
                f"total of {{name}}, so the mean times the number of {shown[0]} is close to {shown[1]}. "
                "Cap the extremes before masking, or use a larger k.",
                over=Counted(over, groups.height),
                all=groups.height,
                name=repr(name),
            )
        )
    if center != "mean" and same:
        warnings.append(
            Sentence(
                f"In {{same}} of {{all}} groups the centre of {{name}} is the value of one {who}: "
                "{center} releases values as they were. Use {mean}.",
                same=Counted(same, groups.height),
                all=groups.height,
                name=repr(name),
                center=Setting("center", center),
                mean=Setting("center", "mean"),
            )
        )
    if one:
        warnings.append(
            Sentence(
                f"In {{one}} of {{all}} groups only one {who} has a value of {{name}}, and it is the "
                "centre that all of them are given. Drop the column, or keep nulls with {pattern}.",
                one=Counted(one, groups.height),
                all=groups.height,
                name=repr(name),
                pattern=Setting("nulls", "pattern"),
            )
        )
    return warnings
