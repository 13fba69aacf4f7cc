"""Categories of tables larger than memory: how many records, or entities, have each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import polars as pl

from polars_microagg.core.kind import Kind
from polars_microagg.frames.rare_categories import RareValues, countable
from polars_microagg.frames.selection import by_name
from polars_microagg.leaves.masking import fingerprints
from polars_microagg.leaves.memory_budget import MemoryBudget
from polars_microagg.leaves.rules import SEEDS
from polars_microagg.out_of_core.grouped import Grouped, comparable
from polars_microagg.out_of_core.parquet_source import ParquetSource

__all__ = ["RareCounter"]

WHO = [f"entity{seed}" for seed in SEEDS]
"""Columns with the hashes of an entity."""


class RareCounter:
    """Counts the categories of masked columns, exactly and in bounded memory, to refuse those mostly rare.

    Of columns of these `kinds`, those that cannot be too rare are left out. What does not fit into memory
    waits in `folder`.
    """

    def __init__(
        self,
        table: ParquetSource,
        kinds: Mapping[str, Kind],
        entity: Sequence[str],
        budget: MemoryBudget,
        folder: Path,
    ) -> None:
        self.kinds, self.entity, self.folder = countable(kinds), list(entity), folder
        self.most, self.rows = max(1, budget.part // max(1, 2 * len(self.kinds))), table.rows
        keys = ["value", *WHO] if entity else ["value"]
        self.counts = {name: self._grouped(f"rare{j}", keys) for j, name in enumerate(self.kinds)}

    def _grouped(self, name: str, keys: Sequence[str]) -> Grouped:
        return Grouped(self.folder, name, keys, self.most, self.rows)

    @property
    def columns(self) -> list[str]:
        """Names of the columns that are read."""
        return [*self.kinds, *self.entity] if self.kinds else []

    def add(self, frame: pl.DataFrame) -> None:
        """Count the records of a batch."""
        if not self.kinds:
            return
        ids = frame.select(map(by_name, self.entity))
        seeds = zip(WHO, SEEDS, strict=True) if self.entity else ()
        beside = [fingerprints(ids, seed=seed).alias(name) for name, seed in seeds]
        beside.append(pl.repeat(1, frame.height, dtype=pl.Int64, eager=True).alias("rows"))
        values = comparable(frame.select(map(by_name, self.kinds)))
        for value, counted in zip(values, self.counts.values(), strict=True):
            counted.add(pl.DataFrame([value.alias("value"), *beside]).drop_nulls("value"))

    def refuse(self, k: int) -> None:
        """Refuse the first column of which most would be lost; then nothing can be added."""
        for name, kind in self.kinds.items():
            found = RareValues()
            for part in self._categories(name):
                found = found.with_(RareValues.of(part, k))
            found.refuse(name, kind, k, entities=bool(self.entity))

    def _categories(self, name: str) -> Iterator[pl.DataFrame]:
        """Yield the categories of a column, each once, with their `rows` and the number that `held` them."""
        if not self.entity:
            for part in self.counts[name].results():
                yield part.with_columns(held=pl.col("rows"))
            return
        # First the rows of each entity in each category, then both are added up: a category may have more
        # entities than fit into memory.
        of = self._grouped(f"held-{len(self.counts)}", ["value"])
        for part in self.counts[name].results():
            of.add(part.select("value", "rows", held=pl.lit(1, pl.Int64)))
        yield from of.results()
