"""The checks of a manifest against the tables: each statement is computed again."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from polars_microagg.core.registry import assessed
from polars_microagg.publishing.atomic import sha256_of
from polars_microagg.publishing.column_kinds import kinds_of
from polars_microagg.publishing.formats.files import STREAM, Location
from polars_microagg.publishing.formats.register import formats
from polars_microagg.publishing.judgement import release_requirements
from polars_microagg.publishing.large.warnings import Asked
from polars_microagg.publishing.manifest.compare_original import entity_in, mistyped
from polars_microagg.publishing.manifest.consistency import (
    UNPROVEN,
    Outcome,
    composed,
    name,
    same_version,
)
from polars_microagg.publishing.manifest.imputed import imputed_again, recorded_cells
from polars_microagg.publishing.manifest.model import Manifest, Sizes
from polars_microagg.publishing.manifest.precision import (
    coarse_sentence,
    digits_of,
    names_told,
    published,
    step,
)
from polars_microagg.publishing.manifest.recheck_models import stated_figures
from polars_microagg.publishing.manifest.record import seal
from polars_microagg.publishing.manifest.rounding import agree, may_meet, rounded
from polars_microagg.publishing.manifest.rows import RowsAgain
from polars_microagg.publishing.manifest.tables import Tables, WholeTables
from polars_microagg.publishing.staging import types
from polars_microagg.wording import listed

__all__ = ["NEEDS_WHOLE", "Recheck"]

NEEDS_WHOLE = "It is checked with both tables whole in memory: leave out the limit of memory."


@dataclass(frozen=True)
class Recheck:
    """A release as it was read, its manifest, and what else there is to check it with."""

    manifest: Manifest
    place: Location
    frame: pl.DataFrame
    before: pl.DataFrame | None = None
    source: Location | None = None
    key: bytes | None = None
    large: Tables | None = None
    """Both tables on disk; `frame` and `before` have only their columns then."""

    @cached_property
    def seen(self) -> Tables:
        """Both tables."""
        whole = WholeTables(self.manifest, self.place, self.frame, self.before)
        return whole if self.large is None else self.large

    def hash(self) -> Outcome:
        """Check the hash and the size of the file."""
        output, of = self.manifest["output"], "rows" if self.place.table else "file"
        if output["of"] != of or self.place.piped:
            what = "a table" if output["of"] == "rows" else "a file"
            return False, f"The manifest is that of {what}, and this is none."
        digest = self.seen.digest() if of == "rows" else sha256_of(self.place.path)
        size = None if of == "rows" else self.place.path.stat().st_size
        holds = hmac.compare_digest(digest, output["sha256"]) and size == output["bytes"]
        have, have_not = ("have", "do not have") if of == "rows" else ("has", "does not have")
        return holds, f"The {of} {have if holds else have_not} the hash of the manifest."

    def name(self) -> Outcome:
        """Check the name and the format of the file."""
        return name(self.manifest, self.place)

    def shape(self) -> Outcome:
        """Check the numbers of rows and columns."""
        rows, columns = self.manifest["rows"], list(self.manifest["output"]["columns"])
        frame, height = self.frame, self.seen.height
        holds = height == rows["out"] and frame.columns == columns
        said = (
            f"The table has {height} rows and {frame.width} columns, the manifest says "
            f"{rows['out']} and {len(columns)}"
        )
        if not holds:
            return False, f"{said}, or names other columns."
        again, heights = self._rows.rows, self.seen.heights
        if heights and (heights[1], again["in"]) != (height, rows["in"]):
            return False, f"{said}; the rows that came in do not agree."
        if rows != again:
            return False, f"{said}; other rows are emptied or dropped than it says."
        said += f"; {rows['emptied']} are emptied, and "
        if rows["dropped"] is None:
            return True, f"{said}it does not say how many were dropped, as records are few."
        return True, f"{said}{rows['dropped']} were dropped."

    @cached_property
    def _rows(self) -> RowsAgain:
        """The rows, counted again."""
        seen = self.seen
        return RowsAgain.of(self.manifest, seen.height, seen.emptied(), seen.heights)

    def types(self) -> Outcome:
        """Check the types of the columns."""
        form = self.place.format
        if other := mistyped(self.manifest, self.before):
            named = ", ".join(map(repr, other[:10]))
            return False, f"The option dtype gives {named} other types than the manifest."
        if formats()[form].typeless:
            return None, f"{form} does not keep the types of columns."
        holds = types(self.frame) == self.manifest["output"]["columns"]
        return holds, "The columns have " + ("" if holds else "not ") + "the types of the manifest."

    def roles(self) -> Outcome:
        """Check that every column has one role, and that dropped ones are not there."""
        roles, columns = self.manifest["roles"], self.frame.columns
        entity = roles.get("entity", [])
        masked = [*roles["mask"], *roles["stratum"], *roles.get("confidential", [])]
        known = [*masked, *entity]
        holds = (
            len(set(known)) == len(known)
            and set(masked) <= set(columns)
            and roles["keep"] == [name for name in columns if name not in known]
            and not set(roles["drop"]) & {*columns, *known}
        )
        if not holds:
            return False, "Every column has not the one role that the manifest says."
        every = "Every column has its role, and none that was to be dropped is there"
        return (True, f"{every}.") if self.before is None else self._beside(self.before, every)

    def _beside(self, before: pl.DataFrame, every: str) -> Outcome:
        """Check that the original has the same columns, and that kept ones are unchanged."""
        roles, elsewhere = self.manifest["roles"], self.manifest["config"]["method"] is None
        has = {*self.frame.columns, *roles["drop"], *roles.get("entity", [])}
        if others := sorted(has.symmetric_difference(before.columns)):
            named = ", ".join(map(repr, others[:10]))
            if not elsewhere or roles["drop"]:
                return False, (
                    f"The columns of the original and those with a role differ by {named}. Name the "
                    "table that was protected."
                )
            return None, f"{every}; the original differs by {named}, and was masked elsewhere."
        differ = self.seen.exchanged()
        if differ is None:
            return None, NEEDS_WHOLE
        if differ:
            named = ", ".join(map(repr, differ[:10]))
            said = f"Kept or stratum column(s) {named} differ from the original"
            return (None if elsewhere else False), f"{said}, row by row."
        return True, f"{every}; what was kept is that of the original."

    @cached_property
    def _classes(self) -> list[Sizes]:
        """Count the classes of the release again."""
        return self.seen.classes(self.manifest["config"]["columns"])

    def k(self) -> Outcome:
        """Check the sizes of the classes, and that none is below k."""
        counted, k = self._classes, self.manifest["k"]
        smallest = min((c["smallest"] for c in counted if c["smallest"]), default=None)
        holds = (
            (smallest is None or smallest >= k["asked"])
            and smallest == k["found"]
            and counted == k["classes"]
        )
        return holds, (
            f"The smallest class has {smallest} records, the manifest says {k['found']} and "
            f"asks for {k['asked']}" + ("." if holds else "; the sizes do not agree.")
        )

    def models(self) -> Outcome:
        """Count entities and confidential values again, and check that every bound holds."""
        again = self.seen.models
        return (None, NEEDS_WHOLE) if again is None else again.outcome()

    def requirements(self) -> Outcome:
        """Judge the requirements again, and check the verdict."""
        config, verdict = self.manifest["config"], self.manifest["verdict"]
        whole, again = self.seen.classes([self.manifest["roles"]["mask"]]), self.seen.models
        share = self._rows.suppressed
        counts: dict[str, Any] = {"k": whole[0]["smallest"], "rows": self.seen.height}
        counts |= {"suppressed": share} if share is not None else {}
        counts |= again.counts() if again else {}
        required, measures = release_requirements(config["require"]), self.manifest["measures"]
        exact = counts
        if self.before is not None and measures:
            exact = {**self._measured, **self.seen.on_demand(required), **counts}
        said, digits = {**measures, **rounded(counts)}, self.manifest["digits"]
        said |= {"suppressed": self._rows.rows["suppressed"]}
        said = again.told(said) if again else said | stated_figures(self.manifest)
        steps = {name: step(name, value, digits) for name, value in said.items()}
        steps["suppressed"], steps["entities"] = self._rows.step, 2 * self.seen.height / 10**digits
        judged = [
            bound for bound in required if bound.name in exact or said.get(bound.name) is not None
        ]
        # What is only said is held against its bound, which does not prove that it is true.
        taken = {*exact, *(self._measured if measures else {})}
        unproven = [str(bound) for bound in required if bound.name not in taken]
        holds = (
            verdict["released"] is True
            and verdict["k_holds"] is True
            and verdict["requirements"]
            == [{"requirement": str(r), "found": said.get(r.name), "met": True} for r in required]
            and all(
                may_meet(bound, exact[bound.name])
                if bound.name in exact
                else may_meet(bound, said[bound.name], steps[bound.name])
                for bound in judged
            )
        )
        if not holds:
            return False, f"The verdict and its {len(judged)} requirement(s) do not hold."
        says = f"The verdict and its {len(required) - len(unproven)} requirement(s) hold"
        if unproven and (again is None or (self.large is not None and self.before is not None)):
            return None, f"{says}. The others, {', '.join(unproven)}: {NEEDS_WHOLE}"
        if unproven:
            return None, f"{says}; what needs the original: {', '.join(unproven)}."
        return True, f"{says}."

    def measures(self) -> Outcome:
        """Compute the measures again; without the original those that do not need it."""
        manifest, measures = self.manifest, self.manifest["measures"]
        digits, names = manifest["digits"], manifest["roles"]["mask"]
        if not measures:
            if manifest["config"]["method"] is None and not digits:
                return None, "There was no original to take measures with."
            return False, "The manifest holds no measures."
        most = digits_of(self.seen.fewest())
        if digits > most or (self.before is not None and digits < most):
            why = f"Of so few records {most} digits of a measure are published, not {digits}."
            return False, why
        default = assessed(entity=bool(manifest["roles"].get("entity")))
        others = sorted({*measures}.symmetric_difference(names_told(default, digits)))
        if others and (same_version(manifest) or {*measures}.difference(default)):
            return False, f"The manifest lacks or adds the measures {listed(others)}."
        again = published(self._measured, digits)
        counted = manifest["rows"]["in"], len(names), self.seen.values(), manifest.get("imputed")
        if manifest["cells"] != recorded_cells(*counted, digits):
            return False, "The manifest says that other cells were compared."
        differ = [
            name
            for name, value in measures.items()
            if name in again and not agree(value, again[name], step(name, value, digits))
        ]
        differ = differ or composed(manifest)
        said = f"{len(again)} measures were taken again"
        if differ:
            return False, f"{said}; {listed(differ)} differ from the manifest."
        if self.before is None and len(again) < len(measures):
            return None, f"{said}, the other {len(measures) - len(again)} need the original."
        if self.before is None:
            return True, f"{said} and agree with the manifest."
        if moved := self.seen.off_centre():
            return False, f"{said}; {listed(moved)} are not centres of values of this original."
        if others:
            return None, f"{said} and agree, {len(others)} are not in the manifest."
        if len(again) < len(measures):
            return None, f"{said} and agree. The others: {NEEDS_WHOLE}"
        return True, f"{said} and agree with the manifest."

    @cached_property
    def kinds(self) -> dict[str, Any]:
        """The options that say of which kind columns are."""
        return kinds_of(self.manifest["config"])

    @cached_property
    def _measured(self) -> dict[str, Any]:
        """Measure again."""
        return self.seen.measured()

    def categories(self) -> Outcome:
        """Check the columns of categories."""
        return self.seen.categories()

    def imputed(self) -> Outcome:
        """Check which cells were filled."""
        return imputed_again(self.manifest, self.seen.imputed())

    def warnings(self) -> Outcome:
        """Compare the warnings; without the original those that do not need it."""
        roles, config = self.manifest["roles"], self.manifest["config"]
        warned = self.manifest["warnings"]
        if not same_version(self.manifest):
            return None, "Another version of the library gave the warnings."
        blocks, k = config["columns"], config["k"]
        strata, mask = roles["stratum"], roles["mask"]
        kept = [name for name in self.frame.columns if name not in (*mask, *strata)]
        beside = self.before is not None and self.manifest["digits"] > 0
        entity = entity_in(self.manifest, self.frame)
        entity = entity or (entity_in(self.manifest, self.before) if beside else [])
        if roles.get("entity") and self.manifest["digits"] and not entity:
            return None, "The warnings count persons; whose the records are is not known here."
        how = config.get("center", "mean"), self.kinds, entity, config.get("entity_mode")
        call = Asked(blocks, strata, kept, k, *how)
        again = self.seen.warnings(call, beside=beside)
        if again is None:
            return None, NEEDS_WHOLE
        again = [str(coarse_sentence(sentence)) for sentence in again]
        if beside:
            holds = warned == again
        else:
            if self.manifest["digits"] and set(again) <= set(warned):
                return None, f"{len(again)} warning(s) were given again, others need the original."
            holds = not self.manifest["digits"] and warned == again
        if holds:
            return True, f"{len(warned)} warning(s) were given again and agree with the manifest."
        return False, "The warnings are not those that this release gives."

    def input(self) -> Outcome:
        """Check the hash of the original."""
        of, digest = self.manifest["input"]["of"], self.manifest["input"]["hmac_sha256"]
        if (of is None) != (digest is None):
            return False, "The hash of the original is said by halves."
        if of is None or digest is None:
            if self.key is None:
                return None, "The manifest holds no hash of the original."
            return False, "The manifest holds no hash of the original; protect it with a key."
        if self.key is None or self.source is None or self.before is None:
            return None, "The hash of the original needs the original and the key."
        source = Location(Path("-"), STREAM) if of == "rows" else self.source
        again = self.seen.mac(source, self.key)
        holds = again["of"] == of and hmac.compare_digest(again["hmac_sha256"], digest)
        has = "has" if holds else "does not have"
        return holds, f"The original {has} the hash of the key."

    def sealed(self) -> Outcome:
        """Check the seal: with the key, it proves every character of the manifest."""
        written = self.manifest["seal"]
        if (written is None) != (self.manifest["input"]["hmac_sha256"] is None):
            return False, "The manifest has a seal without a hash of the original, or the reverse."
        if self.key is None:
            why = "The manifest has no seal" if written is None else "The seal needs the key"
            return None, f"{why}. {UNPROVEN}"
        if written is None:
            return False, "The manifest has no seal: it was made without a key, or lost it."
        holds = hmac.compare_digest(seal(self.manifest, self.key), written)
        return holds, "The seal is " + ("" if holds else "not ") + "that of the key."
