"""What becomes of the columns that are not masked: each is kept or dropped, and none by default."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import polars as pl

from polars_microagg.errors.release import in_two_roles, without_role
from polars_microagg.frames.selection import Others, Schema, items_of, resolve

__all__ = ["OtherColumns"]

Item = str | pl.Expr


@dataclass(frozen=True)
class OtherColumns:
    """Columns to keep and to drop, as they were typed; looked up in a schema later."""

    keep: Sequence[Item] = ()
    drop: Sequence[Item] = ()

    @classmethod
    def of(cls, keep: Others, drop: Others) -> Self:
        """Check all that can be checked without a table."""
        return cls(items_of("keep", keep), items_of("drop", drop))

    def dropped(self, schema: Schema, masked: Sequence[str], strata: Sequence[str]) -> list[str]:
        """Give every column of a table its one role.

        A name is meant as it stands, and so it may have no other role. A selector means what is
        left: neither masked, nor a stratum, nor named to be kept or dropped.

        Parameters
        ----------
        schema : mapping
            Columns of the table.
        masked, strata : sequence of str
            Columns that have their role.

        Returns
        -------
        list of str
            Columns to drop, in the order of the table; all that are neither these nor masked nor
            strata are kept.

        Raises
        ------
        InvalidParameterError
            A column has no role or two, or is not in the table.

        Examples
        --------
        >>> import polars.selectors as cs
        >>> table = {"id": pl.Int64(), "age": pl.Int64(), "city": pl.String()}
        >>> OtherColumns.of(cs.all(), "id").dropped(table, ["age"], [])
        ['id']
        """
        roles = dict.fromkeys(masked, "columns")
        _settle(roles, "strata", strata)
        given = {"keep": self.keep, "drop": self.drop}
        for what, items in given.items():
            _settle(roles, what, [name for item in items for name in _named(what, item, schema)])
        left = [name for name in schema if name not in roles]
        for what, items in given.items():
            chosen = {
                n for item in items if not _is_name(item) for n in resolve(item, schema, what)
            }
            _settle(roles, what, [name for name in left if name in chosen])
        if none := [name for name in schema if name not in roles]:
            raise without_role(none)
        return [name for name in schema if roles[name] == "drop"]


def _is_name(item: Item) -> bool:
    return isinstance(item, str) or item.meta.output_name(raise_if_undetermined=False) is not None


def _named(what: str, item: Item, schema: Schema) -> list[str]:
    return resolve(item, schema, what) if _is_name(item) else []


def _settle(roles: dict[str, str], what: str, names: Sequence[str]) -> None:
    for name in names:
        if (other := roles.setdefault(name, what)) != what:
            raise in_two_roles(name, other, what)
