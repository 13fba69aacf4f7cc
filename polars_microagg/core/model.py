"""The register of privacy models, filled by a decorator in their own files, and the one check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from polars_microagg.core.partition import Labels
from polars_microagg.core.registry import discover
from polars_microagg.errors import BrokenPromiseError

__all__ = ["GroupSizes", "Model", "broken_by", "model", "models", "models_of"]


@dataclass(frozen=True, eq=False)
class GroupSizes:
    """Groups of records, as models see them: how many records each has."""

    sizes: Labels

    @classmethod
    def of(cls, labels: Labels) -> GroupSizes:
        """Count the records of each group that is not empty; those of label -1 are one group.

        >>> GroupSizes.of(np.array([0, 1, -1, 1])).sizes
        array([1, 1, 2])
        """
        sizes = np.bincount(labels - min(int(labels.min(initial=0)), 0))
        return cls(sizes[sizes > 0])


class Model(Protocol):
    """A condition on every group of records, with its parameters as fields of a dataclass.

    Two groups that satisfy a model must satisfy it as one group, too: classes of equal records are
    unions of groups, and a union is not counted again.
    """

    def failing(self, groups: GroupSizes) -> npt.NDArray[np.bool_]:
        """Return which groups do not satisfy the model."""

    def broken(self, method: str, groups: GroupSizes) -> BrokenPromiseError:
        """Return the error that says that some groups of a method do not satisfy the model."""


Registered = TypeVar("Registered", bound=type)

_MODELS: dict[str, Any] = {}


def model(class_: Registered) -> Registered:
    """Register a dataclass as a privacy model, under its own name."""
    _MODELS[class_.__name__.lower()] = class_
    return class_


def models() -> Mapping[str, Any]:
    """Return all registered models by name, in alphabetical order."""
    discover("models")
    return dict(sorted(_MODELS.items()))


def models_of(parameters: Mapping[str, Any]) -> tuple[Model, ...]:
    """Return the models that a call requires: those whose parameters it has.

    >>> models_of({"k": 5})
    (K(k=5),)
    """
    required = []
    for class_ in models().values():
        values = {field.name: parameters.get(field.name) for field in fields(class_)}
        if None not in values.values():
            required.append(class_(**values))
    return tuple(required)


def broken_by(required: Sequence[Model], groups: GroupSizes) -> Model | None:
    """Return the first model that some group does not satisfy, or None."""
    return next((one for one in required if one.failing(groups).any()), None)
