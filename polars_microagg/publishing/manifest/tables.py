"""A release and its original in memory, as the checks of a manifest read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import polars as pl

from polars_microagg.analysis.anonymity import emptied, fewest_records
from polars_microagg.core.requirements import Requirement
from polars_microagg.errors import originals
from polars_microagg.publishing.column_kinds import kinds_of
from polars_microagg.publishing.formats.files import Location, rows_digest
from polars_microagg.publishing.formats.text_types import typed
from polars_microagg.publishing.judgement import measured_on_demand
from polars_microagg.publishing.large.sampled_checks import (
    measured_again,
    of_sample,
    warnings_again,
)
from polars_microagg.publishing.large.warnings import Asked
from polars_microagg.publishing.manifest.categories import categories_again
from polars_microagg.publishing.manifest.compare_original import (
    aligned,
    entity_in,
    exchanged,
    in_types,
    not_text,
    off_centre,
)
from polars_microagg.publishing.manifest.consistency import Outcome
from polars_microagg.publishing.manifest.imputed import counted_imputed, counted_values
from polars_microagg.publishing.manifest.model import Manifest, Sizes
from polars_microagg.publishing.manifest.recheck_models import ModelsAgain
from polars_microagg.publishing.manifest.record import (
    recorded_classes,
    taken_of_release,
)

__all__ = ["Tables", "WholeTables"]


class Tables(Protocol):
    """A release, and its original if it is there, as checks need them."""

    @property
    def height(self) -> int:
        """Rows of the release."""

    @property
    def heights(self) -> tuple[int, int] | None:
        """Rows of the original, and of them those that were not dropped."""

    def emptied(self) -> int:
        """Count the rows without any value in the masked columns and strata."""

    def values(self) -> int:
        """Count the masked cells of the release that have a value."""

    @property
    def models(self) -> ModelsAgain | None:
        """Return the counts of entities and confidential columns; None if they cannot be counted."""

    def digest(self) -> str:
        """Hash the rows of the release."""

    def mac(self, source: Location, key: bytes) -> dict[str, str]:
        """Hash the original with a key."""

    def exchanged(self) -> list[str] | None:
        """Find kept columns and strata that are not those of the original; None if that is not known."""

    def classes(self, blocks: Sequence[Sequence[str]]) -> list[Sizes]:
        """Count the classes on each block of columns."""

    def fewest(self) -> int:
        """Count the records that any two masked columns have in common in all tables."""

    def measured(self) -> dict[str, Any]:
        """Measure again: everything, or the release alone."""

    def on_demand(self, required: Sequence[Requirement]) -> dict[str, Any]:
        """Compute the required measures that are not among those of every release."""

    def off_centre(self) -> list[str]:
        """Find the masked columns whose values are not centres of those before."""

    def categories(self) -> Outcome:
        """Check the columns of categories."""

    def imputed(self) -> dict[str, int] | None:
        """Count the cells of each masked column that were filled; None without the original."""

    def warnings(self, call: Asked, *, beside: bool) -> list[str] | None:
        """Warn again; None if that cannot be done as it was."""


@dataclass(frozen=True)
class WholeTables:
    """Both tables in memory, as they were read."""

    manifest: Manifest
    place: Location
    frame: pl.DataFrame
    before: pl.DataFrame | None = None

    @property
    def height(self) -> int:
        """Rows of the release."""
        return self.frame.height

    @property
    def heights(self) -> tuple[int, int] | None:
        """Rows of the original, and of them those that were not dropped."""
        if self.before is None or self._aligned is None:
            return None
        return self.before.height, self._aligned.height

    def emptied(self) -> int:
        """Count the rows without any value in the masked columns and strata."""
        roles = self.manifest["roles"]
        return emptied(self.frame, [*roles["mask"], *roles["stratum"]])

    def values(self) -> int:
        """Count the masked cells of the release that have a value."""
        return counted_values(self.frame, self.manifest["roles"]["mask"])

    @cached_property
    def _aligned(self) -> pl.DataFrame | None:
        """Return the original without the rows that were dropped."""
        return None if self.before is None else aligned(self.manifest, self.before)

    def digest(self) -> str:
        """Hash the rows of the release."""
        return rows_digest(self.frame)

    def mac(self, source: Location, key: bytes) -> dict[str, str]:
        """Hash the original with a key."""
        return source.mac(key, [] if self.before is None else self.before)

    def exchanged(self) -> list[str]:
        """Find kept columns and strata that are not those of the original."""
        return [] if self._aligned is None else exchanged(self.manifest, self._aligned, self.frame)

    def classes(self, blocks: Sequence[Sequence[str]]) -> list[Sizes]:
        """Count the classes on each block of columns."""
        return recorded_classes(self.frame, blocks, self.manifest["config"]["strata"])

    @cached_property
    def models(self) -> ModelsAgain:
        """Return the counts of entities and confidential columns."""
        return ModelsAgain(self.manifest, self.place.format, self.frame, self._aligned)

    @cached_property
    def pair(self) -> list[pl.DataFrame]:
        """Return the original, if it is there, and the release, with the types of the original."""
        if self._aligned is None:
            # A column without any value has no type in JSON.
            return [typed(self.frame.cast({pl.Null: pl.String}), not_text(self.manifest))]
        if self._aligned.height != self.frame.height:
            raise originals.other_rows(self._aligned.height, self.frame.height)
        return in_types(self.manifest, self.place.format, self._aligned, self.frame)

    def fewest(self) -> int:
        """Count the records that any two masked columns have in common in all tables."""
        return fewest_records(self.manifest["roles"]["mask"], *self.pair)

    def measured(self) -> dict[str, Any]:
        """Measure again: everything, or the release alone."""
        names, kinds = self.manifest["roles"]["mask"], kinds_of(self.manifest["config"])
        if self._aligned is not None:
            before, after = self.pair
            return measured_again(self.manifest, before, after, names, kinds)
        return taken_of_release(self.pair[0], names, kinds, self.manifest["roles"]["stratum"])

    def on_demand(self, required: Sequence[Requirement]) -> dict[str, Any]:
        """Compute the required measures that are not among those of every release."""
        names, (before, after) = self.manifest["roles"]["mask"], self.pair
        asked = kinds_of(self.manifest["config"]), entity_in(self.manifest, before)
        strata, sampled = self.manifest["roles"]["stratum"], of_sample(self.manifest)
        required = [bound for bound in required if bound.name not in sampled]
        return measured_on_demand(required, before, after, names, *asked, strata)

    def off_centre(self) -> list[str]:
        """Find the masked columns whose values are not centres of those before."""
        before, after = self.pair
        return off_centre(self.manifest, before, after)

    def categories(self) -> Outcome:
        """Check the columns of categories."""
        return categories_again(self.manifest, self.pair)

    def imputed(self) -> dict[str, int] | None:
        """Count the cells of each masked column that were filled; None without the original."""
        if self._aligned is None:
            return None
        before, after = self.pair
        return counted_imputed(before, after, self.manifest["roles"]["mask"])

    def warnings(self, call: Asked, *, beside: bool) -> list[str] | None:
        """Warn again."""
        if beside:
            return warnings_again(self.manifest, self.pair[0], self.pair[1], call)
        return warnings_again(self.manifest, None, self.frame, call)
