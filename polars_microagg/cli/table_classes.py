"""The classes of a table that the command line counts, whole or in batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import polars as pl

from polars_microagg.analysis.anonymity import emptied
from polars_microagg.cli.models import ROLES
from polars_microagg.cli.options import names_in
from polars_microagg.core.options import MODEL_OPTIONS, check_option
from polars_microagg.core.plan import Plan
from polars_microagg.errors import InvalidParameterError
from polars_microagg.frames.selection import by_name
from polars_microagg.leaves.memory_budget import bytes_of
from polars_microagg.out_of_core.class_sizes import ClassSizes
from polars_microagg.out_of_core.counts import class_sizes
from polars_microagg.out_of_core.given_tables import budget_of
from polars_microagg.out_of_core.parquet_source import ParquetSource
from polars_microagg.publishing.formats.batches import BATCH, Typed, frames_of, set_down
from polars_microagg.publishing.formats.files import Location
from polars_microagg.publishing.privacy_models import Recount, masking_options
from polars_microagg.publishing.raw_table import typed_values
from polars_microagg.wording import Setting

__all__ = ["CountedTable", "counted"]


def counted(
    place: Location,
    frame: pl.DataFrame,
    columns: tuple[Sequence[str], Sequence[str]],
    k: Any,
    options: Mapping[str, Any],
    whose: pl.DataFrame | None = None,
    *,
    bounds: bool = True,
) -> Recount:
    """Count a table by its classes of masked columns and strata, the two parts of `columns`.

    `whose` has the entity of each row, if it is not in the table. Without `bounds` options of models
    are those of measures.
    """
    known = {name: _known(name, frame, whose) for name in ROLES}
    named: dict[str, list[str]] = {n: names_in(n, options.get(n), known[n]) for n in ROLES}
    read = typed_values(place, frame, named["confidential"])
    plan = _plan(k, options, named, bounds=bounds)
    if named["entity"]:
        whose = (frame if whose is None else whose).select(map(by_name, named["entity"]))
    hidden = read.select(map(by_name, named["confidential"]))
    return Recount.of(plan, frame, [columns[0]], columns[1], whose, hidden)


def _plan(
    k: Any, options: Mapping[str, Any], named: Mapping[str, list[str]], *, bounds: bool
) -> Plan:
    """Return the plan of what is counted; `named` are the columns of each role."""
    asked = {**options, **{name: names or None for name, names in named.items()}}
    measures = {} if bounds else {n: v for n, v in asked.items() if n in MODEL_OPTIONS}
    for name, value in measures.items():
        check_option(MODEL_OPTIONS[name], value)
        if not named["confidential"]:
            raise InvalidParameterError.needs(Setting(name, value), "confidential")
    asked = {name: value for name, value in asked.items() if name not in measures}
    plan = Plan.make("mdav", k, **masking_options(asked))
    return replace(plan, models={**plan.models, **measures})


@dataclass(frozen=True)
class CountedTable:
    """A table on disk, its masked columns and strata, and its classes."""

    table: ParquetSource
    columns: list[str]
    strata: list[str]
    plan: Plan
    classes: ClassSizes

    @classmethod
    def of(
        cls,
        place: Location,
        folder: Path,
        columns: tuple[Any, Any],
        k: Any,
        options: Mapping[str, Any],
        memory: object,
        *,
        bounds: bool = True,
        beside: ParquetSource | None = None,
    ) -> Self:
        """Count a table in batches as `counted` does a whole one; `columns` are as they were typed.

        `beside` has the entity of each row, if it is not in the table.
        """
        hidden = options.get("confidential")

        def read(there: Sequence[str]) -> Typed:
            return Typed(quantities=names_in("confidential", hidden, there))

        table = set_down(place, folder, batch=BATCH, typed=read, name="counted.parquet")
        there = list(table.schema.names)
        names = names_in("columns", columns[0], there)
        strata = names_in("strata", columns[1], there)
        known = dict.fromkeys(ROLES, there)
        if beside is not None:
            known["entity"] = list(dict.fromkeys([*there, *beside.schema.names]))
            # An entity of the table itself needs no other one, whose rows must be the same.
            if {*names_in("entity", options.get("entity"), known["entity"])} <= {*there}:
                beside = None
            else:
                known["entity"] = list(beside.schema.names)
        named: dict[str, list[str]] = {n: names_in(n, options.get(n), known[n]) for n in ROLES}
        plan = _plan(k, options, named, bounds=bounds)
        budget = budget_of(bytes_of(memory), [names, strata, *named.values()], table)
        where: dict[str, Any] = {**named, "plan": plan, "folder": folder, "beside": beside}
        classes = class_sizes(table, [names], strata, budget, **where)[0]
        return cls(table, names, strata, plan, classes)

    def emptied(self) -> int:
        """Count the records without any value in the columns and strata."""
        frames = frames_of(self.table, BATCH)
        return sum(emptied(frame, self.columns, self.strata) for frame in frames)


def _known(name: str, frame: pl.DataFrame, whose: pl.DataFrame | None) -> list[str]:
    return frame.columns if whose is None or name != "entity" else whose.columns
