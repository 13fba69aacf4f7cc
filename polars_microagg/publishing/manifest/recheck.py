"""What a manifest says of its release, found again on the tables."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from polars_microagg.analysis.anonymity import fewest_records
from polars_microagg.analysis.assess import assess
from polars_microagg.core.registry import assessed
from polars_microagg.frames.selection import by_name
from polars_microagg.publishing.atomic import sha256_of
from polars_microagg.publishing.formats.files import STREAM, Location, rows_digest
from polars_microagg.publishing.formats.register import formats
from polars_microagg.publishing.formats.text_types import typed
from polars_microagg.publishing.judgement import measured_on_demand, release_requirements
from polars_microagg.publishing.manifest.compare_original import (
    aligned,
    exchanged,
    mistyped,
    uncentred,
)
from polars_microagg.publishing.manifest.consistency import Outcome, composed, same_version
from polars_microagg.publishing.manifest.precision import (
    OF_RELEASE,
    digits_of,
    names_told,
    published,
    step,
)
from polars_microagg.publishing.manifest.record import counted_rows, recorded_classes, seal, taken
from polars_microagg.publishing.manifest.rounding import agree, may_meet, rounded
from polars_microagg.publishing.staging import types
from polars_microagg.publishing.warnings.advice import advice, of_release
from polars_microagg.wording import listed

__all__ = ["Recheck"]


@dataclass(frozen=True)
class Recheck:
    """A release as it was read, its manifest, and what else is there to check it with."""

    told: Mapping[str, Any]
    place: Location
    frame: pl.DataFrame
    before: pl.DataFrame | None = None
    source: Location | None = None
    key: bytes | None = None

    def hash(self) -> Outcome:
        """The file has its hash and its size."""
        told, of = self.told["output"], "rows" if self.place.table else "file"
        if told["of"] != of or self.place.piped:
            what = "a table" if told["of"] == "rows" else "a file"
            return False, f"The manifest is that of {what}, and this is none."
        found = rows_digest(self.frame) if of == "rows" else sha256_of(self.place.path)
        size = None if of == "rows" else self.place.path.stat().st_size
        holds = hmac.compare_digest(found, told["sha256"]) and size == told["bytes"]
        some, none = ("have", "do not have") if of == "rows" else ("has", "does not have")
        return holds, f"The {of} {some if holds else none} the hash of the manifest."

    def name(self) -> Outcome:
        """The file has the name and the format that it was given."""
        told, table = self.told["output"], self.place.table
        found = table or self.place.path.name
        named = found.lower() == told["name"].lower() if table else found == told["name"]
        # What went to standard output has no name yet.
        streamed = told["name"] == "-" and told["format"] == STREAM
        holds = (named or streamed) and told["format"] == self.place.format
        if holds:
            return True, "The name and the format are those of the manifest."
        return False, (
            f"The manifest is that of {told['name']!r} ({told['format']}), and this is {found!r} "
            f"({self.place.format})."
        )

    def shape(self) -> Outcome:
        """Rows and columns are those of the manifest."""
        rows, columns, frame = self.told["rows"], list(self.told["output"]["columns"]), self.frame
        holds = frame.height == rows["out"] and frame.columns == columns
        said = (
            f"The table has {frame.height} rows and {frame.width} columns, the manifest says "
            f"{rows['out']} and {len(columns)}"
        )
        if not holds:
            return False, f"{said}, or names other columns."
        found = {} if self._aligned is None else {"in": self.before, "out": self._aligned}
        if any(table is not None and table.height != rows[way] for way, table in found.items()):
            return False, f"{said}; the rows that came in do not agree."
        again, drops = self._rows, self.told["config"].get("small_strata") == "drop"
        if rows != again | rounded(again) or rows["dropped"] < 0 or (rows["dropped"] and not drops):
            return False, f"{said}; other rows are emptied or dropped than it says."
        return True, f"{said}; {rows['emptied']} are emptied, and {rows['dropped']} were dropped."

    @cached_property
    def _rows(self) -> dict[str, Any]:
        """Rows in and out and what was suppressed; rows in are those told, which the original holds."""
        roles = self.told["roles"]
        columns = [*roles["mask"], *roles["stratum"]]
        return counted_rows(self.told["rows"]["in"], self.frame, columns)

    @cached_property
    def _aligned(self) -> pl.DataFrame | None:
        """The original without the rows that were dropped."""
        return None if self.before is None else aligned(self.told, self.before)

    def types(self) -> Outcome:
        """The columns have the types of the manifest."""
        form = self.place.format
        if other := mistyped(self.told, self.before):
            named = ", ".join(map(repr, other[:10]))
            return False, f"The option dtype gives {named} other types than the manifest."
        if formats()[form].typeless:
            return None, f"{form} does not keep the types of columns."
        holds = types(self.frame) == self.told["output"]["columns"]
        return holds, "The columns have " + ("" if holds else "not ") + "the types of the manifest."

    def roles(self) -> Outcome:
        """Every column has one role, and those to be dropped are not there."""
        roles, columns = self.told["roles"], self.frame.columns
        masked = [*roles["mask"], *roles["stratum"]]
        holds = (
            len(set(masked)) == len(masked)
            and set(masked) <= set(columns)
            and roles["keep"] == [name for name in columns if name not in masked]
            and not set(roles["drop"]) & set(columns)
        )
        if not holds:
            return False, "Every column has not the one role that the manifest says."
        every = "Every column has its role, and none that was to be dropped is there"
        return (True, f"{every}.") if self._aligned is None else self._beside(self._aligned, every)

    def _beside(self, before: pl.DataFrame, every: str) -> Outcome:
        """The original has no other columns, and what was kept is what it has."""
        roles, elsewhere = self.told["roles"], self.told["config"]["method"] is None
        has = {*self.frame.columns, *roles["drop"]}
        if others := sorted(has.symmetric_difference(before.columns)):
            named = ", ".join(map(repr, others[:10]))
            if not elsewhere or roles["drop"]:
                return False, (
                    f"The columns of the original and those with a role differ by {named}. Name the "
                    "table that was protected."
                )
            return None, f"{every}; the original differs by {named}, and was masked elsewhere."
        differ = exchanged(self.told, before, self.frame)
        if differ:
            named = ", ".join(map(repr, differ[:10]))
            said = f"Kept or stratum column(s) {named} differ from the original"
            return (None if elsewhere else False), f"{said}, row by row."
        return True, f"{every}; what was kept is that of the original."

    @cached_property
    def _classes(self) -> list[dict[str, Any]]:
        config = self.told["config"]
        return recorded_classes(self.frame, config["columns"], config["strata"])

    def k(self) -> Outcome:
        """The classes have the sizes that are told, and none is below k."""
        counted, told = self._classes, self.told["k"]
        smallest = min((c["smallest"] for c in counted if c["smallest"]), default=None)
        holds = (
            (smallest is None or smallest >= told["asked"])
            and smallest == told["found"]
            and counted == told["classes"]
        )
        return holds, (
            f"The smallest class has {smallest} records, the manifest says {told['found']} and "
            f"asks for {told['asked']}" + ("." if holds else "; the sizes do not agree.")
        )

    def requirements(self) -> Outcome:
        """The verdict is what the requirements give when they are judged again."""
        config, verdict = self.told["config"], self.told["verdict"]
        whole = recorded_classes(self.frame, [self.told["roles"]["mask"]], config["strata"])
        share = self._rows["suppressed"]
        counts = {"k": whole[0]["smallest"], "rows": self.frame.height, "suppressed": share}
        asked, measures = release_requirements(config["require"]), self.told["measures"]
        exact = counts
        if self.before is not None and measures:
            before, after = self._tables
            on_demand = measured_on_demand(asked, before, after, self.told["roles"]["mask"])
            exact = {**self._measured, **on_demand, **counts}
        said, digits = {**measures, **rounded(counts)}, self.told["digits"]
        judged = [each for each in asked if each.name in exact or each.name in said]
        holds = (
            verdict["released"] is True
            and verdict["k_holds"] is True
            and verdict["requirements"]
            == [{"requirement": str(r), "found": said.get(r.name), "met": True} for r in asked]
            and all(
                may_meet(each, exact[each.name])
                if each.name in exact
                else may_meet(each, said[each.name], step(each.name, said[each.name], digits))
                for each in judged
            )
        )
        says = f"The verdict and its {len(judged)} requirement(s) "
        if not holds:
            return False, says + "do not hold."
        if len(judged) < len(asked):
            return None, f"{says}hold; {len(asked) - len(judged)} more need the original."
        return True, says + "hold."

    def measures(self) -> Outcome:
        """The measures are taken again, without the original those that need none."""
        told, config, names = self.told["measures"], self.told["config"], self.told["roles"]["mask"]
        if not told:
            if config["method"] is None and not self.told["digits"]:
                return None, "There was no original to take measures with."
            return False, "The manifest holds no measures."
        digits, most = self.told["digits"], digits_of(fewest_records(names, *self._tables))
        if digits > most or (self.before is not None and digits < most):
            return (
                False,
                f"Of so few records {most} digits of a measure are published, not {digits}.",
            )
        names_of = names_told(assessed(), digits)
        others = sorted({*told}.symmetric_difference(names_of))
        if others and (same_version(self.told) or {*told}.difference(assessed())):
            return False, f"The manifest lacks or adds the measures {listed(others)}."
        again = published(self._measured, digits)
        cells = {"all": self.told["rows"]["in"] * len(names)}
        cells["compared"] = self._measured.get("cells", self.told["cells"]["compared"])
        if self.told["cells"] != (cells if digits else cells | {"compared": None}):
            return False, "The manifest says that other cells were compared."
        differ = [
            name
            for name, value in told.items()
            if name in again and not agree(value, again[name], step(name, value, digits))
        ]
        differ = differ or composed(self.told)
        said = f"{len(again)} measures were taken again"
        if differ:
            return False, f"{said}; {listed(differ)} differ from the manifest."
        if self.before is None and len(again) < len(told):
            return None, f"{said}, the other {len(told) - len(again)} need the original."
        if self.before is None:
            return True, f"{said} and agree with the manifest."
        if moved := uncentred(self.told, *self._tables):
            return False, f"{said}; {listed(moved)} are not centres of values of this original."
        if others:
            return None, f"{said} and agree, {len(others)} are not in the manifest."
        return True, f"{said} and agree with the manifest."

    @cached_property
    def _tables(self) -> list[pl.DataFrame]:
        """The original, if it is there, and the release, with the types of the original."""
        names = self.told["roles"]["mask"]
        if self._aligned is None:
            return [typed(self.frame, names)]
        before = typed(self._aligned, names)
        return [before, self._restored(before)]

    @cached_property
    def _measured(self) -> dict[str, Any]:
        """The measures, taken again: all of them, or those of the release alone."""
        names = self.told["roles"]["mask"]
        if self._aligned is not None:
            before, after = self._tables
            return taken(before, after, names)
        (after,) = self._tables
        return assess(after, after, names, metrics=OF_RELEASE).row(0, named=True)

    def warnings(self) -> Outcome:
        """The warnings are given again, without the original those that need none."""
        roles, config, told = self.told["roles"], self.told["config"], self.told["warnings"]
        if not same_version(self.told):
            return None, "Another version of the library gave the warnings."
        given = {"strata": roles["stratum"], "kept": roles["keep"]}
        if not self.told["digits"]:
            holds = told == of_release(self.frame, config["columns"], config["k"], **given)
        elif self._aligned is None:
            again = of_release(self.frame, config["columns"], config["k"], **given)
            if set(again) <= set(told):
                return None, f"{len(again)} warning(s) were given again, others need the original."
            holds = False
        else:
            before, after = self._tables
            center = config.get("center", "mean")
            holds = told == advice(
                before, after, config["columns"], config["k"], center=center, **given
            )
        if holds:
            return True, f"{len(told)} warning(s) were given again and agree with the manifest."
        return False, "The warnings are not those that this release gives."

    def _restored(self, before: pl.DataFrame) -> pl.DataFrame:
        """The release with its masked columns in their types, which text does not keep."""
        if not formats()[self.place.format].typeless:
            return self.frame
        whole = self.told["config"].get("dtype", "keep") == "keep"
        names = self.told["roles"]["mask"]
        kinds = {n: before.schema[n] if whole else pl.Float64() for n in names}
        return typed(self.frame, names).with_columns(
            by_name(name).cast(kind, strict=False) for name, kind in kinds.items()
        )

    def input(self) -> Outcome:
        """The original has its hash."""
        told, source, before = self.told["input"], self.source, self.before
        if (told["of"] is None) != (told["hmac_sha256"] is None):
            return False, "The hash of the original is said by halves."
        if told["of"] is None:
            if self.key is None:
                return None, "The manifest holds no hash of the original."
            return False, "The manifest holds no hash of the original; protect it with a key."
        if self.key is None or source is None or before is None:
            return None, "The hash of the original needs the original and the key."
        plain = Location(Path("-"), STREAM) if told["of"] == "rows" else source
        found = plain.mac(self.key, before)
        holds = found["of"] == told["of"] and hmac.compare_digest(
            found["hmac_sha256"], told["hmac_sha256"]
        )
        has = "has" if holds else "does not have"
        return holds, f"The original {has} the hash of the key."

    def sealed(self) -> Outcome:
        """The manifest has the seal of the key, and so is what was written to the last sign."""
        found = self.told.get("seal")
        if (found is None) != (self.told["input"]["hmac_sha256"] is None):
            return False, "The manifest has a seal without a hash of the original, or the reverse."
        if self.key is None:
            why = "The manifest has no seal" if found is None else "The seal needs the key"
            return None, f"{why}. {UNPROVEN}"
        if found is None:
            return False, "The manifest has no seal: it was made without a key, or lost it."
        holds = hmac.compare_digest(seal(self.told, self.key), found)
        return holds, "The seal is " + ("" if holds else "not ") + "that of the key."


UNPROVEN = (
    "Without it nothing proves what was asked (method, options, k, requirements, seed), the versions, "
    "the times, the dropped columns and the hash of the original."
)
"""What can be changed in step, with its plain hash, by whoever can write the manifest."""
