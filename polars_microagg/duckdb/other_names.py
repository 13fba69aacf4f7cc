"""The columns of a release that are not masked: each is kept or dropped, and none is passed through."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from polars_microagg.core.plan import Plan
from polars_microagg.core.refusals import refuse_unnamed_mode
from polars_microagg.duckdb.identifiers import find, listed_names, same
from polars_microagg.errors.release import in_two_roles, without_role

__all__ = ["OtherNames"]


@dataclass(frozen=True)
class OtherNames:
    """Columns to keep and to drop, as a call of the macro `release` names them."""

    keep: tuple[str, ...]
    drop: tuple[str, ...]

    @classmethod
    def of(cls, spec: Mapping[str, Any]) -> Self | None:
        """Read them from a call; None where that is of a macro that passes all columns through.

        >>> OtherNames.of({"keep": "sex", "drop": None}), OtherNames.of({"k": 3})
        (OtherNames(keep=('sex',), drop=()), None)
        """
        if "keep" not in spec:
            return None
        return cls(listed_names("keep", spec["keep"]), listed_names("drop", spec["drop"]))

    def passes(self, entity: Sequence[str], name: str) -> bool:
        """Return whether a column comes out; an entity does not unless it is kept, too."""
        kept = any(same(name, other) for other in self.keep)
        return kept or not any(same(name, other) for other in (*self.drop, *entity))

    def require(self, plan: Plan, strata: Sequence[str], table: Sequence[str]) -> None:
        """Refuse a column of a whole table without a role or with two; `plan` is bound to it."""
        keep, drop = find("keep", self.keep, table), find("drop", self.drop, table)
        followed = [name for name in keep if name in plan.entity]
        if followed:
            refuse_unnamed_mode(plan)
        named = {
            "columns": [name for block in plan.blocks for name in block],
            "strata": strata,
            "entity": plan.entity,
            "confidential": plan.confidential,
            "keep": [name for name in keep if name not in followed],
            "drop": drop,
        }
        roles: dict[str, str] = {}
        for role, names in named.items():
            for name in names:
                if (other := roles.setdefault(name, role)) != role:
                    raise in_two_roles(name, other, role)
        if none := [name for name in table if name not in roles]:
            raise without_role(none)
