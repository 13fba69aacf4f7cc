"""Means of floats, rounded once: the same bits whatever the order of the records."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from polars_microagg.core.partition import Labels, Members, Vector

__all__ = ["float_means"]

Real: TypeAlias = type[np.float64 | np.float32 | np.float16]

Way: TypeAlias = Callable[[Vector, Labels, Real], tuple[Vector, npt.NDArray[np.bool_]]]
"""Means of groups that follow each other, and which of them are rounded as they should be."""

SPLIT = 2.0**27 + 1
"""Factor that cuts a double into two halves of 26 bits."""

SMALL = 2.0**-900
"""Means beyond this are rounded as if exponents were unbounded."""

UNIT_ROUNDOFF = 2.0**-53
"""A rounded sum is off by no more than this, relatively."""

FEW = 2**26
"""Numbers below it times half the digits of a double are doubles."""

FEW_GROUPS = 64
"""Groups that are looked at first."""

CHUNK = 1 << 16
"""About so many values are added up at a time."""

UNIT = 1074
"""Every double is a multiple of 2**-UNIT."""


def float_means(values: Vector, members: Members, dtype: Real = np.float64) -> Vector:
    """Return the exact mean of the members of each centre, rounded once, halves to even.

    The result is a double of the precision of `dtype`; 0 where there are no members, and never -0.
    Sums are carried as in T. J. Dekker (1971), "A floating-point technique for extending the
    available precision", Numerische Mathematik 18, 224-242, but first in fewer passes, as the leading
    digits of all values add up without an error: S. M. Rump, T. Ogita and S. Oishi (2008), "Accurate
    floating-point summation part I: faithful rounding", SIAM Journal on Scientific Computing 31,
    189-224.

    >>> pair = Members(np.array([0, 1, 2]), np.array([3]))
    >>> float_means(np.array([1e16, 3.0, -1e16]), pair)
    array([1.])
    """
    means = np.zeros(len(members.sizes))
    left = np.flatnonzero(members.sizes)
    if not len(left):
        return means
    part = Members(members.order, members.sizes[left])
    # What the groups of some are like is what most are like.
    few = part.take(np.arange(0, len(left), -(-len(left) // FEW_GROUPS)))
    near = _in_chunks(_by_offsets, values, few, dtype)[1].mean() > 1 / 2
    # From the way of fewest passes to the most general; each leaves what its bound does not prove.
    for way in (*([_by_offsets] if near else []), _by_leading_digits, _by_pairs):
        means[left], certain = _in_chunks(way, values, part, dtype)
        left, part = left[~certain], part.take(np.flatnonzero(~certain))
        if not len(left):
            break
    # Where the bound on the lost part could change the rounding, Python's integers, which have all
    # digits, decide. So the result is right in every case, and fast in nearly all.
    ends = np.cumsum(part.sizes)
    for g, start, end in zip(left, ends - part.sizes, ends, strict=True):
        means[g] = _by_integers(values[part.order[start:end]].tolist(), dtype)
    # A negative mean that is rounded to nothing would be -0.
    rounded: Vector = means.astype(dtype).astype(np.float64) + 0.0
    return rounded


def _in_chunks(
    way: Way, values: Vector, members: Members, dtype: Real
) -> tuple[Vector, npt.NDArray[np.bool_]]:
    """Return the means of groups, none of them empty, and which are certain."""
    sizes, starts = members.sizes, members.starts
    ends = starts + sizes
    means, certain = np.empty(len(sizes)), np.empty(len(sizes), dtype=np.bool_)
    # Some groups at a time, so that their values stay in the cache.
    bounds = np.unique(np.searchsorted(ends, np.arange(0, ends[-1], CHUNK), side="right"))
    for first, last in itertools.pairwise([*bounds.tolist(), len(sizes)]):
        here = values.take(members.order[starts[first] : ends[last - 1]])
        # Doubts are seen by what overflow leaves: infinities and NaN.
        with np.errstate(over="ignore", invalid="ignore"):
            means[first:last], certain[first:last] = way(here, sizes[first:last], dtype)
    return means, certain


def _by_offsets(values: Vector, sizes: Labels, dtype: Real) -> tuple[Vector, npt.NDArray[np.bool_]]:
    """Return means from the sums of differences to the first value of each group.

    The second result is False for groups whose values are not near each other, beside their size.
    """
    starts = np.cumsum(sizes) - sizes
    first = values.take(starts)
    if dtype is not np.float64 or not len(first):
        return first, np.zeros(len(first), dtype=np.bool_)
    offsets = values - np.repeat(first, sizes)
    sums = np.add.reduceat(offsets, starts)
    # No partial sum is larger than this; of values in ascending order, the whole sum is the largest.
    low, high = float(offsets.min()), float(offsets.max())
    reach = sums if low >= 0 else float(sizes.max()) * max(high, -low)
    near = np.abs(first) > 4.0 * reach
    near &= np.abs(first) > SMALL
    # P. H. Sterbenz (1974): the difference of doubles within a factor of 2 is a double. With u half the
    # last digit of the first value, all offsets and sums are multiples of u, and below 2**53 of them:
    # nothing is lost. The mean is a multiple of u / n. So it is in the middle of two doubles, an odd
    # multiple of u / 2 or u, or at least u / 2n beside it. The share is below 2**52 u / n: it is exact in
    # the one case, and off by less than u / 2n in the other. So the last sum is rounded as it should.
    return first + sums / sizes, near


def _by_leading_digits(
    values: Vector, sizes: Labels, dtype: Real
) -> tuple[Vector, npt.NDArray[np.bool_]]:
    """Return means from sums of leading digits; the second result is False where in doubt."""
    starts = np.cumsum(sizes) - sizes
    return _rounded(*_leading_sums(values, starts, sizes), sizes, dtype)


def _by_pairs(values: Vector, sizes: Labels, dtype: Real) -> tuple[Vector, npt.NDArray[np.bool_]]:
    """Return means from sums of two doubles; the second result is False where in doubt."""
    return _divided(*_sums(values, sizes), sizes.astype(np.float64), dtype)


def _sum_of_two(a: Vector, b: Vector) -> tuple[Vector, Vector]:
    """Return rounded sums and their errors, exact unless they overflow."""
    # Knuth's two-sum: whichever of the two is larger, the rounding error is a double and is found
    # exactly.
    total = a + b
    second = total - a
    return total, (a - (total - second)) + (b - second)


def _product(a: Vector, b: Vector) -> tuple[Vector, Vector]:
    """Return rounded products and their errors, exact unless they overflow or underflow."""
    product = a * b
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    # Dekker (1971): products of the halves are exact, so the error of the product is as well.
    error = a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)
    return product, error


def _halves(a: Vector) -> tuple[Vector, Vector]:
    """Split doubles into two parts whose products are exact."""
    scaled = SPLIT * a
    high: Vector = scaled - (scaled - a)
    return high, a - high


def _leading_sums(
    values: Vector, starts: Labels, sizes: Labels
) -> tuple[Vector, Vector, Vector | None]:
    """Return sums as `_sums` does, of leading digits and of the others; no bound if they are exact.

    What is left of a value beside a power of two far above all of them are its leading digits, and
    all sums of as many as the largest group has are multiples of the last of these digits and doubles.
    """
    top = max(float(values.max()), -float(values.min()))
    room = int(sizes.max() + 1).bit_length()
    above = np.ldexp(1.0, int(np.frexp(top)[1]) + room)
    leading = values + above
    leading -= above
    rest = values - leading
    high = np.add.reduceat(leading, starts)
    low = np.add.reduceat(rest, starts)
    # No value has more left than this, which is 0 only where everything is.
    most = above * UNIT_ROUNDOFF
    above = most * 2.0**room
    np.add(rest, above, out=leading)
    leading -= above
    bound = None
    if not np.array_equal(leading, rest):
        bound = (2 * UNIT_ROUNDOFF * most) * np.square(sizes.astype(np.float64))
    return *_sum_of_two(high, low), bound


def _sums(values: Vector, sizes: Labels) -> tuple[Vector, Vector, Vector]:
    """Return the sums of groups as two doubles, and a bound on what they lack."""
    total, rest, bound = values, np.zeros_like(values), np.zeros_like(values)
    while len(total) > len(sizes):
        left, right = _pairs(sizes)
        total, rest, bound = (np.append(part, 0.0) for part in (total, rest, bound))
        # Neighbours in a group are added until one value a group is left. The errors of these sums
        # are added up in `rest`, and the errors of that are collected in `bound`.
        sums, error = _sum_of_two(total[left], total[right])
        both, first = _sum_of_two(rest[left], rest[right])
        rest, second = _sum_of_two(both, error)
        bound = bound[left] + bound[right] + np.abs(first) + np.abs(second)
        total, sizes = sums, (sizes + 1) // 2
    return *_sum_of_two(total, rest), bound


def _pairs(sizes: Labels) -> tuple[Labels, Labels]:
    """Return the positions of the two values of each pair; one past the end beside the odd ones."""
    halves = (sizes + 1) // 2
    ends = np.cumsum(halves)
    shift = np.cumsum(sizes) - sizes - 2 * (ends - halves)
    left = 2 * np.arange(ends[-1]) + np.repeat(shift, halves)
    right = left + 1
    right[ends[sizes % 2 != 0] - 1] = sizes.sum()
    return left, right


def _rounded(
    high: Vector, low: Vector, bound: Vector | None, sizes: Labels, dtype: Real
) -> tuple[Vector, npt.NDArray[np.bool_]]:
    """Divide sums by the sizes of their groups as `_divided` does, most of them in fewer steps."""
    n = sizes.astype(np.float64)
    if dtype is not np.float64 or sizes.max() >= FEW:
        bound = np.zeros_like(high) if bound is None else bound
        return _divided(high, low, bound, n, dtype)
    mean = high / n
    first, second = _halves(mean)
    # What is left of the high part after n means is a double, and no step loses a digit.
    left = ((high - n * first) - n * second + low) / n
    found = mean + left
    margin = np.abs(left) * 2.0**-50
    if bound is not None:
        margin += bound
    # Both ends of where the mean lies are rounded alike, and so is what lies between them.
    certain = (mean + (left - margin) == found) & (mean + (left + margin) == found)
    certain &= (np.abs(mean) > SMALL) | (high == 0)
    doubtful = np.flatnonzero(~certain)
    if len(doubtful):
        lacks = np.zeros(len(doubtful)) if bound is None else bound[doubtful]
        parts = high[doubtful], low[doubtful], lacks, n[doubtful]
        found[doubtful], certain[doubtful] = _divided(*parts, dtype)
    return found, certain


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
    # A tie goes to the neighbour whose last digit is even: away from an odd mean.
    odd = mean.view(np.int64) % 2 != 0
    # The sign of a rounded sum of two doubles is that of the exact sum.
    if dtype is np.float64:
        # With r = sum - n mean exact, the next double is the better one if r exceeds n times half
        # the gap; that product is exact for n below 2^53 as the half gap is a power of two.
        over = (left - n * ((above - mean) / 2)) + low
        under = (left + n * ((mean - below) / 2)) + low
        rounded = np.where((over > 0) | ((over == 0) & odd), above, mean)
        rounded = np.where((under < 0) | ((under == 0) & odd), below, rounded)
        margin = np.minimum(np.abs(over), np.abs(under))
    else:
        # Rounded to an odd last digit, a mean is rounded again as if for the first time.
        signed = left + low
        rounded = np.where((signed > 0) & ~odd, above, np.where((signed < 0) & ~odd, below, mean))
        margin = np.abs(signed)
    # Near underflow the errors of products are no doubles any more; integers decide there.
    normal = (np.abs(mean) > SMALL) | ((high == 0) & (bound == 0))
    # The part of the sum beyond the two doubles is below `bound`. The decision stands if the margin
    # exceeds it.
    certain = normal & np.isfinite(margin) & ((bound == 0) | (margin > 2 * bound))
    return rounded, certain


def _left(high: Vector, mean: Vector, n: Vector) -> Vector:
    """Return what is left of the high part of a sum after n means."""
    product, error = _product(mean, n)
    return (high - product) - error


def _by_integers(values: list[float], dtype: Real) -> float:
    """Return the mean of a few values, whatever their exponents."""
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
