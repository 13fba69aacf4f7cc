"""The same leaves on Spark: masked there bit for bit as on one machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_microagg.analysis.anonymity import selected
from polars_microagg.core.kind import has_means
from polars_microagg.core.options import group_size
from polars_microagg.core.plan import Plan
from polars_microagg.errors import InvalidDataError, InvalidParameterError, NotAnonymousError
from polars_microagg.frames.columns import kind_for
from polars_microagg.frames.safe_collect import quietly
from polars_microagg.leaves.fit import (
    fit_leaves,
    names_in,
    require_leaves,
    require_no_options,
    require_same_call,
    sample_size,
)
from polars_microagg.leaves.leaves import Leaves
from polars_microagg.leaves.options import leaf_request, leaf_size
from polars_microagg.leaves.refusals import missing_in, refuse_few, refuse_missing
from polars_microagg.leaves.rules import refuse_nameless
from polars_microagg.leaves.spark_batches import LEAF, SampleFilter, leaf_masker
from polars_microagg.leaves.spark_merging import merged_for_spark, with_leaf

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType, StructField

__all__ = ["fit", "protect", "verify"]


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
        by two or three jobs, and some more with privacy models; the table is masked when the
        result is used.

    Raises
    ------
    InvalidParameterError
        A parameter is wrong, or one that leaves cannot honour.
    InvalidDataError
        Nulls, NaN or infinities, a type without centroid, fewer than k records, a type that Spark
        cannot pass to Python, or a table that fails when it is read.

    Notes
    -----
    Names are taken as they are written, their case included, whatever Spark is set to.

    One leaf is in memory at a time in each Python worker. The values do not depend on how `df`
    is partitioned, nor on the order of its rows, and are those of `protect_parquet` for the same
    leaves and records. Every leaf is checked as it is masked: a class that is smaller than k or
    breaks a privacy model is an error of the job that writes. If `df` is not the same each time it
    is read, write it down first.

    If `df` itself fails, the errors raised here do not show its words, which may hold values of
    records. Those of the job that writes, and all of Spark's logs, are Spark's and do.

    The executors need this package, and Polars with it.
    """
    from pyspark.sql.types import DoubleType, StructField, StructType

    table = _Table.of(df)
    if leaves is None:
        leaves = fit(df, columns, k, **options)
    else:
        require_leaves(leaves)
        empty = table.empty()
        require_no_options(leaves, options)
        require_same_call(leaves, [names_in(empty, columns, leaves.request)], group_size(k))
        leaves.kinds(empty.schema)
        leaves = merged_for_spark(table, leaves, _records(table, leaves.columns, leaves.plan))
    fields = list(table.df.schema.fields)
    for name, kind in leaves.kinds(table.empty().schema).items():
        j = table.names.index(name)
        if not kind.numeric:
            # Where no category may be emitted there is null.
            fields[j] = StructField(fields[j].name, fields[j].dataType)
        elif leaves.plan.dtype == "float" and has_means(kind):
            fields[j] = StructField(fields[j].name, DoubleType())
    whole = (
        with_leaf(table, leaves)
        .groupBy(LEAF)
        .applyInArrow(leaf_masker(leaves, table.names), StructType(fields))
    )
    return whole.toDF(*table.names)


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
        ``cut``, ``scale``, ``seed``, ``center``, ``dtype``, ``refine``, the kinds of columns, ``weigh``,
        the privacy models and the options of the method, as for `polars_microagg.fit_leaves`.

    Returns
    -------
    Leaves
        Those with fewer than k records merged.

    Raises
    ------
    InvalidParameterError
        A parameter is wrong, or one that leaves cannot honour.
    InvalidDataError
        Nulls, NaN or infinities, a type without centroid, fewer than k records, a type that Spark
        cannot pass to Python, or a table that fails when it is read.
    """
    from pyspark.sql.types import StructType

    table = _Table.of(df)
    of_plan = {name: value for name, value in options.items() if name != "cut"}
    request = leaf_request(method, k, of_plan)
    plan, size = request.plan, leaf_size(size, request.plan)
    names = names_in(table.empty(), columns, request)
    records = _records(table, names, plan)
    # Chosen by hash, so the sample and with it the leaves do not depend on partitions.
    share = sample_size(records, size) / records
    kept_names = [*names, *request.strata, *plan.entity, *plan.confidential]
    kept_names = list(dict.fromkeys(kept_names))
    places = [table.names.index(name) for name in kept_names]
    kept = StructType([table.df.schema.fields[j] for j in places])
    sample = table.read(table.df.mapInArrow(SampleFilter(places, share), kept))
    sample.columns = kept_names
    leaves = fit_leaves(sample, names, k, records=records, size=size, method=method, **options)
    return merged_for_spark(table, leaves, records)


def verify(df: DataFrame, columns: str | Sequence[str], k: int) -> None:
    """Check that at least k records share each record, and raise if not.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        A masked table, best read again from where it was written.
    columns : str or list of str
        The columns that were masked; each of several lists is checked on its own.
    k : int
        Smallest class allowed, at least 2.

    Raises
    ------
    NotAnonymousError
        Some class is smaller than k.
    InvalidParameterError
        A parameter is wrong.
    InvalidDataError
        The table fails when it is read.
    """
    from pyspark.sql import functions as f

    k = group_size(k)
    table = _Table.of(df)
    for names in selected(pl.LazyFrame(schema=dict.fromkeys(table.names, pl.Null)), columns):
        sizes = table.df.groupBy(*map(table.key, names)).agg(f.count(f.lit(1)).alias("size"))
        few = sizes.where(f.col("size") < k)
        small_classes = table.row(few.agg(f.count(f.lit(1)), f.sum("size"), f.min("size")))
        if small_classes[0]:
            raise NotAnonymousError.of(names, k, small_classes, ())


@dataclass(frozen=True)
class _Table:
    """A table whose columns go by number: Spark may read a name as a path, or in another case."""

    df: DataFrame
    names: tuple[str, ...]

    @classmethod
    def of(cls, df: DataFrame) -> _Table:
        """Number the columns, and refuse an object that is not a table of Spark."""
        _refuse_others(df)
        names = quietly(lambda: tuple(df.columns), "df")
        for j, name in enumerate(names):
            if name in names[:j]:
                raise InvalidParameterError.duplicate_columns(name, name)
        return cls(df.toDF(*map(_number, range(len(names)))), names)

    def place(self, name: str) -> str:
        """Return the name that a column has by its number."""
        return _number(self.names.index(name))

    def key(self, name: str) -> Column:
        """Return a column to group by: text is told apart by its bytes, whatever its collation."""
        from pyspark.sql import functions as f

        place = self.names.index(name)
        kind = self.df.schema.fields[place].dataType
        column, plain = f.col(_number(place)), _without_collation(kind)
        return column if plain == kind else column.cast(plain).alias(_number(place))

    def empty(self) -> pl.DataFrame:
        """Return no records, with the names of the columns and the types of Polars."""
        for field, name in zip(self.df.schema.fields, self.names, strict=True):
            if not _reaches_python(field.dataType):
                raise InvalidDataError.unreadable("df", _stays(name, field))
        frame = self.read(self.df.limit(0))
        frame.columns = self.names
        return frame

    def read(self, df: DataFrame) -> pl.DataFrame:
        """Run a job and return its records."""
        return pl.DataFrame(quietly(df.toArrow, "df", lambda: self.names))

    def row(self, df: DataFrame) -> Any:
        """Run a job and return its only record."""
        return quietly(df.collect, "df", lambda: self.names)[0]


def _refuse_others(df: object) -> None:
    """Refuse what is not a table of Spark, classic or of Spark Connect, or has no end."""
    try:
        from pyspark.sql import DataFrame
    except ImportError:
        DataFrame = ()  # noqa: N806, as there is none
    need = "a Spark DataFrame; mask, fit_leaves and verify of polars_microagg take frames in memory"
    if not isinstance(df, DataFrame):
        kind = type(df)
        raise InvalidParameterError.kind("df", f"{kind.__module__}.{kind.__qualname__}", need)
    if df.isStreaming:
        need = "a Spark DataFrame that ends; mask the tables that a stream writes one by one"
        raise InvalidParameterError.kind("df", "a stream", need)


def _reaches_python(kind: DataType) -> bool:
    """Return whether Spark passes values of a type to Python as they are."""
    from pyspark.sql import types as t

    if isinstance(kind, t.StructType):
        unique = len(set(kind.names)) == len(kind.names)
        return unique and all(_reaches_python(field.dataType) for field in kind.fields)
    if isinstance(kind, t.MapType):
        return _reaches_python(kind.keyType) and _reaches_python(kind.valueType)
    if isinstance(kind, t.ArrayType):
        return _reaches_python(kind.elementType)
    return not isinstance(kind, t.YearMonthIntervalType | t.CalendarIntervalType)


def _without_collation(kind: DataType) -> DataType:
    """Return the type whose text has no collation, by which 'flu' could be 'Flu'."""
    from pyspark.sql import types as t

    if isinstance(kind, t.StructType):
        fields = kind.fields
        return t.StructType(
            [t.StructField(x.name, _without_collation(x.dataType), x.nullable) for x in fields]
        )
    if isinstance(kind, t.ArrayType):
        return t.ArrayType(_without_collation(kind.elementType), kind.containsNull)
    return t.StringType() if getattr(kind, "collation", None) else kind


def _stays(name: str, field: StructField) -> str:
    """Return the message about a column that Spark does not pass to Python."""
    return (
        f"column {name!r} is of type {field.dataType.simpleString()}, which Spark does not pass to "
        "Python. Leave it out, or cast it, as in CAST(x AS STRING); give fields of a struct names of "
        "their own."
    )


def _number(place: int) -> str:
    """Return the name of a column by its number."""
    return f"c{place}"


def _records(table: _Table, names: Sequence[str], plan: Plan) -> int:
    """Return the number of records, and refuse values and entities that are missing."""
    from pyspark.sql import functions as f
    from pyspark.sql.types import DoubleType, FloatType

    counts = [f.count(f.lit(1))]
    counts += [f.count_if(f.col(table.place(name)).isNull()) for name in plan.entity]
    for place in map(table.names.index, names):
        column = f.col(_number(place))
        counts.append(f.count_if(column.isNull()))
        odd = f.lit(False)
        if isinstance(table.df.schema.fields[place].dataType, FloatType | DoubleType):
            odd = f.isnan(column) | (f.abs(column) == float("inf"))
        counts.append(f.count_if(odd))
    records, *absent = table.row(table.df.agg(*counts))
    refuse_nameless(zip(plan.entity, absent, strict=False))
    absent = absent[len(plan.entity) :]
    schema = table.empty().schema
    kinds = {name: kind_for(name, schema[name], plan.kinds) for name in names}
    categories = [name for name, kind in kinds.items() if not kind.numeric]
    refuse_missing(zip(names, absent[::2], absent[1::2], strict=True), categories)
    for name in categories:
        if kinds[name].widens:
            distinct = table.read(table.df.select(table.key(name)).distinct())
            refuse_missing([(name, *missing_in(distinct.to_series(), kinds[name]))], categories)
    refuse_few(records, plan.k)
    return int(records)
