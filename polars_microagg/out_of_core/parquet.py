"""Parquet files of any size masked within an amount of memory."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from polars_microagg.core.options import group_size, number_of_workers
from polars_microagg.errors import InvalidParameterError
from polars_microagg.frames.selection import Columns, blocks_of, named_options
from polars_microagg.leaves.fit import require_leaves, require_no_options
from polars_microagg.leaves.leaves import Leaves
from polars_microagg.leaves.memory_budget import bytes_of
from polars_microagg.leaves.options import leaf_request, leaf_size
from polars_microagg.out_of_core.arrow_memory import given_back
from polars_microagg.out_of_core.masking import mask_source
from polars_microagg.out_of_core.parquet_source import ParquetSource
from polars_microagg.out_of_core.workspace import replace_target, working_folder

__all__ = ["protect_parquet"]

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
) -> Leaves | tuple[Leaves, ...]:
    """Mask Parquet files that may be larger than memory, leaf by leaf.

    Parameters
    ----------
    source : str, path, or list of them
        Files, patterns such as ``"in/*.parquet"``, or folders, whose files are read in the order
        of their names. All have one schema.
    target : str or path
        The file to make. What was there stays until the new one is whole and verified.
    columns : str, selector, list, or list of lists
        What to mask; columns of several lists are masked each on their own.
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
        Those of the function of the method, such as ``strata``, ``small_strata``, ``nulls`` and
        ``order_by``. Of persons, ``entity`` takes ``entity_mode="rows"`` here.

    Returns
    -------
    Leaves, or tuple of Leaves
        Those by which the table was masked, with small ones merged, and those that break a
        privacy model; of several lists of columns one for each.

    Raises
    ------
    InvalidParameterError
        A parameter is wrong, or one that leaves cannot honour.
    InvalidDataError
        Nulls that the call does not take, NaN or infinities, a type without centroid, fewer than k
        records (but none are as good as masked), small strata that are not suppressed, a privacy
        model that all records as one group do not satisfy, or a file that cannot be read or changes
        while it is read.
    GuaranteeError
        A class of the written records is smaller than k or breaks a privacy model; the target is
        as it was.

    Notes
    -----
    Rows, their order, the other columns and the types of all are kept. Notes of the files, that
    is their metadata and that of their columns, and categories that no record has, are left
    out: nobody can tell what they say of single records. Only the categories of an Enum of
    polars are its type, and stay. Groups are made within leaves, so k
    holds in each leaf and with that in the whole table. A run that was killed leaves
    a hidden folder beside the target with rows of the original, and the next run in that folder removes it.

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg, tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> pl.DataFrame({"age": range(1000)}).write_parquet(folder / "people.parquet")
    >>> mg.protect_parquet(folder / "people.parquet", folder / "masked.parquet", "age", k=5)
    Leaves(1 of about 5000 records, mdav, k=5)
    >>> mg.verify(pl.scan_parquet(folder / "masked.parquet"), "age", k=5)
    """
    limit = bytes_of(memory)
    workers = number_of_workers(workers)
    if leaves is not None:
        require_leaves(leaves)
        beside = {"size": size, "cut": cut, "method": method, "scale": scale, "seed": seed}
        beside = {n: v for n, v in beside.items() if v != FITTING[n]} | options
        require_no_options(leaves, beside)
        request = replace(leaves.request, plan=replace(leaves.plan, k=group_size(k)))
    else:
        options = {"scale": scale, "seed": seed, **options}
        request = leaf_request(method, k, named_options(options, None))
        leaf_size(size, request.plan)
    table = ParquetSource.of(source)
    if leaves is None:
        request = leaf_request(method, k, named_options(options, table.empty.schema))
    request = replace(request, blocks=blocks_of(columns))
    to = _target(target, table)
    with given_back(), working_folder(to) as folder:
        made = folder / "made.parquet"
        own: dict[str, Any] = {"memory": limit, "workers": workers, "size": size, "cut": cut}
        masked = mask_source(table, folder, made, request, leaves=leaves, **own)
        replace_target(made, to)
    several = len(masked.leaves) > 1
    return masked.leaves if several else masked.leaves[0]


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
