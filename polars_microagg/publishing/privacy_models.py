"""Privacy models of a release, counted again on what was read: its persons, its confidential columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import polars as pl

from polars_microagg.core.attributes import Attribute
from polars_microagg.core.entities import fewest_alike
from polars_microagg.core.model import Model, models
from polars_microagg.core.options import MODEL_OPTIONS
from polars_microagg.core.partition import Labels, Members
from polars_microagg.core.plan import Plan
from polars_microagg.core.rule import Bound, Rule
from polars_microagg.errors.release import bound_broken, rows_of_too_few
from polars_microagg.frames.attributes import confidential_of, entity_of
from polars_microagg.frames.released_strata import told_apart
from polars_microagg.frames.selection import by_name
from polars_microagg.publishing.formats.text_types import typed
from polars_microagg.publishing.manifest.model import Entities, Found, Models
from polars_microagg.publishing.manifest.rounding import rounded
from polars_microagg.wording import Setting

__all__ = ["OF_ENTITIES", "PROMISES", "Recount", "masking_options", "quantities"]

PROMISES = ("entity", "entity_mode", "cap_rows", "confidential", *MODEL_OPTIONS)
"""Options of a call that say what its groups must satisfy besides their size."""

OF_ENTITIES = ("entities", "k_entities", "alike_min")
"""Figures of a release that the entity of each record is needed for."""

CODE = r"^\s*[+-]?0[0-9]|[eEnN]"
"""A number as it is written in codes, such as 007 and 1E3, which are not quantities."""


def masking_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options without confidential columns that no model is asked of.

    A release has such columns, and only measures them; grouping takes no notice of them.

    >>> masking_options({"confidential": ["dx"], "seed": 1}), masking_options({"t": 0.2})
    ({'seed': 1}, {'t': 0.2})
    """
    asked = [
        name
        for name, entry in models().items()
        if entry.of == "confidential" and options.get(name) is not None
    ]
    return {n: value for n, value in options.items() if n != "confidential" or asked}


def quantities(frame: pl.DataFrame, names: Iterable[str]) -> pl.DataFrame:
    """Read numbers and dates from columns of text, but for codes such as 007.

    >>> quantities(pl.DataFrame({"pay": ["9.50", "7"], "dx": ["011", "012"]}), ["pay", "dx"]).dtypes
    [Float64, String]
    """
    texts = [name for name in names if frame.schema[name] == pl.String]
    coded = frame.select(by_name(name).str.contains(CODE).any() for name in texts)
    return typed(frame, [name for name in texts if not coded[name].item()])


@dataclass(frozen=True)
class Recount:
    """The rows of a release by the classes that a reader sees, and what privacy models count of them.

    `classes` has for each block of columns the number of the class of each row, and `whole` those
    of all masked columns together.
    """

    plan: Plan
    blocks: list[list[str]]
    strata: list[str]
    classes: list[Labels]
    whole: Labels
    entity: Attribute | None
    confidential: list[Attribute]

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
        """Number the classes of a release; `entity` and `confidential` are columns of the same rows.

        `entity` is None if it is not known whose the rows are.
        """
        counted = [list(block) for block in blocks]
        numbered = [_numbers(release, [*block, *strata]) for block in counted]
        names = [name for block in counted for name in block]
        return cls(
            plan,
            counted,
            list(strata),
            numbered,
            numbered[0] if len(numbered) == 1 else _numbers(release, [*names, *strata]),
            entity_of(entity.get_columns(), entity.columns)
            if entity is not None and entity.width
            else None,
            # Methods of a Series look it up by its name, where "^a$" would be a pattern.
            [confidential_of(one.alias("0"), one.name) for one in confidential.get_columns()],
        )

    def hold(self) -> None:
        """Refuse a release of which a class breaks what was promised."""
        rule = self.plan.rule(self.entity, self.confidential)
        for block, labels in zip(self.blocks, self.classes, strict=True):
            groups = rule.groups(labels)
            if bound := rule.broken(groups):
                what = bound.model.what
                raise bound_broken(
                    Setting(bound.model.name, bound.limit),
                    f"the number of {what}" if bound.model.of == "entity" else what,
                    bound.attribute.name if bound.attribute else "",
                    (int(bound.failing(groups).sum()), len(groups.sizes)),
                    bound.worst(groups),
                    (block, self.strata),
                )
        if self._alike is not None and self._alike < self.plan.k:
            mode = Setting("entity_mode", "alike")
            raise rows_of_too_few(mode, self.plan.entity, self._alike, self.plan.k)

    @cached_property
    def _alike(self) -> int | None:
        """Count the fewest entities that have the same rows, if the rows of each must be alike."""
        entity = self.entity
        if entity is None or self.plan.entity_mode != "alike":
            return None
        return min(fewest_alike(entity.codes, labels) for labels in self.classes)

    def bounds(self) -> list[tuple[Bound, str]]:
        """Return every model of confidential columns on each, also those not asked for, and its name."""
        return [
            (Bound(entry, self.plan.models[name], attribute, self._options(entry)), attribute.name)
            for name, entry in models().items()
            if entry.of == "confidential"
            for attribute in self.confidential
        ]

    def _options(self, entry: Model) -> dict[str, Any]:
        """Return the options of a model."""
        return {option: self.plan.models[option] for option in entry.options}

    @cached_property
    def _worst(self) -> list[tuple[Bound, str, list[int | float]]]:
        """Measure the worst class of each block, and last of whole records, by each bound."""
        every = Rule(tuple(bound for bound, _ in self.bounds()))
        groups = [every.groups(labels) for labels in (*self.classes, self.whole)]
        if self.whole is self.classes[0]:
            del groups[-1]
        return [
            (bound, name, [_worst(bound, one) for one in groups]) for bound, name in self.bounds()
        ]

    def figures(self) -> dict[str, Any]:
        """Return the worst class of whole masked records by each model, by the names of requirements."""
        found: dict[str, Any] = {}
        for bound, _, worst in self._worst:
            best = min if bound.model.at_least else max
            found[bound.model.name] = best(worst[-1], found.get(bound.model.name, worst[-1]))
        if self.entity is not None:
            found["entities"] = len(self.entity.counts)
            found["k_entities"] = _fewest_entities(self.plan, self.entity, self.whole)
            found["alike_min"] = fewest_alike(self.entity.codes, self.whole)
        return found

    def entities(self) -> dict[str, int | None]:
        """Count the entities, the fewest of a class, and the fewest with the same rows."""
        if self.entity is None:
            return dict.fromkeys(OF_ENTITIES)
        fewest = [_fewest_entities(self.plan, self.entity, labels) for labels in self.classes]
        counts = (len(self.entity.counts), min(fewest), self._alike)
        return dict(zip(OF_ENTITIES, counts, strict=True))

    def found(self) -> list[Found]:
        """Return the worst class of any block by each model of each confidential column, rounded."""
        found = list[Found]()
        for bound, name, worst in self._worst:
            number = (min if bound.model.at_least else max)(worst[: len(self.classes)])
            found.append(
                {
                    "model": bound.model.name,
                    "column": name,
                    "asked": bound.limit,
                    "found": rounded({"found": number})["found"],
                }
            )
        return found

    def recorded(self, released: Sequence[str], *, told: bool) -> Models:
        """Write what was found into a manifest; of entities no figure unless they may be `told`."""
        made: Models = {"confidential": self.found()}
        if self.plan.entity:
            counts = self.entities() if told else dict.fromkeys(OF_ENTITIES)
            entities: Entities = {
                "released": list(released),
                "mode": self.plan.entity_mode or "rows",
                "entities": counts["entities"],
                "k_entities": counts["k_entities"],
                "alike_min": counts["alike_min"],
            }
            made["entity"] = entities
        return made


def _numbers(release: pl.DataFrame, names: Sequence[str]) -> Labels:
    """Number the classes of rows that a reader cannot tell apart."""
    keys = list(dict.fromkeys(names))
    by = [told_apart(by_name(n), release.schema[n]).alias(str(i)) for i, n in enumerate(keys)]
    rows = release.select(by).with_row_index("row")
    first = rows.select(pl.col("row").min().over([str(i) for i in range(len(keys))]))
    numbered = np.unique(first.to_series().to_numpy(), return_inverse=True)[1]
    return numbered.astype(np.intp)


def _worst(bound: Bound, groups: Members) -> int | float:
    """Return the number of the worst class, as a whole number if the bound is one."""
    worst = bound.worst(groups)
    return int(worst) if bound.model.bound.kind is int else worst


def _fewest_entities(plan: Plan, entity: Attribute, labels: Labels) -> int:
    """Count the entities of the class that has fewest."""
    bound = Bound(models()["k"], plan.k, entity)
    return int(bound.worst(Rule((bound,)).groups(labels)))
