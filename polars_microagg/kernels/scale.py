"""Columns on a common scale, for distances only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from polars_microagg.core.partition import Labels, Matrix, Vector

__all__ = ["SCALES", "Segments", "scaled", "side_by_side", "standardised"]

T = TypeVar("T", bound=np.generic)

HUGE = 2.0**1000
"""Differences of values up to this size do not overflow."""


CHUNK = 1 << 16
"""Numbers handled at a time, so that they stay in the cache."""

BOUNDED = 1000
"""Values times their units stay below this power of two."""

ROUNDED = 1e-12
"""Powers of ten are off by less than this, relatively."""

LARGE = 2.0**256
"""Squares of scaled values up to this size do not overflow."""


@dataclass(frozen=True, eq=False)
class Segments:
    """Consecutive rows that are scaled on their own: one segment a stratum."""

    sizes: Labels
    starts: Labels

    @classmethod
    def of(cls, sizes: Labels) -> Segments:
        """Return segments of these sizes, none empty."""
        return cls(sizes, np.cumsum(sizes) - sizes)

    @cached_property
    def code(self) -> Labels:
        """The segment of each row."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def spread(self, values: npt.NDArray[T]) -> npt.NDArray[T]:
        """Return, for each row, the value of its segment."""
        return values if len(values) == 1 else values[self.code]

    def sum(self, column: Vector, power: int = 1) -> Vector:
        """Return the sum of each segment, or of its squares, added up row by row."""
        # A stratum has the same sums alone and among others: both ways add in row order.
        if len(self.sizes) > 1:
            return np.bincount(self.code, column**power).astype(np.float64, copy=False)
        total = 0.0
        for start in range(0, len(column), CHUNK):
            part = column[start : start + CHUNK] ** power
            part[0] += total
            total = float(np.cumsum(part, out=part)[-1])
        return np.array([total])

    def mean(self, column: Vector, power: int = 1) -> Vector:
        """Return the mean of the values present in each segment, or of their squares; 0 without any."""
        absent = np.isnan(column)
        if not absent.any():
            present, total = self.sizes, self.sum(column, power)
        else:
            present = np.maximum(np.bincount(self.code, ~absent), 1)
            total = self.sum(np.where(absent, 0.0, column), power)
        mean: Vector = total / present
        return mean

    def quantile(self, column: Vector, *shares: float) -> list[Vector]:
        """Return quantiles of each segment over the values present, linear between ranks."""
        ranked = column[np.lexsort((column, self.code))]
        present = np.bincount(self.code, ~np.isnan(column)).astype(np.intp)
        quantiles = []
        for share in shares:
            rank = np.maximum(present - 1, 0) * share
            low = np.floor(rank).astype(np.intp)
            below = ranked[self.starts + low]
            above = ranked[self.starts + np.ceil(rank).astype(np.intp)]
            quantiles.append(below + (above - below) * (rank - low))
        return quantiles


def _zscore(column: Vector, segments: Segments) -> None:
    column -= segments.spread(segments.mean(column))
    variance = segments.mean(column, 2)
    column /= segments.spread(np.sqrt(np.where(variance > 0, variance, 1.0)))


def _minmax(column: Vector, segments: Segments) -> None:
    span = np.fmax.reduceat(column, segments.starts)
    column /= segments.spread(np.where(span > 0, span, 1.0))


def _robust(column: Vector, segments: Segments) -> None:
    low, middle, high = segments.quantile(column, 0.25, 0.5, 0.75)
    span = high - low
    with np.errstate(over="ignore"):
        steady = (column - segments.spread(middle)) / segments.spread(np.where(span > 0, span, 1.0))
    # Infinite distances could not be compared.
    np.clip(steady, -HUGE, HUGE, out=steady)
    _zscore(column, segments)
    np.copyto(column, steady, where=segments.spread(span > 0))


SCALES: dict[str, Callable[[Vector, Segments], None] | None] = {
    "zscore": _zscore,
    "minmax": _minmax,
    "robust": _robust,
    "none": None,
}
"""Each overwrites the column."""


def scaled(
    x: Matrix,
    how: str,
    factors: Vector,
    sizes: Labels,
    joint: Labels | None = None,
    spans: Vector | None = None,
    *,
    zero: bool = False,
) -> Matrix:
    """Return the (n, p) columns of each stratum scaled for distances, in Fortran order.

    `how` is "zscore" (standard deviation 1, ddof 0), "minmax" (range 1), "robust" (interquartile
    range 1, or the standard deviation where the quartiles are equal) or "none"; a constant column
    is all zeros, NaN stays. `factors` (p,) is the size of one unit of each column, used by "none";
    with `zero`, a column that is not scaled keeps its zero, so that different columns can be
    compared. Exact shifts of a column and powers of two change no bit of the result. Columns with
    the same number in `joint` (p,), if it is not negative, are coordinates of one: they are scaled
    together, so that their total variance is 1, or the largest distance that there is, `spans` (p,).

    >>> scaled(np.array([[1.0, 7.0], [3.0, 7.0]]), "zscore", np.ones(2), np.array([2]))
    array([[-1.,  0.],
           [ 1.,  0.]])
    """
    segments = Segments.of(sizes)
    rescale = SCALES[how]
    units = np.ones((len(sizes), x.shape[1])) if rescale else _units(factors, x, segments)
    zero = zero and rescale is None
    out = np.empty(x.shape, order="F")
    tops = np.empty((len(sizes), x.shape[1]))
    for j in range(x.shape[1]):
        if joint is not None and joint[j] >= 0:
            continue
        # A column starts at its least value and is brought to the order of 1 by a power of two,
        # which is exact. So shifts and powers of two of the input cannot change a bit, and whole
        # numbers stay whole.
        column = out[:, j]
        tops[:, j] = top = _from_zero(x[:, j], segments, units[:, j], column, zero=zero)
        if rescale:
            _times_power(column, -_exponent(top), segments)
            rescale(column, segments)
    for number in np.unique(joint[joint >= 0]) if joint is not None else ():
        own = np.flatnonzero(joint == number)
        span = 1.0 if spans is None else float(spans[own[0]])
        _together(x, out, own, how, segments, units[:, own[0]], span)
        for j in own.tolist():
            tops[:, j] = np.fmax.reduceat(np.abs(out[:, j]), segments.starts)
    if how == "robust":
        # Half of a column may lie far closer together than its outliers are away.
        peaks = [np.fmax.reduceat(np.abs(column), segments.starts) for column in out.T]
        peak = np.fmax.reduce(peaks, axis=0)
        tops = np.where(peak > LARGE, peak, 0.5)[:, None]
    if rescale is None or how == "robust":
        shift = segments.spread(_exponent(np.fmax.reduce(tops, axis=1)))
        np.ldexp(out, -shift[:, None], out=out)
    return out


def _together(
    x: Matrix, out: Matrix, own: Labels, how: str, segments: Segments, unit: Vector, span: float
) -> None:
    """Scale coordinates of one column by one number, so that their distances keep their proportions."""
    # There may be hundreds, so none of them is copied.
    variance = np.zeros(len(segments.sizes))
    for j in own.tolist():
        if how == "none":
            out[:, j] = x[:, j] * segments.spread(unit)
            continue
        centred = x[:, j] - segments.spread(segments.mean(x[:, j]))
        out[:, j] = centred / span if how == "minmax" else centred
        variance += segments.mean(centred * centred)
    if how in ("none", "minmax"):
        return
    scale = segments.spread(np.sqrt(np.where(variance > 0, variance, 1.0)))
    for j in own.tolist():
        out[:, j] /= scale


def _units(factors: Vector, x: Matrix, segments: Segments) -> Matrix:
    """Return the unit of each column in each segment, which depends on no value of another segment.

    Columns are counted in the least unit if the others are whole multiples of it, so that no value is
    rounded, unless values of the segment would overflow. Units that are still too large are halved
    together: only their proportions count.

    >>> _units(np.array([1.0, 0.01]), np.array([[1.0, 1.0], [1e300, 1.0]]), Segments.of(np.array([1, 1])))
    array([[1.e+02, 1.e+00],
           [1.e+00, 1.e-02]])
    """
    powers = np.empty((len(segments.sizes), x.shape[1]), dtype=np.intp)
    for j, column in enumerate(x.T):
        powers[:, j] = _exponent(np.fmax.reduceat(np.abs(column), segments.starts))
    units, whole = np.tile(factors, (len(powers), 1)), _in_least_unit(factors)
    fits = (powers + np.frexp(whole)[1]).max(axis=1, initial=0) <= BOUNDED
    units[fits | (whole <= 1).all()] = whole
    excess = (powers + np.frexp(units)[1]).max(axis=1, initial=0) - BOUNDED
    return np.asarray(np.ldexp(units, -np.maximum(excess, 0)[:, None]))


def _in_least_unit(factors: Vector) -> Vector:
    """Count in the least unit if the others are whole multiples of it; units of 0 stay as they are.

    >>> _in_least_unit(np.array([1.0, 0.01]))
    array([100.,   1.])
    """
    least = factors.min(initial=np.inf)
    if not least > 0:
        return factors
    with np.errstate(over="ignore"):
        multiples = factors / least
    whole: Vector = np.rint(multiples)
    # Infinity is no multiple, and its difference from itself no number.
    if not (np.isfinite(whole).all() and np.allclose(multiples, whole, rtol=ROUNDED, atol=0)):
        return factors
    return whole


def _from_zero(
    column: Vector, segments: Segments, factor: Vector, out: Vector, *, zero: bool
) -> Vector:
    """Write each segment in its unit, shifted to start at 0 unless `zero`; return its largest size."""
    low = np.fmin.reduceat(column, segments.starts)
    high = np.fmax.reduceat(column, segments.starts)
    huge = np.fmax(np.abs(low), np.abs(high)) > HUGE
    if huge.any():
        unit = np.where(huge, 2.0**-64, 1.0)
        column, low, high = column * segments.spread(unit), low * unit, high * unit
    if zero:
        np.multiply(column, segments.spread(factor), out=out)
        return np.fmax(np.abs(low), np.abs(high)) * factor
    np.subtract(column, segments.spread(low), out=out)
    if (factor != 1.0).any():
        out *= segments.spread(factor)
    return (high - low) * factor


def _times_power(column: Vector, exponents: Labels, segments: Segments) -> None:
    """Multiply each segment by a power of two, given by its exponent."""
    if (np.abs(exponents) > BOUNDED).any():
        np.ldexp(column, segments.spread(exponents), out=column)
    else:
        # The same bits in less time, as these powers are doubles.
        column *= segments.spread(np.ldexp(1.0, exponents))


def _exponent(values: Vector) -> Labels:
    """Return the binary exponents of values, 0 for NaN."""
    exponents: Labels = np.frexp(np.where(np.isnan(values), 0.0, values))[1]
    return exponents


def side_by_side(parts: Sequence[Matrix], n: int) -> Matrix:
    """Join (n, p) matrices to one in Fortran order.

    >>> side_by_side([np.array([[1.0]]), np.array([[2.0, 3.0]])], 1)
    array([[1., 2., 3.]])
    """
    joined = np.empty((n, sum(part.shape[1] for part in parts)), order="F")
    for j, column in enumerate(column for part in parts for column in part.T):
        joined[:, j] = column
    return joined


def standardised(
    original: Matrix, masked: Matrix, joint: Labels | None = None
) -> tuple[Matrix, Matrix]:
    """Return two (n, q) tables in standard deviations (ddof 0) from the mean of the first.

    Columns of `original` that are constant or empty are left out. NaN is passed over. Columns with
    the same number in `joint` (p,) are coordinates of one: they are scaled together, so that their
    total variance is 1, and left out together.

    >>> standardised(np.array([[1.0, 7.0], [3.0, 7.0]]), np.array([[2.0, 7.0], [2.0, 7.0]]))[1]
    array([[0.],
           [0.]])
    """
    if joint is not None and len(np.unique(joint)) < len(joint):
        blocks = [np.flatnonzero(joint == number) for number in np.unique(joint)]
        pairs = [_standardised_together(original[:, own], masked[:, own]) for own in blocks]
        return np.hstack([x for x, _ in pairs]), np.hstack([y for _, y in pairs])
    observed = ~np.isnan(original).all(axis=0)
    original, masked = original[:, observed], masked[:, observed]
    low = original.min(axis=0, initial=np.inf, where=~np.isnan(original))
    high = original.max(axis=0, initial=-np.inf, where=~np.isnan(original))
    unit = np.where(np.fmax(np.abs(low), np.abs(high)) > HUGE, 2.0**-64, 1.0)
    x, y = ((table * unit - low * unit)[:, high > low] for table in (original, masked))
    if not x.size:
        return x, y
    # A power of two divides exactly, and then no square overflows or vanishes.
    shift = -_exponent(np.nanmax(x, axis=0))
    x, y = np.ldexp(x, shift), np.ldexp(y, shift)
    mean, sd = np.nanmean(x, axis=0), np.nanstd(x, axis=0)
    return (x - mean) / sd, (y - mean) / sd


def _standardised_together(original: Matrix, masked: Matrix) -> tuple[Matrix, Matrix]:
    """Standardise the coordinates of one column, constant ones among them."""
    there = ~np.isnan(original).any(axis=1)
    if original.shape[1] == 1 or not there.any():
        return standardised(original, masked)
    held = original if there.all() else original[there]
    if (held == held[0]).all():
        return original[:, :0], masked[:, :0]
    mean = held.mean(axis=0)
    # One coordinate after the other: there may be hundreds.
    squares = [
        float(np.square(column - middle).sum()) for column, middle in zip(held.T, mean, strict=True)
    ]
    sd = np.sqrt(sum(squares) / len(held))
    before, after = original - mean, masked - mean
    before /= sd
    after /= sd
    return before, after
