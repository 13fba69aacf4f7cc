"""The classes of a table with the columns that privacy models count: entity and confidential ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
import polars as pl

from polars_microagg.core.attributes import Attribute
from polars_microagg.core.model import Model, models
from polars_microagg.core.options import check_option
from polars_microagg.core.partition import Labels, Members
from polars_microagg.core.plan import Plan
from polars_microagg.core.registry import Option
from polars_microagg.core.rule import Bound
from polars_microagg.errors import InvalidParameterError, NotAnonymousError
from polars_microagg.frames.attributes import confidential_of, entity_of
from polars_microagg.frames.classes import classes_of, entities_alike
from polars_microagg.wording import Setting

__all__ = [
    "ENTITY_COUNTS",
    "CountedClasses",
    "confidential_models",
    "entity_models",
    "entity_schema",
    "farthest",
    "not_anonymous",
    "options_of_models",
    "settings_of_models",
    "worst_of",
]


def confidential_models() -> dict[str, Model]:
    """Return the registered models that count confidential columns, by name."""
    return {name: entry for name, entry in models().items() if entry.of == "confidential"}


def entity_models() -> dict[str, Model]:
    """Return the registered models that count the rows of entities, by name; k counts the entities."""
    return {n: entry for n, entry in models().items() if entry.of == "entity" and n != "k"}


ENTITY_COUNTS = {
    "entities": "Distinct entities, such as persons.",
    "k_entities": "Fewest entities in a class.",
    "alike_min": "Fewest entities with the same records.",
    **{name: entry.summary for name, entry in entity_models().items()},
}
"""Counts of entities, and the meaning of each."""


def entity_schema() -> dict[str, pl.DataType]:
    """Return the type of each of `ENTITY_COUNTS`.

    >>> entity_schema()["k_entities"], entity_schema()["max_entity_share"]
    (Int64, Float64)
    """
    shares = {n: pl.Float64() for n, e in entity_models().items() if e.bound.kind is not int}
    return {name: shares.get(name, pl.Int64()) for name in ENTITY_COUNTS}


def settings_of_models() -> dict[str, Option]:
    """Return the options of these models besides their bounds, by name.

    >>> list(settings_of_models())
    ['t_scale']
    """
    return {n: o for entry in confidential_models().values() for n, o in entry.options.items()}


def options_of_models(
    what: str, given: Mapping[str, Any], confidential: Sequence[str]
) -> dict[str, Any]:
    """Check options of the models that count confidential columns, and add the defaults of others.

    `what` is the function that they were given to.

    >>> options_of_models("anonymity", {"t_scale": "ranks"}, ["sick"])
    {'t_scale': 'ranks'}
    """
    known = settings_of_models()
    for name, value in given.items():
        if name not in known:
            raise InvalidParameterError.option(what, name, known)
        check_option(known[name], value)
        if value != known[name].default and not confidential:
            raise InvalidParameterError.needs(Setting(name, value), "confidential")
    return {name: option.default for name, option in known.items()} | dict(given)


@dataclass(frozen=True, eq=False)
class CountedClasses:
    """The records of each class, and the columns that are counted in them.

    `options` are those of the models that count confidential columns.
    """

    members: Members
    entity: Attribute | None = None
    confidential: tuple[Attribute, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        table: pl.DataFrame,
        keys: Sequence[str],
        entity: Sequence[str] = (),
        confidential: Sequence[str] = (),
        options: Mapping[str, Any] | None = None,
    ) -> Self:
        """List the records of a table that a reader cannot tell apart by these keys.

        >>> table = pl.DataFrame({"age": [30, 30, 41], "patient": ["u", "v", "v"]})
        >>> CountedClasses.of(table, ["age"], ["patient"]).of_entities().row(0)
        (2, 1, 1, 1.0)
        """
        # Methods of a Series look it up by its name, where "^a$" would be a pattern.
        counted = [table.get_column(name).alias("0") for name in (*entity, *confidential)]
        people = entity_of(counted[: len(entity)], entity) if entity else None
        hidden = map(confidential_of, counted[len(entity) :], confidential)
        return cls(classes_of(table, keys), people, tuple(hidden), options or {})

    @classmethod
    def of_sizes(cls, sizes: Labels) -> Self:
        """Make classes of which only the records are counted."""
        return cls(Members(np.empty(0, dtype=np.intp), sizes.astype(np.intp)))

    @property
    def sizes(self) -> pl.DataFrame:
        """Return the records of each class, and its entities where they are counted."""
        columns = {"size": self.members.sizes}
        if self.entity is not None:
            columns["entities"] = models()["k"].measure(self.entity, self.members)
        return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.Int64))

    @cached_property
    def alike(self) -> Labels:
        """Number of entities with each multiset of classes: the same rows, and as many of each."""
        if self.entity is None:
            return np.empty(0, dtype=np.intp)
        return entities_alike(self.entity.codes, self.members)

    @property
    def fewest_entities(self) -> int | None:
        """Return the fewest entities of a class."""
        if self.entity is None or not len(self.members.sizes):
            return None
        return int(models()["k"].measure(self.entity, self.members).min())

    @property
    def fewest_alike(self) -> int | None:
        """Return the fewest entities that have the same rows, as many of each."""
        return int(self.alike.min()) if len(self.alike) else None

    @cached_property
    def worst(self) -> dict[str, dict[str, float | int | None]]:
        """The number of each model in the class farthest from it, by confidential column."""
        return {
            name: {
                column.name: worst_of(entry, [column], self.members, self.options)
                for column in self.confidential
            }
            for name, entry in confidential_models().items()
        }

    def of_entities(self) -> pl.DataFrame:
        """Return `ENTITY_COUNTS` as one row."""
        row = (
            int(self.alike.sum()),
            self.fewest_entities,
            self.fewest_alike,
            *self.of_rows.values(),
        )
        return pl.DataFrame([row], schema=entity_schema(), orient="row")

    @cached_property
    def of_rows(self) -> dict[str, float | int | None]:
        """The number of each model that counts rows of entities, in the class farthest from it."""
        who = [] if self.entity is None else [self.entity]
        return {
            name: worst_of(entry, who, self.members, self.options)
            for name, entry in entity_models().items()
        }

    def of_models(self) -> pl.DataFrame:
        """Return the number of each model that counts confidential columns, as one row."""
        entries = confidential_models()
        row = [farthest(entry, self.worst[name].values()) for name, entry in entries.items()]
        types = {n: pl.Int64 if e.bound.kind is int else pl.Float64 for n, e in entries.items()}
        return pl.DataFrame([row], schema=types, orient="row")

    def hold(self, plan: Plan, columns: Sequence[str], strata: Sequence[str]) -> None:
        """Refuse classes that break what a plan promises of their records.

        `columns` and `strata` are those that the classes were made of.
        """
        groups = self.members
        if not len(groups.sizes):
            return
        for bound in plan.rule(self.entity, self.confidential).bounds:
            if not (failing := bound.failing(groups)).any():
                continue
            few = int(failing.sum()), int(groups.sizes[failing].sum())
            raise not_anonymous(plan, bound, (*few, bound.worst(groups)), columns, strata)
        if plan.entity_mode == "alike" and len(alike := self.alike[self.alike < plan.k]):
            counts = int(alike.sum()), int(alike.min())
            raise NotAnonymousError.alike(columns, plan.k, counts, strata)


def not_anonymous(
    plan: Plan,
    bound: Bound,
    counts: tuple[int, int, float],
    columns: Sequence[str],
    strata: Sequence[str],
) -> NotAnonymousError:
    """Return the error on so many classes and records that break a bound, by the worst number of it."""
    if bound.attribute is None:
        return NotAnonymousError.of(columns, plan.k, (*counts[:2], int(counts[2])), strata)
    if bound.model.name == "k":
        return NotAnonymousError.entities(columns, plan.k, counts, strata)
    what = f"{bound.model.what} of {bound.attribute.name!r}"
    promised = Setting(bound.model.name, bound.limit)
    return NotAnonymousError.model(columns, promised, what, counts, strata)


def farthest(entry: Model, numbers: Iterable[float | int | None]) -> float | int | None:
    """Return the number that is farthest from satisfying a model; None of none."""
    known = [number for number in numbers if number is not None]
    worst = (min if entry.at_least else max)(known, default=None)
    return worst if worst is None or entry.bound.kind is not int else int(worst)


def worst_of(
    entry: Model,
    columns: Sequence[Attribute],
    groups: Members,
    options: Mapping[str, Any] | None = None,
) -> float | int | None:
    """Return the number of a model in the class that is farthest from it, of several columns the worst.

    None without records.
    """
    if not len(groups.sizes):
        return None
    own = {name: (options or {})[name] for name in entry.options}
    return farthest(entry, (Bound(entry, 0, column, own).worst(groups) for column in columns))
