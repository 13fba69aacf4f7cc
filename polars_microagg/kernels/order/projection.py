"""Projections of records on one axis, and the optimal partition along their order."""

from __future__ import annotations

from typing import Literal

import numpy as np

from polars_microagg.core.partition import Labels, Matrix, Partition, Vector
from polars_microagg.kernels.order.runs import optimal_runs
from polars_microagg.kernels.scale import scaled

__all__ = ["first_component", "projected_partition", "sugeno_integral", "sum_of_z"]


def _zscores(x: Matrix) -> Matrix:
    """Return the columns with mean 0 and standard deviation 1."""
    n, p = x.shape
    return scaled(x, "zscore", np.ones(p), np.array([n])) if n else x


def _weighted(z: Matrix, weights: Vector) -> Vector:
    """Add up columns one by one: a matrix product may round differently with more threads."""
    total = np.zeros(len(z))
    for j, weight in enumerate(weights):
        total += weight * z[:, j]
    return total


def sum_of_z(x: Matrix) -> Vector:
    """Return the (n,) sum of z-scores of each record; constant columns count for nothing.

    >>> sum_of_z(np.array([[1.0, 20.0, 5.0], [3.0, 10.0, 5.0], [5.0, 60.0, 5.0]])).round(3)
    array([-1.688, -0.926,  2.613])
    """
    return _weighted(_zscores(x), np.ones(x.shape[1]))


def first_component(x: Matrix) -> Vector:
    """Return the (n,) scores on the first principal component of the correlation matrix.

    The loadings sum to more than 0. Where they sum to 0, the first that is not 0 is positive. If
    every column is constant, the scores are 0.

    >>> first_component(np.array([[1.0, 30.0], [3.0, 20.0], [5.0, 10.0]])).round(3)
    array([-1.732,  0.   ,  1.732])
    """
    z = _zscores(x)
    n, p = z.shape
    # Each product of two columns on its own: a matrix product may round differently with more
    # threads, and the order of records would change.
    products = np.zeros((p, p))
    for i in range(p):
        for j in range(i + 1):
            products[i, j] = (z[:, i] * z[:, j]).sum()
    if not products.any():
        return np.zeros(n)
    loadings = np.linalg.eigh(products / n)[1][:, -1]
    small = 1e-9
    # An eigenvector has no sign of its own; fix it, so that the order of the records does not
    # depend on the library.
    lead = loadings.sum()
    if abs(lead) < small:
        lead = loadings[np.abs(loadings) > small][0]
    return _weighted(z, loadings if lead > 0 else -loadings)


def sugeno_integral(x: Matrix) -> tuple[Vector, Vector]:
    """Return the (n,) Sugeno integral of each record, and the sum of its values in [0, 1].

    With the p values of a record, brought to [0, 1], in descending order, it is ``max_i min(i / p,
    a_(i))``; constant columns count for nothing.

    >>> sugeno_integral(np.array([[0.0, 4.0], [3.0, 0.0], [10.0, 10.0]]))[0]
    array([0.4, 0.3, 1. ])
    """
    low, high = x.min(axis=0), x.max(axis=0)
    vary = high > low
    a = (x - low)[:, vary] / (high - low)[vary]
    n, p = a.shape
    sums = _weighted(a, np.ones(p))
    if not p:
        return np.zeros(n), sums
    # With the measure i / p of any i of p values, the integral is the greatest of the i-th largest
    # values, each cut at i / p.
    a.sort(axis=1)
    # Ascending, the j-th value from the left is the (p - j)-th largest.
    integrals: Vector = np.minimum(np.arange(p, 0, -1) / p, a).max(axis=1)
    return integrals, sums


def projected_partition(
    x: Matrix, key: Vector, order: Labels, k: int, cost: Literal["multivariate", "projected"]
) -> Partition:
    """Return the optimal partition along an order of projections.

    `key` (n,) are the projections, `order` (n,) the rows in ascending order of them; `cost` decides
    whether the squares are those of the records or of the projections.

    >>> x = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 9.0], [5.0, 9.0], [6.0, 9.0]])
    >>> projected_partition(x, x[:, 0], np.arange(5), 2, "multivariate").labels
    array([0, 0, 1, 1, 1])
    >>> projected_partition(x, x[:, 0], np.arange(5), 2, "projected").labels
    array([0, 0, 0, 1, 1])
    """
    ordered = x[order] if cost == "multivariate" else key[order]
    return Partition.along(order, optimal_runs(ordered, k))
