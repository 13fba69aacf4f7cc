"""A table of Spark, classic or of Spark Connect, whose columns go by number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_microagg.core.plan import Plan
from polars_microagg.errors import InvalidDataError, InvalidParameterError
from polars_microagg.frames.columns import kind_for
from polars_microagg.frames.safe_collect import quietly
from polars_microagg.leaves.refusals import missing_in, refuse_missing

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType, StructField

__all__ = ["Absent", "SparkTable"]


@dataclass(frozen=True)
class SparkTable:
    """A table whose columns go by number: Spark may read a name as a path, or in another case."""

    df: DataFrame
    names: tuple[str, ...]

    @classmethod
    def of(cls, df: DataFrame) -> SparkTable:
        """Number the columns, and refuse an object that is not a table of Spark."""
        _refuse_others(df)
        names = quietly(lambda: tuple(df.columns), "df")
        for j, name in enumerate(names):
            if name in names[:j]:
                raise InvalidParameterError.duplicate_columns(name, name)
        return cls(df.toDF(*map(_number, range(len(names)))), names)

    def only(self, names: Sequence[str]) -> SparkTable:
        """Return the table with some of its columns, each once."""
        kept = tuple(dict.fromkeys(names))
        few = self.df.select(*map(self.place, kept))
        return SparkTable(few.toDF(*map(_number, range(len(kept)))), kept)

    def place(self, name: str) -> str:
        """Return the name that a column has by its number."""
        return _number(self.names.index(name))

    def field(self, name: str) -> StructField:
        """Return the field of a column, by its number."""
        return self.df.schema.fields[self.names.index(name)]

    def key(self, name: str) -> Column:
        """Return a column to group by: text is told apart by its bytes, whatever its collation."""
        from pyspark.sql import functions as f

        kind = self.field(name).dataType
        column, plain = f.col(self.place(name)), _without_collation(kind)
        return column if plain == kind else column.cast(plain).alias(self.place(name))

    def minus(self, name: str) -> Column | None:
        """Return which floats of a column are -0.0, which a reader can tell from 0.0; None of others."""
        from pyspark.sql import functions as f
        from pyspark.sql.types import DoubleType, FloatType

        if not isinstance(self.field(name).dataType, FloatType | DoubleType):
            return None
        column = f.col(self.place(name))
        # Only text shows the sign of a zero at every engine, as a division by zero may be an error.
        return (column == 0) & column.cast("string").startswith("-")

    def categories(self, name: str, entity: Sequence[str]) -> DataFrame:
        """Return each `value` of a column but null, its `rows`, and who `held` it: records or entities."""
        from pyspark.sql import functions as f

        rows = f.count(f.lit(1))
        held = f.count_distinct(*map(self.key, entity)) if entity else rows
        there = self.df.where(f.col(self.place(name)).isNotNull())
        return there.groupBy(self.key(name)).agg(rows, held).toDF("value", "rows", "held")

    def empty(self) -> pl.DataFrame:
        """Return no records, with the names of the columns and the types of Polars."""
        return self._empty

    @cached_property
    def _empty(self) -> pl.DataFrame:
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


@dataclass(frozen=True)
class Absent:
    """The records of a table, and what is missing in it: of each entity, and of each masked column."""

    records: int
    nameless: list[tuple[str, int]]
    masked: list[tuple[str, int, int]]

    @classmethod
    def of(cls, table: SparkTable, names: Sequence[str], entity: Sequence[str]) -> Absent:
        """Count in one job."""
        from pyspark.sql import functions as f
        from pyspark.sql.types import DoubleType, FloatType

        counts = [f.count(f.lit(1))]
        counts += [f.count_if(f.col(table.place(name)).isNull()) for name in entity]
        for name in names:
            column, odd = f.col(table.place(name)), f.lit(False)
            counts.append(f.count_if(column.isNull()))
            if isinstance(table.field(name).dataType, FloatType | DoubleType):
                odd = f.isnan(column) | (f.abs(column) == float("inf"))
            counts.append(f.count_if(odd))
        records, *found = map(int, table.row(table.df.agg(*counts)))
        nulls, others = found[len(entity) :: 2], found[len(entity) + 1 :: 2]
        nameless = list(zip(entity, found, strict=False))
        return cls(records, nameless, list(zip(names, nulls, others, strict=True)))

    def refuse(self, table: SparkTable, schema: Any, plan: Plan) -> None:
        """Refuse nulls that a call does not take, NaN, infinities, and what is in no taxonomy."""
        kinds = {name: kind_for(name, schema[name], plan.kinds) for name, *_ in self.masked}
        categories = [name for name, kind in kinds.items() if not kind.numeric]
        taken = plan.nulls == "raise"
        missing = [(name, nulls * taken, others) for name, nulls, others in self.masked]
        refuse_missing(missing, categories)
        for name in categories:
            if kinds[name].widens:
                distinct = table.read(table.df.select(table.key(name)).distinct()).to_series()
                others = missing_in(distinct, kinds[name])[1]
                refuse_missing([(name, 0, others)], categories)


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
    # Of Spark 4.1, which has times of day, but passes none to functions of Python.
    if isinstance(kind, getattr(t, "TimeType", ())):
        return False
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
