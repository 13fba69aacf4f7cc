"""The check of what a manifest says of entities and confidential columns: counted again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from polars_microagg.analysis.counted_classes import ENTITY_COUNTS, entity_models
from polars_microagg.core.model import models
from polars_microagg.core.plan import Plan
from polars_microagg.core.requirements import measure_of
from polars_microagg.frames.selection import by_name
from polars_microagg.publishing.formats.register import formats
from polars_microagg.publishing.formats.text_types import typed
from polars_microagg.publishing.manifest.consistency import Outcome, same_version
from polars_microagg.publishing.manifest.model import Entities, Found, Manifest
from polars_microagg.publishing.manifest.precision import step
from polars_microagg.publishing.manifest.rounding import DIGITS, agree
from polars_microagg.publishing.privacy_models import (
    PROMISES,
    Recount,
    coarse_entities,
    coarse_fewest,
    masking_options,
)
from polars_microagg.wording import listed

__all__ = ["UNORDERED", "ModelsAgain", "named", "stated_figures"]

UNORDERED = ("String", "Categorical", "Boolean")
"""Types whose values have no order, so that nothing is lost where they become text."""

LAST = 1e-3
"""Last digit of a rounded number, as a part of the number."""


def named(manifest: Manifest) -> bool:
    """Return whether a manifest names an entity or confidential columns anywhere."""
    said = (manifest["roles"], manifest["config"])
    any_of = any(part.get(name) for part in said for name in ("entity", "confidential"))
    return any_of or "models" in manifest


def stated_figures(manifest: Manifest) -> dict[str, Any]:
    """Return the figures of entities and confidential columns that a manifest says of its requirements."""
    judged = manifest["verdict"]["requirements"]
    found = {measure_of(row["requirement"]): row["found"] for row in judged}
    return {n: value for n, value in found.items() if n in {*ENTITY_COUNTS, *models()}}


@dataclass(frozen=True)
class ModelsAgain:
    """A release with an entity or confidential columns; `before` is its original, without dropped rows."""

    manifest: Manifest
    form: str
    frame: pl.DataFrame
    before: pl.DataFrame | None

    @cached_property
    def _recount(self) -> Recount:
        """Count again all that can be counted."""
        config, roles = self.manifest["config"], self.manifest["roles"]
        options = masking_options({name: config[name] for name in PROMISES if name in config})
        whose, names = None, roles.get("entity", [])
        for table in (self.frame, self.before):
            if whose is None and table is not None and set(names) <= set(table.columns):
                whose = table.select(map(by_name, names))
        # By a dict: in a list, a column of the name "" would be named anew.
        values = {name: column for name, column in self._confidential() if column is not None}
        return Recount.of(
            Plan.make("mdav", config["k"], **options),
            self.frame,
            config["columns"],
            config["strata"],
            whose,
            pl.DataFrame(values),
        )

    def _confidential(self) -> Iterator[tuple[str, pl.Series | None]]:
        """Yield each confidential column as it was counted; None if its order was lost in text."""
        types = self.manifest["output"]["columns"]
        for name in self.manifest["roles"].get("confidential", []):
            column, dtype = self.frame.get_column(name), types[name]
            if column.dtype != pl.String or dtype in UNORDERED or not formats()[self.form].typeless:
                yield name, column
            elif self.before is not None and self.before.schema[name] != pl.String:
                yield name, self.before.get_column(name)
            else:
                read = typed(self.frame, [] if dtype.startswith("Enum") else [name])
                column = read.get_column(name)
                yield name, None if column.dtype == pl.String else column

    def counts(self) -> dict[str, Any]:
        """Return what requirements may be on, as far as it can be counted again."""
        return self._recount.figures() if named(self.manifest) else {}

    @property
    def _digits(self) -> int | None:
        """Digits of the counts of entities; None if the release shows them itself."""
        stated: Any = self.manifest.get("models", {}).get("entity", {})
        exactly = {*stated.get("released", [])} == {*self.manifest["roles"].get("entity", [])}
        return None if exactly else self.manifest["digits"]

    def _coarse(self, counts: dict[str, Any]) -> dict[str, Any]:
        """Round counts of entities as a manifest does."""
        return coarse_entities(counts, self.manifest["rows"]["out"], self._digits)

    def told(self, said: dict[str, Any]) -> dict[str, Any]:
        """Return what is said of requirements: of entities what is stated, where nobody knows better."""
        stated = self.manifest.get("models", {}).get("entity")
        if stated is None:
            return said
        rest = {name: value for name, value in said.items() if name not in ENTITY_COUNTS}
        if self._digits == 0:
            return rest
        if self._recount.whole.entity is not None:
            return rest | self._coarse({n: said[n] for n in ENTITY_COUNTS if n in said})
        if len(self.manifest["config"]["columns"]) == 1:
            return rest | {n: value for n, value in _flat(stated).items() if n in ENTITY_COUNTS}
        found = stated_figures(self.manifest)
        return rest | {name: value for name, value in found.items() if name in ENTITY_COUNTS}

    def outcome(self) -> Outcome:
        """Check every figure, and that every bound holds."""
        stated = self.manifest.get("models")
        if stated is None or not self._agrees():
            return False, "The manifest says other things of its privacy models in other places."
        lost = [name for name, column in self._confidential() if column is None]
        self._recount.hold()
        again = {(row["model"], row["column"]): row["found"] for row in self._recount.found()}
        rows = [row for row in stated["confidential"] if row["column"] not in lost]
        differ = [
            f"{row['model']} of {row['column']!r}"
            for row in rows
            if (key := (row["model"], row["column"])) in again
            and not agree(row["found"], again[key], LAST * abs(again[key] or 0))
        ]
        entities, unknown = stated.get("entity"), False
        if entities is not None:
            unknown = self._recount.whole.entity is None
            differ += [] if unknown else self._other_counts(entities)
        said = f"{len(again)} figure(s) of confidential columns were counted again"
        if entities is not None and not unknown:
            said += ", and the entities"
        if differ:
            return False, f"{said}; {', '.join(differ[:10])} differ from the manifest."
        if unknown or lost or len(again) < len(rows):
            needs = ["the entities"] * unknown + [f"the order of {listed(lost)}"] * bool(lost)
            return None, f"{said}; {' and '.join(needs) or 'others'} need the original."
        return True, f"{said} and agree with the manifest."

    def _other_counts(self, stated: Entities) -> list[str]:
        """Return the counts of entities that are not those of this release."""
        counted = self._coarse(self._recount.entities())
        written = _flat(stated)
        return [n for n in ENTITY_COUNTS if written[n] != counted[n]]

    def _agrees(self) -> bool:
        """Return whether configuration, roles and models say the same, and what is said is possible."""
        config, roles, stated = (
            self.manifest["config"],
            self.manifest["roles"],
            self.manifest["models"],
        )
        names, rows = roles.get("entity", []), stated["confidential"]
        columns = roles.get("confidential", [])
        pairs = [(row["model"], row["column"]) for row in rows]
        known = [name for name, entry in models().items() if entry.of == "confidential"]
        expected = [(name, column) for name in known for column in columns]
        if pairs != expected and same_version(self.manifest):
            return False
        if not all(self._possible(row, columns, config) for row in rows):
            return False
        entities = stated.get("entity")
        if entities is None or not names:
            return entities is None and not names
        released = [name for name in names if name in self.frame.columns]
        return (
            sorted(entities["released"]) == sorted(released)
            and entities["mode"] == config.get("entity_mode")
            and self._counts_possible(entities)
        )

    def _possible(self, row: Found, columns: list[str], config: dict[str, Any]) -> bool:
        """Return whether a figure is of a confidential column, with the bound that was asked for."""
        return row["column"] in columns and row["asked"] == config.get(row["model"])

    def _counts_possible(self, stated: Entities) -> bool:
        """Return whether the counts of entities can be true of such a release, whoever they are."""
        k, rows, alike = self.manifest["k"], self.manifest["rows"], stated["mode"] == "alike"
        entities, fewest, same = (stated["entities"], stated["k_entities"], stated["alike_min"])
        if stated["models"].keys() != entity_models().keys() and same_version(self.manifest):
            return False
        if entities is None or fewest is None:
            return not self.manifest["digits"] and not any(
                value is not None for value in (entities, fewest, same, *stated["models"].values())
            )
        asked, most = k["asked"], k["found"] or 0
        if digits := self._digits:
            # The counts are rounded, and no rounding changes their order.
            asked, most = (coarse_fewest(n, rows["out"], digits) or 0 for n in (asked, most))
        least = [asked, fewest, min(entities, most)]
        return (
            least == sorted(least)
            and entities <= rows["out"]
            and alike == (same is not None)
            and (same is None or asked <= same <= entities)
            and all(self._keeps(*item) for item in stated["models"].items())
        )

    def _keeps(self, name: str, value: float | None) -> bool:
        """Return whether the worst class by a model of entities keeps the bound that was asked for."""
        entry, limit = entity_models().get(name), self.manifest["config"].get(name)
        if entry is None or value is None:
            return False
        slack = step(name, value, self._digits or DIGITS)
        inside = entry.bound.range is None or value in entry.bound.range
        sign = 1 if entry.at_least else -1
        return inside and (limit is None or sign * (value - limit) >= -slack)


def _flat(stated: Entities) -> dict[str, Any]:
    """Return the figures of entities by name."""
    return {**stated, **stated["models"]}
