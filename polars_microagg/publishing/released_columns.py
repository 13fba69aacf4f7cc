"""The columns of a release by their roles, looked up in its table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import polars as pl

from polars_microagg.frames.selection import by_name
from polars_microagg.publishing.column_roles import ColumnRoles
from polars_microagg.publishing.manifest.model import Roles
from polars_microagg.publishing.privacy_models import Recount
from polars_microagg.publishing.request import ReleaseRequest

__all__ = ["ReleasedColumns"]


@dataclass(frozen=True)
class ReleasedColumns:
    """The columns of a table by their roles."""

    blocks: list[list[str]]
    """Masked columns whose equal values are counted together."""
    strata: list[str]
    keep: list[str]
    drop: list[str]
    released: list[str]
    entity: list[str]
    followed: list[str]
    """Columns of the entity that are released."""
    confidential: list[str]

    @property
    def names(self) -> list[str]:
        """Return the masked columns."""
        return [name for block in self.blocks for name in block]

    @property
    def as_they_are(self) -> list[str]:
        """Return the columns that are released and neither masked nor a stratum."""
        others = {*self.names, *self.strata}
        return [name for name in self.released if name not in others]

    @classmethod
    def of(cls, request: ReleaseRequest, roles: ColumnRoles, table: pl.DataFrame) -> Self:
        """Return the columns of a request in a table."""
        blocks, strata = request.blocks(table.schema), request.strata(table.schema)
        entity, hidden = list(roles.entity), list(roles.confidential)
        released = roles.released(table.columns)
        others = {*(name for block in blocks for name in block), *strata, *entity, *hidden}
        keep = [name for name in released if name not in others]
        followed = list(roles.followed)
        return cls(blocks, strata, keep, list(roles.drop), released, entity, followed, hidden)

    def roles(self) -> Roles:
        """Write the roles into a manifest."""
        roles: Roles = {
            "mask": self.names,
            "stratum": self.strata,
            "keep": self.keep,
            "drop": self.drop,
        }
        if self.entity:
            roles["entity"] = self.entity
        if self.confidential:
            roles["confidential"] = self.confidential
        return roles

    def recount(
        self,
        request: ReleaseRequest,
        reread: pl.DataFrame,
        whose: pl.DataFrame,
        restored: pl.DataFrame,
        written: pl.DataFrame,
    ) -> Recount | None:
        """Count entities and confidential values in the classes that were read again, if there are any.

        A release that breaks what was promised of them is refused.
        """
        if not (self.entity or self.confidential):
            return None
        hidden = restored.select(map(by_name, self.confidential))
        types = written.select(map(by_name, self.confidential))
        # What became text has no order. Its values are those that were written, as was seen before.
        hidden = hidden if hidden.schema == types.schema else types
        recount = Recount.of(request.promise, reread, self.blocks, self.strata, whose, hidden)
        recount.hold()
        return recount
