"""Calls of `compare` and `recommend`, and their answers as DuckDB takes them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import polars as pl
import pyarrow as pa

from polars_microagg.analysis.compare import TYPES, compare
from polars_microagg.analysis.recommend import recommend
from polars_microagg.core import registry
from polars_microagg.core.options import COMMON
from polars_microagg.core.partition import Labels
from polars_microagg.core.plan import Plan
from polars_microagg.duckdb.arrow_lists import ListColumn
from polars_microagg.duckdb.identifiers import OURS, ROW, find, listed_blocks, listed_names
from polars_microagg.duckdb.list_batch import batch_of
from polars_microagg.duckdb.macro_call import READERS, MaskCall
from polars_microagg.duckdb.trees import stand_ins
from polars_microagg.errors import InvalidParameterError
from polars_microagg.errors.release import none_compared

__all__ = ["DEFAULT", "ROWS", "CompareCall", "compare_lists", "numbers", "recommended"]

ROWS = "STRUCT(method VARCHAR, k BIGINT, pareto BOOLEAN, note VARCHAR, numbers DOUBLE[])[]"
"""The type of the rows of `compare` in DuckDB."""

BESIDE = ("method", "k", "pareto", "note")
"""Columns of `compare` that are no measures."""

DEFAULT = len(TYPES) - len(BESIDE)
"""Numbers of `compare` that are given by default, and come before all others."""

STRATUM = f"{OURS}stratum"
"""The column that stands for the strata of a call."""


def numbers() -> dict[str, bool]:
    """Return the numbers of `compare`, and whether each is whole: those by default first.

    >>> list(numbers())[:3]
    ['loss', 'il', 'dld']
    """
    default = {name: dtype.is_integer() for name, dtype in TYPES.items() if name not in BESIDE}
    return default | {n: e.whole for n, e in registry.metrics().items() if n not in default}


@dataclass(frozen=True)
class CompareCall(MaskCall):
    """A call of the macro `compare`: its columns play the roles that they play in masking."""

    metrics: tuple[str, ...] = ()
    asked: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, spec: Mapping[str, Any]) -> Self:
        """Check everything that the table is not needed for, and that masking does not check."""
        metrics = listed_names("metrics", spec["metrics"])
        for name in metrics:
            if name not in spec["offered"]:
                raise InvalidParameterError.choice("metrics", name, spec["offered"])
        common = {name: spec[name] for name in COMMON if name in spec}
        plan = Plan.make("mdav", 2, **stand_ins(common))
        asked = {n: spec[n] for n in ("methods", "ks", "known", "known_sample", "seconds")}
        blocks, strata = listed_blocks(spec["columns"]), listed_names("strata", spec["strata"])
        return cls(plan, tuple(blocks), strata, False, None, metrics, asked | {"common": common})

    @property
    def shown(self) -> list[str]:
        """Return the columns of the table, in their order."""
        return [*TYPES, *(name for name in self.metrics if name not in TYPES)]


READERS["ks"] = CompareCall


def compare_lists(
    call: CompareCall, columns: Sequence[ListColumn], rows: Labels, first_rows: Labels
) -> pa.Array:
    """Compare methods on the records of a table; parameters as for `batch_of`."""
    masker, batch, types = batch_of(call, columns, rows, first_rows)
    plan, divided = masker.plan, bool(first_rows.any())
    names = [*types, *[STRATUM] * divided, *plan.entity, *plan.confidential]
    frame = batch.rename(dict(zip(batch.columns, names, strict=True)))
    asked = dict(call.asked)
    options = {n: v for n, v in asked.pop("common").items() if v != COMMON[n]}
    for name, found in {**plan.kinds, "column_weights": plan.column_weights}.items():
        options |= {name: found} if found else {}
    options |= {"entity": plan.entity or None, "confidential": plan.confidential or None}
    if isinstance(asked["known"], str | list) and asked["known"] not in ("all", "subsets"):
        asked["known"] = find("known", listed_names("known", asked["known"]), list(types))
    table = compare(
        frame,
        [list(block) for block in plan.blocks],
        strata=STRATUM if divided else None,
        metrics=call.metrics or None,
        **{name: value for name, value in asked.items() if value is not None},
        **{name: value for name, value in options.items() if value is not None},
    )
    offered = numbers()
    answer = [
        {name: row[name] for name in BESIDE} | {"numbers": [row.get(name) for name in offered]}
        for row in table.to_dicts()
    ]
    return pa.array([answer], _arrow())


def _arrow() -> pa.DataType:
    kinds = {"method": pa.string(), "k": pa.int64(), "pareto": pa.bool_(), "note": pa.string()}
    return pa.list_(pa.struct([*kinds.items(), ("numbers", pa.list_(pa.float64()))]))


def recommended(text: str, rows: Sequence[str]) -> dict[str, Any]:
    """Return the number of the row that is recommended, whether it meets what is required, and why."""
    asked = json.loads(text)
    if not rows:
        raise none_compared()
    # As a text: a number could be required.
    read = [json.loads(row) | {ROW: str(number)} for number, row in enumerate(rows)]
    table = recommend(pl.DataFrame(read, infer_schema_length=None), **asked)
    chosen = table.row(0, named=True)
    return {"row": int(chosen[ROW]), "met": chosen["met"], "reason": chosen["reason"]}
