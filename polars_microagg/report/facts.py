"""The facts of a report: measured on the two tables, never taken on trust."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from polars_microagg.analysis.anonymity import classes, emptied, fewest_records, selected
from polars_microagg.analysis.assess import assess
from polars_microagg.analysis.coordinates import matrices
from polars_microagg.charts.aggregates import (
    STEPS,
    class_table,
    correlation_table,
    linkage_table,
    loss_table,
)
from polars_microagg.charts.category_shares import category_shares
from polars_microagg.charts.histograms import histogram
from polars_microagg.core import registry
from polars_microagg.core.options import group_size, keys_asked
from polars_microagg.errors import InvalidParameterError
from polars_microagg.errors.originals import unmatched_rows
from polars_microagg.frames.columns import refuse
from polars_microagg.frames.safe_collect import collected
from polars_microagg.frames.selection import MASKED, ORIGINAL, as_frame, by_name, keys_of
from polars_microagg.kernels.risk.moments import moments, present
from polars_microagg.publishing.column_kinds import of_numbers
from polars_microagg.publishing.manifest.imputed import counted_values
from polars_microagg.publishing.manifest.precision import (
    CHARTS,
    coarse,
    digits_of,
    drawable,
    published,
)
from polars_microagg.report.text import unlike

__all__ = ["Block", "Facts"]


@dataclass(frozen=True)
class Block:
    """Columns that were masked together, and their groups of equal records."""

    names: list[str]
    sizes: pl.DataFrame
    groups: int
    smallest: int | None
    small_groups: int
    small_records: int

    @classmethod
    def of(cls, masked: pl.DataFrame, names: list[str], k: int, strata: Sequence[str]) -> Block:
        """Count the groups of a masked table."""
        sizes = classes(masked, names, strata)["size"]
        small = sizes.filter(sizes < k)
        return cls(
            names,
            class_table(masked, names, k, strata),
            len(sizes),
            None if sizes.is_empty() else int(sizes.min()),  # type: ignore[arg-type]
            len(small),
            int(small.sum()),
        )


@dataclass(frozen=True)
class Facts:
    """All that is measured for a report."""

    rows: int
    emptied: int
    dropped: int | None
    """Rows that were left out; None if the manifest does not record it of so few records."""
    cells: int
    """Masked cells of the release that have a value."""
    k: int
    names: list[str]
    shown: dict[str, str]
    strata: list[str]
    kept: list[str]
    blocks: list[Block]
    measures: Mapping[str, Any]
    records: int
    shift: float | None
    losses: pl.DataFrame
    correlations: pl.DataFrame
    linkage: pl.DataFrame
    histograms: dict[str, pl.DataFrame]
    categories: dict[str, pl.DataFrame]
    changed: dict[str, float]
    sample: int | None = None
    """Records of which the charts of columns are drawn, where that is a sample."""
    linked: int | None = None
    """Records that were linked, where they are a sample."""

    @classmethod
    def of(
        cls,
        original: Any,
        masked: Any,
        columns: Any,
        k: int,
        strata: Any,
        dropped: int | None = 0,
        kinds: Mapping[str, Any] | None = None,
        entity: Sequence[str] = (),
    ) -> Facts:
        """Measure a release, of which so many rows were left out of both tables.

        `kinds` are the options that say of which kind columns are, and `entity` columns of the original
        that say whose a record is.
        """
        asked = keys_asked(kinds or {})
        k = group_size(k)
        before = collected(as_frame(original, "original"), "original")
        after = collected(as_frame(masked, "masked"), "masked")
        if before.height != after.height:
            raise unmatched_rows(before.height, after.height)
        blocks, keys = (
            selected(before, columns, ORIGINAL),
            list(keys_of(after.schema, "strata", strata, MASKED)),
        )
        names = [name for block in blocks for name in block]
        for name in names:
            if name not in after.schema:
                raise InvalidParameterError.unknown_column("columns", name, after.schema, MASKED)
            refuse(name, before.schema[name], asked)
            refuse(name, after.schema[name], asked)
        shown = unlike(dict.fromkeys([*names, *after.columns]))
        metrics = {**registry.assessed(entity=bool(entity)), **registry.on_demand()}
        reported = [name for name, metric in metrics.items() if metric.reported]
        persons: dict[str, Any] = {"entity": list(entity), "strata": keys, **asked}
        measured = assess(before, after, names, metrics=reported, **persons)
        measures = measured.row(0, named=True)
        records = fewest_records(names, before, after)
        digits = digits_of(records)
        pairs = len(names) * (len(names) - 1) // 2
        numbers = 2 * len(names) + pairs + len(reported) + min(len(names), STEPS) + 1
        drawn = names if digits and drawable(records * len(names), len(names), numbers) else []
        counted = [name for name in drawn if name in of_numbers(before.schema, drawn, asked)]
        who = before.select(pl.struct(map(by_name, entity))).to_series() if entity else None
        chosen = [name for name in drawn if name not in counted]
        return cls(
            before.height,
            emptied(after, names, keys),
            dropped,
            counted_values(after, names),
            k,
            names,
            shown,
            keys,
            [name for name in after.columns if name not in (*names, *keys)],
            [Block.of(after, block, k, keys) for block in blocks],
            published(measures, digits),
            records,
            _shift(before, after, counted) if counted else None,
            _rounded(loss_table(before, after, drawn, asked)).with_columns(
                pl.col("column").replace(shown)
            ),
            _correlations(before, after, counted).with_columns(
                pl.col("first", "second").replace(shown)
            ),
            _rounded(linkage_table(before, after, drawn, asked, keys)),
            {n: _shares(histogram(before[n].alias("0"), after[n].alias("0"), k)) for n in counted},
            {n: _shares(category_shares(before[n], after[n], k, who)) for n in chosen},
            _changed(before, after, chosen, asked),
        )

    def compared(self, table: pl.DataFrame | None) -> pl.DataFrame | None:
        """Round lines of `compare`, the best first, as many as disclose little of so few values."""
        if table is None or not self.losses.height:
            return None
        rows = table.drop_nulls(["loss", "dr"]).sort(["pareto", "loss"], descending=[True, False])
        values, each = self.records * len(self.names), sum(t.is_float() for t in table.dtypes)
        fit = next((n for n in range(len(rows), 0, -1) if drawable(values, 0, n * each)), 0)
        return _rounded(rows.head(fit))

    @property
    def suppressed(self) -> float | None:
        """Return the per cent of the records that were emptied or dropped, if it is published."""
        if self.dropped is None:
            return None
        return 100.0 * (self.emptied + self.dropped) / max(self.rows + self.dropped, 1)

    @property
    def smallest(self) -> int | None:
        """Return the size of the smallest group of any block."""
        return min((b.smallest for b in self.blocks if b.smallest is not None), default=None)

    @property
    def holds(self) -> bool:
        """Return whether no group is smaller than k."""
        return not any(block.small_groups for block in self.blocks)

    def named(self, names: Sequence[str]) -> list[str]:
        """Write names of columns as they are shown."""
        return [self.shown[name] for name in names]


def _shift(before: pl.DataFrame, after: pl.DataFrame, names: list[str]) -> float:
    """Measure how far the mean of a column moved at most, in standard deviations."""
    x, y = (moments(table) for table in present(*matrices(before, after, names)))
    moved = np.abs(y.means - x.means) / np.sqrt(np.where(x.variances > 0, x.variances, 1.0))
    return coarse("shift", float(moved.max(initial=0.0)), CHARTS)


def _changed(
    before: pl.DataFrame, after: pl.DataFrame, names: list[str], asked: Mapping[str, Any]
) -> dict[str, float]:
    """Measure the share of the records whose category is another one, or gone."""
    if not names:
        return {}
    table = assess(before, after, names, metrics="changed", by_column=True, **asked)
    return {n: coarse("changed", float(s or 0.0), CHARTS) for n, s in table.rows()}


def _rounded(table: pl.DataFrame) -> pl.DataFrame:
    """Round what was measured, before anything is drawn or written of it."""
    return table.with_columns(
        pl.Series(name, [v if v is None else coarse(name, v, CHARTS) for v in table[name]], dtype)
        for name, dtype in table.schema.items()
        if dtype.is_float()
    )


def _correlations(before: pl.DataFrame, after: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    """Compare correlations by rounded numbers alone, so that the change tells no more than they do."""
    pairs = _rounded(correlation_table(before, after, names))
    return pairs.with_columns(change=(pl.col("after") - pl.col("before")).round(CHARTS) + 0.0)


def _shares(bins: pl.DataFrame) -> pl.DataFrame:
    """Write counts in whole per cents of all, rounded where they have risen to: they sum to 100."""
    both = pl.col("before", "after")
    risen = bins.select((both.cum_sum() * 100 / both.sum()).round(0).cast(pl.Int64))
    return bins.with_columns(risen.select(both - both.shift(1, fill_value=0)))
