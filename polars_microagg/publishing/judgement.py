"""Requirements on a release before it is published, judged by what was measured."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import polars as pl

from polars_microagg.analysis.assess import assess
from polars_microagg.core import registry
from polars_microagg.core.requirements import COUNTS, SHARES, Requirement, read_requirements
from polars_microagg.errors import RequirementError
from polars_microagg.errors.release import contradictory, more_than_k
from polars_microagg.publishing.manifest.model import Judgement

__all__ = ["judged", "measured_on_demand", "possible", "release_requirements"]


def release_requirements(require: object) -> list[Requirement]:
    """Read the requirements on a release: on a metric, a count, or a share of rows."""
    return read_requirements(
        require, (*COUNTS, *SHARES, *registry.assessed(), *registry.on_demand())
    )


def measured_on_demand(
    required: Iterable[Requirement],
    original: pl.DataFrame,
    masked: pl.DataFrame,
    names: Sequence[str],
) -> dict[str, Any]:
    """Compute the required metrics that `assess` does not give by default.

    They are judged and not published: a manifest says whether they are met, without a value.
    """
    metrics = list(dict.fromkeys(r.name for r in required if r.name in registry.on_demand()))
    if not metrics:
        return {}
    return assess(original, masked, list(names), metrics=metrics).row(0, named=True)


def possible(required: Iterable[Requirement], k: int | None) -> None:
    """Refuse requirements that no release can meet.

    >>> possible(release_requirements(["dld<=10", "dld>20"]), 5)
    Traceback (most recent call last):
        ...
    polars_microagg.errors.InvalidParameterError: dld<=10 and dld>20 cannot both be met. ...
    """
    required = list(required)
    for one, other in combinations(required, 2):
        if one.name == other.name and not _both(one, other):
            raise contradictory(one, other)
    least = [
        math.floor(r.bound) + 1 if r.sign == ">" else math.ceil(r.bound)
        for r in required
        if r.name == "k" and r.sign in (">=", ">")
    ]
    if k is not None and max(least, default=0) > k:
        raise more_than_k(k, max(least))


def _both(one: Requirement, other: Requirement) -> bool:
    """Return whether some number meets two bounds on it."""
    low, high = max(_low(one), _low(other)), min(_high(one), _high(other))
    return low < high or (low == high and one.met(low) and other.met(low))


def _low(bound: Requirement) -> float:
    """Return the least number that a bound allows."""
    return -math.inf if bound.sign in ("<=", "<") else bound.bound


def _high(bound: Requirement) -> float:
    """Return the greatest number that a bound allows."""
    return math.inf if bound.sign in (">=", ">") else bound.bound


def judged(
    required: Iterable[Requirement],
    measured: Mapping[str, Any],
    *,
    published: Mapping[str, Any] | None = None,
) -> list[Judgement]:
    """Judge requirements by what was measured, and refuse those that are not met.

    `published` are the values of `measured` that may be published; all by default.
    """
    required = list(required)
    published = measured if published is None else published
    results: list[Judgement] = [
        {"requirement": str(r), "found": published.get(r.name), "met": r.met(measured.get(r.name))}
        for r in required
    ]
    unmet = [
        f"{r} ({_words(r.name, measured, published)})"
        for r in required
        if not r.met(measured.get(r.name))
    ]
    if unmet:
        raise RequirementError.unmet(unmet)
    return results


def _words(name: str, measured: Mapping[str, Any], published: Mapping[str, Any]) -> str:
    """Word what was measured, no more exactly than the manifest would."""
    if measured.get(name) is None:
        return "found no value"
    if name in registry.on_demand():
        return "what was found is not published; assess gives it"
    if name not in published:
        return "what was found is not published of so few records; assess gives it"
    return f"found {'' if published[name] == measured[name] else 'about '}{published[name]:.6g}"
