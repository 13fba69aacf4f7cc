"""Two releases of the same people side by side, counted as one table."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl

from polars_microagg.cli.options import names_in
from polars_microagg.cli.output import plain
from polars_microagg.core.attributes import Attribute
from polars_microagg.core.model import models
from polars_microagg.core.partition import Labels, Members
from polars_microagg.errors import files
from polars_microagg.errors.originals import (
    repeated_in_release,
    unlike_keys,
    unlike_order,
    unlike_releases,
    unmatched_releases,
)
from polars_microagg.frames.attributes import entity_of
from polars_microagg.frames.classes import classes_of, entities_alike
from polars_microagg.frames.columns import type_name
from polars_microagg.frames.selection import by_name
from polars_microagg.publishing.formats.files import Location
from polars_microagg.publishing.formats.text_types import in_one_type
from polars_microagg.publishing.manifest.check import Finding, check
from polars_microagg.publishing.manifest.record import read_manifest, separator_of

__all__ = ["beside"]


def beside(
    one: Location,
    other: Location,
    record: Path | None,
    key: Any,
    alone: Sequence[Finding],
    hash_key: bytes | None = None,
) -> Finding:
    """Check that k are alike in two releases together, whose rows belong together by key or order.

    `record` is the manifest of the first, and `alone` what was found of it by itself. A row that only
    one of them has tells by that, too. A release that counts persons has its persons counted.
    """
    if other.record is None:
        raise files.stream_beside()
    if os.path.lexists(other.path) and not os.path.lexists(other.record):
        raise files.no_manifest_beside(other.record)
    for place, findings in ((one, alone), (other, check(other, hash_key=hash_key))):
        if wrong := [finding.what for finding in findings if not finding.holds]:
            says = (
                f"not counted, as {plain(place)} is not what its manifest says: {', '.join(wrong)}"
            )
            return Finding("beside", holds=False, says=says)
    tables = [
        (place, manifest, place.separated_by(separator_of(manifest)).read())
        for place, path in ((one, record or one.record), (other, other.record))
        if path is not None
        for manifest in (read_manifest(Path(path)),)
    ]
    hidden = [{*m["roles"]["mask"], *m["roles"]["stratum"]} for _, m, _ in tables]
    parts = [_Release.of(i, *tables[i], key, hidden[1 - i]) for i in range(2)]
    return _counted(parts, *_joined(parts, by_key=bool(key)))


@dataclass(frozen=True)
class _Release:
    """A release beside another, with names of its own for its columns.

    `seen` are its masked columns and strata, and what it keeps of those of the other release; `people`
    the columns that say whose a row is, and `who` the number of the person of each row, where they are
    released. In `rows` columns have these names, as both releases may have the same ones.
    """

    place: Location
    frame: pl.DataFrame
    rows: pl.DataFrame
    keys: list[str]
    seen: list[str]
    who: str
    people: list[str]
    tells: bool
    kept: list[str]
    mode: str
    blocks: int
    k: int

    @classmethod
    def of(
        cls,
        number: int,
        place: Location,
        manifest: Any,
        frame: pl.DataFrame,
        key: Any,
        hidden: set[str],
    ) -> Self:
        """Read what a manifest says of a release; the other one has masked columns and strata `hidden`."""
        roles, people = manifest["roles"], list(manifest["roles"].get("entity", []))
        own = [*roles["mask"], *roles["stratum"]]
        named = names_in("key", key, frame.columns)
        shown = [*own, *(n for n in frame.columns if n in hidden and n not in own)]
        keys = {f"key{j}": name for j, name in enumerate(named)}
        seen = {f"{number}-seen{j}": name for j, name in enumerate(shown)}
        columns = [by_name(old).alias(new) for new, old in (keys | seen).items()]
        there, who = f"{number}-there", f"{number}-who"
        tells = bool(people) and {*people} <= {*frame.columns}
        persons = pl.Series([None], dtype=pl.Int64).new_from_index(0, frame.height)
        if tells:
            persons = pl.Series(entity_of([frame.get_column(n) for n in people], people).codes)
        rows = frame.select(*columns, pl.lit(value=True).alias(there)).with_columns(
            persons.alias(who)
        )
        return cls(
            place,
            frame,
            rows,
            list(keys),
            [*seen, there],
            who,
            people,
            tells,
            [name for name in frame.columns if name not in own],
            manifest["config"].get("entity_mode") or "rows",
            len(manifest["config"]["columns"]),
            int(manifest["k"]["asked"]),
        )


def _counted(parts: Sequence[_Release], both: pl.DataFrame, how: str) -> Finding:
    """Count rows, or persons, of each class of both tables together."""
    if not both.height:
        return Finding("beside", holds=True, says="neither release has a row")
    k = min(part.k for part in parts)
    members = classes_of(both, [name for part in parts for name in part.seen])
    sizes, unknown = _sizes(parts, both, members)
    persons = any(part.people for part in parts) and not unknown.all()
    of = " persons" * persons
    few, least = sizes < k, int(sizes.min())
    if few.any():
        rows = int(members.sizes[few].sum())
        says = f"side by side, {rows:,} rows are in classes of fewer than k={k}{of}, the smallest of {least}"
        return Finding("beside", holds=False, says=says + how + _alone(parts))
    doubts = ["the releases do not tell whose all rows are"] if unknown.any() else []
    for part, other in (parts, parts[::-1]):
        if part.mode != "alike":
            continue
        names = _names(part, other, both)
        if names is None:
            doubts.append("the releases mean other persons, or do not tell them")
            continue
        known = np.flatnonzero(names >= 0)
        same = classes_of(both[known], [name for one in parts for name in one.seen])
        alike = entities_alike(names[known], same)
        if alone := int(alike[alike < k].sum()):
            says = f"side by side, {alone:,} persons have the same rows as fewer than k={k} persons"
            return Finding("beside", holds=False, says=says + how)
    says = f"side by side, the smallest class has {least} {'persons' if persons else 'rows'}{how}"
    if doubts:
        says += f"; k counts persons here, and {' and '.join(dict.fromkeys(doubts))}"
    return Finding("beside", holds=True, says=says, checked=not doubts)


def _sizes(
    parts: Sequence[_Release], both: pl.DataFrame, members: Members
) -> tuple[Labels, Labels]:
    """Count each class by each release that its rows are in, and return the least; or rows.

    The second result says where a release counts persons that nobody tells.
    """
    sizes, unknown = members.sizes, np.zeros(len(members.sizes), dtype=bool)
    first = members.order[np.cumsum(members.sizes) - members.sizes]
    # All rows of a class are in the same releases.
    present = [both.get_column(part.seen[-1]).is_not_null().to_numpy()[first] for part in parts]
    counts = [
        models()["k"].measure(Attribute.of("who", who.to_numpy()), members)
        for who in ((both.get_column(part.who) + 1).fill_null(0) for part in parts)
    ]
    for i, part in enumerate(parts):
        if not part.people:
            continue
        known = np.zeros(len(sizes), dtype=bool)
        for j in (i, 1 - i):
            if parts[j].tells and {*parts[j].people} == {*part.people}:
                use = present[i] & present[j] & ~known
                sizes = np.where(use, np.minimum(sizes, counts[j]), sizes)
                known |= use
        unknown |= present[i] & ~known
    return sizes, unknown


def _names(part: _Release, other: _Release, both: pl.DataFrame) -> Labels | None:
    """Number the persons of a release in all rows, below zero where a row does not tell.

    None if nobody tells them, or if the persons of the other release are not the same ones.
    """
    like = {*part.people} == {*other.people}
    if not (part.tells or (other.tells and like)):
        return None
    own, others = both.get_column(part.who).alias("0"), both.get_column(other.who).alias("1")
    if not (part.tells and other.tells):
        return (own if part.tells else others).fill_null(-1).to_numpy()
    pairs = pl.DataFrame([own, others]).drop_nulls().unique()
    if pairs["0"].n_unique() < len(pairs) or pairs["1"].n_unique() < len(pairs):
        return None
    if like:
        # Who is in no row of both is known by the name.
        left = [
            table.filter(~pl.col(name).is_in(pairs[name].implode()))
            for table, name in zip(_people([part, other]), "01", strict=True)
        ]
        met = left[0].join(left[1], on=left[0].columns[:-1])
        pairs = pl.concat([pairs, met.select("0", "1")])
    more = own.n_unique()
    renamed = others.to_frame().join(pairs, on="1", how="left", maintain_order="left")
    named = renamed.select(pl.coalesce("0", pl.col("1") + more)).to_series()
    return own.fill_null(named).fill_null(-1).to_numpy()


def _people(parts: Sequence[_Release]) -> list[pl.DataFrame]:
    """Return the persons of two releases by the same columns, in the same types, with their numbers."""
    names, tables = sorted(parts[0].people), list[list[pl.Series]]([[], []])
    for i, name in enumerate(names):
        one, other = (part.frame.get_column(name) for part in parts)
        columns = in_one_type(one, other)
        for table, column in zip(tables, columns, strict=True):
            table.append(column.alias(f"who{i}"))
    return [
        pl.DataFrame([*table, part.rows.get_column(part.who).alias(str(i))]).unique(str(i))
        for i, (table, part) in enumerate(zip(tables, parts, strict=True))
    ]


def _alone(parts: Sequence[_Release]) -> str:
    """Name the releases whose blocks together keep no k by themselves."""
    named = ""
    for part in parts:
        if (
            part.blocks > 1
            and (least := int(classes_of(part.rows, part.seen).sizes.min())) < part.k
        ):
            named += f"; {plain(part.place)}, masked in blocks, has classes of {least} by itself"
    return named


def _joined(parts: Sequence[_Release], *, by_key: bool) -> tuple[pl.DataFrame, str]:
    """Return the rows of both tables side by side, and how they belong together."""
    one, other = (part.rows for part in parts)
    if not by_key:
        if one.height != other.height:
            raise unlike_releases(one.height, other.height)
        _refuse_other_order(parts)
        return pl.concat([one, other], how="horizontal"), "; by the order of the rows"
    keys = parts[0].keys
    types = [[type_name(t) for t in part.rows.select(keys).dtypes] for part in parts]
    try:
        for name in keys:
            columns = in_one_type(one.get_column(name), other.get_column(name))
            one, other = one.with_columns(columns[0]), other.with_columns(columns[1])
        for frame in (one, other):
            if repeated := frame.height - frame.select(keys).n_unique():
                raise repeated_in_release(repeated)
        both = one.join(other, on=keys, how="full", coalesce=True, nulls_equal=True)
    except pl.exceptions.PolarsError:
        raise unlike_keys(types) from None
    matched = one.height + other.height - both.height
    if not matched and both.height:
        raise unmatched_releases((one.height, other.height), types)
    if matched == max(one.height, other.height):
        return both, ""
    return both, f"; {matched:,} of {one.height:,} and {other.height:,} rows are in both"


def _refuse_other_order(parts: Sequence[_Release]) -> None:
    """Refuse releases that say of themselves that their rows are in another order."""
    one, other = parts
    for name in [n for n in one.kept if n in other.kept]:
        columns = one.frame.get_column(name), other.frame.get_column(name)
        try:
            identifies = all(column.n_unique() == len(column) for column in columns)
            if not (identifies or (name in one.people and name in other.people)):
                continue
            first, second = in_one_type(*columns)
            same = first.eq_missing(second).all()
        except pl.exceptions.PolarsError:
            continue  # of a type whose values cannot be compared
        if not same:
            raise unlike_order(name)
