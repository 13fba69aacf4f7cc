"""The last passes of a run: what was masked is written, read again and counted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from polars_microagg.errors import GuaranteeError
from polars_microagg.frames.released_strata import released_keys
from polars_microagg.frames.selection import as_frame
from polars_microagg.leaves.leaves import Leaves
from polars_microagg.leaves.masking import arrow_of, masked_field
from polars_microagg.leaves.metadata_scrub import without_metadata, without_notes
from polars_microagg.out_of_core.counts import class_sizes
from polars_microagg.out_of_core.parquet_source import ParquetSource
from polars_microagg.out_of_core.parquet_writer import TableWriter
from polars_microagg.out_of_core.passes import MaskingRun
from polars_microagg.out_of_core.spill import Ranges

__all__ = ["verify_written", "write_masked"]


def write_masked(
    run: MaskingRun, made: Path, leaves: Sequence[Leaves]
) -> npt.NDArray[np.bool_] | None:
    """Write the released columns, every row where it was; return which are emptied or dropped."""
    ranges = [
        Ranges(block.folder / f"masked-{part}.arrow" for part in block.files)
        for block in run.blocks
    ]
    schema, start = _released(run), 0
    gone = np.zeros(run.table.rows if leaves[0].parted else 0, dtype=np.bool_)
    writer = TableWriter(made, without_metadata(schema))
    try:
        for number, table in enumerate(
            run.table.even(run.budget.batch, run.budget.range, run.needed)
        ):
            masked = [one.frame(number) for one in ranges]
            stop = start + table.num_rows
            # Every row exactly once and in its place: a lost or repeated row is an error, never
            # a shifted table.
            for frame in masked:
                if not np.array_equal(frame["row"], np.arange(start, stop)):
                    height = frame.height
                    raise GuaranteeError.shape(run.plan.method.name, height, table.num_rows)
            if len(gone):
                gone[start:stop] = masked[0]["gone"].to_numpy()
            writer.write_table(_settled(run, table, masked, schema))
            run.report(table.num_rows)
            start = stop
    finally:
        for one in ranges:
            one.close()
        writer.close()
    return gone if gone.any() else None


def _settled(run: MaskingRun, table: Any, masked: Sequence[pl.DataFrame], schema: Any) -> Any:
    """Return rows of the source with their masked columns; emptied or dropped where suppressed."""
    changed = {
        name: frame[str(j)]
        for block, frame in zip(run.plan.blocks, masked, strict=True)
        for j, name in enumerate(block)
    }
    own = as_frame(table.select(dict.fromkeys(run.request.keys)))
    keys = own.with_columns(released_keys(run.request.keys, own.schema)).to_dict()
    gone = masked[0]["gone"] if "gone" in masked[0].columns else None
    if gone is not None and not gone.any():
        gone = None
    if gone is not None and run.plan.small_strata == "null":
        # A key would show who was in a small stratum, so it becomes null where the cells do.
        for name in run.request.strata:
            keys[name] = pl.select(pl.when(~gone).then(keys[name])).to_series()
    table = table.select(schema.names)
    for name, column in (changed | keys).items():
        if (at := schema.get_field_index(name)) >= 0:
            field = schema.field(at)
            table = table.set_column(at, field, arrow_of(column, field))
    if gone is not None and run.plan.drops:
        table = table.filter((~gone).to_arrow())
    return without_notes(table)


def _released(run: MaskingRun) -> Any:
    """Return the schema of what is written, but for its metadata."""
    import pyarrow as pa

    kinds, fields = run.kinds, []
    for each in (run.table.schema.field(name) for name in run.released):
        if each.name in kinds:
            fields.append(masked_field(each, kinds[each.name], run.plan))
        else:
            emptied = each.name in run.request.strata and run.plan.small_strata == "null"
            fields.append(each.with_nullable(True) if emptied else each)
    return pa.schema(fields)


def verify_written(
    run: MaskingRun, folder: Path, made: Path, kept: npt.NDArray[np.bool_] | None
) -> None:
    """Read the written file, and count the records that share each masked record.

    `kept` says which rows are in it; None if all are.
    """
    # k is counted on the file as it was written, not on what was in memory.
    written = ParquetSource.of(made)
    expected = run.table.rows if kept is None else int(kept.sum())
    if written.rows != expected:
        raise GuaranteeError.shape(run.plan.method.name, written.rows, expected)
    if not written.rows:
        return
    plan, there = run.plan, written.schema.names
    counted = [*plan.entity, *plan.confidential]
    found = class_sizes(
        written,
        plan.blocks,
        run.request.strata,
        run.budget,
        folder=folder,
        entity=plan.entity,
        confidential=plan.confidential,
        plan=plan,
        # Whose the rows are may not be released; it is read beside the file then.
        beside=None if {*counted} <= {*there} else run.table,
        kept_rows=kept,
        report=run.report,
    )
    for classes in found:
        classes.keep_promise(plan)
