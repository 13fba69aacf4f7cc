"""Original values inside an interval of ranks around their masked values, of a column in a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from polars_microagg.core.partition import Labels, Vector
from polars_microagg.out_of_core.coordinate_files import CoordinateFiles
from polars_microagg.out_of_core.linked_sample import drawn_rows

__all__ = ["inside_by_rank"]

WIDTHS = np.arange(1.0, 11.0)
"""Widths of the intervals, in per cent of the records."""

SLACK = 1e-9
"""Widths are taken so much wider, as by the measure of a table that is there whole."""

RANGES = 128
"""Most ranges of masked values that are put in order one by one."""

DRAWN = 64
"""Rows that are drawn for each range, to find where it ends."""


def inside_by_rank(files: CoordinateFiles, j: int, size: int) -> float | None:
    """Return the share of values inside, over all widths; None without values.

    About four times `size` records are in memory at a time: masked values are put in order in files.
    """
    with TemporaryDirectory(dir=files.folder) as made:
        folder = Path(made)
        counts = _divided(files, j, size, folder)
        n = int(counts.sum())
        if not n:
            return None
        _rank(folder, counts, size)
        half, inside, start = WIDTHS * (1 + SLACK) / 200 * n, 0, 0
        for number in np.flatnonzero(counts).tolist():
            stop = start + int(counts[number])
            for x, values, sizes, middle in _runs(folder, number, start, stop, size):
                for width in half.tolist():
                    low = np.maximum(np.ceil(middle - width), 0).astype(np.intp)
                    high = np.minimum(np.floor(middle + width), n - 1).astype(np.intp)
                    # Of values between two ranks the interval holds at least the masked value itself.
                    least = np.minimum(_at(folder, low), values)
                    most = np.maximum(_at(folder, high), values)
                    within = x >= np.repeat(least, sizes)
                    within &= x <= np.repeat(most, sizes)
                    inside += int(np.count_nonzero(within))
            start = stop
    return inside / (n * len(WIDTHS))


def _divided(files: CoordinateFiles, j: int, size: int, folder: Path) -> Labels:
    """Write the values by ranges of the masked ones: between two ends, or equal to one of them."""
    ranges = min(RANGES, -(-files.rows // (4 * size)))
    drawn = files.at(j, 1, drawn_rows(files.rows, DRAWN * ranges, 0))
    drawn = np.sort(drawn[~np.isnan(drawn)])
    ends = np.unique(drawn[np.arange(1, ranges) * len(drawn) // ranges]) if len(drawn) else drawn
    counts = np.zeros(2 * len(ends) + 1, dtype=np.intp)
    for x, y in files.pieces(size, [j]):
        present = ~(np.isnan(x[:, 0]) | np.isnan(y[:, 0]))
        x_held, y_held = x[present, 0], y[present, 0]
        # What many records share is a range of its own, which needs no order.
        number = np.searchsorted(ends, y_held) + np.searchsorted(ends, y_held, "right")
        order = np.argsort(number, kind="stable")
        stops = np.cumsum(np.bincount(number, minlength=len(counts)))
        for of in np.unique(number).tolist():
            rows = order[stops[of - 1] if of else 0 : stops[of]]
            for name, column in (("x", x_held), ("y", y_held)):
                with (folder / f"{name}-{of}").open("ab") as file:
                    column[rows].tofile(file)
            counts[of] += len(rows)
    return counts


def _rank(folder: Path, counts: Labels, size: int) -> None:
    """Write all masked values in their order, and put those of each range in order."""
    with (folder / "ranked").open("wb") as ranked:
        for number in np.flatnonzero(counts).tolist():
            y_path, x_path = folder / f"y-{number}", folder / f"x-{number}"
            if number % 2:
                for start in range(0, int(counts[number]), size):
                    np.fromfile(y_path, count=size, offset=8 * start).tofile(ranked)
                continue
            y, x = np.fromfile(y_path), np.fromfile(x_path)
            order = np.argsort(y)
            y[order].tofile(ranked)
            x[order].tofile(x_path)


def _runs(
    folder: Path, number: int, start: int, stop: int, size: int
) -> Iterator[tuple[Vector, Vector, Labels, Vector]]:
    """Yield values before of a range, each masked value, its records, and the middle of their ranks."""
    path = folder / f"x-{number}"
    if number % 2:
        value, middle = _at(folder, np.array([start])), np.array([(start + stop - 1) / 2])
        for passed in range(0, stop - start, size):
            x = np.fromfile(path, count=size, offset=8 * passed)
            yield x, value, np.array([len(x)]), middle
        return
    y = np.fromfile(folder / "ranked", count=stop - start, offset=8 * start)
    first = np.flatnonzero(np.r_[True, y[1:] != y[:-1]])
    sizes = np.diff(first, append=len(y))
    # Equal masked values share the mean of their ranks, counted from 0.
    yield np.fromfile(path), y[first], sizes, start + first + (sizes - 1) / 2


def _at(folder: Path, ranks: Labels) -> Vector:
    """Return the masked values of these ranks, ascending, which are near each other."""
    low, high = int(ranks[0]), int(ranks[-1])
    near = np.fromfile(folder / "ranked", count=high - low + 1, offset=8 * low)
    return near[ranks - low]
