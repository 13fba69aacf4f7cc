"""Requirements on a release before it is published, judged by what was measured."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import polars as pl

from polars_microagg.analysis.assess import assess
from polars_microagg.analysis.counted_classes import (
    ENTITY_COUNTS,
    confidential_models,
    entity_models,
)
from polars_microagg.core import registry
from polars_microagg.core.evaluate import inputs, most_records
from polars_microagg.core.requirements import COUNTS, SHARES, Requirement, read_requirements
from polars_microagg.errors import InvalidParameterError, RequirementError
from polars_microagg.errors.release import contradictory, more_than_k
from polars_microagg.publishing.manifest.model import Judgement
from polars_microagg.wording import Setting

__all__ = [
    "judged",
    "measured_on_demand",
    "possible",
    "refuse_uncounted",
    "refuse_valueless",
    "release_requirements",
]


def release_requirements(require: object) -> list[Requirement]:
    """Read the requirements on a release: on a metric, a count, a share of rows, or a privacy model.

    >>> [str(bound) for bound in release_requirements(["k=5", "l=2", "t<=0.5"])]
    ['k>=5', 'l>=2', 't<=0.5']
    """
    models = confidential_models() | entity_models()
    counts = [name for name, entry in models.items() if entry.bound.kind is int]
    known = (*COUNTS, *SHARES, *models, *registry.metrics())
    required = read_requirements(
        require, known, counts=(*COUNTS, *counts), shares=models.keys() - counts
    )
    for bound in required:
        entry = models.get(bound.name)
        inside = entry.bound.range if entry else None
        if inside is not None and bound.bound not in inside:
            raise InvalidParameterError.kind("require", str(bound), f"a bound {inside}")
    return required


def refuse_uncounted(required: Iterable[Requirement], options: Mapping[str, Any]) -> None:
    """Refuse requirements on persons and confidential columns in a release that has none.

    `options` are those of the call, which name such columns.

    >>> refuse_uncounted(release_requirements("k_entities>=5"), {})
    Traceback (most recent call last):
        ...
    polars_microagg.errors.InvalidParameterError: require='k_entities>=5' was given without entity. ...
    """
    persons = [name for name, entry in registry.metrics().items() if "entity" in inputs(entry)]
    counted = dict.fromkeys((*ENTITY_COUNTS, *persons), "entity")
    counted |= dict.fromkeys(confidential_models(), "confidential")
    for bound in required:
        what = counted.get(bound.name)
        if what and not options.get(what):
            raise InvalidParameterError.needs(Setting("require", str(bound)), what)


def refuse_valueless(required: Iterable[Requirement], rows: int) -> None:
    """Refuse requirements on metrics that have no value of so many rows.

    >>> refuse_valueless(release_requirements("pld<=10"), 50_000)
    Traceback (most recent call last):
        ...
    polars_microagg.errors.RequirementError: pld<=10 cannot be met: pld has no value of more than ...
    """
    for bound in required:
        entry = registry.metrics().get(bound.name)
        most = math.inf if entry is None else most_records(entry)
        if rows > most:
            raise RequirementError.valueless(bound, bound.name, rows, int(most))


def measured_on_demand(
    required: Iterable[Requirement],
    original: pl.DataFrame,
    masked: pl.DataFrame,
    names: Sequence[str],
    kinds: Mapping[str, Any] | None = None,
    entity: Sequence[str] = (),
    strata: Sequence[str] = (),
) -> dict[str, Any]:
    """Compute the required metrics that `assess` does not give by default.

    They are judged and not published: a manifest says whether they are met, without a value.
    """
    metrics = list(dict.fromkeys(r.name for r in required if r.name in registry.on_demand()))
    if not metrics:
        return {}
    asked: dict[str, Any] = {
        "metrics": metrics,
        "entity": entity,
        "strata": strata,
        **(kinds or {}),
    }
    measured = assess(original, masked, list(names), **asked)
    return measured.row(0, named=True)


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
    """Return the words for what was measured, no more exactly than the manifest would."""
    if measured.get(name) is None:
        return "found no value"
    if name in registry.on_demand():
        return "what was found is not published; assess gives it"
    if published.get(name) is None:
        gives = "; assess gives it" if name in registry.metrics() else ""
        return f"what was found is not published of so few records{gives}"
    return f"found {'' if published[name] == measured[name] else 'about '}{published[name]:.6g}"
