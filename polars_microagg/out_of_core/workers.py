"""Masking part by part, in this process or in worker processes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from math import inf
from pathlib import Path

import polars as pl

from polars_microagg.core.work import known_elsewhere
from polars_microagg.leaves.leaf_records import LeafRecords
from polars_microagg.leaves.leaves import Leaves
from polars_microagg.leaves.masking import mask_leaves
from polars_microagg.leaves.rules import coded_columns, restricted, rule_of
from polars_microagg.leaves.strata import KEYS
from polars_microagg.leaves.suppressed import SmallStrata
from polars_microagg.out_of_core.arrow_memory import given_back
from polars_microagg.out_of_core.spill import read, write_ranges
from polars_microagg.processes.crew import Crew, crew
from polars_microagg.progress import ticker

__all__ = ["LeafJob", "mask_parts"]


@dataclass(frozen=True)
class LeafJob:
    """A folder with parts to mask: the files that each is read from, and ranges of rows."""

    folder: str
    parts: dict[str, list[str]]
    size: int
    ranges: int

    def mask(self, part: str, leaves: Leaves) -> int:
        """Mask a part; return how many records it had."""
        folder = Path(self.folder)
        records = read(folder / name for name in self.parts[part])
        rule = None
        if restricted(leaves.plan):
            rule = rule_of(leaves.plan, leaves.references, records)
        ready = LeafRecords(
            [records[str(j)] for j in range(len(leaves.columns))],
            leaves.after_merging(records["leaf"].to_numpy()),
            records["ties"],
            records.select(name for name in records.columns if name in KEYS),
            [records[f"order{j}"] for j in range(len(leaves.request.order_by))],
            rule,
        )
        tick = ticker(part, records.height)
        masked = mask_leaves(leaves.plans_of, leaves.size, ready, tick)
        named = {str(j): column for j, column in enumerate(masked.columns)}
        done = pl.DataFrame({"row": records["row"], **named})
        if leaves.parted:
            small = SmallStrata.of(leaves, ready, masked.suppressed)
            (folder / f"small-{part}.json").write_text(json.dumps(asdict(small)), encoding="utf-8")
            done = done.with_columns(masked.flags(done.height).alias("gone"))
            if rule is not None and masked.suppressed is not None:
                counted = [name for names in coded_columns(leaves.plan) for name in names]
                emptied = records.select(counted).filter(masked.suppressed)
                emptied.write_ipc(folder / f"emptied-{part}.arrow")
        write_ranges(done, folder / f"masked-{part}.arrow", self.size, self.ranges)
        for name in self.parts[part]:
            (folder / name).unlink()
        return done.height


def mask_parts(job: LeafJob, leaves: Leaves, workers: int) -> Iterator[int]:
    """Mask all parts and yield the number of records of each as it is done, in their order.

    What is done of a part meanwhile is told as progress of its own. With one worker the parts are
    masked in this process, and so are those of a method that the caller has registered.
    """
    with Crew(workers if known_elsewhere(leaves.plan.method) else 1) as own:
        yield from own.shared(inf)(partial(_masked, job, leaves), job.parts)


def _masked(job: LeafJob, leaves: Leaves, part: str) -> int:
    """Mask a part, in whichever process, which starts no others."""
    with crew(1), given_back():
        return job.mask(part, leaves)
