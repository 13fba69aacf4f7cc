"""A table of records in single precision, which tells most of them apart at half the cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from polars_microagg.core.partition import Labels, Vector

if TYPE_CHECKING:
    from polars_microagg.kernels.remaining_mean import RemainingMean

__all__ = ["SingleTable", "Singles"]

Singles = npt.NDArray[np.float32]
"""Values in single precision."""

COARSE = 64
"""A table is of use if its slack is less than one in this many of its largest squared norm."""

_HALF_EPSILON = 2.0**-24
_DOUBLE_EPSILON = 2.0**-52
_TINY = float(np.finfo(np.float64).tiny)


class SingleTable:
    """The remaining records about their mean, as (d + 1, m) columns with their squared norms below.

    They are scaled by a power of two, so that the largest coordinate is near 1. The value of a
    record x measured from q, both about the origin of the table, is |x|^2 - 2 x.q: its squared
    distance less |q|^2. Two values that differ by more than `slack` are those of records whose
    `squared_distances` differ, and in the same order. A record that is gone is moved to the origin:
    its value is 0 from everywhere, where what is far has a positive value and what is near a
    negative one. An answer that comes near 0 is left to others.
    """

    __slots__ = ("_mean", "_values", "_weights", "largest", "offset", "scale", "slack", "table")

    def __init__(self, left: RemainingMean, rows: Labels) -> None:
        columns = left.columns.take(rows, axis=1)
        origin = columns.mean(axis=1)
        columns -= origin[:, None]
        # A power of two changes no digit.
        exponent = -int(np.frexp(max(float(columns.max()), -float(columns.min())))[1])
        np.ldexp(columns, exponent, out=columns)
        d, m = columns.shape
        self.table: Singles = np.empty((d + 1, m), dtype=np.float32)
        self.table[:-1] = columns
        norms = np.einsum("dm,dm->m", columns, columns)
        self.table[-1] = norms
        self.largest = float(norms.max())
        with np.errstate(over="ignore", invalid="ignore"):
            self.scale = float(np.ldexp(-2.0, exponent))
            self.offset: Vector = origin * self.scale
            self.slack = self._slack(float(left.records[-1].take(rows).max()), d, exponent)
        self._weights: Singles | None = None
        self._mean: Singles = np.ones(d + 1, dtype=np.float32)
        self._values: Singles = np.empty((3, m), dtype=np.float32)

    def _slack(self, norm: float, d: int, exponent: int) -> float:
        # With M the largest squared norm of the table and u = 2^-24: coordinates and norms rounded
        # to single precision put a value off by up to (4 + 1) u M, as sum |x_i q_i| <= |x| |q| <= M,
        # and a mean is hardly longer than the longest record; see `spans`. The sum of d + 1
        # products, in any order, adds (d + 1) u (2 M + M), and a limit rounded to single precision
        # 3 u M. That is (3 d + 11) u M, twice for two records; the rest is for terms of second
        # order, for distances rounded in double precision, and for what is lost near 2^-126.
        rounding = 2 * (3 * d + 20) * _HALF_EPSILON * self.largest
        # The mean is rounded in double precision before the origin is taken from it. With `norm`
        # the largest squared norm about the old centre it is off by a few eps |norm|^.5.
        spread = float(np.ldexp(norm**0.5, exponent))
        shifted = 16 * (d + 3) * _DOUBLE_EPSILON * spread * self.largest**0.5
        # Squares that underflow are off by no more than this, which grows with the scale.
        lost = (d + 3) * float(np.ldexp(_TINY, 2 * exponent))
        slack: float = rounding + shifted + lost
        return slack

    @property
    def useful(self) -> bool:
        """Return whether the slack is small beside the distances."""
        return self.slack * COARSE < self.largest

    @property
    def cells(self) -> int:
        """Count the values of the table."""
        return self.table.size

    def remove(self, positions: Labels) -> None:
        """Move these records to the origin."""
        self.table[:, positions] = 0.0

    def norm(self, position: int) -> float:
        """Return the squared norm of a record that is not gone."""
        return float(self.table[-1, position])

    def measure(self, position: int, buffer: int) -> Singles:
        """Return the values measured from a record, in one of the buffers 0 and 1."""
        if self._weights is None:
            # Those of records that are gone do not matter.
            self._weights = np.ones(self.table.T.shape, dtype=np.float32)
            np.multiply(self.table[:-1].T, np.float32(-2.0), out=self._weights[:, :-1])
        values: Singles = np.dot(self._weights[position], self.table, out=self._values[buffer])
        return values

    def weigh(self, sums: Vector, count: int) -> Vector:
        """Return -2 times the mean of records of the table, about its origin and scaled."""
        weights: Vector = sums * (self.scale / count)
        weights -= self.offset
        return weights

    def spans(self, weights: Vector) -> bool:
        """Return whether a mean is no farther from the origin than the records, as the slack needs.

        It is, unless the running sum has lost more to rounding than the records differ.
        """
        return float(weights.dot(weights)) <= 4.004 * self.largest

    def single(self, weights: Vector) -> Singles:
        """Return the (d + 1,) weights in single precision, which multiply the table."""
        self._mean[:-1] = weights
        return self._mean

    def measure_weighed(self, weights: Singles) -> Singles:
        """Return the values measured from a mean."""
        values: Singles = np.dot(weights, self.table, out=self._values[2])
        return values
