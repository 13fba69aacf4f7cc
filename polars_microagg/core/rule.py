"""The rule of a call: its models with their bounds, which every group of records must satisfy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from polars_microagg.core.attributes import Attribute
from polars_microagg.core.model import Model, models
from polars_microagg.core.partition import Labels, Members, Vector

__all__ = ["Bound", "Rule"]


@dataclass(frozen=True, eq=False)
class Bound:
    """A model with its bound and options, on one column; None is the record itself."""

    model: Model
    limit: float
    attribute: Attribute | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def measure(self, groups: Members) -> Vector:
        """Return the number of the model for each group."""
        return np.asarray(self.model.measure(self.attribute, groups, **self.options))

    def worst(self, groups: Members) -> float:
        """Return the number of the group that is the farthest from satisfying the model."""
        numbers = self.measure(groups)
        return float(numbers.min() if self.model.at_least else numbers.max())

    def failing(self, groups: Members) -> npt.NDArray[np.bool_]:
        """Return which groups do not satisfy the model."""
        numbers = self.measure(groups)
        return np.asarray(numbers < self.limit if self.model.at_least else numbers > self.limit)


@dataclass(frozen=True, eq=False)
class Rule:
    """The bounds of a call. A group satisfies the rule if it satisfies each of them."""

    bounds: tuple[Bound, ...]

    @classmethod
    def of(
        cls,
        asked: Mapping[str, Any],
        entity: Attribute | None,
        confidential: Sequence[Attribute],
    ) -> Self:
        """Make the rule of a call from its bounds and options by name, None for those it has not."""
        bounds = []
        for name, entry in models().items():
            if asked.get(name) is None:
                continue
            own = {option: asked[option] for option in entry.options}
            # Without entities each record is one of its own, which only k counts.
            known = [] if entity is None and name != "k" else [entity]
            counted = known if entry.of == "entity" else confidential
            bounds += [Bound(entry, asked[name], attribute, own) for attribute in counted]
        return cls(tuple(bounds))

    def failing(self, groups: Members) -> npt.NDArray[np.bool_]:
        """Return which groups, none of them empty, break the rule."""
        broken = np.zeros(len(groups.sizes), dtype=np.bool_)
        for bound in self.bounds:
            broken |= bound.failing(groups)
        return broken

    def broken(self, groups: Members) -> Bound | None:
        """Return the first bound that some group does not satisfy, or None."""
        return next((bound for bound in self.bounds if bound.failing(groups).any()), None)

    def groups(self, labels: Labels) -> Members:
        """List the records of each group that is not empty; those of label -1 are one group."""
        low = int(labels.min(initial=0))
        from_zero = labels - low if low < 0 else labels
        if any(bound.attribute is not None for bound in self.bounds):
            members = Members.of(
                np.arange(len(labels)), from_zero, int(from_zero.max(initial=-1)) + 1
            )
            return replace(members, sizes=members.sizes[members.sizes > 0])
        # Where only records are counted, they need no sorting.
        sizes = np.bincount(from_zero).astype(np.intp)
        return Members(np.empty(0, dtype=np.intp), sizes[sizes > 0])

    @property
    def entity_codes(self) -> Labels:
        """Numbers of the entities of the records."""
        (codes,) = (b.attribute.codes for b in self.bounds if b.model.name == "k" and b.attribute)
        return codes

    def take(self, rows: Labels) -> Self:
        """Return the rule for some of the records."""
        return self._with(lambda attribute: attribute.take(rows))

    def spreads(self) -> list[Labels]:
        """Return the codes of each confidential column: bounds on them ask for spread groups.

        They are those that these records have among themselves, whatever others there are.
        """
        columns = {
            id(bound.attribute.cache): bound.attribute.own_codes()
            for bound in self.bounds
            if bound.attribute is not None and bound.model.of == "confidential"
        }
        return list(columns.values())

    def among(self, released: npt.NDArray[np.bool_]) -> Self:
        """Return the rule for a table in which only some of the records are released."""
        return self if released.all() else self._with(lambda one: one.among(released))

    def _with(self, change: Callable[[Attribute], Attribute]) -> Self:
        """Return the rule with other attributes."""
        changed = [
            bound if bound.attribute is None else replace(bound, attribute=change(bound.attribute))
            for bound in self.bounds
        ]
        return replace(self, bounds=tuple(changed))

    def beyond_size(self) -> Self | None:
        """Return the rule without bounds that every group of k satisfies; None if none is left.

        >>> from polars_microagg.core.model import models
        >>> everyone = Attribute.of("person", np.array([0, 1, 2]))
        >>> Rule((Bound(models()["k"], 2, everyone),)).beyond_size() is None
        True
        """
        kept = []
        for bound in self.bounds:
            if bound.attribute is None:
                continue
            codes = bound.attribute.codes
            if bound.model.name == "k" and len(np.unique(codes)) == len(codes):
                continue
            # Closed under union: what each record satisfies alone, every group does.
            alone = Members(np.arange(len(codes)), np.ones(len(codes), dtype=np.intp))
            if not bound.failing(alone).any():
                continue
            kept.append(bound)
        return replace(self, bounds=tuple(kept)) if kept else None
