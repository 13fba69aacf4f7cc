"""Privacy models of a release, counted again on what was read: its persons, its confidential columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import polars as pl

from polars_microagg.analysis.counted_classes import (
    ENTITY_COUNTS,
    CountedClasses,
    confidential_models,
    entity_models,
    farthest,
)
from polars_microagg.core.options import MODEL_OPTIONS
from polars_microagg.core.plan import Plan
from polars_microagg.frames.attributes import confidential_of, entity_of
from polars_microagg.frames.classes import classes_of
from polars_microagg.out_of_core.class_sizes import ClassSizes
from polars_microagg.publishing.manifest.model import Entities, Found, Models
from polars_microagg.publishing.manifest.precision import coarse, coarse_count
from polars_microagg.publishing.manifest.rounding import rounded

__all__ = [
    "PROMISES",
    "Recount",
    "coarse_entities",
    "coarse_fewest",
    "figures_of",
    "masking_options",
]

PROMISES = ("entity", "entity_mode", "max_rows_per_entity", "confidential", *MODEL_OPTIONS)
"""Options of a call that say what its groups must satisfy besides their size."""


def masking_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options without confidential columns that no model is asked of.

    A release has such columns, and only measures them; grouping takes no notice of them.

    >>> masking_options({"confidential": ["dx"], "seed": 1}), masking_options({"t": 0.2})
    ({'seed': 1}, {'t': 0.2})
    """
    asked = any(options.get(name) is not None for name in confidential_models())
    return {n: value for n, value in options.items() if n != "confidential" or asked}


def figures_of(counted: CountedClasses | ClassSizes) -> dict[str, Any]:
    """Return the worst class by each model, by the names of requirements."""
    found = counted.of_models().row(0, named=True) if counted.confidential else {}
    return found | (counted.of_entities().row(0, named=True) if counted.entity else {})


def coarse_entities(counts: Mapping[str, Any], rows: int, digits: int | None) -> dict[str, Any]:
    """Round counts and shares of entities, which only the original shows, in a release of so many rows.

    None keeps counts exact, because the release has the columns of the entity; of 0 digits none is published.

    >>> coarse_entities({"entities": 4_321, "k_entities": 5}, 10_000, 3)
    {'entities': 4320, 'k_entities': 5}
    """
    if digits is None:
        return rounded(counts)
    if not digits:
        return dict.fromkeys(counts)
    told: dict[str, Any] = {
        name: coarse(name, count, digits)
        if isinstance(count, float)
        else coarse_fewest(count, rows, digits)
        for name, count in counts.items()
    }
    if (entities := counts.get("entities")) is not None:
        others = [n for name, n in told.items() if name != "entities" and isinstance(n, int)]
        told["entities"] = max([coarse_count(entities, rows, digits)[0], *others])
    return told


def coarse_fewest(count: int | None, rows: int, digits: int) -> int | None:
    """Round the fewest entities of any class to some significant digits, and to no more than rows.

    >>> coarse_fewest(137, 9_000, 2)
    140
    """
    return None if count is None else min(rows, int(float(f"{count:.{digits}g}")))


@dataclass(frozen=True)
class Recount:
    """The classes that a reader of a release sees, and what privacy models count in them.

    `classes` are those of each block of columns, and `whole` those of all masked columns together.
    """

    plan: Plan
    blocks: list[list[str]]
    strata: list[str]
    classes: list[CountedClasses]
    whole: CountedClasses

    @classmethod
    def of(
        cls,
        plan: Plan,
        release: pl.DataFrame,
        blocks: Sequence[Sequence[str]],
        strata: Sequence[str],
        entity: pl.DataFrame | None,
        confidential: pl.DataFrame,
    ) -> Self:
        """List the classes of a release; `entity` and `confidential` are columns of the same rows.

        `entity` is None if it is not known whose the rows are.
        """
        whose = [] if entity is None else entity.get_columns()
        who = entity_of(whose, [column.name for column in whose]) if whose else None
        # Methods of a Series look it up by its name, where "^a$" would be a pattern.
        hidden = tuple(confidential_of(c.alias("0"), c.name) for c in confidential.get_columns())
        named = [list(block) for block in blocks]
        sets = named if len(named) == 1 else [*named, [name for block in named for name in block]]
        counted = [
            CountedClasses(classes_of(release, [*names, *strata]), who, hidden, plan.models)
            for names in sets
        ]
        return cls(plan, named, list(strata), counted[: len(named)], counted[-1])

    def hold(self) -> None:
        """Refuse a release of which a class breaks what was promised."""
        for block, counted in zip(self.blocks, self.classes, strict=True):
            counted.hold(self.plan, block, self.strata)

    def figures(self) -> dict[str, Any]:
        """Return the worst class of whole masked records by each model, by the names of requirements."""
        return figures_of(self.whole)

    def entities(self) -> dict[str, Any]:
        """Count the entities, the fewest of a class, and the fewest with the same rows; judge their rows."""
        if self.whole.entity is None:
            return dict.fromkeys(ENTITY_COUNTS)
        alike = self.classes if self.plan.entity_mode == "alike" else []
        return {
            "entities": len(self.whole.entity.counts),
            "k_entities": _least(counted.fewest_entities for counted in self.classes),
            "alike_min": _least(counted.fewest_alike for counted in alike),
            **{
                name: farthest(entry, (counted.of_rows[name] for counted in self.classes))
                for name, entry in entity_models().items()
            },
        }

    def found(self) -> list[Found]:
        """Return the worst class of any block by each model of each confidential column, rounded."""
        found = list[Found]()
        for name, entry in confidential_models().items():
            for column in (attribute.name for attribute in self.whole.confidential):
                worst = farthest(entry, (counted.worst[name][column] for counted in self.classes))
                asked, told = self.plan.models[name], rounded({"found": worst})["found"]
                found.append({"model": name, "column": column, "asked": asked, "found": told})
        return found

    def recorded(self, released: Sequence[str], rows: int, digits: int | None) -> Models:
        """Write what was found into a manifest; of entities as `coarse_entities` rounds them."""
        made: Models = {"confidential": self.found()}
        if self.plan.entity:
            counts = coarse_entities(self.entities(), rows, digits)
            entities: Entities = {
                "released": list(released),
                "mode": self.plan.entity_mode or "rows",
                "entities": counts["entities"],
                "k_entities": counts["k_entities"],
                "alike_min": counts["alike_min"],
                "models": {name: counts[name] for name in entity_models()},
            }
            made["entity"] = entities
        return made


def _least(counts: Iterable[int | None]) -> int | None:
    """Return the least count; None of none."""
    return min((count for count in counts if count is not None), default=None)
