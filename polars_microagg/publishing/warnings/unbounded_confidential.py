"""Confidential columns of which no privacy model bounds what a class tells."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from polars_microagg.analysis.counted_classes import confidential_models
from polars_microagg.wording import Listed, Parameter, Sentence

__all__ = ["unbounded"]


def unbounded(
    confidential: Sequence[str], bounded: Collection[str], entity: Sequence[str] = ()
) -> list[str]:
    """Warn of confidential columns if none of the models that count them is among those that are bounded.

    With an `entity` it is known that a class has several persons, of whom it tells.

    >>> unbounded(["dx"], ["l"]), unbounded([], [])
    ([], [])
    """
    models = list(confidential_models())
    if not confidential or any(name in bounded for name in models):
        return []
    *first, last = (f"{{{name}}}" for name in models)
    return [
        Sentence(
            "Nothing bounds what a class tells of {columns}, confidential and released unchanged: all its "
            f"{'persons' if entity else 'records'} may have one value. Give {', '.join(first)} or {last}.",
            columns=Listed(tuple(confidential)),
            **{name: Parameter(name) for name in models},
        )
    ]
