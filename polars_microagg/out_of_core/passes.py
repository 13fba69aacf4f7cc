"""The passes of one run over Parquet files: sample, split, mask, write and verify."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from polars_microagg.analysis.anonymity import classes
from polars_microagg.core.kind import Kind
from polars_microagg.core.partition import Labels, Members
from polars_microagg.core.plan import Plan
from polars_microagg.errors import BrokenPromiseError, InvalidParameterError
from polars_microagg.frames.classes import classes_of
from polars_microagg.frames.selection import as_frame, by_name
from polars_microagg.leaves.fit import in_sample
from polars_microagg.leaves.leaves import Leaves
from polars_microagg.leaves.masking import arrow_of, fingerprints, masked_field
from polars_microagg.leaves.memory_budget import MemoryBudget, parts_of
from polars_microagg.leaves.merge_for_table import merge_until
from polars_microagg.leaves.metadata_scrub import without_metadata, without_notes
from polars_microagg.leaves.references import Reference, Tally
from polars_microagg.leaves.refusals import missing_in, refuse_missing, refuse_type
from polars_microagg.leaves.rules import (
    Census,
    coded,
    coded_columns,
    failing_leaves,
    restricted,
    rule_of,
)
from polars_microagg.out_of_core.parquet_source import ParquetSource
from polars_microagg.out_of_core.spill import Ranges, Spill, read
from polars_microagg.out_of_core.workers import LeafJob, mask_parts

__all__ = ["MaskingRun"]


@dataclass
class MaskingRun:
    """The passes over one table: its masked columns, the budget, and the progress callback."""

    table: ParquetSource
    names: tuple[str, ...]
    plan: Plan
    budget: MemoryBudget
    tick: Callable[[int], None]
    done: int = 0
    parts: list[str] = field(default_factory=list)

    def _report(self, records: int) -> None:
        """Report these records as done."""
        self.done += records
        self.tick(self.done)

    def _frames(self) -> Iterator[pl.DataFrame]:
        """Yield the table batch by batch, and refuse it in the end if values are missing."""
        import pyarrow as pa

        kinds = self.kinds
        categories = [name for name, kind in kinds.items() if not kind.numeric]
        absent = np.zeros((2, len(self.names)), dtype=np.intp)
        for batch in self.table.batches(self.budget.batch):
            frame = as_frame(batch)
            for j, name in enumerate(self.names):
                nulls, others = missing_in(frame[name], kinds[name])
                # Of categories these are distinct ones, which cannot be added up.
                absent[:, j] += nulls, others if kinds[name].numeric else 0
                if others and not kinds[name].numeric:
                    refuse_missing([(name, 0, others)], categories)
            yield frame
            self._report(frame.height)
        pa.default_memory_pool().release_unused()
        refuse_missing(zip(self.names, *absent.tolist(), strict=True), categories)

    @property
    def kinds(self) -> dict[str, Kind]:
        """The kind of each masked column."""
        schema = as_frame(self.table.schema.empty_table()).schema
        return {name: refuse_type(name, schema[name], self.plan.kinds) for name in self.names}

    @property
    def _columns(self) -> list[str]:
        """Names of the columns that are masked, or that models count."""
        return [*self.names, *self.plan.entity, *self.plan.confidential]

    def references(self, table: ParquetSource) -> tuple[Reference, ...]:
        """Count the confidential values of a table, and refuse what no grouping of it satisfies."""
        if not restricted(self.plan) or not table.rows:
            return ()
        tallies = [Tally(partial(self._refuse_many, name)) for name in self.plan.confidential]
        census = Census(self.plan, tallies)
        for batch in table.batches(self.budget.batch, self._columns[len(self.names) :]):
            census.add(as_frame(batch))
            self._report(batch.num_rows)
        return census.references()

    def _refuse_many(self, name: str, size: int) -> None:
        """Refuse a confidential column whose distinct values do not fit into memory."""
        if size > self.budget.values:
            need = f"more: the different values of {name!r} alone take more than is for them; round them"
            raise InvalidParameterError.kind("memory", self.budget.memory, need)

    def sample(self, share: float) -> pl.DataFrame:
        """Return the columns that are masked or counted of the records with the lowest hashes."""
        kept = [by_name(name) for name in self._columns]
        return pl.concat(
            frame.filter(in_sample(frame, share)).select(kept) for frame in self._frames()
        )

    def split(self, folder: Path, leaves: Leaves) -> tuple[Leaves, dict[str, list[str]]]:
        """Write the records part by part.

        Return the leaves after merging, and the files of each part.
        """
        parts = parts_of(leaves.tree, self.table.rows, self.budget.part)
        counts = np.zeros(len(leaves.tree), dtype=np.intp)
        row = 0
        with Spill(folder, "part", int(parts.max()) + 1) as spill:
            for frame in self._frames():
                masked = frame.select(by_name(name) for name in self.names)
                leaf = leaves.after_merging(leaves.before_merging(masked))
                counts += np.bincount(leaf, minlength=len(counts))
                records = {
                    "row": pl.int_range(row, row + frame.height, dtype=pl.Int64, eager=True),
                    "leaf": pl.Series(leaf.astype(np.uint32)),
                    "ties": fingerprints(frame, without=self.names),
                }
                columns = {str(j): frame[name] for j, name in enumerate(self.names)}
                if restricted(self.plan):
                    columns |= coded(self.plan, leaves.references, frame).to_dict()
                # Merging is known only after the last record. Files by part are kept as they are; a
                # part whose leaves were all merged is read with the part it was merged into.
                spill.write(pl.DataFrame(records | columns), parts[leaf])
                row += frame.height
        if restricted(self.plan):
            merged = merge_until(leaves, counts, partial(self._failing, spill, parts, counts))
        else:
            merged = leaves.merge(counts)
        self._refuse_large(parts, merged, counts)
        return merged, _files(spill, parts, counts, merged)

    def _failing(
        self, spill: Spill, parts: Labels, counts: Labels, leaves: Leaves, grown: Labels | None
    ) -> Labels:
        """Return the leaves that break the rule: of all, or of those that have grown."""
        self._refuse_large(parts, leaves, counts)
        files = _files(spill, parts, counts, leaves)
        columns = ["leaf", *chain(*coded_columns(self.plan))]
        broken = [np.empty(0, dtype=np.intp)]
        for part in files if grown is None else map(str, np.unique(parts[grown]).tolist()):
            records = read((spill.folder / name for name in files[part]), columns)
            leaf = leaves.after_merging(records["leaf"].to_numpy())
            if grown is not None:
                rows = np.isin(leaf, grown)
                records, leaf = records.filter(pl.Series(rows)), leaf[rows]
            broken.append(failing_leaves(rule_of(self.plan, leaves.references, records), leaf))
        return np.sort(np.concatenate(broken))

    def _refuse_large(self, parts: Labels, leaves: Leaves, counts: Labels) -> None:
        """Refuse to take far more memory than allowed, where equal values cannot be parted."""
        into = parts[leaves.after_merging(np.arange(len(parts)))]
        most = int(np.bincount(into, counts).max())
        if most > 3 * self.budget.part:
            why = "have so few different values that they are masked together"
            if np.bincount(parts, counts).max() <= 3 * self.budget.part:
                why = "are masked together, since fewer do not satisfy the privacy models"
            need = f"more: {most} records {why}"
            raise InvalidParameterError.kind("memory", self.budget.memory, need)

    def mask(self, folder: Path, leaves: Leaves, files: dict[str, list[str]]) -> None:
        """Mask the parts in this folder, by leaves whose small ones are merged."""
        ranges = -(-self.table.rows // self.budget.range)
        job = LeafJob(str(folder), files, self.budget.range, ranges)
        for records in mask_parts(job, leaves, self.budget.workers):
            self._report(records)
        self.parts = list(files)

    def write(self, folder: Path, made: Path, leaves: Leaves) -> None:
        """Write the table with its masked columns, every row where it was."""
        import pyarrow.parquet as pq

        masked = Ranges(folder / f"masked-{part}.arrow" for part in self.parts)
        schema, start = self._released(leaves.plan.dtype), 0
        writer = pq.ParquetWriter(made, without_metadata(schema), compression="zstd")
        try:
            for number, table in enumerate(self.table.even(self.budget.batch, self.budget.range)):
                frame = masked.frame(number)
                stop = start + table.num_rows
                # Every row exactly once and in its place: a lost or repeated row is an error, never
                # a shifted table.
                if not np.array_equal(frame["row"], np.arange(start, stop)):
                    raise BrokenPromiseError.shape(leaves.method, frame.height, table.num_rows)
                for j, name in enumerate(self.names):
                    at = table.schema.get_field_index(name)
                    changed = arrow_of(frame[str(j)], schema.field(at))
                    table = table.set_column(at, schema.field(at), changed)
                writer.write_table(without_notes(table))
                self._report(table.num_rows)
                start = stop
        finally:
            masked.close()
            writer.close()

    def _released(self, dtype: str) -> Any:
        """Return the schema of what is written, but for its metadata."""
        schema = self.table.schema
        for name, kind in self.kinds.items():
            at = schema.get_field_index(name)
            schema = schema.set(at, masked_field(schema.field(at), kind, dtype))
        return schema

    def verify(self, folder: Path, made: Path, leaves: Leaves) -> None:
        """Read the written file, and count the records that share each masked record."""
        # k is counted on the file as it was written, not on what was in memory.
        written = ParquetSource.of(made)
        if written.rows != self.table.rows:
            raise BrokenPromiseError.shape(leaves.method, written.rows, self.table.rows)
        kept = [by_name(name).alias(str(j)) for j, name in enumerate(self.names)]
        count = -(-written.rows // self.budget.part)
        references = self.references(written)
        with Spill(folder, "written", count) as spill:
            for batch in written.batches(self.budget.batch, self._columns):
                # Equal records have equal hashes and are counted in one place.
                whole = as_frame(batch)
                frame = whole.select(kept)
                numbers = (fingerprints(frame).to_numpy() % count).astype(np.intp)
                if restricted(self.plan):
                    # Confidential values are compared with those of the file as it was written.
                    frame = frame.with_columns(coded(self.plan, references, whole).get_columns())
                spill.write(frame, numbers)
                self._report(frame.height)
        plan = leaves.plan
        names = [str(j) for j in range(len(self.names))]
        for number in range(count):
            if spill.path(number).exists():
                records = read([spill.path(number)])
                if restricted(plan):
                    rule = rule_of(plan, references, records)
                    plan.keep_promise(classes_of(records, names), rule)
                else:
                    sizes = classes(records, names)["size"].to_numpy().astype(np.intp)
                    counted = Members(np.empty(0, dtype=np.intp), sizes)
                    plan.keep_promise(counted, plan.rule())
                spill.path(number).unlink()


def _files(spill: Spill, parts: Labels, counts: Labels, leaves: Leaves) -> dict[str, list[str]]:
    """Return the files of each part that has leaves, by leaves merged so far."""
    files: dict[str, list[str]] = {}
    for part, into in _absorbed(parts, counts, leaves).items():
        files.setdefault(str(into), []).append(spill.path(part).name)
    return files


def _absorbed(parts: Labels, counts: Labels, leaves: Leaves) -> dict[int, int]:
    """Return the part that each part with records is masked with.

    Another one if all of it was merged.
    """
    filled = np.flatnonzero(counts)
    into = parts[leaves.after_merging(filled)]
    return dict(zip(parts[filled].tolist(), into.tolist(), strict=True))
