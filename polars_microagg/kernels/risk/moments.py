"""Means, covariances and principal components, the same for two tables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from polars_microagg.core.partition import Labels, Matrix, Vector

__all__ = ["Moments", "moments", "moments_of", "present"]

NOISE = 1e-12
"""Share of the size of a column below which a moment is taken for 0."""

HUGE = 1000
"""Exponents of two up to this size do not overflow in a difference."""


@dataclass(frozen=True, eq=False, slots=True)
class Moments:
    """Moments of a table: means, covariances (ddof 0), and a size of each column."""

    means: Vector
    covariances: Matrix
    sizes: Vector

    @property
    def variances(self) -> Vector:
        """Return the variance of each column."""
        variances: Vector = np.diagonal(self.covariances).copy()
        return variances

    @property
    def correlations(self) -> Matrix:
        """Return the correlation of each pair of columns; 0 where one of them is constant."""
        sd = np.sqrt(self.variances)
        scale = np.where(sd > 0, sd, 1.0)
        return np.clip(self.covariances / scale / scale[:, None], -1.0, 1.0)

    def only(self, columns: Labels) -> Moments:
        """Return the moments of some of the columns."""
        kept = self.covariances[np.ix_(columns, columns)]
        return Moments(self.means[columns], kept, self.sizes[columns])

    def first_component(self) -> tuple[float, Vector]:
        """Return the largest eigenvalue of the correlations and its vector, of either sign."""
        values, vectors = np.linalg.eigh(self.correlations)
        return float(max(values[-1], 0.0)), vectors[:, -1]


def present(original: Matrix, masked: Matrix) -> tuple[Matrix, Matrix]:
    """Return both tables, each column divided by one power of two, NaN where either is NaN.

    >>> present(np.array([[4.0], [np.nan]]), np.array([[8.0], [1.0]]))
    (array([[0.25],
           [ nan]]), array([[0.5],
           [nan]]))
    """
    absent = np.isnan(original) | np.isnan(masked)
    tops = [np.abs(table).max(axis=0, initial=0.0, where=~absent) for table in (original, masked)]
    # A power of two divides without rounding, and then no square overflows.
    shift = -np.frexp(np.maximum(*tops))[1].astype(np.intc)
    first, second = (np.ldexp(table, shift) for table in (original, masked))
    if absent.any():
        first[absent] = second[absent] = np.nan
    return first, second


def moments(x: Matrix) -> Moments:
    """Return the moments of an (n, p) table of the order of 1, over the values present.

    0 where there are none.

    >>> moments(np.array([[0.5, 0.25], [1.0, 0.75]])).covariances
    array([[0.0625, 0.0625],
           [0.0625, 0.0625]])
    """
    there = ~np.isnan(x)
    whole = bool(there.all())
    count = np.maximum(there.sum(axis=0), 1)
    filled = x if whole else np.where(there, x, 0.0)
    means = filled.sum(axis=0) / count
    low, high = (
        x.min(axis=0, initial=np.inf, where=there),
        x.max(axis=0, initial=-np.inf, where=there),
    )
    constant = low >= high
    means = np.where(constant & np.isfinite(low), low, means)
    centred = filled - means if whole else np.where(there, filled - means, 0.0)
    pairs = count if whole else np.maximum(there.T.astype(float) @ there, 1.0)
    sizes = np.abs(filled).sum(axis=0) / count
    return moments_of(means, centred.T @ centred / pairs, sizes, constant)


def moments_of(
    means: Vector, covariances: Matrix, sizes: Vector, constant: npt.NDArray[np.bool_]
) -> Moments:
    """Return moments without what is rounding; `constant` columns have the same value everywhere."""
    covariances[constant] = covariances[:, constant] = 0.0
    sd = np.sqrt(np.diagonal(covariances))
    # What is smaller than rounding can make it is 0, so that a measure does not divide by noise.
    noise = NOISE * sd * sd[:, None]
    covariances[np.abs(covariances) <= noise] = 0.0
    means = np.where(np.abs(means) <= NOISE * sizes, 0.0, means)
    return Moments(means, covariances, sizes)
