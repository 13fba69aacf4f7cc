"""Tables of counts and measures that charts and reports show: never a record."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from polars_microagg.analysis.anonymity import classes
from polars_microagg.analysis.assess import assess
from polars_microagg.analysis.coordinates import matrices
from polars_microagg.core.kind import kind_of
from polars_microagg.core.partition import Labels
from polars_microagg.kernels.risk.moments import moments, present

__all__ = ["class_table", "correlation_table", "linkage_table", "loss_table", "size_table"]

BARS = 28
"""Most bars of class sizes."""
SETS = 30
"""Most sets of columns an intruder knows that are tried for each number of columns."""
STEPS = 10
"""Most numbers of columns an intruder knows."""
RECORDS = 600_000
"""Records that are searched with each number of columns."""


def class_table(
    masked: pl.DataFrame, names: Sequence[str], k: int, strata: Sequence[str] = ()
) -> pl.DataFrame:
    """Return the number of groups of equal masked records by their size.

    A row for each range of sizes that occurs has low, high, label, groups and records. Sizes above
    and below k are never counted together.

    >>> table = class_table(pl.DataFrame({"age": [30, 30, 41, 41, 41]}), ["age"], 2)
    >>> table.select("label", "groups", "records").rows()
    [('2', 1, 2), ('3', 1, 3)]
    """
    sizes = classes(masked, names, strata)["size"].to_numpy()
    return size_table(sizes.astype(np.int64), np.ones(len(sizes), dtype=np.int64), k)


def size_table(sizes: Labels, counts: Labels, k: int) -> pl.DataFrame:
    """Return the same of groups of which so many, `counts` (n,), have each of these `sizes` (n,).

    >>> size_table(np.array([2, 3]), np.array([7, 1]), 2).select("label", "groups", "records").rows()
    [('2', 7, 14), ('3', 1, 3)]
    """
    top = min(int(sizes.max(initial=k)), 4 * k)
    wide = max(1, math.ceil(top / BARS))
    # Ranges start at k and go on in steps, so no range has k within it: sizes below k stay apart.
    low = k + (np.minimum(sizes, top) - k) // wide * wide
    starts, where = np.unique(low, return_inverse=True)
    groups, records = (
        np.bincount(where, weights=each, minlength=len(starts)).astype(np.int64)
        for each in (counts, counts * sizes)
    )
    last = bool(len(sizes)) and int(sizes.max()) > starts[-1] + wide - 1
    ends = [(max(a, 1), a + wide - 1) for a in starts.tolist()]
    labels = [f"{a}" if a == b else f"{a}-{b}" for a, b in ends]
    if last:
        labels[-1] = f"{starts[-1]} or more"
    return pl.DataFrame(
        {
            "low": pl.Series(starts, dtype=pl.Int64),
            "high": pl.Series(starts + wide, dtype=pl.Int64),
            "label": pl.Series(labels, dtype=pl.String),
            "groups": pl.Series(groups, dtype=pl.Int64),
            "records": pl.Series(records, dtype=pl.Int64),
        }
    )


def loss_table(
    original: pl.DataFrame,
    masked: pl.DataFrame,
    names: Sequence[str],
    kinds: Mapping[str, Any] | None = None,
) -> pl.DataFrame:
    """Return what each column loses, a row a column: column, loss and spread.

    The loss is in per cent of its variation, the spread the standard deviation after in per cent of
    that before; null where a column does not vary, and the spread of categories. `kinds` are options
    that say of which kind columns are.

    >>> before = pl.DataFrame({"age": [30, 32, 41, 43]})
    >>> loss_table(before, pl.DataFrame({"age": [31, 31, 42, 42]}), ["age"])["loss"].round(3).item()
    3.2
    """
    rows = []
    for name in names:
        kind = kind_of(original.schema[name], name, kinds)
        metrics = ["loss", "mean_sd"] if kind is None or kind.numeric else ["loss", "sst"]
        measures = assess(original, masked, [name], metrics=metrics, **(kinds or {}))
        loss, varies = measures.select(metrics).row(0)
        spread = varies if "mean_sd" in metrics else None
        loss = loss if varies else None
        rows.append((name, loss, None if spread is None else 100.0 * spread))
    types = {"column": pl.String, "loss": pl.Float64, "spread": pl.Float64}
    return pl.DataFrame(rows, schema=types, orient="row")


def correlation_table(
    original: pl.DataFrame, masked: pl.DataFrame, names: Sequence[str]
) -> pl.DataFrame:
    """Return what each correlation becomes, a row a pair of columns.

    It has first and second (their names), i and j (their positions), before, after and change.

    >>> before = pl.DataFrame({"a": [1, 2, 3, 4], "b": [1, 2, 4, 3]})
    >>> after = pl.DataFrame({"a": [1.5, 1.5, 3.5, 3.5], "b": [1.5, 1.5, 3.5, 3.5]})
    >>> table = correlation_table(before, after, ["a", "b"])
    >>> table.select("first", "second", pl.col("change").round(3)).row(0)
    ('b', 'a', 0.2)
    """
    before, after = (
        moments(np.asarray(table)).correlations
        for table in present(*matrices(original, masked, list(names)))
    )
    j, i = np.triu_indices(len(names), 1)
    return pl.DataFrame(
        {
            "first": pl.Series([names[a] for a in i.tolist()], dtype=pl.String),
            "second": pl.Series([names[a] for a in j.tolist()], dtype=pl.String),
            "i": pl.Series(i, dtype=pl.Int64),
            "j": pl.Series(j, dtype=pl.Int64),
            "before": pl.Series(before[i, j], dtype=pl.Float64),
            "after": pl.Series(after[i, j], dtype=pl.Float64),
            "change": pl.Series(after[i, j] - before[i, j], dtype=pl.Float64),
        }
    )


def linkage_table(
    original: pl.DataFrame,
    masked: pl.DataFrame,
    names: Sequence[str],
    kinds: Mapping[str, Any] | None = None,
    strata: Sequence[str] = (),
) -> pl.DataFrame:
    """Return how often an intruder finds the right record, by how many columns they know.

    A row for at most 10 numbers of columns has known, sets (how many choices of them were tried:
    all, or up to 30 at random) and dld (per cent of the records linked, the mean over the sets). `kinds`
    are options that say of which kind columns are, and `strata` columns of `masked` that they know, too.

    >>> before = pl.DataFrame({"a": [1, 2, 8, 9], "b": [1, 2, 8, 9]})
    >>> after = pl.DataFrame({"a": [1, 1, 9, 9], "b": [1, 1, 9, 9]})
    >>> linkage_table(before, after, ["a", "b"]).rows()
    [(1, 2, 50.0), (2, 1, 50.0)]
    """
    rows = []
    # Of many columns some numbers of them, and of many records fewer sets, so that it ends soon.
    numbers = np.unique(np.linspace(1, len(names), min(len(names), STEPS)).round()).astype(int)
    most = max(3, min(SETS, RECORDS // max(len(original), 1)))
    for known in numbers.tolist():
        sets = min(most, math.comb(len(names), known))
        shared: dict[str, Any] = {"known": known, "known_sample": sets, "strata": strata}
        shared |= kinds or {}
        linked = assess(original, masked, list(names), metrics=["dld"], **shared)
        rows.append((known, sets, linked["dld"].item()))
    types = {"known": pl.Int64, "sets": pl.Int64, "dld": pl.Float64}
    return pl.DataFrame(rows, schema=types, orient="row")
