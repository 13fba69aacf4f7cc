"""Fuzzy c-means: clusters to which every record belongs to a degree."""

from __future__ import annotations

import numpy as np

from polars_microagg.kernels.distance import squared_distances
from polars_microagg.partition import Labels, Matrix

__all__ = ["fuzzy_means"]

TINY = 1e-12
"""Squared distances below this share of the largest norm are as good as none."""


def fuzzy_means(
    columns: Matrix, clusters: int, m: float, iterations: int, rng: np.random.Generator
) -> Labels:
    """Find clusters, and the one to which each record belongs most.

    Parameters
    ----------
    columns : array of shape (d, n)
        One centred record a column.
    clusters : int
        Number of clusters, at most n.
    m : float
        Exponent of the degrees, greater than 1.
    iterations : int
        Most iterations, at least 1; fewer if no record changes its cluster any more.
    rng : numpy.random.Generator
        Source of the records round which the clusters start.

    Returns
    -------
    array of shape (n,)
        Number of the cluster of each record; some clusters may have none.

    Examples
    --------
    >>> columns = np.array([[-5.0, -4.0, 4.0, 5.0]])
    >>> found = fuzzy_means(columns, 2, 1.1, 20, np.random.default_rng(0))
    >>> (found == found[0]).tolist()
    [True, True, False, False]
    """
    centres = columns[:, _seeds(columns, clusters, rng)]
    floor = TINY * float(squared_distances(columns, np.zeros(len(columns))).max())
    labels = None
    for _ in range(iterations):
        # Added up column by column, and not by a matrix product, whose rounding is not certain.
        distances = np.zeros((columns.shape[1], clusters))
        for column, centre in zip(columns, centres, strict=True):
            offsets = np.subtract.outer(column, centre)
            offsets *= offsets
            distances += offsets
        nearest = distances.argmin(axis=1)
        if labels is not None and np.array_equal(nearest, labels):
            break
        labels = nearest
        np.maximum(distances, max(floor, 1e-300), out=distances)
        distances /= distances.min(axis=1, keepdims=True)
        degrees = np.exp(np.log(distances) / (1 - m))
        degrees /= degrees.sum(axis=1, keepdims=True)
        weights = degrees**m
        total = weights.sum(axis=0)
        held = total > 0
        for column, centre in zip(columns, centres, strict=True):
            sums = (weights * column[:, None]).sum(axis=0)
            centre[held] = sums[held] / total[held]
    result: Labels = nearest
    return result


def _seeds(columns: Matrix, clusters: int, rng: np.random.Generator) -> Labels:
    """Draw records, each with a chance that grows with its distance from those drawn before."""
    n = columns.shape[1]
    seeds = [int(rng.integers(n))]
    distances = squared_distances(columns, columns[:, seeds[0]])
    for _ in range(clusters - 1):
        sums = np.cumsum(distances)
        chance = rng.random()
        if sums[-1] > 0:
            seeds.append(min(int(sums.searchsorted(chance * sums[-1], side="right")), n - 1))
        else:
            seeds.append(int(chance * n))
        np.minimum(distances, squared_distances(columns, columns[:, seeds[-1]]), out=distances)
    return np.array(seeds, dtype=np.intp)
