"""The register of privacy models, filled by a decorator in their own files."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from polars_microagg.core.registry import Option, discover, summary
from polars_microagg.core.type_hints import options_of

__all__ = ["Model", "model", "models"]

Counts = Literal["entity", "confidential"]


@dataclass(frozen=True)
class Model:
    """A condition on every group of records: a measure of the group, and a bound on it.

    `measure` takes an `Attribute` and the groups as `Members`, and returns one number for each. Without
    entities only `k` is counted, on records. `bound` is the parameter of calls, the least
    that a group may have if `at_least` and the most otherwise. `of` says which columns are
    counted, and `what` names the number in messages.
    """

    name: str
    measure: Callable[..., Any]
    bound: Option
    at_least: bool
    of: Counts
    what: str
    options: Mapping[str, Option] = field(default_factory=dict)

    @property
    def summary(self) -> str:
        """Return the first line of the docstring."""
        return summary(self.measure)


Registered = TypeVar("Registered", bound=Callable[..., Any])

_MODELS: dict[str, Model] = {}


def model(
    *, bound: Option, at_least: bool, of: Counts, what: str
) -> Callable[[Registered], Registered]:
    """Register a function ``(attribute, groups, /, *, ...) -> numbers`` under the name of its bound.

    Two groups that satisfy the model must satisfy it as one group, too: classes of equal records are
    unions of groups, and what all records of a stratum do not satisfy, no grouping of them can.
    Keyword parameters become options of calls.
    """

    def register(function: Registered) -> Registered:
        _MODELS[bound.name] = Model(
            bound.name, function, bound, at_least, of, what, options_of(function)
        )
        return function

    return register


def models() -> Mapping[str, Model]:
    """Return all registered models by name, in alphabetical order."""
    discover("models")
    return types.MappingProxyType(dict(sorted(_MODELS.items())))
