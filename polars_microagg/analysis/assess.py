"""Comparison of a table before and after masking: assess and the single metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from polars_microagg.analysis.anonymity import classes, selected
from polars_microagg.analysis.attacker import Attack, Known, attacker
from polars_microagg.analysis.coordinates import (
    Coordinates,
    coordinates,
    kinds_asked,
    refuse_new_categories,
)
from polars_microagg.analysis.matched_rows import matched, warn_of_order
from polars_microagg.core import registry
from polars_microagg.core.evaluate import evaluate, inputs
from polars_microagg.core.kind import kind_of
from polars_microagg.core.options import KEY_OPTIONS, check_option, keys_asked, names_of
from polars_microagg.core.partition import Labels, Matrix
from polars_microagg.errors import InvalidParameterError, NotNumericError
from polars_microagg.errors.categories import unlike_kinds
from polars_microagg.frames.attributes import entity_of, strata_of
from polars_microagg.frames.columns import is_number, kind_for, refuse, type_name
from polars_microagg.frames.released_strata import told_apart
from polars_microagg.frames.safe_collect import collected
from polars_microagg.frames.selection import (
    MASKED,
    ORIGINAL,
    Columns,
    Names,
    as_frame,
    by_name,
    keys_of,
    named_options,
    selects,
)
from polars_microagg.kernels.equal_records import class_sizes
from polars_microagg.wording import Setting

__all__ = ["assess", "entries_of", "measure", "shared_columns"]


def shared_columns(
    original: pl.DataFrame,
    masked: pl.DataFrame,
    columns: object,
    key: tuple[str, ...],
    asked: Mapping[str, Any],
) -> list[str]:
    """Return the columns to measure: those named, or the numeric and those of named kinds."""
    if columns is None:
        named = {name for columns in asked.values() for name in columns}
        can = [n for n, d in original.schema.items() if is_number(d) or n in named]
        names = [name for name in can if name not in key and name in masked.schema]
    else:
        names = [name for block in selected(original, columns, ORIGINAL) for name in block]
    for name in names:
        if name not in masked.schema:
            raise InvalidParameterError.unknown_column("columns", name, masked.schema, MASKED)
        types = original.schema[name], masked.schema[name]
        for dtype in types:
            refuse(name, dtype, asked)
        if len({kind_for(name, dtype, asked).numeric for dtype in types}) > 1:
            raise unlike_kinds(name, *map(type_name, types))
    if not names:
        raise InvalidParameterError.no_columns()
    return names


class _Release:
    """A table before and after, rows matched.

    Inputs of metrics are computed when one needs them.
    """

    def __init__(
        self,
        original: pl.DataFrame,
        masked: pl.DataFrame,
        names: list[str],
        known: Attack,
        asked: Mapping[str, Any] | None = None,
        entity: tuple[str, ...] = (),
        strata: tuple[str, ...] = (),
    ) -> None:
        self._before, self._after, self._asked = original, masked, asked or {}
        self._names, (self._known, self._subsets) = names, known
        self._whose, self._within = entity, strata

    @cached_property
    def _measured(self) -> Coordinates:
        return coordinates(self._before, self._after, self._names, self._asked)

    @property
    def original(self) -> Matrix:
        """Return the matrix before."""
        return self._measured.before

    @property
    def masked(self) -> Matrix:
        """Return the matrix after."""
        return self._measured.after

    @property
    def joint(self) -> Labels | None:
        """Return the column that each coordinate is of; None if each is one."""
        return self._measured.several

    @property
    def numeric(self) -> npt.NDArray[np.bool_] | None:
        """Return which coordinates are columns of numbers; None if all are."""
        return None if self._measured.numeric.all() else self._measured.numeric

    @cached_property
    def entity(self) -> Labels | None:
        """Return the number of the person of each record; None if no column says whose it is."""
        columns = self._before.select(map(by_name, self._whose)).get_columns()
        return entity_of(columns, self._whose).codes if columns else None

    @cached_property
    def strata(self) -> Labels | None:
        """Return the number of the stratum of each record as it is released; None without strata."""
        return strata_of(self._after, self._within) if self._within else None

    def require_distances(self) -> None:
        """Refuse a column that an intruder knows and that has no distances."""
        for name in self._known:
            for table, what in ((self._before, ORIGINAL), (self._after, MASKED)):
                if name not in table.schema:
                    raise InvalidParameterError.unknown_column("known", name, table.schema, what)
                if kind_of(table.schema[name], name, self._asked) is None:
                    raise NotNumericError.known(name, type_name(table.schema[name]))

    @property
    def subsets(self) -> list[tuple[int, ...]]:
        """Return sets of positions among the columns that an intruder knows."""
        return self._subsets

    @cached_property
    def known(self) -> tuple[Matrix, Matrix, Labels | None]:
        """Return both matrices of what an intruder knows, which has distances."""
        same = self._known == self._names
        found = (
            self._measured
            if same
            else coordinates(self._before, self._after, self._known, self._asked)
        )
        return found.before, found.after, found.several

    @cached_property
    def classes(self) -> list[Labels]:
        """Return the sizes of classes of equal masked records, one array a set of known columns."""
        if len(self.subsets) == 1:
            names = [self._known[i] for i in self.subsets[0]]
            return [classes(self._after, names, self._within)["size"].to_numpy()]
        schema = self._after.schema
        plain = self._after.select(
            told_apart(by_name(n), schema[n]).alias(str(i))
            for i, n in enumerate([*self._known, *self._within])
        )
        columns = plain.columns
        distinct = plain.group_by(columns).len("size").with_row_index("row")
        # Equal values have the same number: the first row that has them.
        numbered = distinct.select(pl.col("row").min().over(name).alias(name) for name in columns)
        coded = numbered.to_numpy().astype(np.int64)
        also = tuple(range(len(self._known), len(columns)))
        subsets = [subset + also for subset in self.subsets]
        return class_sizes(coded, distinct["size"].to_numpy(), subsets)


def assess(
    original: Any,
    masked: Any,
    columns: Columns | None = None,
    *,
    metrics: str | Sequence[str] | None = None,
    known: Known = None,
    known_sample: int | None = None,
    by: Names = None,
    key: Names = None,
    strata: Names = None,
    entity: Names = None,
    seed: int = 0,
    by_column: bool = False,
    **kinds: Any,
) -> pl.DataFrame:
    """Measure the loss and the risk of a release. See `polars_microagg.assess`."""
    entries = entries_of(metrics, entity)
    before = collected(as_frame(original, "original"), "original")
    after = collected(as_frame(masked, "masked"), "masked")
    types = before.schema
    keys, parts = keys_of(types, "key", key, ORIGINAL), keys_of(types, "by", by, ORIGINAL)
    whose = keys_of(types, "entity", entity, ORIGINAL)
    within = keys_of(after.schema, "strata", strata, MASKED)
    asked = kinds_asked(named_options(kinds, types), assess)
    for option, value in (("known", known), ("known_sample", known_sample)):
        if by_column and value is not None:
            way = "Leave it out: an intruder knows each column by itself."
            raise InvalidParameterError.cannot("by_column", Setting(option, value), way)
    names = shared_columns(before, after, columns, (*keys, *parts, *whose, *within), asked)
    what = attacker(known, known_sample, seed, names, after)
    each: list[tuple[list[str], Attack]] = (
        [([name], ([name], [(0,)])) for name in names] if by_column else [(names, what)]
    )
    after = matched(before, after, keys_of(after.schema, "key", keys, MASKED))
    refuse_new_categories(before, after, names, asked)
    if clash := {entry.name for entry in entries} & set(parts):
        raise InvalidParameterError.kind("by", sorted(clash), "no name of a metric")
    rows = []
    divided, pieces = _parts(before, after, parts)
    for x, y in pieces:
        for measured, attack in each:
            release = _Release(x, y, measured, attack, asked, whose, within)
            computed = dict[str, Any]()
            if any("subsets" in inputs(entry) for entry in entries):
                release.require_distances()
            rows.append({e.name: evaluate(e, release, computed) for e in entries})
    if not keys:
        losses = [row.get("loss") for row in rows]
        warn_of_order(before, after, [*names, *parts], losses, every=columns is None)
    schema = {e.name: pl.Int64() if e.whole else pl.Float64() for e in entries}
    result = pl.DataFrame(rows, schema=schema)
    if by_column:
        divided = divided[np.repeat(np.arange(divided.height), len(each))]
        result = result.insert_column(0, pl.Series("column", names * len(pieces), dtype=pl.String))
    return pl.concat([divided, result], how="horizontal") if parts else result


def _parts(
    before: pl.DataFrame, after: pl.DataFrame, by: tuple[str, ...]
) -> tuple[pl.DataFrame, list[tuple[pl.DataFrame, pl.DataFrame]]]:
    """Return the values of some columns, and the rows of both tables for each."""
    if not by:
        return before.clear(), [(before, after)]
    numbered = before.select(by_name(n).alias(str(i)) for i, n in enumerate(by))
    keys = numbered.columns
    rows = numbered.with_row_index("row").group_by(keys, maintain_order=True).agg("row")
    divided = rows.select(pl.col(str(i)).alias(name) for i, name in enumerate(by))
    return divided, [(before[part], after[part]) for part in rows["row"]]


def entries_of(metrics: object, entity: object = None) -> list[registry.Metric]:
    """Return the named metrics, or those that are assessed by default.

    A metric that counts persons is refused if no `entity` says whose the records are.
    """
    known, persons = registry.metrics(), selects(entity) or bool(entity)
    default = tuple(registry.assessed(entity=persons))
    listed = default if metrics is None else names_of("metrics", metrics)
    if not listed:
        raise InvalidParameterError.kind("metrics", metrics, "at least one name of a metric")
    for name in listed:
        if name not in known:
            raise InvalidParameterError.choice("metrics", name, known)
        if not persons and "entity" in inputs(known[name]):
            raise InvalidParameterError.needs(Setting("metrics", name), "entity")
    return [known[name] for name in listed]


def measure(
    name: str,
    original: Any,
    masked: Any,
    columns: Columns | None,
    shared: Mapping[str, Any],
    options: Mapping[str, Any],
) -> float | int | None:
    """Compute one metric.

    `shared` are `known`, `known_sample`, `key`, `strata`, `seed` and `entity`, as for `assess`; `options`
    those of the metric.

    >>> before, after = pl.DataFrame({"a": [1, 2, 9]}), pl.DataFrame({"a": [1.5, 1.5, 9.0]})
    >>> measure("dld", before, after, None, {}, {"optimistic": True})
    100.0
    """
    entry = registry.metrics()[name]
    whose = shared.get("entity")
    if (persons := "entity" in inputs(entry)) and not (selects(whose) or whose):
        raise InvalidParameterError.missing_entity(name)
    own = {option: value for option, value in options.items() if option not in KEY_OPTIONS}
    own |= {"entity": shared["entity"]} if "entity" in shared and not persons else {}
    for option, value in own.items():
        if option not in entry.options:
            listed = [
                *entry.options,
                *KEY_OPTIONS,
                "known",
                "known_sample",
                "key",
                "strata",
                "seed",
            ]
            listed += ["entity"] if persons else []
            raise InvalidParameterError.option(name, option, listed)
        check_option(entry.options[option], value)
    before = collected(as_frame(original, "original"), "original")
    after = collected(as_frame(masked, "masked"), "masked")
    types = before.schema
    asked = keys_asked(named_options(options, types))
    keys = keys_of(types, "key", shared.get("key"), ORIGINAL)
    whose = keys_of(types, "entity", whose, ORIGINAL)
    within = keys_of(after.schema, "strata", shared.get("strata"), MASKED)
    names = shared_columns(before, after, columns, (*keys, *whose, *within), asked)
    sample, seed = shared.get("known_sample"), shared.get("seed", 0)
    what = attacker(shared.get("known"), sample, seed, names, after)
    after = matched(before, after, keys_of(after.schema, "key", keys, MASKED))
    refuse_new_categories(before, after, names, asked)
    release = _Release(before, after, names, what, asked, whose, within)
    if "subsets" in inputs(entry, own):
        release.require_distances()
    found: float | int | None = evaluate(entry, release, {}, own)
    if not keys:
        warn_of_order(before, after, names, [found] if name == "loss" else [])
    return found
