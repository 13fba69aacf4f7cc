"""Project records on one axis, to put them in an order."""

from __future__ import annotations

import numpy as np

from polars_microagg.core.partition import Matrix, Vector
from polars_microagg.kernels.scale import scaled

__all__ = ["first_component", "sugeno_integral", "sum_of_z"]


def _zscores(x: Matrix) -> Matrix:
    n, p = x.shape
    return scaled(x, "zscore", np.ones(p), np.array([n])) if n else x


def _weighted(z: Matrix, weights: Vector) -> Vector:
    """Add up columns one by one: a matrix product may round differently with more threads."""
    total = np.zeros(len(z))
    for j, weight in enumerate(weights):
        total += weight * z[:, j]
    return total


def sum_of_z(x: Matrix) -> Vector:
    """Sum of z-scores of each record.

    Parameters
    ----------
    x : array of shape (n, p)
        One record a row, on any scale; constant columns count for nothing.

    Returns
    -------
    array of shape (n,)
        The sums.

    Examples
    --------
    >>> sum_of_z(np.array([[1.0, 20.0, 5.0], [3.0, 10.0, 5.0], [5.0, 60.0, 5.0]])).round(3)
    array([-1.688, -0.926,  2.613])
    """
    return _weighted(_zscores(x), np.ones(x.shape[1]))


def first_component(x: Matrix) -> Vector:
    """Score of each record on the first principal component of the correlation matrix.

    The loadings sum to more than 0. Where they sum to 0, the first that is not 0 is positive.

    Parameters
    ----------
    x : array of shape (n, p)
        One record a row, on any scale; constant columns count for nothing.

    Returns
    -------
    array of shape (n,)
        The scores; zeros if every column is constant.

    Examples
    --------
    >>> first_component(np.array([[1.0, 30.0], [3.0, 20.0], [5.0, 10.0]])).round(3)
    array([-1.732,  0.   ,  1.732])
    """
    z = _zscores(x)
    n, p = z.shape
    products = np.zeros((p, p))
    for i in range(p):
        for j in range(i + 1):
            products[i, j] = (z[:, i] * z[:, j]).sum()
    if not products.any():
        return np.zeros(n)
    loadings = np.linalg.eigh(products / n)[1][:, -1]
    small = 1e-9
    lead = loadings.sum()
    if abs(lead) < small:
        lead = loadings[np.abs(loadings) > small][0]
    return _weighted(z, loadings if lead > 0 else -loadings)


def sugeno_integral(x: Matrix) -> tuple[Vector, Vector]:
    """Sugeno integral of each record, each column brought to [0, 1] first.

    Parameters
    ----------
    x : array of shape (n, p)
        One record a row, n >= 1, on any scale; constant columns count for nothing.

    Returns
    -------
    integrals : array of shape (n,)
        ``max_i min(i / N, a_(i))`` with the N values of the record in descending order.
    sums : array of shape (n,)
        Sum of the same values.

    Examples
    --------
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
    a.sort(axis=1)
    # Ascending, the j-th value from the left is the (p - j)-th largest.
    integrals: Vector = np.minimum(np.arange(p, 0, -1) / p, a).max(axis=1)
    return integrals, sums
