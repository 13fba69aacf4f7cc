"""Fuzzy c-means, repeated until every cluster has k records."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from polars_microagg.core.partition import Labels, Matrix, Partition
from polars_microagg.core.registry import Range, method
from polars_microagg.kernels.distance import centred
from polars_microagg.kernels.group_splitting import divide_large_groups
from polars_microagg.methods._fuzzy_means import fuzzy_means
from polars_microagg.methods.mdav import mdav
from polars_microagg.progress import steps_of, ticker

__all__ = ["fuzzy"]

FEWER = 0.95
"""Share of the clusters that is tried next."""

FUZZIER = 1.1
"""Factor of m that is tried next."""


@method(
    cite="Domingo-Ferrer and Torra (2003)",
    paper="002",
    cost="n^2/k",
    limit=5_000,
    seconds=(3e-3, 2e-9),
)
def fuzzy(
    x: Matrix,
    /,
    *,
    k: int,
    m: Annotated[float, Range(1.05, 2)] = 1.1,
    iterations: Annotated[int, Range(1, quick=3)] = 100,
    seed: int = 0,
) -> Partition:
    """Run fuzzy c-means with fewer and fewer clusters until each has k records.

    Parameters
    ----------
    x : array of shape (n, d)
        One record a row, finite, scaled for distances.
    k : int
        Smallest group size, at least 2.
    m : float
        Exponent for the partition matrix to start with.
    iterations : int
        Most iterations of one run.
    seed : int
        Seed of the records round which clusters start.

    Returns
    -------
    Partition
        Groups of k to 2k - 1 records; one group of all if n < 2k.

    Notes
    -----
    J. Domingo-Ferrer and V. Torra (2003), "Fuzzy microaggregation for microdata protection",
    Journal of Advanced Computational Intelligence and Intelligent Informatics 7(2), 153-159, as
    described by A. N. Mahmood, M. E. Kabir and A. K. Mustafa (2012), section 4.

    The method repeatedly runs fuzzy c-means to adjust its two parameters, the number of clusters c
    and the exponent for the partition matrix m, until each cluster contains at least k records. The
    value of c is initially large, and m small, and is gradually reduced, and m increased. The same
    process is then recursively applied to those clusters with 2k or more records.

    Left open, and chosen here: c starts from n/k, rounded down, and falls by 5 %, but at least by
    1. Only when two clusters do not suffice, m is raised by a tenth at a time up to 2: to raise it
    in every run costs more information. If that fails, as for equal records, MDAV divides the
    cluster. A record is in the cluster to which it belongs most. The first centres are records drawn
    with a chance that grows with the squared distance from those drawn before.

    Examples
    --------
    >>> x = np.array([[0.0], [1.0], [8.0], [9.0], [10.0], [20.0], [21.0]])
    >>> fuzzy(x, k=2).labels
    array([0, 0, 1, 1, 1, 2, 2])
    """
    columns = centred(x)
    rng = np.random.default_rng(seed)
    tick, done = ticker("fuzzy", len(x)), 0

    def finished(labels: Labels) -> Labels:
        nonlocal done
        sizes = np.bincount(labels)
        done += int(sizes[sizes < 2 * k].sum())
        tick(done)
        return labels

    def divide(rows: Labels) -> Labels:
        part, clusters, exponent = columns[:, rows], len(rows) // k, m
        while exponent <= 2:
            labels = fuzzy_means(part, clusters, exponent, iterations, rng)
            sizes = np.bincount(labels)
            sizes = sizes[sizes > 0]
            if len(sizes) > 1 and sizes.min() >= k:
                return finished(labels)
            # Half of the work on some records is to divide them, the other half what comes of it.
            tick(done + (len(rows) - k * clusters) // 2)
            if clusters == 2:
                exponent *= FUZZIER
            clusters = max(min(clusters - 1, int(FEWER * clusters)), 2)
        with steps_of(tick, done):
            return finished(mdav(part.T, k=k).labels)

    return Partition.from_labels(divide_large_groups(len(x), 2 * k, divide))
