"""Means of floats, rounded once: the same bits whatever the order of the records."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from polars_microagg.core.partition import Labels, Members, Vector

__all__ = ["float_means"]

Real: TypeAlias = type[np.float64 | np.float32 | np.float16]

SPLIT = 2.0**27 + 1
"""Factor that cuts a double into two halves of 26 bits."""

SMALL = 2.0**-900
"""Means from here on are rounded as if exponents were unbounded."""

UNIT = 1074
"""Every double is a multiple of 2**-UNIT."""


def float_means(values: Vector, members: Members, dtype: Real = np.float64) -> Vector:
    """Round the exact mean of the members of each centre once, halves to even.

    Parameters
    ----------
    values : array of shape (n,)
        One value a record, those of members finite.
    members : Members
        Rows of each centre.
    dtype : type
        Floats that the means are rounded to.

    Returns
    -------
    array of shape (centres,)
        Means as doubles; 0 where there are no members, and never -0.

    Notes
    -----
    T. J. Dekker (1971), "A floating-point technique for extending the available precision",
    Numerische Mathematik 18, 224-242: the sum of two doubles is a double and an error that is a
    double too, and so is their product. Sums are carried as two doubles and a bound on what these
    lack, mostly 0. Where the bound leaves a doubt about the rounding, integers decide.

    Examples
    --------
    >>> pair = Members(np.array([0, 1, 2]), np.array([3]))
    >>> float_means(np.array([1e16, 3.0, -1e16]), pair)
    array([1.])
    """
    means = np.zeros(len(members.sizes))
    some = np.flatnonzero(members.sizes)
    if not len(some):
        return means
    ranked, sizes = values[members.order], members.sizes[some]
    # Doubts are seen by what overflow leaves: infinities and NaN.
    with np.errstate(over="ignore", invalid="ignore"):
        found, certain = _divided(*_sums(ranked, sizes), sizes.astype(np.float64), dtype)
    doubtful = np.flatnonzero(~certain)
    starts = members.starts[some]
    for g, start, size in zip(doubtful, starts[doubtful], sizes[doubtful], strict=True):
        found[g] = _by_integers(ranked[start : start + size].tolist(), dtype)
    # A negative mean that is rounded to nothing would be -0.
    means[some] = found.astype(dtype).astype(np.float64) + 0.0
    return means


def _sum_of_two(a: Vector, b: Vector) -> tuple[Vector, Vector]:
    """Rounded sums and their errors, exact unless they overflow."""
    total = a + b
    second = total - a
    return total, (a - (total - second)) + (b - second)


def _product(a: Vector, b: Vector) -> tuple[Vector, Vector]:
    """Rounded products and their errors, exact unless they overflow or vanish."""
    product = a * b
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    error = a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)
    return product, error


def _halves(a: Vector) -> tuple[Vector, Vector]:
    scaled = SPLIT * a
    high = scaled - (scaled - a)
    return high, a - high


def _sums(values: Vector, sizes: Labels) -> tuple[Vector, Vector, Vector]:
    """Sums of groups as two doubles, the second at most half a last digit, and a bound on the rest.

    Neighbours in a group are added until one value a group is left.
    """
    total, rest, bound = values, np.zeros_like(values), np.zeros_like(values)
    while len(total) > len(sizes):
        left, right = _pairs(sizes)
        total, rest, bound = (np.append(part, 0.0) for part in (total, rest, bound))
        sums, error = _sum_of_two(total[left], total[right])
        both, first = _sum_of_two(rest[left], rest[right])
        rest, second = _sum_of_two(both, error)
        bound = bound[left] + bound[right] + np.abs(first) + np.abs(second)
        total, sizes = sums, (sizes + 1) // 2
    return *_sum_of_two(total, rest), bound


def _pairs(sizes: Labels) -> tuple[Labels, Labels]:
    """Positions of the two values of each pair; one past the end beside the odd ones."""
    halves = (sizes + 1) // 2
    ends = np.cumsum(halves)
    shift = np.cumsum(sizes) - sizes - 2 * (ends - halves)
    left = 2 * np.arange(ends[-1]) + np.repeat(shift, halves)
    right = left + 1
    right[ends[sizes % 2 != 0] - 1] = sizes.sum()
    return left, right


def _divided(
    high: Vector, low: Vector, bound: Vector, n: Vector, dtype: Real
) -> tuple[Vector, npt.NDArray[np.bool_]]:
    """Divide sums by n; the second result is False where the rounding is in doubt."""
    mean = high / n
    # After one correction the mean is next to the exact one, and what is left of the sum,
    # high - n mean, is a double: it has few digits beyond the last of the mean.
    mean = mean + (_left(high, mean, n) + low) / n
    left = _left(high, mean, n)
    above, below = np.nextafter(mean, np.inf), np.nextafter(mean, -np.inf)
    odd = mean.view(np.int64) % 2 != 0
    # The sign of a rounded sum of two doubles is that of the exact sum.
    if dtype is np.float64:
        over = (left - n * ((above - mean) / 2)) + low
        under = (left + n * ((mean - below) / 2)) + low
        found = np.where((over > 0) | ((over == 0) & odd), above, mean)
        found = np.where((under < 0) | ((under == 0) & odd), below, found)
        margin = np.minimum(np.abs(over), np.abs(under))
    else:
        # Rounded to an odd last digit, a mean is rounded again as if for the first time.
        signed = left + low
        found = np.where((signed > 0) & ~odd, above, np.where((signed < 0) & ~odd, below, mean))
        margin = np.abs(signed)
    normal = (np.abs(mean) > SMALL) | ((high == 0) & (bound == 0))
    certain = normal & np.isfinite(margin) & ((bound == 0) | (margin > 2 * bound))
    return found, certain


def _left(high: Vector, mean: Vector, n: Vector) -> Vector:
    """What is left of the high part of a sum after n means."""
    product, error = _product(mean, n)
    return (high - product) - error


def _by_integers(values: list[float], dtype: Real) -> float:
    """Mean of some values, whatever their exponents."""
    ratios = map(float.as_integer_ratio, values)
    total = sum(over << (UNIT + 1 - under.bit_length()) for over, under in ratios)
    count = len(values) << UNIT
    # Division of Python's integers is correctly rounded.
    mean = total / count
    if dtype is np.float64:
        return mean
    over, under = mean.as_integer_ratio()
    left = total * under - over * count
    even = np.float64(mean).view(np.int64) % 2 == 0
    if left and even:
        mean = float(np.nextafter(mean, np.inf if left > 0 else -np.inf))
    return mean
