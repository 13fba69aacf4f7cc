"""A Parquet table of any size masked into another one, leaf by leaf, within an amount of memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from polars_microagg.frames.mask import MaskRequest
from polars_microagg.leaves.fit import bound_blocks, require_leaves, require_same_call
from polars_microagg.leaves.leaves import Leaves
from polars_microagg.leaves.memory_budget import MemoryBudget
from polars_microagg.leaves.options import leaf_size
from polars_microagg.leaves.refusals import refuse_few
from polars_microagg.leaves.rules import coded_columns
from polars_microagg.out_of_core.output import verify_written, write_masked
from polars_microagg.out_of_core.parquet_source import ParquetSource
from polars_microagg.out_of_core.passes import MaskingRun

__all__ = ["MaskedFile", "mask_source"]


@dataclass(frozen=True, eq=False)
class MaskedFile:
    """A file that was masked out of core: its leaves, block by block, and what became of the rows.

    `rows` came in; `suppressed` (rows,) says which of them were emptied or dropped, None if none was.
    """

    leaves: tuple[Leaves, ...]
    rows: int
    suppressed: npt.NDArray[np.bool_] | None


def mask_source(
    table: ParquetSource,
    folder: Path,
    made: Path,
    request: MaskRequest,
    released: Sequence[str] | None = None,
    *,
    memory: int,
    workers: int | None = None,
    name: str = "protect_parquet",
    size: int | None = None,
    cut: str = "best",
    leaves: Leaves | None = None,
) -> MaskedFile:
    """Mask a table into the file `made`, with the files that are needed meanwhile in `folder`.

    `released` names the columns that come out, all by default; others are read only if the call names
    them. `name` is what progress is told of. Where to cut is fitted to a sample, unless
    `leaves` of one block say it. Every class of the file that was made is counted.
    """
    empty = table.empty
    request = bound_blocks(empty, request)
    plan = request.plan
    if leaves is not None:
        require_leaves(leaves)
        require_same_call(leaves, plan.blocks, plan.k)
        leaves.kinds(empty.schema)
    size = leaf_size(size, plan) if leaves is None else leaves.size
    refuse_few(table.rows or plan.k, plan.k)
    # Numbers of a record that are in memory together: those of one block, and what tells strata apart.
    width = max(map(len, plan.blocks)) + sum(map(len, coded_columns(plan)))
    width += 2 * bool(request.strata or plan.nulls == "pattern") + len(request.order_by)
    workers = request.plan.workers if workers is None else workers
    budget = MemoryBudget.of(memory, workers, width, table.wide)
    released = empty.columns if released is None else released
    run = MaskingRun(table, request, budget, name, released, size)
    run.references = run.counted(folder)
    made_of = run.fitted(size, cut) if leaves is None else [leaves]
    if table.rows:
        made_of = run.split(folder, made_of)
        run.mask()
    suppressed = write_masked(run, made, made_of)
    kept = ~suppressed if suppressed is not None and plan.drops else None
    verify_written(run, folder, made, kept)
    run.tick(run.records)
    return MaskedFile(tuple(made_of), table.rows, suppressed)
