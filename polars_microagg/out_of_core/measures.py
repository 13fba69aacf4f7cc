"""The measures of a release larger than memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl

from polars_microagg.analysis.assess import assess, entries_of
from polars_microagg.analysis.coordinates import kinds_asked
from polars_microagg.core import registry
from polars_microagg.core.evaluate import MetricInputs, evaluate, inputs
from polars_microagg.core.partition import Labels, Matrix, Vector
from polars_microagg.errors import InvalidParameterError
from polars_microagg.frames.attributes import entity_of, strata_of
from polars_microagg.frames.columns import refuse
from polars_microagg.frames.selection import as_frame
from polars_microagg.kernels.risk.changed_moments import CHANGES
from polars_microagg.kernels.risk.record_linkage import linked_persons
from polars_microagg.leaves.memory_budget import MemoryBudget
from polars_microagg.out_of_core.aligned import Kept, aligned, require_aligned
from polars_microagg.out_of_core.class_sizes import ClassSizes
from polars_microagg.out_of_core.coordinate_files import CoordinateFiles
from polars_microagg.out_of_core.counts import class_sizes, own_folder
from polars_microagg.out_of_core.linked_sample import Linkage, Share, drawn_rows, share_of
from polars_microagg.out_of_core.parquet_source import ParquetSource
from polars_microagg.out_of_core.rank_intervals import inside_by_rank
from polars_microagg.out_of_core.sampled_strata import SampledStrata
from polars_microagg.out_of_core.streamed_sums import Categories, Numbers

__all__ = ["LINKED", "OF_SAMPLE", "assessed", "parts_of"]

OF_SAMPLE = ("dld", "dld_without_strata", "dld_entity")
"""Measures of the links of records that were drawn: that of persons has no value unless all are."""

LINKED = 2000
"""Records of the sample that is linked, where there are more."""


def assessed(
    original: ParquetSource,
    released: ParquetSource,
    columns: Sequence[str],
    *,
    metrics: str | Sequence[str] | None = None,
    kinds: Mapping[str, Any] | None = None,
    known: Sequence[str] | None = None,
    entity: Sequence[str] = (),
    strata: Sequence[str] = (),
    kept_rows: Kept = None,
    budget: MemoryBudget,
    seed: int = 0,
    sample: int = LINKED,
    folder: Path | None = None,
) -> dict[str, float | int | None]:
    """Measure the loss and the risk of a release in bounded memory, as `assess` does.

    `known` are the columns that an intruder knows, those measured by default, `entity` those of the
    original that say whose a record is, and `strata` those of the release within which an intruder links
    records. `kept_rows` says which rows of the original are in the release. All but links is exact: `dld`
    is that of `sample` records drawn by `seed`, each compared with all masked ones, and comes with
    `dld_low` and `dld_high`, an interval of 95 %, and `dld_sampled`, how many were drawn. A measure that is
    made of `dld` has that of the sample. `dld_entity` is None where that is not all records. Files take 16
    bytes for each cell in `folder`.
    """
    entries = entries_of(metrics, entity)
    asked = kinds_asked(dict(kinds or {}), assess)
    types = [table.empty.schema for table in (original, released)]
    for what, named in (("columns", columns), ("known", known or ())):
        for name, schema in product(named, types):
            if name not in schema:
                raise InvalidParameterError.unknown_column(what, name, schema)
            refuse(name, schema[name], asked)
    require_aligned(original, released, kept_rows)
    with own_folder(folder) as place:

        def pair_of(place: Path, names: Sequence[str]) -> _Pair:
            tables = original, released, list(names), asked, kept_rows
            return _Pair(place, *tables, budget, seed, sample, entity, strata)

        pair = attacked = pair_of(place, columns)
        if known is not None:
            (own := place / "known").mkdir()
            attacked = pair_of(own, known)
        computed = dict[str, Any]()
        for entry in entries:
            for name in parts_of(entry):
                if name not in computed:
                    of_attack = {"classes", "subsets"} & inputs(registry.metrics()[name])
                    computed[name] = (attacked if of_attack else pair).measure(name)
        # What is made of other measures is computed as ever, and needs nothing else.
        nothing = cast(MetricInputs, None)
        found = {entry.name: evaluate(entry, nothing, computed) for entry in entries}
        return found | attacked.linked_by_sample if "dld" in computed else found


def parts_of(entry: registry.Metric) -> Iterable[str]:
    """Return the names of the measures that one is made of; its own if of none."""
    made_of = [registry.metrics()[name] for name in entry.needed({}) if name in registry.metrics()]
    return [name for part in made_of for name in parts_of(part)] if made_of else [entry.name]


class _Pair:
    """A table before and after in files, and what is computed of it when a measure needs it."""

    def __init__(
        self,
        folder: Path,
        original: ParquetSource,
        released: ParquetSource,
        names: list[str],
        asked: Mapping[str, Any],
        kept_rows: Kept,
        budget: MemoryBudget,
        seed: int,
        sample: int,
        entity: Sequence[str] = (),
        strata: Sequence[str] = (),
    ) -> None:
        self.folder, self.names, self.budget = folder, names, budget
        self.tables, self.asked, self.kept_rows = (original, released), asked, kept_rows
        self.rows, self.seed, self.sample = released.rows, seed, sample
        self.size, self.whose, self.strata = max(1, budget.batch), list(entity), list(strata)

    @cached_property
    def files(self) -> CoordinateFiles:
        """The coordinates of both tables."""
        return CoordinateFiles.made(
            self.folder, *self.tables, self.names, self.asked, self.budget, self.kept_rows
        )

    @cached_property
    def numbers(self) -> Numbers:
        """Sums over the columns of numbers and of ranks."""
        plain = [j for j, column in enumerate(self.files.columns) if column.table is None]
        return Numbers(self.files, plain, self.size)

    @cached_property
    def categories(self) -> dict[int, Categories]:
        """Counts of the columns of categories."""
        return {
            j: Categories(self.files, j, self.size)
            for j, column in enumerate(self.files.columns)
            if column.table is not None
        }

    @cached_property
    def numeric(self) -> Labels:
        """Places of the columns of numbers among `numbers`."""
        of = [self.files.columns[j].numeric for j in self.numbers.chosen]
        return np.flatnonzero(np.array(of, dtype=np.bool_))

    @cached_property
    def classes(self) -> ClassSizes:
        """The classes of equal masked records."""
        asked = [self.names], self.strata, self.budget
        return class_sizes(self.tables[1], *asked, folder=self.folder)[0]

    @cached_property
    def hits(self) -> Vector:
        """The chances of records of a sample to be linked to their own."""
        return self._hits(self.strata)

    def _hits(self, strata: Sequence[str]) -> Vector:
        rows, path = drawn_rows(self.rows, self.sample, self.seed), self.folder / "strata.i32"
        of = (path, self.tables[1], strata, rows, self.size)
        within = SampledStrata.made(*of) if strata else None
        return Linkage(self.files, self.numbers, self.categories, self.size, within).hits(rows)

    @cached_property
    def linked(self) -> Share | None:
        """The share of records of a sample that are linked to their own."""
        return share_of(self.hits, self.rows) if self.rows else None

    @property
    def linked_by_sample(self) -> dict[str, float | int | None]:
        """The interval of the share that is linked, and the records of the sample."""
        if (share := self.linked) is None:
            return {"dld_low": None, "dld_high": None, "dld_sampled": 0}
        return {
            "dld_low": 100.0 * share.low,
            "dld_high": 100.0 * share.high,
            "dld_sampled": share.sampled,
        }

    def measure(self, name: str) -> float | int | None:
        """Compute one measure that is made of no other."""
        if name in CHANGES:
            return CHANGES[name](*self.numbers.of(self.numeric)) if len(self.numeric) else None
        if name not in MEASURES:
            way = "Leave it out of metrics, or measure a sample of the rows that fits into memory."
            raise InvalidParameterError.cannot("memory", f"metrics={name!r}", way)
        return MEASURES[name](self)

    def sse(self) -> float:
        """Return the squared differences on standardised columns."""
        numbers = self.numbers
        ranks = np.ones(len(numbers.chosen), dtype=np.bool_)
        ranks[self.numeric] = False
        total = float(numbers.errors.sum() + numbers.lost[ranks].sum())
        return total + sum(found.errors for found in self.categories.values())

    def sst(self) -> float:
        """Return the squared differences from the mean: the values of columns that vary."""
        held = int(self.numbers.held[self.numbers.varies].sum())
        return float(held + sum(c.held for c in self.categories.values() if c.varies))

    def loss(self) -> float:
        """Return the share of the squares that is lost."""
        total = self.sst()
        return 100.0 * self.sse() / total if total else 0.0

    def il1(self) -> float | None:
        """Return the mean relative difference."""
        if not len(self.numeric):
            return None
        compared = int(self.numbers.compared[self.numeric].sum())
        return float(self.numbers.changes[self.numeric].sum() / max(compared, 1))

    def il1s(self) -> float | None:
        """Return the mean difference in standard deviations."""
        if not len(self.numeric):
            return None
        numbers = self.numbers
        count = np.maximum(numbers.held, 2)
        distances = numbers.distances * np.sqrt((count - 1) / count / 2)
        chosen = self.numeric[numbers.varies[self.numeric]]
        return float(distances[chosen].sum() / max(int(numbers.both[chosen].sum()), 1))

    def zero_cells(self) -> int | None:
        """Count the cells that are 0 before and not after."""
        return int(self.numbers.zeros[self.numeric].sum()) if len(self.numeric) else None

    def cells(self) -> int:
        """Count the cells with a value before and after."""
        return int(self.numbers.both.sum()) + sum(c.both for c in self.categories.values())

    def changed(self) -> float | None:
        """Return the share of cells with another value."""
        if not self.rows:
            return None
        same = [*self.numbers.same.tolist(), *(c.same for c in self.categories.values())]
        return float(100.0 * (1.0 - np.mean(np.array(same) / self.rows)))

    def dld(self) -> float | None:
        """Return the share of records of the sample that are linked, in per cent."""
        return None if self.linked is None else 100.0 * self.linked.mean

    def dld_without_strata(self) -> float | None:
        """Return the same share of an intruder who does not know the strata."""
        hits = self._hits(()) if self.strata else self.hits
        return 100.0 * share_of(hits, self.rows).mean if self.rows else None

    def dld_entity(self) -> float | None:
        """Return the share of persons with a record that is linked, if all records were.

        A sample of records has some of a person and not others, so that its share would be too low.
        """
        if not self.whose or not 0 < self.rows <= self.sample:
            return None
        sides = self.whose, self.names[:1]
        columns = pl.concat(
            one for one, _ in aligned(*self.tables, self.size, sides, self.kept_rows)
        ).get_columns()
        return 100.0 * linked_persons(self.hits, entity_of(columns, self.whose).codes)

    def pld(self) -> float | None:
        """Return the share that is linked by likelihood, which is defined for few records."""
        entry = registry.metrics()["pld"]
        if not self.rows or (entry.limit is not None and self.rows > entry.limit):
            return None
        tables, joint = (list[Matrix](), list[Matrix]()), list[int]()
        for j, column in enumerate(self.files.columns):
            for side in (0, 1):
                tables[side].append(_wide(self.files.read(j, side, 0, self.rows), column.table))
            joint += [j] * tables[0][-1].shape[1]
        owner = None if len(set(joint)) == len(joint) else np.array(joint, dtype=np.intp)
        before, after = (np.asfortranarray(np.hstack(table)) for table in tables)
        within = None
        if self.strata:
            batches = self.tables[1].batches(self.size, self.strata)
            within = strata_of(pl.concat([as_frame(batch) for batch in batches]), self.strata)
        found: float | None = entry.function(before, after, None, owner, within)
        return found

    def interval_disclosure(self) -> float | None:
        """Return the share of values inside intervals of ranks."""
        shares = []
        for j, column in enumerate(self.files.columns):
            if column.table is None:
                share = inside_by_rank(self.files, j, self.size)
            else:
                found = self.categories[j]
                share = found.inside / found.both if found.both else None
            shares += [] if share is None else [share]
        return 100.0 * float(np.mean(shares)) if shares else None


def _wide(codes: Any, table: Matrix | None) -> Matrix:
    """Return the coordinates of categories by their codes."""
    if table is None:
        return np.asarray(codes)[:, None]
    placed = np.vstack([table, np.full((1, table.shape[1]), np.nan)])
    return placed[np.where(np.isnan(codes), -1, codes).astype(np.intp)]


MEASURES: dict[str, Callable[[_Pair], float | int | None]] = {
    "sse": _Pair.sse,
    "sst": _Pair.sst,
    "loss": _Pair.loss,
    "il1": _Pair.il1,
    "il1s": _Pair.il1s,
    "il1_zero_cells": _Pair.zero_cells,
    "cells": _Pair.cells,
    "changed": _Pair.changed,
    "dld": _Pair.dld,
    "dld_without_strata": _Pair.dld_without_strata,
    "dld_entity": _Pair.dld_entity,
    "pld": _Pair.pld,
    "interval_disclosure": _Pair.interval_disclosure,
    "k_min": lambda pair: pair.classes.smallest,
    "k_prime": lambda pair: pair.classes.k_prime,
}
"""Measures that are computed piece by piece, beside those of the moments."""
