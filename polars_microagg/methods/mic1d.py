"""One dimension microaggregation: the values of all columns in one vector."""

from __future__ import annotations

from typing import Literal

import numpy as np

from polars_microagg.core.partition import Labels, Matrix, ValueMasking, Vector
from polars_microagg.core.registry import method
from polars_microagg.kernels.order.runs import fixed_runs, stable_order

__all__ = ["mic1d"]

HUGE = 2.0**1000
"""Differences of values up to this size do not overflow."""


@method(
    cite="Nin (One dimension microaggregation, no year)",
    paper="000",
    sizes="k values, 1..2k-1 the last",
    unit="value",
    scaled=False,
)
def mic1d(x: Matrix, /, *, k: int, tail: Literal["merge", "keep"] = "merge") -> ValueMasking:
    """Group the values of all columns in one sorted vector; no k records are made alike.

    Parameters
    ----------
    x : array of shape (n, p)
        One record a row, finite, in original units.
    k : int
        Number of values in a group, of all n p of them; at least 2.
    tail : {"merge", "keep"}
        Whether the values that remain when k does not divide n p join the last group, or are a
        smaller group of their own.

    Returns
    -------
    ValueMasking
        The masked values. Nothing is promised about records: hardly any two need be alike.

    Notes
    -----
    Mic1D-k of J. Nin, "One dimension microaggregation", section 3.

    *Vectorization*: the values of all records and attributes are put in a single vector, the
    concept of record and attribute is ignored. *Sorting*: in increasing order. *Partitioning*: into
    blocks of k successive values. *Normalization*: each block is brought to [0, 1] by its least and
    its greatest value, to 0.5 if they are equal. *Re-sorting and re-normalization*: the two steps
    are repeated with the normalized values. *Mean value computation*: the mean of each of the new
    blocks replaces its values. Then both normalizations are undone and each value is put back in
    its place.

    It protects hardly at all: values that are next to each other in the one vector are near each
    other already, and the least and the greatest of a block can return to themselves, so that most
    masked values equal their originals or nearly so. It is here because the paper compares with it.

    k counts values, not records, and the method promises no k equal records: the number of
    records that share their masked values can only be measured afterwards, as in `k_prime`. It
    keeps neither the mean of a column nor its range, since values of different columns are grouped.

    The paper leaves open: the mean is taken of the twice normalized values, and each value is put
    back by the two ranges that it was normalized by, so that a value whose block is constant
    returns to itself. The paper keeps a smaller last block ("keep"); the default merges it, so that
    no block has fewer than k. Equal values are sorted by record, then by column.

    Examples
    --------
    0, 3, 10 and 20, 27, 30 become 0, 0.3, 1 and 0, 0.7, 1; the new blocks 0, 0, 0.3 and 0.7, 1, 1
    have the twice normalized means 1/3 and 2/3, or 0.1 and 0.9 normalized once.

    >>> mic1d(np.array([[0.0, 27.0], [20.0, 3.0], [10.0, 30.0]]), k=3).values.round(9)
    array([[ 1., 29.],
           [21.,  1.],
           [ 9., 29.]])
    """
    vector = x.ravel()
    sizes = _sizes(len(vector), k, tail)
    first = _Blocks(vector, sizes)
    once = first.normalised(vector)
    second = _Blocks(once, sizes)
    twice = second.normalised(once)
    means = np.add.reduceat(twice[second.order], second.starts) / sizes
    restored = first.restored(second.restored(means[second.block]))
    return ValueMasking(np.asfortranarray(restored.reshape(x.shape)))


def _sizes(count: int, k: int, tail: Literal["merge", "keep"]) -> Labels:
    """Return the sizes of blocks of k, the last one with the rest or on its own."""
    sizes = fixed_runs(count, k)
    if tail == "keep" and sizes[-1] > k:
        sizes = np.append(sizes, sizes[-1] - k)
        sizes[-2] = k
    return sizes


class _Blocks:
    """Sorted values in blocks, each with its range."""

    def __init__(self, values: Vector, sizes: Labels) -> None:
        self.order = stable_order(values)
        self.starts = np.cumsum(sizes) - sizes
        self.block = np.empty(len(values), dtype=np.intp)
        self.block[self.order] = np.repeat(np.arange(len(sizes)), sizes)
        ranked = values[self.order]
        low, high = ranked[self.starts], ranked[self.starts + sizes - 1]
        unit = np.where(np.maximum(-low, high) > HUGE, 2.0**-64, 1.0)
        self.unit, self.high = unit[self.block], high[self.block]
        self.low = (low * unit)[self.block]
        self.span = (high * unit - low * unit)[self.block]

    def normalised(self, values: Vector) -> Vector:
        """Return values with each block in [0, 1], a constant one at 0.5."""
        constant = self.span == 0
        shares: Vector = (values * self.unit - self.low) / np.where(constant, 1.0, self.span)
        shares[constant] = 0.5
        return shares

    def restored(self, values: Vector) -> Vector:
        """Return values in [0, 1] in the range of their block again."""
        restored: Vector = np.minimum((self.low + values * self.span) / self.unit, self.high)
        return restored
