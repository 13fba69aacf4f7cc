"""Costs of all runs that end in a block of an ordered sequence.

A block is laid out as the 2k-2 items before it and its own. Every run of k to 2k-1 items that
ends in it holds its first item. Sums are taken about that item, so they never outgrow the run they
describe: neither a far origin nor an outlier elsewhere costs digits.

Arrays of items have shape (block, item, lane), arrays of costs (block, k, item, lane), the longest
run first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["COSTS", "Array", "view"]

Array: TypeAlias = npt.NDArray[np.float64]


def view(base: Array, shape: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    """Return a view of a contiguous array with overlaps; strides count elements."""
    return np.ndarray(shape, np.float64, base, strides=tuple(8 * s for s in strides))


def _accumulate(terms: Array) -> None:
    """Cumulate along the second axis, in place."""
    if terms.shape[2] == 1:
        np.cumsum(terms, axis=1, out=terms)
        return
    for j in range(1, terms.shape[1]):
        terms[:, j] += terms[:, j - 1]


def _ends(terms: Array, k: int) -> tuple[Array, Array]:
    """Return the terms of the first and of the last item of every run that ends in a block."""
    blocks, near, lanes = terms.shape
    origin = 2 * k - 2
    shape = (blocks, k, near - origin, lanes)
    return view(terms, shape, (near * lanes, lanes, lanes, 1)), terms[:, None, origin:]


def _spans(terms: Array, k: int) -> Array:
    """Return the sums of terms over all runs that end in a block; overwrites the terms."""
    # Every run that ends in a block holds its first item: so a sum from there back to its first
    # item, and one from there on to its last.
    origin = 2 * k - 2
    _accumulate(terms[:, origin::-1])
    _accumulate(terms[:, origin:])
    first, last = _ends(terms, k)
    spans: Array = first + last
    return spans


def _sum_of_squares(offsets: Sequence[Array], k: int) -> Array:
    """Return sums of squared differences from the mean."""
    sizes = np.arange(2 * k - 1, k - 1, -1, dtype=np.float64).reshape(k, 1, 1)
    squares: Array = reduce(np.add, [offset * offset for offset in offsets])
    # Sum |x|^2 - |sum x|^2 / m. Offsets are from an item of the run itself, so the difference loses
    # no more digits than the run's own spread costs.
    spans = [_spans(offset, k) for offset in offsets]
    between: Array = reduce(np.add, [np.square(span, out=span) for span in spans])
    between /= sizes
    cost = _spans(squares, k)
    cost -= between
    return cost


def _absolute_error(offsets: Sequence[Array], k: int) -> Array:
    """Return sums of absolute differences from the median, of sorted items."""
    (offset,) = offsets
    blocks, near, lanes = offset.shape
    origin = 2 * k - 2
    # Sums of the items before each place, counted from the one before the first of the block.
    sums = np.zeros((blocks, near + 1, lanes))
    np.negative(offset[:, :origin], out=sums[:, :origin])
    _accumulate(sums[:, origin::-1])
    sums[:, origin + 1 :] = offset[:, origin:]
    _accumulate(sums[:, origin:])
    rank, item = np.arange(k)[:, None], np.arange(near - origin)
    # The median minimises absolute error, and about any median it is the sum of the upper half less
    # that of the lower half.
    half = (2 * k - 1 - rank) // 2
    end = origin + 1 + item
    cost: Array = sums[:, None, origin + 1 :] - sums.take(end - half, axis=1)
    cost -= sums.take(item + rank + half, axis=1)
    cost += sums.take(item + rank, axis=1)
    return cost


def _range(offsets: Sequence[Array], k: int) -> Array:
    """Return the last of sorted items less the first."""
    (offset,) = offsets
    first, last = _ends(offset, k)
    cost: Array = last - first
    return cost


COSTS: dict[str, Callable[[Sequence[Array], int], Array]] = {
    "sse": _sum_of_squares,
    "sae": _absolute_error,
    "maxdist": _range,
}
"""Costs by name; each takes the columns of blocks, less the first item of the block, and k."""
