"""Estimates of how long a masking takes, and whether a process of ours could do it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from polars_microagg.core.kind import key_options, kinds
from polars_microagg.core.model import models
from polars_microagg.core.registry import Method
from polars_microagg.kernels.local.local_search import WHOLE
from polars_microagg.processes.crew import ours

__all__ = ["known_elsewhere", "ruled_seconds", "seconds_of"]

COSTS: dict[str, tuple[float, float]] = {
    "n log n": (3e-7, 0.0),
    "n^2/k": (5e-6, 2e-9),
    "n^2": (3e-5, 1e-9),
    "n": (5e-4, 0.0),
}
"""Seconds of one processor by the cost of a method: for each record, and for the square of their
number, which for "n^2/k" is divided by k. Of four columns, on a machine of 2024."""

RULED = 4e-4, 6e-5
"""Seconds that privacy models take a record: in strata that are annealed, and in larger ones."""

RULED_LEAF = 2e-4
"""The same in one of several leaves of a stratum."""


def seconds_of(
    method: Method, sizes: npt.ArrayLike, k: int, options: Mapping[str, Any] = {}
) -> float:
    """Estimate the seconds of one processor that a method takes for strata of these sizes.

    >>> from polars_microagg.core.registry import methods
    >>> [round(seconds_of(methods()["mdav"], n, 5), 1) for n in (1000, 100_000)]
    [0.0, 0.7]
    >>> round(seconds_of(methods()["lowloss"], [1000] * 20, 5, {"effort": 2}))
    20
    """
    n = np.asarray(sizes, dtype=np.float64).reshape(-1)
    each, square = method.seconds or COSTS.get(method.cost, COSTS["n"])
    if method.cost.startswith("n^2/k"):
        square /= k
    effort = float(options.get("effort", 1.0))
    return float((effort * each * n + square * n**2).sum())


def ruled_seconds(sizes: npt.ArrayLike, *, leaves: bool = False) -> float:
    """Estimate the seconds in which groups of strata of these sizes are made to satisfy more than k.

    >>> ruled_seconds([10_000]), ruled_seconds([100_000]), ruled_seconds([10_000] * 2, leaves=True)
    (4.0, 6.0, 4.0)
    """
    n = np.asarray(sizes, dtype=np.float64).reshape(-1)
    annealed, larger = RULED
    if leaves and len(n) > 1:
        annealed = RULED_LEAF
    return round(float((n * np.where(n <= WHOLE, annealed, larger)).sum()), 6)


def known_elsewhere(*methods: Method) -> bool:
    """Return whether methods, models and kinds are of this library, not registered by the caller."""
    measures = [entry.measure for entry in models().values()]
    made = [entry.make for entry in key_options().values()] + [
        type(one) for one in kinds().values()
    ]
    return ours(*(entry.function for entry in methods), *measures, *made)
