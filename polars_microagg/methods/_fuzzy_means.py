"""Fuzzy c-means: clusters to which every record belongs to a degree."""

from __future__ import annotations

import numpy as np

from polars_microagg.core.partition import Labels, Matrix
from polars_microagg.kernels.distance import squared_distances

__all__ = ["fuzzy_means"]

CELLS = 1 << 16
"""Distances handled at a time, so that they stay in the cache."""

TINY = 1e-12
"""Squared distances below this share of the largest norm count as none."""


def fuzzy_means(
    columns: Matrix, clusters: int, m: float, iterations: int, rng: np.random.Generator
) -> Labels:
    """Return the (n,) number of the cluster to which each record belongs most.

    `m` > 1 is the exponent of the degrees; iterations end early if no record changes its cluster
    any more. Some clusters may have no record.

    >>> columns = np.array([[-5.0, -4.0, 4.0, 5.0]])
    >>> labels = fuzzy_means(columns, 2, 1.1, 20, np.random.default_rng(0))
    >>> (labels == labels[0]).tolist()
    [True, True, False, False]
    """
    n = columns.shape[1]
    centres = columns[:, _seeds(columns, clusters, rng)]
    floor = max(TINY * float(squared_distances(columns, np.zeros(len(columns))).max()), 1e-300)
    step = max(1, CELLS // clusters)
    labels: Labels = np.full(n, -1, dtype=np.intp)
    for _ in range(iterations):
        nearest = np.empty(n, dtype=np.intp)
        sums, total = np.zeros_like(centres), np.zeros(clusters)
        for first in range(0, n, step):
            part = slice(first, first + step)
            nearest[part], weights = _degrees(columns[:, part], centres, m, floor)
            total += weights.sum(axis=0)
            for column, added in zip(columns[:, part], sums, strict=True):
                added += (weights * column[:, None]).sum(axis=0)
        if np.array_equal(nearest, labels):
            break
        labels = nearest
        # A centre that no record belongs to stays where it is.
        held = total > 0
        centres[:, held] = sums[:, held] / total[held]
    return labels


def _degrees(columns: Matrix, centres: Matrix, m: float, floor: float) -> tuple[Labels, Matrix]:
    """Return the nearest centre of each record, and the powers of its degrees: (record, centre)."""
    # Added up column by column, and not by a matrix product, whose rounding is not certain.
    degrees = np.zeros((columns.shape[1], centres.shape[1]))
    offsets = np.empty_like(degrees)
    for column, centre in zip(columns, centres, strict=True):
        np.subtract(column[:, None], centre, out=offsets)
        offsets *= offsets
        degrees += offsets
    # u = 1 / sum (d / d_c)^(1/(m-1)) with squared distances d (J. C. Bezdek, 1981). Divided by the
    # least distance first and by way of logarithms, no power overflows.
    nearest = degrees.argmin(axis=1)
    np.maximum(degrees, floor, out=degrees)
    degrees /= degrees[np.arange(len(degrees)), nearest][:, None]
    np.log(degrees, out=degrees)
    degrees /= 1 - m
    np.exp(degrees, out=degrees)
    degrees /= degrees.sum(axis=1, keepdims=True)
    return nearest, np.power(degrees, m, out=degrees)


def _seeds(columns: Matrix, clusters: int, rng: np.random.Generator) -> Labels:
    """Draw records, each with a chance that grows with its distance from those drawn before."""
    n = columns.shape[1]
    seeds = [int(rng.integers(n))]
    distances = squared_distances(columns, columns[:, seeds[0]])
    for _ in range(clusters - 1):
        # k-means++ seeding (D. Arthur and S. Vassilvitskii, 2007): the chance is the squared
        # distance to the nearest seed.
        sums = np.cumsum(distances)
        chance = rng.random()
        if sums[-1] > 0:
            seeds.append(min(int(sums.searchsorted(chance * sums[-1], side="right")), n - 1))
        else:
            seeds.append(int(chance * n))
        np.minimum(distances, squared_distances(columns, columns[:, seeds[-1]]), out=distances)
    return np.array(seeds, dtype=np.intp)
