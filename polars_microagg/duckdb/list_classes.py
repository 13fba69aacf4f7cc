"""Classes of equal records, from lists of DuckDB: counted, and held to what is asked of them."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from polars_microagg.analysis.counted_classes import CountedClasses
from polars_microagg.core.partition import Labels
from polars_microagg.duckdb.arrow_lists import ListColumn
from polars_microagg.duckdb.identifiers import find
from polars_microagg.duckdb.macro_call import VerifyCall, counts

__all__ = ["count_classes"]


def count_classes(
    call: VerifyCall, sizes: Labels, numbers: Labels, columns: Sequence[ListColumn]
) -> list[float | None]:
    """Return the numbers of `counts`, or refuse classes that break the bounds of the call.

    Without an entity and confidential columns `sizes` are those of the classes; else `numbers` (n,) are
    the classes of the records, and `columns` what is counted in them.
    """
    found: dict[str, float | None] = {}
    counted = CountedClasses.of_sizes(sizes)
    if call.entity or call.confidential:
        held = {column.name: column.counted() for column in columns}
        entity = find("entity", call.entity, list(held))
        confidential = find("confidential", call.confidential, list(held))
        # The number of its class stands for what a record has in the columns and strata.
        keys = [*call.columns, *call.strata]
        table = pl.DataFrame(dict.fromkeys(keys, pl.Series(numbers)) | held)
        counted = CountedClasses.of(table, keys, entity, confidential, call.options)
        sizes = counted.members.sizes
        found |= counted.of_entities().row(0, named=True) if entity else {}
        found |= counted.of_models().row(0, named=True) if confidential else {}
    if call.plan:
        counted.hold(call.plan, call.columns, call.strata)
    found["records"], found["classes"] = int(sizes.sum()), len(sizes)
    if len(sizes):
        found["k_min"], found["k_prime"] = int(sizes.min()), float(sizes.sum() / len(sizes))
    found["uniques"] = int((sizes == 1).sum())
    return [found.get(name) for name in counts()]
