"""Categories of a table of Spark: how many records, or entities, have each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields

import polars as pl
import pyarrow as pa

from polars_microagg.core.plan import Plan
from polars_microagg.frames.columns import kind_for
from polars_microagg.frames.rare_categories import RareValues, countable
from polars_microagg.frames.selection import as_frame
from polars_microagg.leaves.spark_table import SparkTable

__all__ = ["refuse_rare_on"]


def refuse_rare_on(table: SparkTable, plan: Plan) -> None:
    """Refuse columns of categories of which most would be lost, counted on the whole table in a job each."""
    schema = table.empty().schema
    names = [name for block in plan.blocks for name in block]
    kinds = {name: kind_for(name, schema[name], plan.kinds) for name in names}
    columns = ", ".join(f"{each.name} long" for each in fields(RareValues))
    for name, kind in countable(kinds).items():
        each, found = table.categories(name, plan.entity), RareValues()
        for row in table.read(each.mapInArrow(_Adder(plan.k), columns)).rows(named=True):
            found = found.with_(RareValues(**row))
        found.refuse(name, kind, plan.k, entities=bool(plan.entity))


@dataclass(frozen=True)
class _Adder:
    """Adds up the categories of each batch, of which none is in another."""

    k: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the counts of each batch as one row."""
        for batch in batches:
            row = RareValues.of(as_frame(batch), self.k)
            yield from pl.DataFrame([asdict(row)]).to_arrow().to_batches()
