"""Entities of several rows masked as one: by their means, or among entities of as many rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np
import numpy.typing as npt

from polars_microagg.core.masked import Cells, Centres, Holders, Masked
from polars_microagg.core.mixtures import located
from polars_microagg.core.partition import Grouping, Labels, Matrix, Members, Strata, Vector
from polars_microagg.core.rule import Rule
from polars_microagg.kernels.centre import centres, real_centres
from polars_microagg.kernels.embedding import Embedding
from polars_microagg.kernels.exact_mean import float_means

if TYPE_CHECKING:
    from polars_microagg.core.plan import Plan

__all__ = ["EntityRule", "mask_entities", "profiles", "rows_above_cap", "strata_alike"]


@dataclass(frozen=True, eq=False)
class EntityRule:
    """A rule on rows, asked about groups of entities: each class of their rows must satisfy it.

    `rows` lists the rows of each entity. `part` (n,) keeps the rows of a group apart, as those of
    different strata are; there are `parts` of them.
    """

    rule: Rule
    rows: Members
    part: Labels
    parts: int

    def failing(self, groups: Members) -> npt.NDArray[np.bool_]:
        """Return which groups of entities break the rule."""
        rows = self.rows.take(groups.order)
        group = np.repeat(np.repeat(np.arange(len(groups.sizes)), groups.sizes), rows.sizes)
        classes, number = np.unique(group * self.parts + self.part[rows.order], return_inverse=True)
        broken = self.rule.failing(Members.of(rows.order, number, len(classes)))
        return np.bincount(classes // self.parts, broken, len(groups.sizes)) > 0

    def take(self, rows: Labels) -> Self:
        """Return the rule for some of the entities."""
        return replace(self, rows=self.rows.take(rows))

    def spreads(self) -> list[Labels]:
        """Return codes of the entities in order of the mean of those of their rows."""
        number = np.repeat(np.arange(len(self.rows.sizes)), self.rows.sizes)
        return [
            np.unique(np.bincount(number, codes) / self.rows.sizes, return_inverse=True)[1]
            for codes in self.rule.take(self.rows.order).spreads()
        ]

    def beyond_size(self) -> Self | None:
        """Return the rule without bounds that every group of k satisfies; None if none is left."""
        bounds = [bound for bound in self.rule.bounds if bound.model.name != "k"]
        kept = Rule(tuple(bounds)).take(np.arange(len(self.part))).beyond_size()
        return None if kept is None else replace(self, rule=kept)


def profiles(entity: Labels, part: Labels) -> Labels:
    """Number the entities by their rows: equal where two have as many rows in each part.

    `entity` (n,) and `part` (n,) number from 0; the result has one number for each entity, and -1 for
    one without rows.

    >>> profiles(np.array([0, 0, 1, 1, 2]), np.array([0, 1, 1, 0, 0]))
    array([1, 1, 0])
    """
    parts = int(part.max(initial=0)) + 1
    pairs, counts = np.unique(entity * parts + part, return_counts=True)
    owner, of = np.divmod(pairs, parts)
    # The rows of an entity, part by part, are read one after the other; two entities keep one number
    # as long as all that was read of them is equal.
    entities = int(entity.max(initial=-1)) + 1
    first = np.searchsorted(owner, np.arange(entities))
    many = np.bincount(owner, minlength=entities)
    number = np.where(many > 0, 0, -1)
    for place in range(int(many.max(initial=0))):
        there = np.flatnonzero(many > place)
        at = first[there] + place
        read = np.stack((number[there], of[at], counts[at]), axis=1)
        # Numbers of this round are above those of entities that were read to their end before.
        equal = np.unique(read, axis=0, return_inverse=True)[1].reshape(-1)
        number[there] = equal + entities * (place + 1)
    seen = number >= 0
    number[seen] = np.unique(number[seen], return_inverse=True)[1]
    return number


def rows_above_cap(entity: Labels, cap: int) -> npt.NDArray[np.bool_]:
    """Return which rows come after as many rows of the same entity as the cap allows.

    >>> rows_above_cap(np.array([0, 1, 0, 0]), 2)
    array([False, False, False,  True])
    """
    order = np.argsort(entity, kind="stable")
    sizes = np.bincount(entity)
    place = np.empty(len(entity), dtype=np.intp)
    place[order] = np.arange(len(entity)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return place >= cap


def strata_alike(entity: Labels, strata: Strata) -> Strata:
    """Split strata by the profiles of the entities: only entities of one profile may be alike."""
    part = strata.numbers(len(entity))
    rows = np.sort(strata.order)
    number = profiles(entity[rows], part[rows])[entity[rows]]
    by = np.lexsort((number, part[rows]))
    changes = (np.diff(part[rows][by]) != 0) | (np.diff(number[by]) != 0)
    ends = np.append(np.flatnonzero(changes) + 1, len(by)) if len(by) else by
    return Strata(rows[by], np.diff(ends, prepend=0).astype(np.intp))


def mask_entities(
    plan: Plan,
    block: tuple[str, ...],
    x: Matrix,
    factors: Vector,
    strata: Strata,
    whole: Sequence[bool],
    rule: Rule,
    embeddings: Sequence[Embedding | None],
    chosen: Sequence[bool],
) -> Masked:
    """Group entities by the means of their rows, and give each row the centre of its group.

    `x` holds steps counted from 0, or codes of `embeddings`. With ``entity_mode="alike"`` entities
    of one profile are grouped, by their means in each stratum; else what is grouped are the rows of an
    entity in one stratum. Columns that are `chosen` get a value that is chosen from those of a group.
    """
    parts = plan.patterns(x, strata)
    part = parts.numbers(len(x))
    rows = np.sort(parts.order)
    entity = rule.entity_codes
    values, labels = np.full(x.shape, np.nan, order="F"), np.full(len(x), -1, dtype=np.intp)
    groups = 0
    apart = any(embedding is not None for embedding in embeddings)
    for units in _units_by_width(plan, entity, part, rows, apart=apart):
        wide, column, spans = located(x[units.rows], embeddings)
        located_at = np.array([embedding is not None for embedding in embeddings])[column]
        own = np.arange(units.width)[:, None] * len(block) + column
        made = plan.group(
            tuple(block[j] for j in column) * units.width,
            units.means(wide),
            np.tile(factors[column], units.width),
            units.strata,
            units.rule(rule),
            np.where(located_at, own, -1).ravel(),
            np.tile(spans, units.width),
        )
        labels[units.rows] = (made.labels[units.of] + groups) * units.width + units.place
        groups += made.count
        units.fill(values, x, made, plan)
    for j in np.flatnonzero(~np.array([bool(whole) and whole[j] for j in range(len(block))])):
        values[:, j] *= factors[j]
    numbered = np.full(len(x), -1, dtype=np.intp)
    grouped = labels >= 0
    numbered[grouped] = np.unique(labels[grouped], return_inverse=True)[1]
    grouped_rows = Grouping.by_label(numbered, int(numbered.max(initial=-1)) + 1)
    made_of: list[Cells | Centres] = [Cells(column, parts) for column in values.T]
    filled = strata if plan.nulls == "impute" else None
    holders = Holders(strata, entity, plan.k)
    for j in np.flatnonzero(chosen):
        (made_of[j],) = centres(x[:, [j]], grouped_rows, plan.center, filled, holders)
    return Masked(block, grouped_rows, tuple(made_of))


@dataclass(frozen=True, eq=False)
class _Units:
    """Units that are grouped with each other: entities, or the rows of an entity in one stratum.

    Each has rows in `width` parts. `rows` (m,) are their rows, `of` (m,) the unit of each and `place`
    (m,) which of the parts of the unit it is in. `strata` are those of the units.
    """

    rows: Labels
    of: Labels
    place: Labels
    width: int
    strata: Strata

    @property
    def count(self) -> int:
        """Number of units."""
        return int(self.of.max()) + 1

    def means(self, x: Matrix) -> Matrix:
        """Return the means of its rows (m, q) of each unit, part after part; NaN where it has no value."""
        cells = self.of * self.width + self.place
        found = np.empty((self.count * self.width, x.shape[1]), order="F")
        for j in range(x.shape[1]):
            there = np.flatnonzero(~np.isnan(x[:, j]))
            members = Members.of(there, cells[there], len(found))
            found[:, j] = np.where(members.sizes > 0, float_means(x[:, j], members), np.nan)
        return np.asfortranarray(found.reshape(self.count, -1))

    def rule(self, rule: Rule) -> EntityRule:
        """Return the rule on rows for groups of these units."""
        part = np.zeros(int(self.rows.max()) + 1, dtype=np.intp)
        part[self.rows] = self.place
        return EntityRule(rule, Members.of(self.rows, self.of, self.count), part, self.width)

    def fill(self, values: Matrix, x: Matrix, groups: Grouping, plan: Plan) -> None:
        """Write the centre of its group, in its part, into each row."""
        wide = self.strata if plan.nulls == "impute" else None
        means = self.means(x[self.rows])
        columns = centres(means, groups, plan.center, wide)
        for j, column in enumerate(columns):
            place, to = divmod(j, x.shape[1])
            here = self.place == place
            group = column.labels[self.of[here]]
            table = real_centres(np.nan_to_num(means[:, j]), column)
            values[self.rows[here], to] = np.where(group >= 0, table[group], np.nan)


def _units_by_width(
    plan: Plan, entity: Labels, part: Labels, rows: Labels, *, apart: bool
) -> Iterator[_Units]:
    """Return the units of each width, which are grouped with each other.

    Those of one part come by themselves if they are to be `apart`, as where each stratum has
    coordinates of its own.
    """
    if not len(rows):
        return
    if plan.entity_mode == "mean" and apart:
        for own in (rows[part[rows] == number] for number in np.unique(part[rows])):
            unit = _by_first(entity[own])
            yield _Units(own, unit, np.zeros_like(unit), 1, Strata.whole(int(unit.max()) + 1))
        return
    if plan.entity_mode == "mean":
        unit = _by_first(entity[rows] * (int(part.max(initial=0)) + 1) + part[rows])
        strata = _strata_of(part[rows], unit)
        yield _Units(rows, unit, np.zeros_like(unit), 1, strata)
        return
    profile = profiles(entity[rows], part[rows])[entity[rows]]
    # The place of a row is the rank of its part among those of its entity.
    pairs, pair = np.unique(
        np.stack((entity[rows], part[rows]), axis=1), axis=0, return_inverse=True
    )
    widths = np.bincount(pairs[:, 0])
    first = np.cumsum(widths) - widths
    place = pair.reshape(-1) - first[entity[rows]]
    for width in np.unique(widths[widths > 0]).tolist():
        these = np.flatnonzero(widths[entity[rows]] == width)
        unit = _by_first(entity[rows][these])
        yield _Units(rows[these], unit, place[these], width, _strata_of(profile[these], unit))


def _by_first(codes: Labels) -> Labels:
    """Number equal codes from 0 by the first of each."""
    _, first, number = np.unique(codes, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    return np.asarray(rank[number.reshape(-1)])


def _strata_of(stratum: Labels, unit: Labels) -> Strata:
    """Return the strata of units from those of their rows."""
    of = np.zeros(int(unit.max()) + 1, dtype=np.intp)
    of[unit] = stratum
    order = np.argsort(of, kind="stable")
    sizes = np.bincount(of)
    return Strata(order, sizes[sizes > 0].astype(np.intp))
