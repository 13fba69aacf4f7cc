"""Comparison of a release with its original: kept columns row by row, and types of masked ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from polars_microagg.core.kind import has_means
from polars_microagg.core.masked import Holders
from polars_microagg.core.options import KEY_OPTIONS
from polars_microagg.core.partition import Strata
from polars_microagg.core.registry import methods
from polars_microagg.errors.originals import other_kinds, without_masked
from polars_microagg.frames.attributes import entity_of
from polars_microagg.frames.columns import floats, is_number, kind_for, type_name, unit
from polars_microagg.frames.mask import MaskRequest, suppressed_rows
from polars_microagg.frames.selection import by_name
from polars_microagg.publishing.column_kinds import categories, kinds_of, options_of
from polars_microagg.publishing.formats.column_types import alike
from polars_microagg.publishing.formats.csv_suspicions import refuse_written_otherwise
from polars_microagg.publishing.formats.register import formats
from polars_microagg.publishing.formats.text_types import quantities, retyped, typed
from polars_microagg.publishing.manifest.model import Manifest
from polars_microagg.publishing.manifest.precision import published, step
from polars_microagg.publishing.manifest.rounding import agree
from polars_microagg.publishing.manifest.rows import drops_rows
from polars_microagg.publishing.privacy_models import masking_options

__all__ = [
    "aligned",
    "differing",
    "entity_in",
    "exchanged",
    "in_types",
    "mistyped",
    "not_text",
    "off_centre",
    "other_measures",
    "refuse_lacking",
    "refuse_other_kinds",
    "restored",
]

TEXTS = ("String", "Categorical", "Enum", "Boolean")
"""Types of categories, in which no number is read."""

BESIDE = ("method", "k", "columns", "require")
"""Keys of a configuration that are not options of the method."""

DAY = 24 * 3600 * 10**9
"""Nanoseconds of a day."""

STEP = 1000
"""Nanoseconds of the coarsest step in which a format holds a time."""

ASIDE, CANCELLED = 1e-8, 1e-12
"""Of a mean of points on a circle of radius 1: how far it may lie beside its direction, for such steps
and means of almost no length; and the length below which it has no direction."""


def not_text(manifest: Manifest) -> list[str]:
    """Return the masked columns that were numbers or dates when they were released."""
    types = manifest["output"]["columns"]
    return [name for name in manifest["roles"]["mask"] if types[name] not in TEXTS]


def entity_in(manifest: Mapping[str, Any], before: pl.DataFrame | None) -> list[str]:
    """Return the columns that say whose a record is; none if the original lacks one of them."""
    entity = list(manifest["roles"].get("entity", []))
    return entity if before is not None and {*entity} <= {*before.columns} else []


def other_measures(manifest: Manifest, measured: Mapping[str, Any]) -> list[str]:
    """Return the measures that are not those of the manifest, as far as it tells them."""
    digits, measures = manifest["digits"], manifest["measures"]
    again = published(measured, digits)
    return [
        name
        for name, value in again.items()
        if not agree(measures[name], value, step(name, measures[name], digits))
    ]


def aligned(manifest: Manifest, before: pl.DataFrame) -> pl.DataFrame:
    """Remove the rows that a release dropped from its original, by the manifest's configuration.

    >>> options = {"nulls": "pattern", "small_strata": "drop", "strata": []}
    >>> manifest = {"config": {"method": "mdav", "k": 2, "columns": [["age"]], "require": [], **options},
    ...     "roles": {"mask": ["age"]}, "output": {"columns": {"age": "Int64"}}}
    >>> aligned(manifest, pl.DataFrame({"age": [31, None, 47]}))["age"].to_list()
    [31, 47]
    """
    config = manifest["config"]
    if not drops_rows(config):
        return before
    options = {name: value for name, value in options_of(config).items() if name not in BESIDE}
    options = masking_options(options)
    request = MaskRequest.of(config["method"], config["columns"], config["k"], options)
    # What was text when it was released was counted as text.
    numbers = [n for n in request.plan.confidential if manifest["output"]["columns"][n] != "String"]
    read = quantities(typed(before, not_text(manifest)), numbers)
    return before.filter(~suppressed_rows(read, request))


def differing(before: pl.DataFrame, after: pl.DataFrame, names: Iterable[str]) -> list[str]:
    """Find columns that should be unchanged, and differ in a value or are missing.

    Rows match by position, as for the measures.

    >>> people, release = pl.DataFrame({"id": [1, 2]}), pl.DataFrame({"id": ["2", "1"]})
    >>> differing(people, release, ["id"]), differing(people[::-1], release, ["id"])
    (['id'], [])
    """
    there = set(before.columns)
    return [
        name
        for name in names
        if name not in there or not _same(before.get_column(name), after.get_column(name))
    ]


def exchanged(manifest: Manifest, before: pl.DataFrame, after: pl.DataFrame) -> list[str]:
    """Find kept columns and strata that are not those of the original, row by row.

    `before` lacks the rows that were dropped. Strata are compared only in rows that are not
    emptied.
    """
    roles = manifest["roles"]
    followed = [name for name in roles.get("entity", []) if name in after.columns]
    as_they_are = [*roles["keep"], *roles.get("confidential", []), *followed]
    kept = differing(before, after, as_they_are)
    if manifest["rows"]["emptied"] and before.height == after.height:
        columns = (*roles["mask"], *roles["stratum"])
        shown = after.select(pl.any_horizontal(by_name(n).is_not_null() for n in columns))
        before, after = (table.filter(shown.to_series()) for table in (before, after))
    return [*differing(before, after, roles["stratum"]), *kept]


def _same(before: pl.Series, after: pl.Series) -> bool:
    """Return whether two columns have the same values, also where one is text."""
    before, after = before.alias("0"), after.alias("0")
    if len(before) != len(after):
        return False
    if before.dtype == after.dtype:
        return before.equals(after)
    if alike(before, after):
        return True
    if before.dtype != pl.String:
        return False
    # The original was read from text, and the table that was masked had types.
    read = typed(before.to_frame(), ["0"]).to_series()
    return alike(after, before) or (read.dtype != pl.String and alike(read, after))


def off_centre(manifest: Manifest, before: pl.DataFrame, after: pl.DataFrame) -> list[str]:
    """Find the masked columns whose values are not the centres of the values before.

    This tells the original of a release from another table, even if no measure is published. A
    value may stand for several groups, whose centres were all rounded to it. Columns are passed if
    the groups are not known, or hold values of several columns, and circular ones if records were
    masked by person.

    >>> people, release = pl.DataFrame({"age": [30, 33, 47]}), pl.DataFrame({"age": [37, 37, 37]})
    >>> manifest = {"config": {"method": "mdav"}, "roles": {"mask": ["age"]}}
    >>> off_centre(manifest, people, release), off_centre(manifest, people + 1, release)
    ([], ['age'])
    """
    config = manifest["config"]
    entry = methods().get(config["method"])
    if entry is None or not (entry.unit == "record" or entry.columnwise):
        return []
    # The mean of persons is not that of their rows.
    by_row = config.get("entity_mode") in (None, "rows")
    mean = config.get("center", "mean") == "mean" and by_row
    chosen = {row["column"] for row in manifest.get("categories", [])}
    kinds, off = kinds_of(config), []
    for name in manifest["roles"]["mask"]:
        columns = before.get_column(name), after.get_column(name)
        if name in chosen:
            continue
        if name in kinds.get("circular", ()):
            # Every center is the mean direction there.
            off += [] if not by_row or _directed(*columns) else [name]
        elif not _central(*columns, mean):
            off.append(name)
    return off + (_rare(manifest, before, after, sorted(chosen)) if chosen else [])


def _rare(
    manifest: Manifest, before: pl.DataFrame, after: pl.DataFrame, names: Sequence[str]
) -> list[str]:
    """Find columns with a category, or a class, that is true of fewer than k of a stratum."""
    if before.height != after.height:
        return list(names)
    roles, kinds = manifest["roles"], kinds_of(manifest["config"])
    # Methods of a Series look it up by its name, where "^a$" would be a pattern.
    keys = [before.get_column(n).alias(str(i)) for i, n in enumerate(roles["stratum"])]
    strata = Strata.whole(before.height)
    if keys:
        rows = pl.DataFrame([*keys, pl.int_range(before.height, eager=True).alias("row")])
        listed = rows.group_by([key.name for key in keys], maintain_order=True).agg("row")["row"]
        order, sizes = listed.explode().to_numpy(), listed.list.len().to_numpy()
        strata = Strata(order.astype(np.intp), sizes.astype(np.intp))
    whose = roles.get("entity", [])
    entity = entity_of([before.get_column(n) for n in whose], whose).codes if whose else None
    holders = Holders(strata, entity, manifest["config"]["k"])
    found = []
    for name in names:
        column = before.get_column(name).alias("0")
        kind = kind_for(name, column.dtype, kinds)
        emitted = after.get_column(name).alias("0").cast(column.dtype, strict=False)
        if kind.refused(column) or kind.fewest(column, emitted, holders) < holders.k:
            found.append(name)
    return found


def _central(before: pl.Series, after: pl.Series, mean: bool) -> bool:
    """Return whether each value is a centre of the originals it replaced, up to rounding."""
    if len(before) != len(after) or not (is_number(before.dtype) and is_number(after.dtype)):
        return len(before) == len(after)
    slack = 1e-6 if pl.Float32 in (before.dtype, after.dtype) else 1e-9
    half = 0.0 if after.dtype.is_float() else 0.51 * unit(after.dtype)
    pair = pl.DataFrame(
        {
            name: floats(column.alias("0")) * unit(column.dtype)
            for name, column in (("x", before), ("y", after))
        }
    )
    x, y = pl.col("x"), pl.col("y")
    room = half + slack * x.abs().max()
    # The records of one value are whole groups whose means were rounded to it, so the mean of all of
    # them is it, too. Another centre is only known to lie between the least and the greatest value.
    off = (x.mean() - y.first()).abs() > room
    if not mean:
        off = (y.first() < x.min() - room) | (y.first() > x.max() + room)
    return not pair.drop_nulls().group_by(y.alias("value")).agg(off.alias("off"))["off"].any()


def _directed(before: pl.Series, after: pl.Series) -> bool:
    """Return whether each time is the mean direction, on a clock, of the originals it replaced."""
    if len(before) != len(after) or before.dtype != pl.Time:
        return len(before) == len(after)
    if not (after.dtype == pl.Time or after.dtype.is_float()):
        return True
    # Float64 has the nanoseconds of a time.
    pair = pl.DataFrame({"x": before.cast(pl.Int64), "y": after.cast(pl.Int64)}).drop_nulls()
    x, y = pl.col("x"), pl.col("y")
    turn = (x - y) * (2 * np.pi / DAY)
    # Groups of one value have means of one direction, and so has all of them together. A group whose
    # times cancel each other out has none; its value is one of them.
    ahead, aside = turn.cos().mean(), turn.sin().mean()
    none = (ahead.pow(2) + aside.pow(2)).sqrt() < CANCELLED
    between = y.first().is_between(x.min() - STEP, x.max() + STEP)
    right = pl.when(none).then(between).otherwise((aside.abs() <= ASIDE) & (ahead >= -ASIDE))
    return bool(pair.group_by(y.alias("value")).agg(right.alias("right"))["right"].all())


def refuse_lacking(manifest: Manifest, columns: Sequence[str]) -> None:
    """Refuse an original without a column that was masked."""
    for name in manifest["roles"]["mask"]:
        if name not in columns:
            raise without_masked(name)


def in_types(
    manifest: Manifest, form: str, before: pl.DataFrame, after: pl.DataFrame
) -> list[pl.DataFrame]:
    """Return an original and its release with the masked columns in their types.

    An original in which ordered categories are plain text is refused: what they lost cannot be measured.
    """
    ordered = {n: t for n, t in after.schema.items() if isinstance(t, pl.Enum)}
    mask = manifest["roles"]["mask"]
    refuse_lacking(manifest, before.columns)
    before = typed(before, not_text(manifest))
    refuse_written_otherwise(before, not_text(manifest))
    before = before.with_columns(
        by_name(name).cast(dtype, strict=False)
        for name, dtype in ordered.items()
        if name in mask and before.schema[name] == pl.String
    )
    said = {row["column"]: row["kind"] for row in manifest.get("categories", [])}
    found = categories(before.schema, mask, kinds_of(manifest["config"]))
    if said and (other := [name for name in mask if said.get(name) != found.get(name)]):
        raise other_kinds(other)
    return [before, restored(manifest, form, after, before)]


def mistyped(manifest: Manifest, before: pl.DataFrame | None) -> list[str]:
    """Find the masked columns whose types in the manifest are not those of its option dtype.

    `before` is the original, with types, if there is one.
    """
    dtype, types = manifest["config"].get("dtype"), manifest["output"]["columns"]
    real, names = type_name(pl.Float64()), manifest["roles"]["mask"]
    if dtype == "float":
        kept = _without_means(manifest)
        return [name for name in names if name not in kept and types[name] != real]
    if dtype != "keep" or before is None:
        return []
    return [
        name
        for name in names
        if types[name] == real and before.schema[name] not in (pl.Float64, pl.String)
    ]


def restored(
    manifest: Manifest, form: str, after: pl.DataFrame, before: pl.DataFrame
) -> pl.DataFrame:
    """Return the release with its masked columns in their types, which text does not keep."""
    if not formats()[form].typeless:
        return after
    whole = manifest["config"].get("dtype", "keep") == "keep"
    names = manifest["roles"]["mask"]
    kept = _without_means(manifest)
    return retyped(
        after, {n: before.schema[n] if whole or n in kept else pl.Float64() for n in names}
    )


def _without_means(manifest: Manifest) -> set[str]:
    """Return the masked columns that keep their type with any option dtype."""
    named = kinds_of(manifest["config"]).items()
    clocks = {
        n for option, names in named if not has_means(KEY_OPTIONS[option].make) for n in names
    }
    return clocks | {row["column"] for row in manifest.get("categories", [])}


def refuse_other_kinds(manifest: Manifest, before: pl.DataFrame) -> None:
    """Refuse an original of which columns are of other kinds than the manifest says."""
    said = {row["column"]: row["kind"] for row in manifest.get("categories", [])}
    mask = [name for name in manifest["roles"]["mask"] if name in before.columns]
    found = categories(before.schema, mask, kinds_of(manifest["config"]))
    if said and (other := [name for name in mask if said.get(name) != found.get(name)]):
        raise other_kinds(other)
