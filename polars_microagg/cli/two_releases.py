"""Two releases of the same people side by side, counted as one table."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import polars as pl

from polars_microagg.cli.options import names_in
from polars_microagg.cli.output import plain
from polars_microagg.core.attributes import Attribute
from polars_microagg.core.model import models
from polars_microagg.errors import files
from polars_microagg.errors.originals import (
    repeated_in_release,
    unlike_releases,
    unmatched_releases,
)
from polars_microagg.frames.attributes import entity_of
from polars_microagg.frames.classes import classes_of, entities_alike
from polars_microagg.frames.selection import by_name
from polars_microagg.publishing.formats.files import Location
from polars_microagg.publishing.formats.text_types import retyped
from polars_microagg.publishing.manifest.check import Finding, check
from polars_microagg.publishing.manifest.record import read_manifest

__all__ = ["beside"]


def beside(
    one: Location, other: Location, records: Sequence[Any], key: Any, alone: Sequence[Finding]
) -> Finding:
    """Check that k are alike in two releases together, whose rows belong together by key or order.

    `records` are their manifests, and `alone` what was found of the first by itself. A row that only one
    of them has tells by that, too. Where a release counts persons, persons are counted.
    """
    if other.record is None:
        raise files.stream_beside()
    if os.path.lexists(other.path) and not os.path.lexists(other.record):
        raise files.no_manifest_beside(other.record)
    for place, found in ((one, alone), (other, check(other))):
        if not all(finding.holds for finding in found):
            says = f"not counted, as {plain(place)} is not what its manifest says"
            return Finding("beside", holds=False, says=says)
    places = zip((one, other), records, strict=True)
    parts = [_Part.of(i, p, r, key) for i, (p, r) in enumerate(places)]
    return _counted(parts, *_joined(parts, bool(key)))


@dataclass(frozen=True)
class _Part:
    """What one of two releases adds: its keys, its masked columns and strata, and whose its rows are.

    Columns have names of their own, as both releases may have the same ones.
    """

    frame: pl.DataFrame
    keys: list[str]
    seen: list[str]
    entity: list[str]
    people: list[str]
    mode: str
    k: int

    @classmethod
    def of(cls, number: int, place: Location, record: Any, key: Any) -> Self:
        """Read a release, and what its manifest says of its columns."""
        manifest, frame = read_manifest(record), place.read()
        roles, whose = manifest["roles"], manifest["roles"].get("entity", [])
        names = {
            "key": names_in("key", key, frame.columns),
            f"{number}-seen": [*roles["mask"], *roles["stratum"]],
            f"{number}-entity": whose if {*whose} <= {*frame.columns} else [],
        }
        new = {what: [f"{what}{j}" for j in range(len(old))] for what, old in names.items()}
        columns = [
            by_name(old).alias(alias)
            for what in names
            for old, alias in zip(names[what], new[what], strict=True)
        ]
        keys, seen, entity = new.values()
        seen.append(f"{number}-there")
        there = pl.lit(value=True).alias(seen[-1])
        mode, asked = manifest["config"].get("entity_mode") or "rows", int(manifest["k"]["asked"])
        return cls(frame.select(*columns, there), keys, seen, entity, whose, mode, asked)


def _counted(parts: Sequence[_Part], both: pl.DataFrame, how: str) -> Finding:
    """Count rows, or persons, of each class of both tables together."""
    k = min(part.k for part in parts)
    members = classes_of(both, [name for part in parts for name in part.seen])
    if not both.height:
        return Finding("beside", holds=True, says="neither release has a row")
    sizes, what = members.sizes, "rows"
    persons = any(part.people for part in parts)
    whose = _whose(parts, both) if persons else None
    if whose is not None:
        sizes, what = models()["k"].measure(whose, members), "persons"
    few, least = sizes < k, int(sizes.min())
    of = " persons" * (whose is not None)
    if few.any():
        rows = int(members.sizes[few].sum())
        says = f"side by side, {rows:,} rows are in classes of fewer than k={k}{of}, the smallest of {least}"
        return Finding("beside", holds=False, says=says + how)
    if whose is not None and any(part.mode == "alike" for part in parts):
        alike = entities_alike(whose.codes, members)
        if alone := int(alike[alike < k].sum()):
            says = f"side by side, {alone:,} persons have the same rows as fewer than k={k}{of}"
            return Finding("beside", holds=False, says=says + how)
    says = f"side by side, the smallest class has {least} {what}{how}"
    if persons and whose is None:
        says += "; k counts persons here, and the releases do not tell whose the rows are"
    return Finding("beside", holds=True, says=says, checked=not persons or whose is not None)


def _whose(parts: Sequence[_Part], both: pl.DataFrame) -> Attribute | None:
    """Number the persons of the rows; None where a row does not tell whose it is."""
    # Columns of one name call a person by the same name. Of others the first release is believed: the
    # rows of one class are all in the same releases.
    shared = parts[0].people == parts[1].people
    told = [
        both.select(
            pl.lit(0 if shared else number).alias("of"),
            pl.int_range(pl.len()).alias("row"),
            *(pl.col(name).cast(pl.String).alias(str(j)) for j, name in enumerate(part.entity)),
        ).drop_nulls()
        for number, part in enumerate(parts)
        if part.entity
    ]
    if not told:
        return None
    names = pl.concat(told, how="diagonal").unique("row", keep="first").sort("row")
    if names.height < both.height:
        return None
    return entity_of(
        names.drop("row").fill_null("").get_columns(), names.columns[:1] * (names.width - 1)
    )


def _joined(parts: Sequence[_Part], by_key: bool) -> tuple[pl.DataFrame, str]:
    """Return the rows of both tables side by side, and how they belong together."""
    one, other = (part.frame for part in parts)
    if not by_key:
        if one.height != other.height:
            raise unlike_releases(one.height, other.height)
        return pl.concat([one, other], how="horizontal"), "; by the order of the rows"
    keys = parts[0].keys
    one, other = _alike(one, other, keys)
    for frame in (one, other):
        if repeated := frame.height - frame.select(keys).n_unique():
            raise repeated_in_release(repeated)
    both = one.join(other, on=keys, how="full", coalesce=True, nulls_equal=True)
    matched = one.height + other.height - both.height
    if not matched and both.height:
        types = [[str(t) for t in part.frame.select(keys).dtypes] for part in parts]
        raise unmatched_releases((one.height, other.height), types)
    if matched == max(one.height, other.height):
        return both, ""
    return both, f"; {matched:,} of {one.height:,} and {other.height:,} rows are in both"


def _alike(one: pl.DataFrame, other: pl.DataFrame, keys: Sequence[str]) -> list[pl.DataFrame]:
    """Return both tables with keys of the same types, so that the same key is found as such."""
    tables = [one, other]
    for name in keys:
        columns = [table.get_column(name) for table in tables]
        texts = [column.dtype == pl.String for column in columns]
        if any(texts) and not all(texts):
            # A file without types gives text.
            text, dtype = columns[texts.index(True)], columns[texts.index(False)].dtype
            read = retyped(text.to_frame(), {name: dtype}).to_series()
            if read.null_count() == text.null_count():
                columns[texts.index(True)] = read
        try:
            whole = pl.concat([c.to_frame() for c in columns], how="vertical_relaxed").to_series()
        except pl.exceptions.PolarsError:
            whole = pl.concat([column.cast(pl.String) for column in columns])
        halves = whole.head(one.height), whole.tail(other.height)
        tables = [t.with_columns(h) for t, h in zip(tables, halves, strict=True)]
    return tables
