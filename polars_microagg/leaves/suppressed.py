"""Small strata of a table that is masked leaf by leaf: counted over all leaves, and settled as asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import polars as pl

from polars_microagg.core.partition import Labels, Members
from polars_microagg.core.plan import Plan
from polars_microagg.core.rule import Rule
from polars_microagg.core.suppression import BrokenStrata, refuse_emptied
from polars_microagg.errors import TooFewRecordsError, UnreachableError
from polars_microagg.errors.data import DROP
from polars_microagg.frames.batch import Released
from polars_microagg.frames.released_strata import released_keys
from polars_microagg.frames.selection import as_frame, by_name
from polars_microagg.leaves.leaf_records import LeafRecords
from polars_microagg.leaves.masking import arrow_of, masked_field
from polars_microagg.leaves.metadata_scrub import without_notes
from polars_microagg.leaves.rules import bounds_of
from polars_microagg.wording import PYTHON, Sentence

if TYPE_CHECKING:
    from polars_microagg.leaves.leaves import Leaves

__all__ = ["SmallStrata", "broken_in", "emptied_hold", "settled", "to_be_suppressed"]


@dataclass(frozen=True)
class SmallStrata:
    """Counts of the strata that are suppressed, of all strata in leaves of small ones, and of records.

    `fewest` are the records of the smallest of them. Under a rule, `broken` has for parts of the table the
    number of a bound and, of the strata that break it, the fields `small`, `fewest`, `worst` and `few` of
    `BrokenStrata`.
    """

    small: int = 0
    strata: int = 0
    fewest: int = 2**62
    records: int = 0
    broken: Sequence[tuple[int, int, int, float, int]] = ()

    @classmethod
    def of(cls, leaves: Leaves, records: LeafRecords, suppressed: pl.Series | None) -> SmallStrata:
        """Count the strata of some leaves."""
        shared = leaves.stratum_of_leaf[records.leaf] == len(leaves.large)
        gone = np.zeros(len(shared), np.bool_) if suppressed is None else suppressed.to_numpy()
        named = [column.alias(str(j)) for j, column in enumerate(records.keys)]
        leaf = pl.Series("leaf", records.leaf.astype(np.uint32))
        told = pl.DataFrame([leaf, *named, pl.Series("gone", gone), pl.Series("shared", shared)])
        strata = (
            told.filter(pl.col("shared") | pl.col("gone"))
            .group_by("leaf", *(column.name for column in named))
            .agg(pl.len().alias("records"), pl.col("gone", "shared").any())
        )
        small = strata.filter("gone")["records"]
        fewest = int(small.min() or cls.fewest)  # type: ignore[arg-type]
        counts = len(small), int(strata["shared"].sum()), fewest, int(gone.sum())
        if records.rule is None or not gone.any() or leaves.plan.small_strata != "raise":
            return cls(*counts)
        each = told.select(pl.struct("leaf", *(column.name for column in named)).rank("dense"))
        return cls(
            *counts, broken_in(records.rule, each.to_series().to_numpy().astype(np.intp) - 1)
        )

    def __add__(self, other: SmallStrata) -> SmallStrata:
        """Count the strata of other leaves as well."""
        fewest = min(self.fewest, other.fewest)
        counts = self.small + other.small, self.strata + other.strata
        broken = (*self.broken, *other.broken)
        return SmallStrata(*counts, fewest, self.records + other.records, broken)

    def refuse(self, leaves: Leaves) -> None:
        """Refuse small strata that may not be suppressed."""
        if self.small and leaves.plan.small_strata == "raise":
            with _way_out(leaves.plan):
                self._refuse(leaves)

    def _refuse(self, leaves: Leaves) -> NoReturn:
        """Raise the error on small strata."""
        strata = len(leaves.large) + self.strata
        if not leaves.parted:
            raise TooFewRecordsError.of(self.fewest, leaves.k)
        if self.broken:
            self._broken(leaves, strata).refuse(leaves.plan)
        patterns = leaves.plan.nulls == "pattern"
        counts = self.small, strata, self.fewest, leaves.k
        raise TooFewRecordsError.strata(*counts, patterns=patterns)

    def _broken(self, leaves: Leaves, strata: int) -> BrokenStrata:
        """Return what is told of the first bound that some of so many strata break."""
        number = min(row[0] for row in self.broken)
        _, small, fewest, worst, few = zip(*(r for r in self.broken if r[0] == number), strict=True)
        bound = bounds_of(leaves.plan, leaves.references)[number]
        side = 1 if bound.model.at_least else -1
        farthest = min(zip(worst, few, strict=True), key=lambda one: (side * one[0], one[1]))
        # One stratum that is the whole table was refused before it was split.
        return BrokenStrata(bound, sum(small), strata, min(fewest), *farthest, records=-1)


def broken_in(rule: Rule, stratum: Labels) -> list[tuple[int, int, int, float, int]]:
    """Return `broken` of the records of a part, of which each stratum has a number from 0."""
    strata = Members.of(np.arange(len(stratum)), stratum, int(stratum.max()) + 1)
    each = (BrokenStrata.of(bound, strata, strata.sizes, len(stratum)) for bound in rule.bounds)
    return [(i, b.small, b.fewest, b.worst, b.few) for i, b in enumerate(each) if b.small]


def emptied_hold(plan: Plan, rule: Rule | None, records: int) -> None:
    """Refuse emptied records that as one group break the rule; `rule` is that of all of them."""
    if plan.small_strata == "null" and records:
        one = Members(np.arange(records), np.array([records], dtype=np.intp))
        with _way_out(plan):
            refuse_emptied(plan, rule or plan.rule(), one)


@contextmanager
def _way_out(plan: Plan) -> Iterator[None]:
    """Add to an error that advises to drop rows what that takes, where leaves refuse it."""
    try:
        yield
    except (TooFewRecordsError, UnreachableError) as error:
        if not plan.confidential or PYTHON.write(DROP) not in str(error):
            raise
        takes = Sentence(
            "With confidential columns {drop} needs the whole table in memory.", drop=DROP
        )
        template, fields = error.sentence.template, error.sentence.fields
        told = type(error).of_fields(f"{template} {{takes}}", **fields, takes=takes)
    else:
        return
    raise told


def to_be_suppressed(leaves: Leaves, records: LeafRecords) -> pl.Series:
    """Return which records masking will suppress: those of strata that as one group break the rule.

    Of each stratum there are all records.
    """
    keys = [column.alias(str(j)) for j, column in enumerate(records.keys)]
    told = pl.DataFrame([pl.Series("leaf", records.leaf), *keys])
    own = told.select(pl.struct(pl.all()).rank("dense")).to_series().to_numpy().astype(np.intp) - 1
    strata = Members.of(np.arange(len(own)), own, int(own.max(initial=-1)) + 1)
    rule = records.rule or leaves.plan.rule()
    return pl.Series(rule.failing(strata)[own])


def settled(leaves: Leaves, table: Any, masked: Released) -> Any:
    """Return a table, of Polars or Arrow, with its masked columns; empty or drop what is suppressed."""
    frame = as_frame(table)
    request, plan = leaves.request, leaves.plan
    columns = [c.alias(name) for c, name in zip(masked.columns, leaves.columns, strict=True)]
    own = frame.select(map(by_name, dict.fromkeys(request.keys)))
    columns += own.select(released_keys(request.keys, own.schema)).get_columns()
    gone = masked.suppressed
    if gone is not None and plan.small_strata == "null":
        # A key would show who was in a small stratum, so it becomes null where the masked cells do.
        by = {column.name: column for column in (*own, *columns)}
        emptied = (by[name] for name in request.strata)
        columns += [pl.select(pl.when(~gone).then(c)).to_series().alias(c.name) for c in emptied]
    if isinstance(table, pl.DataFrame):
        made = table.with_columns({c.name: c for c in columns}.values())
        return made if gone is None or not plan.drops else made.filter(~gone)
    kinds = leaves.kinds(frame.schema)
    for column in {c.name: c for c in columns}.values():
        at = table.schema.get_field_index(column.name)
        field = table.schema.field(at)
        if column.name in kinds:
            field = masked_field(field, kinds[column.name], plan)
        elif plan.small_strata == "null":
            field = field.with_nullable(True)
        table = table.set_column(at, field, arrow_of(column, field))
    if gone is not None and plan.drops:
        table = table.filter((~gone).to_arrow())
    return without_notes(table)
