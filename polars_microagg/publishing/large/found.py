"""Findings in a release on disk: counted in bounded memory, measured beside its original."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from polars_microagg.core import registry
from polars_microagg.core.requirements import Requirement
from polars_microagg.leaves.memory_budget import MemoryBudget
from polars_microagg.out_of_core.class_sizes import ClassSizes
from polars_microagg.out_of_core.measures import assessed
from polars_microagg.out_of_core.parquet_source import ParquetSource
from polars_microagg.publishing.large.rare_cells import counted_rare
from polars_microagg.publishing.large.survey import SEED, Survey
from polars_microagg.publishing.large.warnings import Asked, warnings_of
from polars_microagg.publishing.manifest.categories import recorded_categories
from polars_microagg.publishing.manifest.model import Category, Sampled, Sizes
from polars_microagg.publishing.manifest.precision import coarse
from polars_microagg.publishing.manifest.record import QUANTILES
from polars_microagg.publishing.privacy_models import Recount
from polars_microagg.publishing.released_columns import ReleasedColumns
from polars_microagg.publishing.request import ReleaseRequest

__all__ = ["OnDisk"]

ENDS = ("dld_low", "dld_high")
"""The interval of the share of records that are linked."""


@dataclass(frozen=True)
class OnDisk:
    """A release on disk as it was read again, beside its original.

    `release` has the masked columns in their types, and `kept` says which rows of the original are in it.
    `classes` are those of each block of columns as they were read again, and `whole` those of all.
    """

    request: ReleaseRequest
    columns: ReleasedColumns
    original: ParquetSource
    release: ParquetSource
    kept: npt.NDArray[np.bool_] | None
    classes: Sequence[ClassSizes]
    whole: ClassSizes
    survey: Survey
    budget: MemoryBudget
    folder: Path
    counted: Recount | None = None
    beside: bool = True
    interval: dict[str, Any] = field(default_factory=dict)
    """Facts about a measure that was taken on a sample, once it is."""

    @property
    def rows(self) -> int:
        """Rows of the release."""
        return self.release.rows

    def sampled(self, digits: int) -> Sampled | None:
        """Return what was seen on a sample of the rows; None if nothing was."""
        linked = self.interval.get("dld_sampled") or self.rows
        drawn = linked < self.rows
        if not (drawn or self.survey.drawn):
            return None
        told = {n: self.interval.get(n) if drawn and digits else None for n in ENDS}
        told = {n: v if v is None else coarse("dld", v, digits) for n, v in told.items()}
        return {
            "seed": SEED,
            "warnings": self.survey.after.height if self.survey.drawn else None,
            "linked": linked if drawn else None,
            "dld_low": told["dld_low"],
            "dld_high": told["dld_high"],
        }

    def values(self) -> int:
        """Count the masked cells of the release that have a value."""
        return self.survey.values

    def emptied(self) -> int:
        """Count the rows without any value in the masked columns and strata."""
        return self.survey.emptied

    def sizes(self, blocks: Sequence[Sequence[str]]) -> list[Sizes]:
        """Return the classes on each block of columns."""
        known = {tuple(found.columns): found for found in (*self.classes, self.whole)}
        return [known[tuple(names)].recorded(QUANTILES) for names in blocks]  # type: ignore[misc]

    def fewest(self) -> int:
        """Count the records that any two masked columns have in common in both tables."""
        return self.survey.fewest

    def taken(self) -> dict[str, Any]:
        """Measure a release."""
        return self._measured(list(registry.assessed(entity=bool(self.columns.entity))))

    def on_demand(self, required: Sequence[Requirement]) -> dict[str, Any]:
        """Compute the required measures that are not among those of every release."""
        names = list(dict.fromkeys(r.name for r in required if r.name in registry.on_demand()))
        return self._measured(names) if names else {}

    def _measured(self, metrics: list[str]) -> dict[str, Any]:
        measured = assessed(
            self.original,
            self.release,
            self.columns.names,
            metrics=metrics,
            kinds=dict(self.request.kinds),
            entity=self.columns.entity,
            strata=self.columns.strata,
            kept_rows=self.kept,
            budget=self.budget,
            seed=SEED,
            folder=self.folder,
        )
        self.interval.update({n: measured.pop(n) for n in (*ENDS, "dld_sampled") if n in measured})
        return dict(measured)

    def categories(self) -> list[Category]:
        """Describe the masked columns of categories."""
        before = self.original.empty if self.beside else None

        def rare(names: Sequence[str]) -> dict[str, tuple[float, int]]:
            tables = self.original, self.release, self.kept, self.columns
            return counted_rare(names, *tables, self.request.k, self.budget)

        asked = self.request.kinds, before, self.release.empty, self.columns, self.request.k
        return recorded_categories(*asked, rare)

    def imputed(self) -> dict[str, int]:
        """Count the cells of each masked column that had no value, and have one."""
        return self.survey.imputed

    def warnings(self, *, beside: bool) -> list[str]:
        """Warn of what can be seen in the release, and beside the original of more."""
        columns, request = self.columns, self.request
        center = str(request.options.get("center", "mean"))
        roles = columns.blocks, columns.strata, columns.as_they_are
        # As in a release that is whole, nobody is known without the original but by what is released.
        known = beside or {*columns.entity} == {*columns.followed}
        entity = columns.entity if known else []
        mode = request.options.get("entity_mode")
        call = Asked(*roles, request.k, center, request.kinds, entity, mode)
        found = self.survey, self.release, self.whole
        return warnings_of(call, *found, beside=beside)
