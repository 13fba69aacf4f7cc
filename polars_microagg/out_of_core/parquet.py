"""Parquet files of any size masked within an amount of memory."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from polars_microagg.core.options import whole_number
from polars_microagg.errors import InvalidParameterError
from polars_microagg.frames.selection import Columns, as_frame, by_name
from polars_microagg.leaves.fit import (
    fit_leaves,
    names_in,
    one_leaf,
    require_leaves,
    require_same_call,
    sample_size,
)
from polars_microagg.leaves.leaves import Leaves
from polars_microagg.leaves.memory_budget import MemoryBudget, bytes_of
from polars_microagg.leaves.options import leaf_plan, leaf_size
from polars_microagg.leaves.refusals import refuse_few
from polars_microagg.leaves.rules import coded_columns, restricted
from polars_microagg.out_of_core.parquet_source import ParquetSource
from polars_microagg.out_of_core.passes import MaskingRun
from polars_microagg.out_of_core.workspace import replace_target, working_folder
from polars_microagg.progress import ticker

__all__ = ["protect_parquet"]

STEPS = 5
"""Every record is read for the sample, split, masked, written and verified."""

FITTING = {"size": None, "cut": "best", "method": "mdav", "scale": "zscore", "seed": 0}
"""Defaults of what decides where to cut: leaves that exist leave no room for other values."""


def protect_parquet(
    source: Any,
    target: str | PathLike[str],
    columns: Columns,
    k: int,
    *,
    memory: int | str = "2GB",
    workers: int | None = None,
    leaves: Leaves | None = None,
    size: int | None = None,
    cut: str = "best",
    method: str = "mdav",
    scale: str = "zscore",
    seed: int = 0,
    **options: Any,
) -> Leaves:
    """Mask Parquet files that may be larger than memory, leaf by leaf.

    Parameters
    ----------
    source : str, path, or list of them
        Files, patterns such as ``"in/*.parquet"``, or folders, whose files are read in the order
        of their names. All have one schema.
    target : str or path
        The file to make. What was there stays until the new one is whole and verified.
    columns : str, selector or list
        What to mask.
    k : int
        Smallest group size, at least 2.
    memory : int or str, default "2GB"
        Most memory to take, as bytes or like ``"300MB"``; the disk beside the target takes about
        three times the masked columns.
    workers : int, optional
        Processes that mask; by default as many as there are processors and memory for.
    leaves : Leaves, optional
        Where to cut; fitted to a sample of the records by default.
    size : int, optional
        Records of a leaf, as for `fit_leaves`.
    cut : str, default "best"
        As for `fit_leaves`.
    method : str, default "mdav"
        Name of a method that groups records.
    scale : {"zscore", "minmax", "robust", "none"}
        How columns are scaled for distances, the same in all leaves.
    seed : int, default 0
        Seed of methods that draw at random.
    **options : Any
        ``center``, ``dtype``, ``refine``, the kinds of columns (``nominal``, ``ordinal``,
        ``taxonomy``, ``circular``) and ``weigh``, the privacy models (``entity``, which takes
        ``entity_mode="rows"`` here, and ``confidential`` with ``l``, ``max_share`` or ``t``) and
        the options of the method.

    Returns
    -------
    Leaves
        Those by which the table was masked, with small ones merged, and those that break a
        privacy model.

    Raises
    ------
    InvalidParameterError
        A parameter is wrong, or one that leaves cannot honour.
    InvalidDataError
        Nulls, NaN or infinities, a type without centroid, fewer than k records (but none are as
        good as masked), a privacy model that all records as one group do not satisfy, or a file
        that cannot be read.
    BrokenPromiseError
        A class of the written records is smaller than k or breaks a privacy model; the target is
        as it was.

    Notes
    -----
    Rows, their order, the other columns and the types of all are kept. Notes of the files, that
    is their metadata and that of their columns, and categories that no record has, are left
    out: nobody can tell what they say of single records. Only the categories of an Enum of
    polars are its type, and stay. Groups are made within leaves, so k
    holds in each leaf and with that in the whole table. A run that was killed leaves nothing but
    a hidden folder beside the target, which the next run in that folder removes.

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg, tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> pl.DataFrame({"age": range(1000)}).write_parquet(folder / "people.parquet")
    >>> mg.protect_parquet(folder / "people.parquet", folder / "masked.parquet", "age", k=5)
    Leaves(1 of about 5000 records, mdav, k=5, cut by median)
    >>> mg.verify(pl.scan_parquet(folder / "masked.parquet"), "age", k=5)
    """
    own_options: dict[str, Any] = {"scale": scale, "seed": seed, **options}
    if leaves is not None:
        require_leaves(leaves)
        beside = own_options | {"size": size, "cut": cut, "method": method}
        beside = {n: v for n, v in beside.items() if n not in FITTING or v != FITTING[n]}
        own_options, size, method = dict(leaves.options), leaves.size, leaves.method
    plan = leaf_plan(method, k, own_options)
    limit = bytes_of(memory)
    if workers is not None:
        workers = whole_number("workers", workers, "a whole number of at least 1", 1)
    size = leaf_size(size, plan)
    table = ParquetSource.of(source)
    to = _target(target, table)
    empty = as_frame(table.schema.empty_table())
    names = names_in(empty, columns, plan)
    if leaves is not None:
        require_same_call(leaves, names, plan.k, beside)
        leaves.kinds(empty.schema)
    refuse_few(table.rows or plan.k, plan.k)
    plan = plan.bind([names])
    counted = sum(map(len, coded_columns(plan)))
    budget = MemoryBudget.of(limit, workers, len(names) + counted, table.wide)
    # Values that models count are counted in the table that is read, and in the one that is written.
    steps = STEPS + 2 * restricted(plan)
    run = MaskingRun(table, names, plan, budget, ticker("protect_parquet", steps * table.rows))
    references = run.references(table)
    if leaves is None and not table.rows:
        empty = empty.select(by_name(name) for name in names)
        leaves = one_leaf(empty, plan.k, method, own_options, size)
    elif leaves is None:
        sample = run.sample(sample_size(table.rows, size) / table.rows)
        own: dict[str, Any] = {"size": size, "cut": cut, "method": method}
        leaves = fit_leaves(sample, names, k, records=table.rows, **own, **own_options)
    with working_folder(to) as folder:
        if table.rows:
            leaves, files = run.split(folder, replace(leaves, references=references))
            run.mask(folder, leaves, files)
        made = folder / "made.parquet"
        run.write(folder, made, leaves)
        run.verify(folder, made, leaves)
        replace_target(made, to)
    run.tick(steps * table.rows)
    return leaves


def _target(target: str | PathLike[str], table: ParquetSource) -> Path:
    """Return the checked path of the result."""
    to = Path(target)
    need = "the path of a Parquet file to make, in a folder that exists"
    if to.is_dir() or not to.parent.is_dir():
        raise InvalidParameterError.kind("target", str(to), need)
    if to.exists() and any(path.samefile(to) for path in table.paths):
        need = "another file than those of source"
        raise InvalidParameterError.kind("target", str(to), need)
    return to
