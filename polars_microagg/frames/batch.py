"""One batch of records: out of polars, through the plan, back into polars, the promise kept."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from polars_microagg.errors import BrokenPromiseError
from polars_microagg.frames.columns import emit, numbers, require, unit
from polars_microagg.partition import Labels, Masked, Partition, Strata
from polars_microagg.plan import Plan

__all__ = ["Kernel"]


@dataclass(frozen=True)
class Kernel:
    """What is called once, with all records of a batch.

    The columns of the batch are, in this order, those masked (the plan has their names),
    `strata` columns that keep records apart, and `order` columns that order them.
    """

    plan: Plan
    strata: int = 0
    order: int = 0

    @property
    def names(self) -> list[str]:
        """Names of the masked columns."""
        return [name for block in self.plan.blocks for name in block]

    def output(self, dtype: pl.DataType) -> pl.DataType:
        """Type of a masked column of this type."""
        return pl.Float64() if self.plan.dtype == "float" else dtype

    def mask(self, batch: pl.DataFrame) -> list[pl.Series]:
        """Mask a batch.

        Parameters
        ----------
        batch : polars.DataFrame
            All records.

        Returns
        -------
        list of polars.Series
            The masked columns, in order.

        Raises
        ------
        MissingValuesError
            Nulls against the policy, NaN or infinities.
        TooFewRecordsError
            A stratum has fewer than k records.
        BrokenPromiseError
            A class of emitted records is smaller than k; nothing is released.
        """
        columns = batch.get_columns()[: len(self.names)]
        if not batch.height:
            return [column.cast(self.output(column.dtype)) for column in columns]
        batch, back = self._ordered(batch)
        columns = batch.get_columns()[: len(self.names)]
        strata = self._strata(batch)
        released: list[pl.Series] = []
        for masked in self._masked(columns, strata):
            here = columns[len(released) : len(released) + len(masked.columns)]
            block = [
                emit(column, masked, j, self.output(column.dtype)) for j, column in enumerate(here)
            ]
            self._keep_promise(block, masked.labels, strata)
            released += block
        return released if back is None else [column.gather(back) for column in released]

    def groups(self, batch: pl.DataFrame) -> pl.Series:
        """Number the groups of a batch by their first record; null where it has none.

        Parameters
        ----------
        batch : polars.DataFrame
            All records.

        Returns
        -------
        polars.Series
            UInt32, unique over strata.
        """
        if not batch.height:
            return pl.Series(dtype=pl.UInt32)
        batch, back = self._ordered(batch)
        columns = batch.get_columns()[: len(self.names)]
        (masked,) = self._masked(columns, self._strata(batch))
        labels = masked.labels if back is None else masked.labels[back.to_numpy()]
        number = np.zeros(len(labels), dtype=np.uint32)
        grouped = labels >= 0
        number[grouped] = Partition.from_labels(labels[grouped]).labels
        numbered = pl.Series(number)
        return numbered if grouped.all() else numbered.set(pl.Series(~grouped), None)

    def _ordered(self, batch: pl.DataFrame) -> tuple[pl.DataFrame, pl.Series | None]:
        """Put the records in the order asked for; the second result undoes it."""
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
        if not self.strata:
            return Strata.whole(batch.height)
        keys = batch[:, len(self.names) : len(self.names) + self.strata]
        named = [key.alias(str(i)) for i, key in enumerate(keys)]
        numbered = pl.DataFrame([*named, pl.int_range(batch.height, eager=True).alias("row")])
        by = [key.name for key in named]
        rows = numbered.group_by(by, maintain_order=True).agg("row")["row"]
        order = rows.explode().to_numpy().astype(np.intp)
        return Strata(order, rows.list.len().to_numpy().astype(np.intp))

    def _masked(self, columns: list[pl.Series], strata: Strata) -> list[Masked]:
        x = np.empty((len(columns[0]), len(columns)), order="F")
        for j, (name, column) in enumerate(zip(self.names, columns, strict=True)):
            require(column, name, self.plan.nulls)
            x[:, j] = numbers(column, None if self.plan.groups_cells else strata)
        factors = np.array([unit(column.dtype) for column in columns])
        whole = [not self.output(column.dtype).is_float() for column in columns]
        return list(self.plan.mask(x, factors, strata, whole))

    def _keep_promise(self, block: list[pl.Series], labels: Labels, strata: Strata) -> None:
        """Count the records that share each emitted record, in each stratum."""
        if self.plan.groups_cells:
            return
        emitted = [column.alias(str(j)) for j, column in enumerate(block)]
        if len(strata.sizes) > 1:
            numbers = strata.numbers(len(labels)).astype(np.uint32)
            emitted.append(pl.Series("stratum", numbers))
        if _alike(emitted, labels, self.plan.k):
            return
        records = pl.DataFrame(emitted)
        if labels.min() < 0:
            records = records.filter(pl.Series(labels >= 0))
        if not records.height:
            return
        classes = records.to_struct() if records.width > 1 else records.to_series()
        smallest = int(classes.unique_counts().min())  # type: ignore[arg-type]
        if smallest < self.plan.k:
            raise BrokenPromiseError.small_class(self.plan.method.name, smallest, self.plan.k)


def _alike(columns: list[pl.Series], labels: Labels, k: int) -> bool:
    """Whether groups have k records and all records of a group the same values.

    Then every class of equal records holds whole groups, and so at least k records; it takes less
    time and memory to see this than to count the classes.
    """
    rows = np.flatnonzero(labels >= 0)
    here = labels[rows]
    if not len(rows):
        return True
    sizes = np.bincount(here)
    first = np.zeros(len(sizes), dtype=np.uint32)
    first[here[::-1]] = rows[::-1]
    if sizes[sizes > 0].min() < k:
        return False
    like = pl.Series(first[here])
    some = None if len(rows) == len(labels) else pl.Series(rows.astype(np.uint32))
    for column in columns:
        chosen = column if some is None else column.gather(some)
        if not chosen.eq_missing(column.gather(like)).all():
            return False
    return True
