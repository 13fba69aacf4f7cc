"""Sizes of the classes of equal records of a table that was counted piece by piece."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import polars as pl

from polars_microagg.analysis.anonymity import HISTOGRAM
from polars_microagg.analysis.counted_classes import (
    confidential_models,
    entity_models,
    entity_schema,
    farthest,
)
from polars_microagg.core.attributes import Attribute
from polars_microagg.core.model import Model
from polars_microagg.core.partition import Labels, Members
from polars_microagg.core.plan import Plan
from polars_microagg.core.rule import Bound
from polars_microagg.errors import GuaranteeError, NotAnonymousError
from polars_microagg.leaves.references import Reference
from polars_microagg.wording import Setting

__all__ = ["ClassSizes", "Worst", "worst_in", "worst_of_rows"]

QUARTILES = {"size_q25": 0.25, "size_median": 0.5, "size_q75": 0.75}


@dataclass(frozen=True)
class Worst:
    """The number of a model in the class farthest from it, and the classes and records that break a bound."""

    model: Model
    number: float
    classes: int = 0
    records: int = 0

    def with_(self, other: Worst) -> Worst:
        """Return what is true of the classes of both."""
        choose = min if self.model.at_least else max
        number = choose(self.number, other.number)
        return Worst(self.model, number, self.classes + other.classes, self.records + other.records)


@dataclass(frozen=True, eq=False)
class _Summed(Attribute):
    """A column of which the runs of each class are known, and not the records."""

    known: tuple[Labels, Labels, Labels] = (np.empty(0, dtype=np.intp),) * 3

    def runs(self, groups: Members) -> tuple[Labels, Labels, Labels]:
        """Return each class and each code in it, ascending, and how many records have it."""
        del groups
        return self.known


def worst_in(
    part: pl.DataFrame, keys: Sequence[str], reference: Reference, options: Mapping[str, Any]
) -> dict[str, Worst]:
    """Return the worst number of each model of one confidential column in whole classes.

    `part` has the keys of classes, the `code` of a value, and how many records, `size`, have both.
    """
    first = pl.col("class").min().over(list(keys))
    rows = part.with_row_index("class").select(first, "code", "size").sort("class", "code")
    owner = (rows["class"].rank("dense") - 1).to_numpy().astype(np.intp)
    code, count = (rows[name].to_numpy().astype(np.intp) for name in ("code", "size"))
    sizes = np.bincount(owner, count).astype(np.intp)
    like = reference.attribute(pl.Series([], dtype=pl.Int64))
    column = _Summed(
        like.name,
        like.codes,
        like.counts,
        like.ordered,
        like.nulls,
        like.cache,
        (owner, code, count),
    )
    groups = Members(np.empty(0, dtype=np.intp), sizes)
    found = {}
    for name, entry in confidential_models().items():
        found[name] = _worst(entry, column, groups, options)
    return found


def worst_of_rows(part: pl.DataFrame, options: Mapping[str, Any]) -> dict[str, Worst]:
    """Return the worst number of each model that counts the rows of entities, in whole classes.

    `part` has the records of each class, `size`, and those of its most frequent entity, `most`.
    """
    sizes, most = (part[name].to_numpy().astype(np.intp) for name in ("size", "most"))
    number = np.arange(len(sizes))
    runs = number, np.zeros_like(number), most
    column = _Summed("", np.empty(0, dtype=np.intp), np.ones(1, dtype=np.intp), known=runs)
    groups = Members(np.empty(0, dtype=np.intp), sizes)
    return {n: _worst(entry, column, groups, options) for n, entry in entity_models().items()}


def _worst(entry: Model, column: Attribute, groups: Members, options: Mapping[str, Any]) -> Worst:
    """Return the worst number of a model, and count what breaks its bound if there is one."""
    limit = options.get(entry.name)
    bound = Bound(entry, limit or 0, column, {name: options[name] for name in entry.options})
    if limit is None:
        return Worst(entry, bound.worst(groups))
    failing = bound.failing(groups)
    few = int(failing.sum()), int(groups.sizes[failing].sum())
    return Worst(entry, bound.worst(groups), *few)


@dataclass(frozen=True)
class _Named:
    """A confidential column, or the entities, as those ask who need no records."""

    name: str
    counts: range = range(0)


@dataclass(frozen=True, eq=False)
class ClassSizes:
    """The classes of one set of columns: how many there are of each size.

    `table` has so many `classes` of each `size`, and of each number of `entities` where they are
    counted; `entities` are all of them, and `alike` has so many `multisets` of classes that so many
    `entities` have. `found` is the worst number by model and confidential column, and `rows_of` that of
    the models that count rows of entities.
    """

    columns: list[str]
    table: pl.DataFrame
    entities: int | None = None
    alike: pl.DataFrame = field(default_factory=pl.DataFrame)
    found: Mapping[str, Mapping[str, Worst]] = field(default_factory=dict)
    hidden: tuple[str, ...] = ()
    rows_of: Mapping[str, Worst] = field(default_factory=dict)

    @classmethod
    def empty(cls, columns: list[str], people: bool, hidden: tuple[str, ...]) -> Self:
        """Return what is known of a table without records."""
        counted = ["size", "entities", "classes"] if people else ["size", "classes"]
        alike = pl.DataFrame(schema=dict.fromkeys(["entities", "multisets"], pl.Int64))
        table = pl.DataFrame(schema=dict.fromkeys(counted, pl.Int64))
        found = {name: dict[str, Worst]() for name in confidential_models()}
        return cls(columns, table, 0 if people else None, alike, found, hidden)

    @property
    def records(self) -> int:
        """Return the records of all classes."""
        return int((self.table["size"] * self.table["classes"]).sum())

    @property
    def classes(self) -> int:
        """Return the number of classes."""
        return int(self.table["classes"].sum())

    @property
    def smallest(self) -> int | None:
        """Return the records of the smallest class; None without records."""
        return self.table["size"].min()  # type: ignore[return-value]

    @property
    def k_prime(self) -> float | None:
        """Return the mean size of the classes."""
        return self.records / self.classes if self.classes else None

    @property
    def histogram(self) -> pl.DataFrame:
        """Return the sizes, ascending, and the number of classes of each."""
        return self.table.group_by("size").agg(pl.col("classes").sum()).sort("size")

    def quantile(self, share: float, how: str = "linear") -> float | None:
        """Return a quantile of the sizes: between ranks, or with "lower" the lower one of both."""
        if not self.classes:
            return None
        histogram = self.histogram
        ends, sizes = histogram["classes"].cum_sum().to_numpy(), histogram["size"].to_numpy()
        rank = (self.classes - 1) * share
        low, high = (
            int(sizes[np.searchsorted(ends, r, "right")]) for r in (int(rank), int(np.ceil(rank)))
        )
        return float(low) if how == "lower" else low + (high - low) * (rank - int(rank))

    @property
    def entity(self) -> _Named | None:
        """Return the entities, if they are counted."""
        return None if self.entities is None else _Named("", range(self.entities))

    @property
    def confidential(self) -> tuple[_Named, ...]:
        """Return the confidential columns, by name."""
        return tuple(map(_Named, self.hidden))

    @property
    def fewest_entities(self) -> int | None:
        """Return the fewest entities of a class."""
        return None if self.entities is None else self.table["entities"].min()  # type: ignore[return-value]

    @property
    def fewest_alike(self) -> int | None:
        """Return the fewest entities that have the same rows, as many of each."""
        return None if self.entities is None else self.alike["entities"].min()  # type: ignore[return-value]

    @property
    def worst(self) -> dict[str, dict[str, float | int | None]]:
        """Return the number of each model in the class farthest from it, by confidential column."""
        return {
            name: {
                column: farthest(entry, [self.found[name][column].number])
                if column in self.found[name]
                else None
                for column in self.hidden
            }
            for name, entry in confidential_models().items()
        }

    def of_entities(self) -> pl.DataFrame:
        """Return `ENTITY_COUNTS` as one row."""
        row = (self.entities, self.fewest_entities, self.fewest_alike, *self.of_rows.values())
        return pl.DataFrame([row], schema=entity_schema(), orient="row")

    @property
    def of_rows(self) -> dict[str, float | int | None]:
        """Return the number of each model that counts rows of entities, in the class farthest from it."""
        return {
            name: farthest(entry, [self.rows_of[name].number] if name in self.rows_of else [])
            for name, entry in entity_models().items()
        }

    def of_models(self) -> pl.DataFrame:
        """Return the number of each model that counts confidential columns, as one row."""
        entries, worst = confidential_models(), self.worst
        row = [farthest(entry, worst[name].values()) for name, entry in entries.items()]
        types = {n: pl.Int64 if e.bound.kind is int else pl.Float64 for n, e in entries.items()}
        return pl.DataFrame([row], schema=types, orient="row")

    def row(self, k: int | None = None) -> pl.DataFrame:
        """Return what `anonymity` tells of the classes, as one row."""
        size, classes = pl.col("size"), pl.col("classes")
        row = [
            pl.DataFrame(
                {
                    "records": [self.records],
                    "classes": [self.classes],
                    "k_min": [self.smallest],
                    "k_prime": [self.k_prime],
                    "uniques": [int(self.table.filter(size == 1)["classes"].sum())],
                },
                schema_overrides={"k_min": pl.Int64, "k_prime": pl.Float64},
            )
        ]
        if k is not None or self.hidden:
            sizes = {name: [self.quantile(share)] for name, share in QUARTILES.items()}
            row += [
                pl.DataFrame(sizes, schema=dict.fromkeys(sizes, pl.Float64)),
                self.table.select(size_max=size.max()),
                pl.DataFrame(
                    [pl.Series("histogram", [self.histogram.to_struct()], dtype=HISTOGRAM)]
                ),
            ]
        if k is not None:
            few = pl.col("size" if self.entities is None else "entities") < k
            row.append(self.table.select(at_risk=(size * classes).filter(few).sum()))
        row += [] if self.entities is None else [self.of_entities()]
        row += [self.of_models()] if self.hidden else []
        return pl.concat(row, how="horizontal")

    def recorded(self, quantiles: Sequence[float]) -> dict[str, Any]:
        """Return what a manifest says of the classes."""
        found = {q: self.quantile(q, "lower") for q in quantiles}
        return {
            "columns": list(self.columns),
            "classes": self.classes,
            "smallest": self.smallest,
            "size_quantiles": {f"{q:g}": None if v is None else int(v) for q, v in found.items()},
        }

    def keep_promise(self, plan: Plan) -> None:
        """Refuse classes of a result of ours that break what a plan promises: GuaranteeError."""
        what, least = "record(s)", self.smallest
        if self.entities is not None:
            what, least = "entities", self.fewest_entities
        if least is not None and least < plan.k:
            raise GuaranteeError.small_class(plan.method.name, least, plan.k, what)
        for setting, _, worst in self._broken(plan):
            said = setting, worst.model.what, worst.number
            raise GuaranteeError.model(plan.method.name, *said)

    def _broken(self, plan: Plan) -> Iterator[tuple[Setting, str, Worst]]:
        """Yield each bound that some classes break, the column it counts, and the worst of them."""
        who = ", ".join(plan.entity)
        counted = {**self.found, **{name: {who: worst} for name, worst in self.rows_of.items()}}
        # In the order in which a rule has its models.
        for name, by_column in sorted(counted.items()):
            for column in (*self.hidden, who):
                worst = by_column.get(column)
                if worst is not None and worst.classes:
                    yield Setting(name, plan.models[name]), column, worst

    def hold(self, plan: Plan, columns: Sequence[str], strata: Sequence[str]) -> None:
        """Refuse classes that break what a plan promises of their records."""
        what = "size" if self.entities is None else "entities"
        failing = self.table.filter(pl.col(what) < plan.k)
        if failing.height:
            few = int(failing["classes"].sum()), int((failing["size"] * failing["classes"]).sum())
            least = int(failing[what].min())  # type: ignore[arg-type]
            if self.entities is None:
                raise NotAnonymousError.of(columns, plan.k, (*few, least), strata)
            raise NotAnonymousError.entities(columns, plan.k, (*few, least), strata)
        for promised, column, worst in self._broken(plan):
            said = f"{worst.model.what} of {column!r}"
            counts = worst.classes, worst.records, worst.number
            raise NotAnonymousError.model(columns, promised, said, counts, strata)
        few_alike = self.alike.filter(pl.col("entities") < plan.k) if self.entities else self.alike
        if plan.entity_mode == "alike" and self.entities and few_alike.height:
            who = int((few_alike["entities"] * few_alike["multisets"]).sum())
            least = int(few_alike["entities"].min())  # type: ignore[arg-type]
            raise NotAnonymousError.alike(columns, plan.k, (who, least), strata)
