"""Masked categories in a manifest: the kind of each column, and how many cells lost a rare one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import polars as pl

from polars_microagg.core.options import KEY_OPTIONS
from polars_microagg.publishing.column_kinds import categories, kinds_of, rare_shares, replaceable
from polars_microagg.publishing.manifest.consistency import Outcome
from polars_microagg.publishing.manifest.model import Category, Manifest
from polars_microagg.publishing.manifest.precision import RARE, rare_digits, rare_told, step
from polars_microagg.publishing.manifest.rounding import agree
from polars_microagg.wording import listed

__all__ = ["categories_again", "has_categories", "recorded_categories"]

TYPES: dict[str, pl.DataType] = {
    "String": pl.String(),
    "Categorical": pl.Categorical(),
    "Boolean": pl.Boolean(),
    "Enum": pl.Enum([]),
}
"""Types of columns that have categories without being named, as a manifest writes them."""


class _Named(Protocol):
    """The columns of a release by role."""

    @property
    def names(self) -> list[str]:
        """The masked columns."""

    @property
    def strata(self) -> list[str]:
        """The strata."""

    @property
    def entity(self) -> list[str]:
        """The columns that say whose a record is."""


Shares = Callable[[Sequence[str]], Mapping[str, tuple[float, int]]]
"""Measures the per cent of the cells of columns that lost a rare category, and counts the cells."""


def recorded_categories(
    kinds: Mapping[str, Any],
    before: pl.DataFrame | None,
    released: pl.DataFrame,
    columns: _Named,
    k: int,
    rare: Shares | None = None,
) -> list[Category]:
    """Write down the columns of categories; as with other measures, no share of few cells.

    `released` has the masked columns in their types; `before` is None if there is no original. With
    `rare` both may be without rows: it counts the cells of tables larger than memory.
    """
    schema = released.schema if before is None else before.schema
    found = categories(schema, columns.names, kinds)
    shares: dict[str, float | None] = dict.fromkeys(found)
    known = before is not None and {*columns.strata, *columns.entity} <= {*before.columns}
    if before is not None and known:
        roles = columns.names, columns.strata, columns.entity
        exact = (
            rare_shares(before, released, replaceable(found), roles, k)
            if rare is None
            else rare(replaceable(found))
        )
        shares |= {name: rare_told(*counted) for name, counted in exact.items()}
    return [{"column": name, "kind": kind, "rare": shares[name]} for name, kind in found.items()]


def has_categories(manifest: Manifest) -> bool:
    """Return whether a manifest names columns of categories anywhere, or should."""
    named = any(manifest["config"].get(name) for name in KEY_OPTIONS)
    if named or "categories" in manifest:
        return True
    # A masked column without a type is missed by other checks.
    mask, types = manifest["roles"].get("mask", []), manifest["output"].get("columns", {})
    try:
        return any(types.get(name) in TYPES for name in mask)
    except (TypeError, AttributeError):
        # The check itself reports parts of another kind.
        return True


def categories_again(
    manifest: Manifest, tables: Sequence[pl.DataFrame], rare: Shares | None = None
) -> Outcome:
    """Check the columns of categories, and count again the cells that lost a rare one.

    `tables` are the original without dropped rows, if it is there, and the release, in their types;
    perhaps without rows, if `rare` counts the cells elsewhere.
    """
    stated, types = manifest.get("categories", []), manifest["output"]["columns"]
    names, kinds = manifest["roles"]["mask"], kinds_of(manifest["config"])
    schema = {n: TYPES.get(types[n], tables[-1].schema[n]) for n in names}
    said, found = {r["column"]: r["kind"] for r in stated}, categories(schema, names, kinds)
    # Not every format keeps the order of an Enum.
    named = {name for columns in kinds.values() for name in columns}
    lost = [n for n in found if schema[n] == pl.String and n not in named]
    kept = found | categories(dict.fromkeys(lost, pl.Enum([])), lost, {})
    if list(said) != list(found) or any(said[n] not in (found[n], kept[n]) for n in said):
        return False, "The manifest says other columns of categories than the release has."
    k, told = manifest["config"]["k"], rare_digits(manifest["rows"]["out"]) > 0
    shares = {row["column"]: row["rare"] for row in stated}
    if any(s is not None and not (told and 0 <= s <= 100) for s in shares.values()):
        return False, "The manifest says of so few records how many cells lost a rare category."
    says = f"{len(said)} column(s) have categories"
    if len(tables) == 1 or not told:
        known = all(share is None for share in shares.values())
        return (
            (True, f"{says}.") if known else (None, f"{says}; their rare ones need the original.")
        )
    roles = manifest["roles"]
    others = roles["stratum"], roles.get("entity", [])
    if not {*others[0], *others[1]} <= {*tables[0].columns}:
        return None, f"{says}; whose they are, or their strata, are not in the original."
    before, after = tables
    lose = replaceable(said)
    again: Mapping[str, tuple[float, int]] = (
        rare_shares(before, after, lose, (names, *others), k) if rare is None else rare(lose)
    )
    differ = [name for name in said if name not in lose and shares[name] is not None]
    differ += [
        name
        for name, (share, cells) in again.items()
        if not agree(shares[name], rare_told(share, cells), step(RARE, share, rare_digits(cells)))
    ]
    if differ:
        return (
            False,
            f"{says}; other cells of {listed(differ[:10])} lost a rare one than the manifest says.",
        )
    return True, f"{says}; the cells that lost a rare one were counted again."
