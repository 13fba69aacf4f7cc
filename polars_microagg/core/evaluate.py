"""Compute a metric from the tables, and the metrics that it is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt

from polars_microagg.core.partition import Labels, Matrix
from polars_microagg.core.registry import Metric, metrics

__all__ = ["MetricInputs", "evaluate", "inputs", "most_records"]


class MetricInputs(Protocol):
    """The inputs of metrics from a release.

    Each is read only if a metric needs it, so it may be lazy.
    """

    @property
    def original(self) -> Matrix:
        """Measured columns before, NaN for null."""

    @property
    def masked(self) -> Matrix:
        """Measured columns after, rows in the order of the original."""

    @property
    def joint(self) -> Labels | None:
        """The column that each coordinate of the matrices is of; None if each is a column."""

    @property
    def numeric(self) -> npt.NDArray[np.bool_] | None:
        """Coordinates that are columns of numbers, as a mask; None if all are."""

    @property
    def known(self) -> tuple[Matrix, Matrix, Labels | None] | None:
        """Columns that an intruder knows, before and after; None if they have no distances.

        The third is the column that each coordinate is of.
        """

    @property
    def subsets(self) -> Sequence[tuple[int, ...]]:
        """Sets of positions in `known`: over each the intruder links records."""

    @property
    def entity(self) -> Labels | None:
        """The number of the person of each record; None if it is not known whose the records are."""

    @property
    def strata(self) -> Labels | None:
        """The number of the stratum of each record, which an attacker knows; None without strata."""

    @property
    def classes(self) -> Sequence[Labels]:
        """Sizes of the classes of equal masked records, one array for each of `subsets`."""


def inputs(entry: Metric, options: Mapping[str, Any] | None = None) -> set[str]:
    """Return the inputs of a metric, and of the metrics it is made of, that are not metrics."""
    needed: set[str] = set()
    for name in entry.needed(options or {}):
        needed |= inputs(metrics()[name]) if name in metrics() else {name}
    return needed


def most_records(entry: Metric) -> float:
    """Return the most records of which a metric has a value by default, with those that it is made of.

    >>> most_records(metrics()["pld"]), most_records(metrics()["dld"])
    (20000, inf)
    """
    parts = (metrics()[name] for name in entry.needed({}) if name in metrics())
    own = np.inf if entry.limit is None else entry.limit
    return min([own, *map(most_records, parts)])


def evaluate(
    entry: Metric,
    release: MetricInputs,
    computed: dict[str, Any],
    options: Mapping[str, Any] | None = None,
) -> float | int | None:
    """Compute a metric after the metrics that it is made of, which have their default options.

    `computed` holds the values of metrics with their default options, and grows: a metric that
    several others are made of is computed once. Return None if these tables do not define it.
    """
    if not options and entry.name in computed:
        return cast("float | int | None", computed[entry.name])
    options = options or {}
    # An input that does not count with these options stays None and is never computed.
    values: dict[str, Any] = dict.fromkeys(entry.inputs)
    for name in set(entry.needed(options)) & set(metrics()):
        values[name] = evaluate(metrics()[name], release, computed)
    result: float | int | None
    if "classes" in entry.inputs:
        by_subset = [entry.function(sizes, **options) for sizes in release.classes]
        defined = [value for value in by_subset if value is not None]
        # A whole number such as k_min is a guarantee: of several subsets the worst one counts.
        result = (min(defined) if entry.whole else sum(defined) / len(defined)) if defined else None
    elif "subsets" in values and release.known is None:
        result = None
    else:
        known: tuple[Matrix, Matrix, Labels | None] | None = None
        if "subsets" in values:
            known, values["subsets"] = release.known, release.subsets
        if "joint" in values:
            values["joint"] = known[2] if known else release.joint
        if "numeric" in values:
            values["numeric"] = release.numeric
        if "entity" in values:
            values["entity"] = release.entity
        if "strata" in values:
            values["strata"] = release.strata
        numeric = None if known or "joint" in values else _numbers_only(values, release)
        if numeric is not None and not numeric.any():
            return None
        for at, name in enumerate(("original", "masked")):
            if name in values:
                table: Matrix = known[at] if known else getattr(release, name)  # type: ignore[assignment]
                values[name] = table if numeric is None else table[:, numeric]
        # In the order of the parameters, which are taken by position.
        result = entry.function(*values.values(), **options)
    if not options:
        computed[entry.name] = result
    return result


def _numbers_only(values: Mapping[str, Any], release: MetricInputs) -> npt.NDArray[np.bool_] | None:
    """Return which columns a metric of numbers takes; None for all."""
    return release.numeric if "original" in values or "masked" in values else None
