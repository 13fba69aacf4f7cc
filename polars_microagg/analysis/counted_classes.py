"""The classes of a table with the columns that privacy models count: entity and confidential ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import polars as pl

from polars_microagg.core.attributes import Attribute
from polars_microagg.core.model import Model, models
from polars_microagg.core.options import check_option
from polars_microagg.core.partition import Labels, Members
from polars_microagg.core.plan import Plan
from polars_microagg.core.rule import Bound
from polars_microagg.errors import InvalidParameterError, NotAnonymousError
from polars_microagg.frames.attributes import confidential_of, entity_of
from polars_microagg.frames.classes import classes_of, entities_alike
from polars_microagg.wording import Setting

__all__ = [
    "ENTITY_COUNTS",
    "CountedClasses",
    "confidential_models",
    "hold",
    "options_of_models",
    "worst_of",
]

ENTITY_COUNTS = ("entities", "k_entities", "alike_min")
"""What is counted of entities: all, the fewest in a class, and the fewest with the same rows."""


def confidential_models() -> dict[str, Model]:
    """Return the registered models that count confidential columns, by name."""
    return {name: entry for name, entry in models().items() if entry.of == "confidential"}


def options_of_models(
    what: str, given: Mapping[str, Any], confidential: Sequence[str]
) -> dict[str, Any]:
    """Check options of the models that count confidential columns, and add the defaults of others.

    `what` is the function that they were given to.

    >>> options_of_models("anonymity", {"t_scale": "ranks"}, ["sick"])
    {'t_scale': 'ranks'}
    """
    known = {n: o for entry in confidential_models().values() for n, o in entry.options.items()}
    for name, value in given.items():
        if name not in known:
            raise InvalidParameterError.option(what, name, known)
        check_option(known[name], value)
        if value != known[name].default and not confidential:
            raise InvalidParameterError.needs(Setting(name, value), "confidential")
    return {name: option.default for name, option in known.items()} | dict(given)


@dataclass(frozen=True, eq=False)
class CountedClasses:
    """The records of each class, and the columns that are counted in them."""

    members: Members
    entity: Attribute | None = None
    confidential: tuple[Attribute, ...] = ()

    @classmethod
    def of(
        cls,
        table: pl.DataFrame,
        keys: Sequence[str],
        entity: Sequence[str] = (),
        confidential: Sequence[str] = (),
    ) -> Self:
        """List the records of a table that a reader cannot tell apart by these keys.

        >>> table = pl.DataFrame({"age": [30, 30, 41], "patient": ["u", "v", "v"]})
        >>> CountedClasses.of(table, ["age"], ["patient"]).of_entities().row(0)
        (2, 1, 1)
        """
        # Methods of a Series look it up by its name, where "^a$" would be a pattern.
        counted = [table.get_column(name).alias("0") for name in (*entity, *confidential)]
        people = entity_of(counted[: len(entity)], entity) if entity else None
        hidden = map(confidential_of, counted[len(entity) :], confidential)
        return cls(classes_of(table, keys), people, tuple(hidden))

    @property
    def sizes(self) -> pl.DataFrame:
        """Return the records of each class, and its entities where they are counted."""
        columns = {"size": self.members.sizes}
        if self.entity is not None:
            columns["entities"] = models()["k"].measure(self.entity, self.members)
        return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.Int64))

    @cached_property
    def alike(self) -> Labels:
        """How many entities have each multiset of classes: the same rows, and as many of each."""
        if self.entity is None:
            return np.empty(0, dtype=np.intp)
        return entities_alike(self.entity.codes, self.members)

    def of_entities(self) -> pl.DataFrame:
        """Return `ENTITY_COUNTS` as one row."""
        fewest = worst_of(models()["k"], [self.entity], self.members) if self.entity else None
        alike = int(self.alike.min()) if len(self.alike) else None
        row = (int(self.alike.sum()), fewest, alike)
        return pl.DataFrame([row], schema=dict.fromkeys(ENTITY_COUNTS, pl.Int64), orient="row")

    def of_models(self, options: Mapping[str, Any]) -> pl.DataFrame:
        """Return the number of each model that counts confidential columns, as one row."""
        entries = confidential_models()
        row = [worst_of(e, self.confidential, self.members, options) for e in entries.values()]
        types = {n: pl.Int64 if e.bound.kind is int else pl.Float64 for n, e in entries.items()}
        return pl.DataFrame([row], schema=types, orient="row")


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
    numbers = [Bound(entry, 0, column, own).worst(groups) for column in columns]
    worst = min(numbers) if entry.at_least else max(numbers)
    return int(worst) if entry.bound.kind is int else worst


def hold(plan: Plan, table: pl.DataFrame, columns: Sequence[str], strata: Sequence[str]) -> None:
    """Refuse classes that break what a plan promises of entities and of confidential columns."""
    counted = CountedClasses.of(table, [*columns, *strata], plan.entity, plan.confidential)
    groups = counted.members
    if not len(groups.sizes):
        return
    for bound in plan.rule(counted.entity, counted.confidential).bounds:
        if bound.attribute is None or not (failing := bound.failing(groups)).any():
            continue
        counts = int(failing.sum()), int(groups.sizes[failing].sum()), bound.worst(groups)
        if bound.model.of == "entity":
            raise NotAnonymousError.entities(columns, plan.k, counts, strata)
        promised, name = Setting(bound.model.name, bound.limit), bound.attribute.name
        raise NotAnonymousError.model(
            columns, promised, f"{bound.model.what} of {name!r}", counts, strata
        )
    few = counted.alike[counted.alike < plan.k]
    if plan.entity_mode == "alike" and len(few):
        raise NotAnonymousError.alike(columns, plan.k, (int(few.sum()), int(few.min())), strata)
