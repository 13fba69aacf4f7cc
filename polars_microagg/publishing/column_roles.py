"""The role of each column of a release: masked, stratum, kept, dropped and so on; none by default."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import polars as pl

from polars_microagg.core.options import repeated
from polars_microagg.errors.release import in_two_roles, without_role
from polars_microagg.frames.selection import Names, Schema, items_of, resolve

__all__ = ["ColumnRoles", "OtherColumns"]

Item = str | pl.Expr


@dataclass(frozen=True)
class ColumnRoles:
    """The columns of a table by their roles; `blocks` are masked together.

    `entity` says whose a record is, and is not released but for the columns that are `followed`.
    `confidential` columns are released as they are.
    """

    blocks: Sequence[Sequence[str]]
    strata: Sequence[str] = ()
    keep: Sequence[str] = ()
    drop: Sequence[str] = ()
    entity: Sequence[str] = ()
    confidential: Sequence[str] = ()
    followed: Sequence[str] = ()

    @property
    def mask(self) -> list[str]:
        """Return the masked columns."""
        return [name for block in self.blocks for name in block]

    @property
    def by_column(self) -> dict[str, str]:
        """Return the role of each column that has one."""
        named = {"mask": self.mask, "stratum": self.strata, "keep": self.keep, "drop": self.drop}
        named |= {"entity": self.entity, "confidential": self.confidential}
        return {name: role for role, names in named.items() for name in names}

    @property
    def repeated(self) -> list[str]:
        """Return columns that are named more than once."""
        once = [*self.mask, *self.strata, *self.keep, *self.drop]
        return repeated([*once, *self.entity, *self.confidential])

    def released(self, table: Iterable[str]) -> list[str]:
        """Return the columns of a table that are released, in its order."""
        left_out = {*self.drop, *self.entity}.difference(self.followed)
        return [name for name in table if name not in left_out]

    def as_they_are(self, table: Iterable[str]) -> list[str]:
        """Return the released columns that are neither masked nor a stratum."""
        others = {*self.mask, *self.strata}
        return [name for name in self.released(table) if name not in others]

    def missing(self, table: Iterable[str]) -> list[str]:
        """Return the columns of a table that have no role."""
        roles = self.by_column
        return [name for name in table if name not in roles]


@dataclass(frozen=True)
class OtherColumns:
    """Columns to keep and to drop, as a user wrote them; looked up in a schema later."""

    keep: Sequence[Item] = ()
    drop: Sequence[Item] = ()

    @classmethod
    def of(cls, keep: Names, drop: Names) -> Self:
        """Check all that can be checked without a table."""
        return cls(items_of("keep", keep), items_of("drop", drop))

    def roles(
        self,
        schema: Schema,
        blocks: Sequence[Sequence[str]],
        strata: Sequence[str],
        entity: Sequence[str] = (),
        confidential: Sequence[str] = (),
    ) -> ColumnRoles:
        """Return the one role of every column of a table.

        A name must have no other role, but an entity may be kept as well. A selector means the
        columns that are left: not masked, with no other role, nor named to be kept or dropped.

        >>> import polars.selectors as cs
        >>> table = {"id": pl.Int64(), "age": pl.Int64(), "city": pl.String()}
        >>> OtherColumns.of(cs.all(), "id").roles(table, [["age"]], []).drop
        ['id']
        """
        roles = dict.fromkeys((name for block in blocks for name in block), "columns")
        for role, given in {
            "strata": strata,
            "entity": entity,
            "confidential": confidential,
        }.items():
            _settle(roles, role, given)
        others = {"keep": self.keep, "drop": self.drop}
        for what, items in others.items():
            named = [name for item in items for name in _named(what, item, schema)]
            if what == "keep":
                followed = [name for name in schema if name in named and name in entity]
                named = [name for name in named if name not in entity]
            _settle(roles, what, named)
        left = [name for name in schema if name not in roles]
        for what, items in others.items():
            chosen = {
                n for item in items if not _is_name(item) for n in resolve(item, schema, what)
            }
            _settle(roles, what, [name for name in left if name in chosen])
        if none := [name for name in schema if name not in roles]:
            raise without_role(none)
        keep, drop = ([n for n in schema if roles[n] == role] for role in ("keep", "drop"))
        return ColumnRoles(blocks, strata, keep, drop, entity, confidential, followed)


def _is_name(item: Item) -> bool:
    """Return whether an item names one column, as a text or as an expression."""
    return isinstance(item, str) or item.meta.output_name(raise_if_undetermined=False) is not None


def _named(what: str, item: Item, schema: Schema) -> list[str]:
    return resolve(item, schema, what) if _is_name(item) else []


def _settle(roles: dict[str, str], what: str, names: Sequence[str]) -> None:
    """Record the role of columns, and refuse one that has another."""
    for name in names:
        if (other := roles.setdefault(name, what)) != what:
            raise in_two_roles(name, other, what)
