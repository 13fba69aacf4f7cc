"""Every table that a release leaves possible, and how many of them its published numbers leave."""

import datetime as dt
import json
from itertools import combinations_with_replacement

import numpy as np
import polars as pl

import polars_microagg as mg

METHODS = ("mdav", "vmdav", "fixed_size", "mdav1", "diameter", "pcp", "k_ward", "lowloss")
KINDS = ("whole", "half", "day")
EPOCH = dt.date(1970, 1, 1)
JITTER = 1 + 1e-10
"""Moves halves of a last digit to one side, whatever their last bit is."""


def table(rng, rows, columns, wide, kind="whole"):
    """A table of numbers in a small range, all above 0."""
    values = rng.integers(1, wide + 1, (rows, columns))
    return pl.DataFrame({name: typed(values[:, i], kind) for i, name in enumerate("ab"[:columns])})


def typed(values, kind):
    """Numbers as a column: whole, on a grid of halves, or days."""
    if kind == "day":
        return pl.Series([EPOCH + dt.timedelta(days=int(v)) for v in values])
    return pl.Series(values / 2 if kind == "half" else values)


def numbers(column):
    return column.to_physical().cast(pl.Float64).to_numpy()


class Candidates:
    """The tables on a grid whose groups have the released centres, column by column.

    Each column is kept as sums over its groups: of values, of squares, of relative and of squared
    differences. `count` is the number of tables, of which those are one whose groups have the
    same values.
    """

    def __init__(self, original, masked, grid):
        self.rows, self.true, self.columns, self.tuples = original.height, [], [], []
        labels = masked.select(pl.struct(pl.all()).rank("dense")).to_series().to_numpy()
        for name in original.columns:
            x, y, kind = numbers(original[name]), numbers(masked[name]), masked[name].dtype
            parts, here = [], []
            for label in np.unique(labels):
                rows = np.flatnonzero(labels == label)
                sets = possible(grid, len(rows), y[rows[0]], not kind.is_float())
                here.append((rows, sets))
                parts.append(sums(sets, y[rows[0]]))
            self.tuples.append(here)
            self.true.append(sums(x[None], y))
            self.columns.append((outer(parts), y))
        self.count = int(np.prod([column["times"].sum() for column, _ in self.columns]))

    def measures(self, columns=None):
        """Measures of every candidate, of the columns together."""
        columns = columns or [column for column, _ in self.columns]
        found = [measured(c, y, self.rows) for c, (_, y) in zip(columns, self.columns, strict=True)]
        if len(found) == 1:
            return mixed(found[0], None)
        return mixed(*found)

    def left(self, rounding, names):
        """How many candidates have the published numbers of the original."""
        every, own = self.measures(), self.measures(self.true)
        keep = np.ones(len(every["times"]), dtype=bool)
        for name in names:
            keep &= rounding(name, every[name]) == rounding(name, own[name])
        return int(every["times"][keep].sum())

    def draw(self, rng, original):
        """One of the candidates, as a table."""
        columns = {}
        for name, groups in zip(original.columns, self.tuples, strict=True):
            values = np.empty(self.rows)
            for rows, sets in groups:
                values[rows] = rng.permutation(sets[rng.integers(len(sets))])
            dtype = original[name].dtype
            columns[name] = (
                pl.Series(values).cast(pl.Int32 if dtype == pl.Date else dtype).cast(dtype)
            )
        return pl.DataFrame(columns)


def possible(grid, size, centre, whole):
    """Sets of values of a group with this centre; which record has which is never told."""
    sets = np.array(list(combinations_with_replacement(grid, size)))
    means = sets.mean(axis=1)
    return sets[np.rint(means) == centre if whole else np.abs(means - centre) < 1e-9]


def sums(values, centre):
    differences = np.abs(values - centre)
    return {
        "sum": values.sum(axis=1),
        "squares": (values**2).sum(axis=1),
        "apart": (differences**2).sum(axis=1),
        "relative": (differences / values).sum(axis=1).round(12),
        "times": np.ones(len(values)),
    }


def outer(parts):
    """Put groups together; what has equal sums is one."""
    whole = parts[0]
    for part in parts[1:]:
        both = {
            n: (np.multiply if n == "times" else np.add).outer(whole[n], part[n]).ravel()
            for n in whole
        }
        both["relative"] = both["relative"].round(11)
        frame = pl.DataFrame(both).group_by(
            "sum", "squares", "apart", "relative", maintain_order=True
        )
        whole = {n: c.to_numpy() for n, c in frame.agg(pl.col("times").sum()).to_dict().items()}
    return whole


def measured(column, y, rows):
    """Measures of one column for many originals."""
    mean = column["sum"] / rows
    variance = np.maximum(column["squares"] / rows - mean**2, 0)
    varies = np.where(variance > 1e-12, variance, np.nan)
    return {
        "z": column["apart"] / varies,
        "il1": column["relative"] / rows,
        "il2": np.abs(mean - y.mean()) / mean,
        "il4": np.abs(variance - y.var()) / varies,
        "mean_sd": np.sqrt(y.var() / varies),
        "times": column["times"],
    }


def mixed(one, other):
    if other is not None:
        both = {}
        for name in one:
            if name == "times":
                both[name] = np.multiply.outer(one[name], other[name]).ravel()
            else:
                both[name] = np.add.outer(one[name], other[name]).ravel() / 2
        one = both
    return one


def four(name, values):
    """Four significant digits, as once."""
    values = np.asarray(values, dtype=float) * JITTER
    power = np.floor(np.log10(np.where(values > 0, values, 1.0)))
    return np.nan_to_num(np.round(values * 10.0 ** (3 - power)), nan=-1.0)


def whole_per_cent(step):
    """A loss rounded to some per cents."""

    def rounding(name, values):
        return np.nan_to_num(np.round(np.asarray(values) * JITTER * 100 / step), nan=-1.0)

    return rounding


def released(original, method, k):
    """What a method releases of a table."""
    return mg.mask(original, original.columns, k, method=method)


def documents(original, masked, k, folder, kept=None, require=()):
    """What leaves with a release: its manifest, its report and its last line, without the times."""
    from polars_microagg.cli.last_line import last_line
    from polars_microagg.publishing.formats.files import Location
    from polars_microagg.report import report_html

    names, keep = masked.columns, None
    if kept is not None:
        original, masked = original.with_columns(kept), masked.with_columns(kept)
        keep = kept.name
    place = Location.of(folder / "o.parquet")
    options = {"original": original, "method": None, "keep": keep, "require": require}
    mg.publish(masked, place.path, names, k, **options)
    told = json.loads(place.record.read_bytes())
    del told["times"]
    page = report_html(original, masked, names, k=k, manifest=told, warnings=told["warnings"])
    return told, page, last_line(told, place, place.record)
