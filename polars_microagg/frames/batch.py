"""One batch of records: out of polars, through the plan, back into polars, its promise checked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from polars_microagg.core.kind import Kind, has_means
from polars_microagg.core.masked import Centres, Masked
from polars_microagg.core.partition import Grouping, Labels, Matrix, Members, Partition, Strata
from polars_microagg.core.plan import Plan
from polars_microagg.core.rule import Rule
from polars_microagg.core.suppression import refuse_none_left, to_suppress
from polars_microagg.errors import GuaranteeError
from polars_microagg.frames.attributes import confidential_of, entity_of
from polars_microagg.frames.classes import entities_alike, members_of
from polars_microagg.frames.columns import emit, kind_for, numbers, require
from polars_microagg.frames.rare_categories import refuse_rare

__all__ = ["BatchMasker", "Released"]


@dataclass(frozen=True)
class Released:
    """Masked columns in order, and which rows are suppressed; None if no row is."""

    columns: list[pl.Series]
    suppressed: pl.Series | None = None

    def flags(self, rows: int) -> pl.Series:
        """Return which rows are suppressed, as one boolean for each of so many rows."""
        if self.suppressed is not None:
            return self.suppressed
        return pl.repeat(False, rows, dtype=pl.Boolean, eager=True)


@dataclass(frozen=True)
class BatchMasker:
    """Masks, or numbers the groups of, one batch.

    The columns of the batch are, in this order, those masked (the plan has their names), `strata`
    columns that keep records apart, those of the entity and the confidential ones (the plan has their
    names, too), and `order` columns that order them.
    """

    plan: Plan
    strata: int = 0
    order: int = 0
    sample: bool = False
    """True if the batch is drawn from the table, in which categories are not as rare as in the batch."""

    @property
    def names(self) -> list[str]:
        """Names of the masked columns."""
        return [name for block in self.plan.blocks for name in block]

    def output(self, name: str, dtype: pl.DataType) -> pl.DataType:
        """Return the type in which a column of this name and type is emitted."""
        if self.plan.dtype == "float" and has_means(self.kind(name, dtype)):
            return pl.Float64()
        return dtype

    def kind(self, name: str, dtype: pl.DataType) -> Kind:
        """Return the kind of a masked column."""
        return kind_for(name, dtype, self.plan.kinds)

    def mask(self, batch: pl.DataFrame) -> Released:
        """Mask a batch; the result has all of its rows, also those that are to be dropped.

        Raises MissingValuesError for nulls against the policy, NaN and infinities,
        TooFewRecordsError for strata of fewer than k records that may not be emptied, and
        GuaranteeError for a class of emitted records that is too small.
        """
        columns = batch.get_columns()[: len(self.names)]
        if not batch.height:
            return Released(
                [column.cast(self._output(j, column)) for j, column in enumerate(columns)]
            )
        batch, back = self._ordered(batch)
        columns = batch.get_columns()[: len(self.names)]
        hidden, strata, rule, blocks = self._masked(batch)
        released: list[pl.Series] = []
        for masked in blocks:
            originals = columns[len(released) : len(released) + len(masked.columns)]
            kinds = [self._kind(len(released) + j, c) for j, c in enumerate(originals)]
            block = [
                emit(column, masked, j, self._output(len(released) + j, column), kinds[j])
                for j, column in enumerate(originals)
            ]
            self._keep_rare(originals, block, kinds, masked)
            # Each block as soon as it is emitted: a later one cannot make up for it.
            self.keep_promise(block, masked.groups, strata, rule)
            released += block
        flags = pl.Series(hidden) if hidden.any() else None
        if back is not None:
            released = [column.gather(back) for column in released]
            flags = flags if flags is None else flags.gather(back)
        return Released(released, flags)

    def find_suppressed(self, batch: pl.DataFrame) -> pl.Series:
        """Find the records of a batch that are emptied or dropped, and mask nothing."""
        batch, back = self._ordered(batch)
        columns = batch.get_columns()[: len(self.names)]
        strata = self._strata(batch)
        x, rule = self._matrix(columns, strata), self._rule(batch)
        self._refuse_rare(columns, rule)
        hidden = pl.Series(self._suppressed(x, strata, rule))
        return hidden if back is None else hidden.gather(back)

    def groups(self, batch: pl.DataFrame) -> pl.Series:
        """Number the groups of a batch by their first record, as UInt32 unique over strata.

        Null for none.
        """
        if not batch.height:
            return pl.Series(dtype=pl.UInt32)
        batch, back = self._ordered(batch)
        (masked,) = self._masked(batch)[3]
        labels = masked.labels
        labels = labels if back is None else labels[back.to_numpy()]
        number = np.zeros(len(labels), dtype=np.uint32)
        grouped = labels >= 0
        number[grouped] = Partition.from_labels(labels[grouped]).labels
        numbered = pl.Series(number)
        return numbered if grouped.all() else numbered.set(pl.Series(~grouped), None)

    def _ordered(self, batch: pl.DataFrame) -> tuple[pl.DataFrame, pl.Series | None]:
        """Sort the records by the `order` columns; the second result undoes it."""
        # Methods of a Series look it up by its name, where "^a$" would be a pattern.
        named = [column.alias(str(i)) for i, column in enumerate(batch.get_columns())]
        batch = pl.DataFrame(named)
        if not self.order:
            return batch, None
        keys = [pl.col(column.name) for column in named[-self.order :]]
        by = pl.arg_sort_by(keys, maintain_order=True, nulls_last=True)
        order = batch.select(by).to_series()
        return batch[order], order.arg_sort()

    def _strata(self, batch: pl.DataFrame) -> Strata:
        """List the rows by their values in the strata columns, first seen first."""
        if not self.strata:
            return Strata.whole(batch.height)
        keys = batch[:, len(self.names) : len(self.names) + self.strata]
        named = [key.alias(str(i)) for i, key in enumerate(keys)]
        numbered = pl.DataFrame([*named, pl.int_range(batch.height, eager=True).alias("row")])
        by = [key.name for key in named]
        rows = numbered.group_by(by, maintain_order=True).agg("row")["row"]
        order = rows.explode().to_numpy().astype(np.intp)
        return Strata(order, rows.list.len().to_numpy().astype(np.intp))

    def _rule(self, batch: pl.DataFrame) -> Rule:
        """Return what every group must satisfy, counted on the records of the batch."""
        first = len(self.names) + self.strata
        last = first + len(self.plan.entity)
        counted = batch.get_columns()
        entity = entity_of(counted[first:last], self.plan.entity) if self.plan.entity else None
        hidden = counted[last : last + len(self.plan.confidential)]
        confidential = map(confidential_of, hidden, self.plan.confidential)
        return self.plan.rule(entity, list(confidential))

    def _masked(
        self, batch: pl.DataFrame
    ) -> tuple[npt.NDArray[np.bool_], Strata, Rule, list[Masked]]:
        """Return the suppressed rows, strata and rule of the others, and masked values of each block."""
        columns, strata = batch.get_columns()[: len(self.names)], self._strata(batch)
        x, rule = self._matrix(columns, strata), self._rule(batch)
        self._refuse_rare(columns, rule)
        kinds = [self._kind(j, column) for j, column in enumerate(columns)]
        factors = np.array(
            [kind.unit(column.dtype) for kind, column in zip(kinds, columns, strict=True)]
        )
        whole = [not self._output(j, column).is_float() for j, column in enumerate(columns)]
        embeddings = [kind.embedding(column) for kind, column in zip(kinds, columns, strict=True)]
        chosen = [
            embedding is not None or not kind.numeric
            for embedding, kind in zip(embeddings, kinds, strict=True)
        ]
        hidden = self._suppressed(x, strata, rule)
        strata = strata.without(hidden)
        if self.plan.drops:
            rule = rule.among(~hidden)
        return (
            hidden,
            strata,
            rule,
            list(self.plan.mask(x, factors, strata, whole, rule, embeddings, chosen)),
        )

    def _suppressed(self, x: Matrix, strata: Strata, rule: Rule) -> npt.NDArray[np.bool_]:
        """Return which records are emptied or dropped, and refuse a table of which none is left."""
        hidden = to_suppress(self.plan, x, strata, rule)
        refuse_none_left(self.plan, rule, hidden)
        return hidden

    def _refuse_rare(self, columns: list[pl.Series], rule: Rule) -> None:
        """Refuse a column of categories of which most would be lost."""
        if self.sample:
            return
        entity = rule.entity_codes if self.plan.entity else None
        for j, (name, column) in enumerate(zip(self.names, columns, strict=True)):
            refuse_rare(column, name, self._kind(j, column), self.plan.k, entity)

    def _matrix(self, columns: list[pl.Series], strata: Strata) -> Matrix:
        """Return the columns as one (n, p) matrix, NaN for null."""
        x = np.empty((len(columns[0]), len(columns)), order="F")
        for j, (name, column) in enumerate(zip(self.names, columns, strict=True)):
            kind = self._kind(j, column)
            require(column, name, self.plan.nulls, kind)
            # Values that are computed, not sums of records, count from 0; ranks count in a stratum.
            computed = kind.numeric and (self.plan.groups_cells or self.plan.merges_rows)
            x[:, j] = numbers(column, None if computed else strata, kind)
        return x

    def _kind(self, j: int, column: pl.Series) -> Kind:
        return self.kind(self.names[j], column.dtype)

    def _output(self, j: int, column: pl.Series) -> pl.DataType:
        return self.output(self.names[j], column.dtype)

    def _keep_rare(
        self,
        originals: list[pl.Series],
        block: list[pl.Series],
        kinds: list[Kind],
        masked: Masked,
    ) -> None:
        """Refuse a category that is emitted though fewer than k of its stratum have it."""
        for column, emitted, kind, chosen in zip(
            originals, block, kinds, masked.values, strict=True
        ):
            if isinstance(chosen, Centres) and not kind.numeric:
                fewest = kind.fewest(column, emitted, chosen.holders)
                if fewest < self.plan.k:
                    name, k = self.plan.method.name, self.plan.k
                    raise GuaranteeError.small_class(name, fewest, k, "holders of a category")

    def keep_promise(
        self, block: list[pl.Series], groups: Grouping, strata: Strata, rule: Rule | None = None
    ) -> None:
        """Refuse classes of equal emitted records of a stratum that break the promise of the plan.

        Emptied records are released, too: they are a class in a stratum of their own.
        """
        # Cells of one record may be in groups of different records, so no class of records is
        # promised.
        if self.plan.groups_cells:
            return
        rule = rule or self.plan.rule()
        # A value is what a reader sees, after rounding to its type, and a class is all that is
        # equal in the block and in the stratum. Numbers as names, since a name may be a pattern.
        emitted = [column.alias(str(j)) for j, column in enumerate(block)]
        if len(strata.order) < groups.n or len(strata.sizes) > 1:
            numbers = strata.numbers(groups.n).astype(np.int32)
            emitted.append(pl.Series("stratum", numbers))
        records = pl.DataFrame(emitted)
        # Dropped records are not released and must not make a class look larger.
        if self.plan.drops and len(strata.order) < groups.n:
            released = groups.labels >= 0
            records = records.filter(pl.Series(released))
            groups = Grouping.by_label(groups.labels[released], groups.count)
            rule = rule.take(np.flatnonzero(released))
        if not records.height:
            return
        # Equal records of several groups are one class, and a union of groups that satisfy a model
        # satisfies it. So if every group does and is uniform, every class does. To see that takes
        # less time and memory than to number the classes, which is done only where it fails.
        if not _holds(rule, groups, records.get_columns()):
            self.plan.keep_promise(members_of(records), rule)
        if self.plan.entity_mode == "alike":
            fewest = int(entities_alike(rule.entity_codes, members_of(records)).min())
            if fewest < self.plan.k:
                name, k = self.plan.method.name, self.plan.k
                raise GuaranteeError.small_class(name, fewest, k, "entities alike")


def _holds(rule: Rule, groups: Grouping, columns: list[pl.Series]) -> bool:
    """Return whether every group satisfies the rule and its records have the same values."""
    listed = groups.listed
    if listed is not None and len(listed.order) >= groups.n:
        # A list is believed only if it has every row once, and no group that is empty.
        if not (listed.sizes.all() and listed.are_all(groups.n)):
            return False
        return rule.broken(listed) is None and _alike_in_runs(columns, listed)
    return rule.broken(rule.groups(groups.labels)) is None and _alike(columns, groups.labels)


def _alike_in_runs(columns: list[pl.Series], groups: Members) -> bool:
    """Return whether all records of each listed group have the same values."""
    order = pl.Series(groups.order.astype(np.uint32))
    first = np.zeros(len(order), dtype=np.bool_)
    first[groups.starts] = True
    for column in columns:
        listed = column.gather(order)
        same = listed.slice(1).eq_missing(listed.slice(0, len(order) - 1)).to_numpy()
        if not (same | first[1:]).all():
            return False
    return True


def _alike(columns: list[pl.Series], labels: Labels) -> bool:
    """Return whether all records of each group have the same values.

    Records of no group count as one group.
    """
    low = labels.min()
    groups = labels if not low else labels - low
    # Some row of each group: all others must have its values.
    one = np.zeros(int(groups.max()) + 1, dtype=np.uint32)
    one[groups] = np.arange(len(groups), dtype=np.uint32)
    like = pl.Series(one.take(groups))
    return all(column.eq_missing(column.gather(like)).all() for column in columns)
