"""The first passes of a run over Parquet files: records are sampled, split and masked."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from polars_microagg.core.kind import Kind
from polars_microagg.core.partition import Labels
from polars_microagg.core.plan import Plan
from polars_microagg.core.work import ruled_seconds, seconds_of
from polars_microagg.errors import InvalidParameterError
from polars_microagg.frames.columns import kind_for
from polars_microagg.frames.mask import MaskRequest
from polars_microagg.frames.rare_categories import countable
from polars_microagg.frames.selection import as_frame, by_name, own_text
from polars_microagg.leaves.fit import fit_leaves, in_sample, one_leaf, sample_size
from polars_microagg.leaves.leaf_records import LeafRecords
from polars_microagg.leaves.leaves import Leaves
from polars_microagg.leaves.masking import fingerprints
from polars_microagg.leaves.memory_budget import MemoryBudget, parts_of
from polars_microagg.leaves.merge_for_table import merge_until
from polars_microagg.leaves.options import leaf_options
from polars_microagg.leaves.references import Reference, Tally
from polars_microagg.leaves.refusals import missing_in, refuse_missing
from polars_microagg.leaves.rules import (
    Census,
    coded,
    coded_columns,
    failing_leaves,
    restricted,
    rule_of,
)
from polars_microagg.leaves.suppressed import SmallStrata, emptied_hold, to_be_suppressed
from polars_microagg.out_of_core.parquet_source import ParquetSource
from polars_microagg.out_of_core.rare_categories import RareCounter
from polars_microagg.out_of_core.spill import OPEN, Spill, read
from polars_microagg.out_of_core.workers import LeafJob, mask_parts
from polars_microagg.progress import steps_of, ticker

__all__ = ["MaskingRun"]

PASS = 2e-6
"""Seconds that a pass takes a record, on the machine that `seconds_of` knows."""

STEPS = 5
"""Every record is read for the sample, split, masked, written and verified."""

PART = 2_000_000
"""Records that are masked together where memory has room for more: with larger arrays it takes longer."""


@dataclass
class _Block:
    """Columns that are masked together: their leaves, and the folder with their records."""

    folder: Path
    leaves: Leaves
    parts: Labels
    spill: Spill
    counts: Labels
    files: dict[str, list[str]] = field(default_factory=dict)


@dataclass
class MaskingRun:
    """The passes over one table: the call, the budget, and what progress is told of."""

    table: ParquetSource
    request: MaskRequest
    budget: MemoryBudget
    name: str
    released: Sequence[str]
    size: int
    done: int = 0
    references: tuple[Reference, ...] = ()
    blocks: list[_Block] = field(default_factory=list)

    @property
    def plan(self) -> Plan:
        """The plan of the call, bound to its columns."""
        return self.request.plan

    @property
    def names(self) -> list[str]:
        """Names of the masked columns, block after block."""
        return [name for block in self.plan.blocks for name in block]

    @property
    def needed(self) -> list[str]:
        """Names of the columns that are read: others do not count, whatever door the table comes by."""
        needed = {*self.columns, *self.request.order_by, *self.released}
        return [name for name in self.table.schema.names if name in needed]

    @property
    def records(self) -> int:
        """The records of all passes, of which those that mask weigh more."""
        passes = STEPS - 1 + self.counts_before + len(self.plan.blocks) * self.weight
        return passes * self.table.rows

    @cached_property
    def weight(self) -> int:
        """How many passes take as long as masking each record of a block."""
        plan, rows = self.plan, max(1, self.table.rows)
        sizes = [min(self.size, rows)] * -(-rows // self.size)
        seconds = seconds_of(plan.method, sizes, plan.k, plan.options)
        seconds += ruled_seconds(sizes, leaves=True) if restricted(plan) else 0.0
        return max(1, round(seconds / rows / PASS / self.budget.workers))

    @cached_property
    def tick(self) -> Callable[[int], None]:
        """Report so many records of all passes as done."""
        return ticker(self.name, self.records)

    def report(self, records: int) -> None:
        """Report these records as done."""
        self.done += records
        self.tick(self.done)

    def _within(self, records: int) -> None:
        """Report so many records of a part as masked, before all of it is."""
        self.tick(self.done + records * self.weight)

    def _frames(self) -> Iterator[pl.DataFrame]:
        """Yield the table batch by batch, and refuse it in the end if values are missing."""
        kinds, names = self.kinds, self.names
        categories = [name for name, kind in kinds.items() if not kind.numeric]
        absent = np.zeros((2, len(names)), dtype=np.intp)
        for batch in self.table.batches(self.budget.batch, self.needed):
            frame = as_frame(batch)
            for j, name in enumerate(names):
                nulls, others = missing_in(frame[name], kinds[name])
                # Of categories these are distinct ones, which cannot be added up.
                absent[:, j] += nulls, others if kinds[name].numeric else 0
                if others and not kinds[name].numeric:
                    refuse_missing([(name, 0, others)], categories)
            yield frame
            self.report(frame.height)
        absent[0] *= self.plan.nulls == "raise"
        refuse_missing(zip(names, *absent.tolist(), strict=True), categories)

    @property
    def kinds(self) -> dict[str, Kind]:
        """The kind of each masked column."""
        schema = self.table.empty.schema
        return {name: kind_for(name, schema[name], self.plan.kinds) for name in self.names}

    @property
    def columns(self) -> list[str]:
        """Names of the columns that are masked, that part records, or that models count."""
        counted = *self.plan.entity, *self.plan.confidential
        return list(dict.fromkeys([*self.names, *self.request.strata, *counted]))

    @property
    def counts_before(self) -> bool:
        """Return whether something is counted on the whole table before it is masked."""
        return restricted(self.plan) or bool(countable(self.kinds))

    def counted(self, folder: Path) -> tuple[Reference, ...]:
        """Count the confidential values of the table, and refuse what no grouping of it satisfies.

        Columns of which most would be lost are refused, too: their categories are counted.
        """
        table, plan = self.table, self.plan
        if not self.counts_before or not table.rows:
            return ()
        tallies = [Tally(partial(self._refuse_many, name)) for name in plan.confidential]
        census = Census(plan, tallies)
        rare = RareCounter(table, self.kinds, plan.entity, self.budget, folder)
        needed = dict.fromkeys([*plan.entity, *plan.confidential, *rare.columns])
        for batch in table.batches(self.budget.batch, list(needed)):
            frame = as_frame(batch)
            census.add(frame)
            rare.add(frame)
            self.report(frame.height)
        references = census.references()
        rare.refuse(plan.k)
        return references

    def _refuse_many(self, name: str, size: int) -> None:
        """Refuse a confidential column whose distinct values do not fit into memory."""
        if size > self.budget.values:
            need = f"more: the different values of {name!r} alone take more than is for them; round them"
            raise InvalidParameterError.kind("memory", self.budget.memory, need)

    def fitted(self, size: int, cut: str) -> list[Leaves]:
        """Return the leaves of each block, fitted to a sample of the records."""
        rows, plan = self.table.rows, self.plan
        if not rows:
            return [one_leaf(block, self.request, size) for block in plan.blocks]
        share = sample_size(rows, size) / rows
        kept = [by_name(n) for n in dict.fromkeys([*self.columns, *self.request.order_by])]
        sample = pl.concat(
            own_text(frame.filter(in_sample(frame, share)).select(kept)) for frame in self._frames()
        )
        own: dict[str, Any] = {"records": rows, "size": size, "cut": cut}
        own |= {"method": plan.method.name}
        return [
            fit_leaves(sample, list(block), plan.k, **own, **leaf_options(self.request, block))
            for block in plan.blocks
        ]

    def split(self, folder: Path, leaves: Sequence[Leaves]) -> list[Leaves]:
        """Write the records of each block part by part; return the leaves after merging."""
        for number, one in enumerate(leaves):
            own = folder / f"block-{number}"
            own.mkdir()
            one = replace(one, references=self.references)
            rows = self.table.rows
            parts = parts_of(one.tree, rows, min(self.budget.part, max(PART, rows // OPEN)))
            spill = Spill(own, "part", int(parts.max()) + 1, OPEN // len(leaves))
            counts = np.zeros(len(one.tree), dtype=np.intp)
            self.blocks.append(_Block(own, one, parts, spill, counts))
        row = 0
        try:
            for frame in self._frames():
                self._spill(frame, row)
                row += frame.height
        finally:
            for block in self.blocks:
                block.spill.close()
        for block in self.blocks:
            if restricted(self.plan):
                failing = partial(self._failing, block)
                block.leaves = merge_until(block.leaves, block.counts, failing)
            else:
                block.leaves = block.leaves.merge(block.counts)
            self._refuse_large(block, block.leaves)
            block.files = _files(block, block.leaves)
        return [block.leaves for block in self.blocks]

    def _spill(self, frame: pl.DataFrame, row: int) -> None:
        """Write the records of a batch, which begins at a row, to the parts of all blocks."""
        shared = {
            "row": pl.int_range(row, row + frame.height, dtype=pl.Int64, eager=True),
            "ties": fingerprints(frame, without=self.names),
            **{f"order{j}": frame[name] for j, name in enumerate(self.request.order_by)},
        }
        if restricted(self.plan):
            shared |= coded(self.plan, self.references, frame).to_dict()
        for block in self.blocks:
            strata = block.leaves.stratum_keys(frame)
            leaf = block.leaves.after_merging(block.leaves.before_merging(frame, strata))
            block.counts += np.bincount(leaf, minlength=len(block.counts))
            columns = {str(j): frame[name] for j, name in enumerate(block.leaves.columns)}
            own = {"leaf": pl.Series(leaf.astype(np.uint32)), **strata.to_dict(), **columns}
            # Merging is known only after the last record. Files by part are kept as they are; a
            # part whose leaves were all merged is read with the part it was merged into.
            block.spill.write(pl.DataFrame(shared | own), block.parts[leaf])

    def _failing(self, block: _Block, leaves: Leaves, grown: Labels | None) -> Labels:
        """Return the leaves that break the rule: of all, or of those that have grown."""
        self._refuse_large(block, leaves)
        files = _files(block, leaves)
        columns = ["leaf", *chain(*coded_columns(self.plan))]
        broken = [np.empty(0, dtype=np.intp)]
        for part in files if grown is None else map(str, np.unique(block.parts[grown]).tolist()):
            records = read((block.folder / name for name in files[part]), columns)
            leaf = leaves.after_merging(records["leaf"].to_numpy())
            if grown is not None:
                rows = np.isin(leaf, grown)
                records, leaf = records.filter(pl.Series(rows)), leaf[rows]
            broken.append(failing_leaves(rule_of(self.plan, leaves.references, records), leaf))
        return np.sort(np.concatenate(broken))

    def _refuse_large(self, block: _Block, leaves: Leaves) -> None:
        """Refuse to take far more memory than allowed, where equal values cannot be parted."""
        parts, counts = block.parts, block.counts
        into = parts[leaves.after_merging(np.arange(len(parts)))]
        most = int(np.bincount(into, counts).max())
        if most > 3 * self.budget.part:
            why = "have so few different values that they are masked together"
            if np.bincount(parts, counts).max() <= 3 * self.budget.part:
                why = "are masked together, since fewer do not satisfy the privacy models"
            need = f"more: {most} records {why}"
            raise InvalidParameterError.kind("memory", self.budget.memory, need)

    def refuse_small(self) -> None:
        """Refuse small strata that may not be suppressed before anything is masked."""
        for block in self.blocks:
            leaves = block.leaves
            if not leaves.parted or self.plan.drops:
                continue
            # Leaves of a stratum of several were merged until each has k and satisfies the rule.
            filled = np.unique(leaves.after_merging(np.flatnonzero(block.counts)))
            stratum, shared = leaves.stratum_of_leaf, len(leaves.large)
            several = np.bincount(stratum[filled], minlength=shared + 1) > 1
            several[shared] = False
            alone = filled[~several[stratum[filled]]]
            keys = leaves.stratum_keys(self.table.empty).columns
            counted = [*chain(*coded_columns(self.plan))]
            small, emptied = SmallStrata(), list[pl.DataFrame]()
            for part in np.unique(block.parts[alone]).tolist():
                files = (block.folder / name for name in block.files[str(part)])
                records = read(files, ["leaf", *keys, *counted])
                leaf = leaves.after_merging(records["leaf"].to_numpy())
                rows = np.isin(leaf, alone)
                records, leaf = records.filter(pl.Series(rows)), leaf[rows]
                rule = None
                if restricted(self.plan):
                    rule = rule_of(self.plan, leaves.references, records)
                none = pl.Series([], dtype=pl.UInt64)
                ready = LeafRecords([], leaf, none, records.select(keys), (), rule)
                gone = to_be_suppressed(leaves, ready)
                small += SmallStrata.of(leaves, ready, gone)
                emptied += [records.select(counted).filter(gone)] if counted else []
            self._settle(leaves, small, emptied)

    def _settle(self, leaves: Leaves, small: SmallStrata, emptied: list[pl.DataFrame]) -> None:
        """Refuse small strata, or those that are emptied; `emptied` has what models count in them."""
        small.refuse(leaves)
        rule = rule_of(self.plan, self.references, pl.concat(emptied)) if emptied else None
        emptied_hold(self.plan, rule, small.records)

    def mask(self) -> None:
        """Mask the parts of all blocks, and refuse small strata that may not be suppressed."""
        self.refuse_small()
        ranges = -(-self.table.rows // self.budget.range)
        for block in self.blocks:
            job = LeafJob(str(block.folder), block.files, self.budget.range, ranges)
            with steps_of(self._within):
                for records in mask_parts(job, block.leaves, self.budget.workers):
                    self.report(records * self.weight)
            small = SmallStrata()
            for path in block.folder.glob("small-*.json"):
                small += SmallStrata(**json.loads(path.read_text(encoding="utf-8")))
            emptied = [pl.read_ipc(path) for path in block.folder.glob("emptied-*.arrow")]
            self._settle(block.leaves, small, emptied)


def _files(block: _Block, leaves: Leaves) -> dict[str, list[str]]:
    """Return the files of each part that has leaves, by leaves merged so far."""
    files: dict[str, list[str]] = {}
    filled = np.flatnonzero(block.counts)
    into = block.parts[leaves.after_merging(filled)]
    # Another part than its own if all of it was merged.
    for part, target in dict(zip(block.parts[filled].tolist(), into.tolist(), strict=True)).items():
        files.setdefault(str(target), []).append(block.spill.path(part).name)
    return files
