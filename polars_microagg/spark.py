"""The same leaves on Spark: masked there bit for bit as on one machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyarrow as pa

from polars_microagg.errors import NotAnonymousError
from polars_microagg.leaves.call import leaf_plan, leaf_size
from polars_microagg.leaves.fit import (
    accept,
    fit_leaves,
    in_sample,
    names_in,
    sample_size,
)
from polars_microagg.leaves.leaves import Leaves
from polars_microagg.leaves.refusals import refuse_few, refuse_missing
from polars_microagg.parameters import group_size

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["fit", "protect", "verify"]

SPARE = "__microagg__"


def protect(
    df: DataFrame,
    columns: str | Sequence[str],
    k: int,
    *,
    leaves: Leaves | None = None,
    **options: Any,
) -> DataFrame:
    """Mask columns of a Spark DataFrame leaf by leaf.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        The table.
    columns : str or list of str
        What to mask.
    k : int
        Smallest group size, at least 2.
    leaves : Leaves, optional
        Where to cut, from `fit` or from another engine; fitted to `df` by default.
    **options : Any
        As for `fit`, unless there are leaves.

    Returns
    -------
    pyspark.sql.DataFrame
        Same columns and types, in any order of rows. Where to cut is settled when this is called,
        by two or three jobs; the table is masked when the result is used.

    Raises
    ------
    InvalidParameterError
        A parameter is wrong, or one that leaves cannot honour.
    InvalidDataError
        Nulls, NaN or infinities, a type without centroid, or fewer than k records.

    Notes
    -----
    One leaf is in memory at a time in each Python worker. The values do not depend on how `df`
    is partitioned, nor on the order of its rows, and are those of `protect_parquet` for the same
    leaves and records. Every leaf is checked as it is masked: a class smaller than k is an error
    of the job that writes. If `df` is not the same each time it is read, write it down first.

    The executors need this package, and Polars with it.
    """
    from pyspark.sql.types import DoubleType, LongType, StructField, StructType

    if leaves is None:
        leaves = fit(df, columns, k, **options)
    else:
        accept(leaves, names_in(_empty(df), columns, leaves.plan), group_size(k), options)
        _records(df, leaves.columns, leaves.k)
        leaves = _merged(df, leaves)
    kept = [field.name for field in df.schema.fields]
    spare = SPARE
    while spare in kept:
        spare += "_"
    marked = StructType([*df.schema.fields, StructField(spare, LongType(), nullable=False)])
    numbered = df.mapInArrow(_Marking(leaves, spare), marked)
    floats = leaves.plan.dtype == "float"
    fields = [
        StructField(field.name, DoubleType()) if floats and field.name in leaves.columns else field
        for field in df.schema.fields
    ]
    return numbered.groupBy(spare).applyInArrow(_masking(leaves, spare), StructType(fields))


def fit(
    df: DataFrame,
    columns: str | Sequence[str],
    k: int,
    *,
    size: int | None = None,
    method: str = "mdav",
    **options: Any,
) -> Leaves:
    """Decide where to cut a Spark DataFrame, from a sample that does not depend on partitions.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        The table.
    columns : str or list of str
        What is masked, and where the table is cut.
    k : int
        Smallest group size, at least 2.
    size : int, optional
        Records of a leaf.
    method : str, default "mdav"
        Name of a method that groups records.
    **options : Any
        ``cut``, ``scale``, ``seed``, ``center``, ``dtype``, ``refine`` and the options of the
        method, as for `polars_microagg.fit_leaves`.

    Returns
    -------
    Leaves
        Those with fewer than k records merged.

    Raises
    ------
    InvalidParameterError
        A parameter is wrong, or one that leaves cannot honour.
    InvalidDataError
        Nulls, NaN or infinities, a type without centroid, or fewer than k records.
    """
    from pyspark.sql.types import StructType

    of_plan = {name: value for name, value in options.items() if name != "cut"}
    plan = leaf_plan(method, k, of_plan)
    size = leaf_size(size, plan)
    names = names_in(_empty(df), columns, plan)
    records = _records(df, names, plan.k)
    share = sample_size(records, size) / records
    kept = StructType([df.schema[name] for name in names])
    sample = pl.DataFrame(df.mapInArrow(_Sampling(names, share), kept).toArrow())
    leaves = fit_leaves(sample, names, k, records=records, size=size, method=method, **options)
    return _merged(df, leaves)


def verify(df: DataFrame, columns: str | Sequence[str], k: int) -> None:
    """Check that at least k records share each record, and raise if not.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        A masked table, best read again from where it was written.
    columns : str or list of str
        The columns that were masked.
    k : int
        Smallest class allowed, at least 2.

    Raises
    ------
    NotAnonymousError
        Some class is smaller than k.
    """
    from pyspark.sql import functions as f

    k = group_size(k)
    names = [columns] if isinstance(columns, str) else list(columns)
    sizes = df.groupBy(*map(_quoted, names)).agg(f.count(f.lit(1)).alias("size"))
    few = sizes.where(f.col("size") < k)
    found = few.agg(f.count(f.lit(1)), f.sum("size"), f.min("size")).collect()[0]
    if found[0]:
        raise NotAnonymousError.of(names, k, found, ())


def _empty(df: DataFrame) -> pl.DataFrame:
    return pl.DataFrame(df.limit(0).toArrow())


def _quoted(name: str) -> Column:
    from pyspark.sql import functions as f

    return f.col("`{}`".format(name.replace("`", "``")))


def _records(df: DataFrame, names: Sequence[str], k: int) -> int:
    """Count the records, and refuse values that are missing."""
    from pyspark.sql import functions as f
    from pyspark.sql.types import DoubleType, FloatType

    counts = [f.count(f.lit(1))]
    for name in names:
        column = _quoted(name)
        counts.append(f.count_if(column.isNull()))
        odd = f.lit(False)
        if isinstance(df.schema[name].dataType, FloatType | DoubleType):
            odd = f.isnan(column) | (f.abs(column) == float("inf"))
        counts.append(f.count_if(odd))
    records, *absent = df.agg(*counts).collect()[0]
    refuse_missing(zip(names, absent[::2], absent[1::2], strict=True))
    refuse_few(records, k)
    return int(records)


def _merged(df: DataFrame, leaves: Leaves) -> Leaves:
    found = df.mapInArrow(_Counting(leaves), "leaf long, records long").toArrow()
    leaf, records = (found.column(name).to_numpy() for name in ("leaf", "records"))
    counts = np.bincount(leaf, records, minlength=len(leaves.tree))
    return leaves.merge(counts.astype(np.intp))


@dataclass(frozen=True)
class _Sampling:
    """Keep a share of the records of each batch, the same in whatever batch they are."""

    names: tuple[str, ...]
    share: float

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = in_sample(pl.DataFrame(batch), self.share)
            yield batch.select(list(self.names)).filter(rows.to_arrow())


@dataclass(frozen=True)
class _Counting:
    """Count the records of each batch leaf by leaf."""

    leaves: Leaves

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            leaf, records = np.unique(self.leaves.assign(batch).to_numpy(), return_counts=True)
            yield pa.record_batch({"leaf": leaf.astype(np.int64), "records": records})


@dataclass(frozen=True)
class _Marking:
    """Add the leaf of each record."""

    leaves: Leaves
    spare: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            leaf = pa.array(self.leaves.assign(batch).to_numpy().astype(np.int64))
            yield batch.append_column(self.spare, leaf)


def _masking(leaves: Leaves, spare: str) -> Callable[[pa.Table], pa.Table]:
    # Spark counts the arguments of a function, and those of an object wrongly.
    def mask(table: pa.Table) -> pa.Table:
        return leaves.protect(table.drop_columns([spare]))

    return mask
