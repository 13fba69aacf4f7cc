"""Compute a metric from the tables, and the metrics that it is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from polars_microagg.core.registry import Metric, metrics

__all__ = ["evaluate", "inputs"]


def inputs(entry: Metric, options: Mapping[str, Any] | None = None) -> set[str]:
    """What has to be given for a metric, also by way of the metrics that it is made of."""
    needed: set[str] = set()
    for name in entry.needed(options or {}):
        needed |= inputs(metrics()[name]) if name in metrics() else {name}
    return needed


def evaluate(
    entry: Metric,
    given: Callable[[str], Any],
    found: dict[str, Any],
    options: Mapping[str, Any] | None = None,
) -> float | int | None:
    """Compute a metric, and first the metrics that it is made of.

    Parameters
    ----------
    entry : Metric
        What to compute.
    given : callable
        Gives the inputs that are no metrics by name. "known" is the pair of matrices for metrics
        that take subsets, or None where there are none; "classes" is a list of arrays, one for
        each subset.
    found : dict
        Metrics found before with their default options; it is added to.
    options : mapping, optional
        Options of the metric; those it is made of have their defaults.

    Returns
    -------
    float, int or None
        The value; None if it is not defined for these tables. A metric of classes is the mean
        over the subsets, or the least if it is a whole number.
    """
    if not options and entry.name in found:
        return cast("float | int | None", found[entry.name])
    options = options or {}
    values: dict[str, Any] = dict.fromkeys(entry.inputs)
    for name in set(entry.needed(options)) & set(metrics()):
        values[name] = evaluate(metrics()[name], given, found)
    result: float | int | None
    if "classes" in entry.inputs:
        each = [entry.function(classes, **options) for classes in given("classes")]
        some = [value for value in each if value is not None]
        result = (min(some) if entry.whole else sum(some) / len(some)) if some else None
    elif "subsets" in entry.inputs:
        pair = given("known")
        result = pair and entry.function(*pair, given("subsets"), **options)
    else:
        tables = {name: given(name) for name in entry.inputs if name in ("original", "masked")}
        result = entry.function(*(values | tables).values(), **options)
    if not options:
        found[entry.name] = result
    return result
