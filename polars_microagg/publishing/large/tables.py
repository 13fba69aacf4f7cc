"""A release and its original on disk, as the checks of a manifest read them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl

from polars_microagg.core import registry
from polars_microagg.core.plan import Plan
from polars_microagg.core.requirements import Requirement
from polars_microagg.errors import InvalidParameterError
from polars_microagg.leaves.masking import fingerprints
from polars_microagg.leaves.memory_budget import LEAST, MemoryBudget, bytes_of
from polars_microagg.out_of_core.aligned import aligned
from polars_microagg.out_of_core.class_sizes import ClassSizes
from polars_microagg.out_of_core.counts import class_sizes, own_folder, recounted
from polars_microagg.out_of_core.given_tables import empty_of
from polars_microagg.out_of_core.measures import LINKED, OF_SAMPLE, assessed, parts_of
from polars_microagg.out_of_core.parquet_source import ParquetSource
from polars_microagg.out_of_core.spill import Spill, read
from polars_microagg.publishing.column_kinds import kinds_of
from polars_microagg.publishing.formats.batches import (
    BATCH,
    Typed,
    frames_of,
    set_down,
    set_down_frames,
)
from polars_microagg.publishing.formats.files import Location
from polars_microagg.publishing.formats.register import formats
from polars_microagg.publishing.formats.row_hash import digest_of
from polars_microagg.publishing.formats.text_types import TypesSeen, read_as, retyped
from polars_microagg.publishing.large.rare_cells import counted_rare
from polars_microagg.publishing.large.survey import SEED, Survey
from polars_microagg.publishing.large.warnings import Asked, warnings_of, whole_of
from polars_microagg.publishing.manifest.categories import categories_again
from polars_microagg.publishing.manifest.compare_original import (
    entity_in,
    exchanged,
    not_text,
    off_centre,
    refuse_lacking,
    refuse_other_kinds,
    restored,
)
from polars_microagg.publishing.manifest.consistency import Outcome
from polars_microagg.publishing.manifest.model import Manifest, Sizes
from polars_microagg.publishing.manifest.precision import OF_RELEASE
from polars_microagg.publishing.manifest.recheck_models import UNORDERED, ModelsAgain, named
from polars_microagg.publishing.manifest.record import QUANTILES
from polars_microagg.publishing.manifest.rows import drops_rows
from polars_microagg.publishing.privacy_models import PROMISES, Recount, masking_options
from polars_microagg.publishing.released_columns import ReleasedColumns

__all__ = ["TablesOnDisk", "on_disk"]


@contextmanager
def on_disk(
    manifest: Manifest,
    place: Location,
    original: Location | None,
    memory: object,
    known: Sequence[str] = (),
) -> Iterator[TablesOnDisk]:
    """Set a release and its original down, in a temporary folder, to be measured also on `known`."""
    if original is not None and drops_rows(manifest["config"]):
        need = "left out: which rows were dropped is known only of the whole original"
        raise InvalidParameterError.kind("memory", memory, need)
    with own_folder(None) as folder:
        yield TablesOnDisk.of(manifest, place, original, bytes_of(memory), folder, known)


@dataclass(frozen=True)
class _Models(ModelsAgain):
    """Entities and confidential columns that were counted on disk."""

    counted: Any = None

    @property
    def _recount(self) -> Any:
        return self.counted


@dataclass(frozen=True)
class TablesOnDisk:
    """Both tables as Parquet: `after` as it was read, `release` with its masked columns in their types."""

    manifest: Manifest
    place: Location
    after: ParquetSource
    release: ParquetSource
    original: ParquetSource | None
    memory: int
    folder: Path

    @classmethod
    def of(
        cls,
        manifest: Manifest,
        place: Location,
        source: Location | None,
        memory: int,
        folder: Path,
        known: Sequence[str] = (),
    ) -> Self:
        """Open both tables; one that is not Parquet is written as Parquet first."""
        numbers = Typed(not_text(manifest))
        after = set_down(place, folder, batch=BATCH, name="after.parquet")
        release, original, form = after, None, place.format
        typeless = formats()[form].typeless
        if source is not None:
            mask, schema = manifest["roles"]["mask"], empty_of(after).schema
            types: Any = {n: t for n, t in schema.items() if isinstance(t, pl.Enum) and n in mask}
            also = [name for name in known if typeless and name not in mask]
            hidden, told = manifest["roles"].get("confidential", []), manifest["output"]["columns"]
            # Their values are counted beside the entity, in the order that the release had.
            ordered = [n for n in hidden if told[n] not in UNORDERED and n not in also]

            def given(there: list[str]) -> Typed:
                refuse_lacking(manifest, there)
                names = [*numbers.names, *(name for name in also if name in there)]
                return replace(numbers, names=names, types=types, quantities=ordered)

            original = set_down(source, folder, batch=BATCH, typed=given, name="before.parquet")
            refuse_other_kinds(manifest, empty_of(original))
            if typeless:
                before = empty_of(original)
                kept = {name: t for name, t in before.schema.items() if name in also}
                masked = (restored(manifest, form, f, before) for f in frames_of(after, BATCH))
                frames = (retyped(frame, kept) for frame in masked)
                release = set_down_frames(frames, folder, place, batch=BATCH, name="typed.parquet")
        elif typeless:
            seen = TypesSeen(numbers.names)
            for frame in frames_of(after, BATCH):
                seen.see(frame)
            # A column without any value has no type in JSON.
            texts = (frame.cast({pl.Null: pl.String}) for frame in frames_of(after, BATCH))
            frames = (read_as(frame, seen.types) for frame in texts)
            release = set_down_frames(frames, folder, place, batch=BATCH, name="typed.parquet")
        return cls(manifest, place, after, release, original, memory, folder)

    @cached_property
    def frame(self) -> pl.DataFrame:
        """The columns of the release."""
        return empty_of(self.after)

    @cached_property
    def before(self) -> pl.DataFrame | None:
        """The columns of the original."""
        return None if self.original is None else empty_of(self.original)

    @property
    def height(self) -> int:
        """Rows of the release."""
        return self.after.rows

    @property
    def heights(self) -> tuple[int, int] | None:
        """Rows of the original, of which none were dropped."""
        return None if self.original is None else (self.original.rows, self.original.rows)

    @property
    def _mask(self) -> list[str]:
        return list(self.manifest["roles"]["mask"])

    @property
    def _strata(self) -> list[str]:
        return list(self.manifest["config"]["strata"])

    @cached_property
    def _budget(self) -> MemoryBudget:
        tables = [table for table in (self.after, self.original) if table is not None]
        wide = sum(table.wide for table in tables)
        return MemoryBudget.of(self.memory, 1, len(self.frame.columns), wide)

    @cached_property
    def survey(self) -> Survey:
        """Survey all rows, as the release did: the sample depends on the memory it had."""
        limit = self.manifest.get("how", {}).get("memory_limit") or LEAST
        budget = replace(self._budget, memory=min(limit, self.memory))
        manifest, original = self.manifest, self.original or self.release
        entity = list(manifest["roles"].get("entity", []))
        columns = manifest["config"]["columns"], self._strata, entity
        return Survey.of(original, self.release, None, columns, budget, manifest["k"]["asked"])

    def emptied(self) -> int:
        """Count the rows without any value in the masked columns and strata."""
        return self.survey.emptied

    def values(self) -> int:
        """Count the masked cells of the release that have a value."""
        return self.survey.values

    def digest(self) -> str:
        """Hash the rows of the release."""
        return digest_of(frames_of(self.after, BATCH))

    def mac(self, source: Location, key: bytes) -> dict[str, str]:
        """Hash the original with a key."""
        return source.mac(key, [] if self.original is None else frames_of(self.original, BATCH))

    def exchanged(self) -> list[str] | None:
        """Find kept columns and strata that are not those of the original; None if text was typed."""
        if self.original is None or self.before is None:
            return []
        roles = self.manifest["roles"]
        same = [*roles["keep"], *roles["stratum"], *roles.get("confidential", [])]
        same += [name for name in roles.get("entity", []) if name in self.frame.columns]
        there = {name: self.before.schema.get(name) for name in same}
        if any(t == pl.String and self.frame.schema[n] != pl.String for n, t in there.items()):
            return None
        sides = self.before.columns, self.frame.columns
        found: dict[str, None] = {}
        for one, other in aligned(self.original, self.after, self._budget.batch, sides):
            found |= dict.fromkeys(exchanged(self.manifest, one, other))
        return list(found)

    def counted(self, blocks: Sequence[Sequence[str]]) -> list[ClassSizes]:
        """Count the classes on each block of columns, with all that is known of them."""
        return class_sizes(self.after, blocks, self._strata, self._budget, folder=self.folder)

    def classes(self, blocks: Sequence[Sequence[str]]) -> list[Sizes]:
        """Count the classes on each block of columns."""
        return [found.recorded(QUANTILES) for found in self.counted(blocks)]  # type: ignore[misc]

    @cached_property
    def models(self) -> ModelsAgain | None:
        """Return the counts of entities and confidential columns; None if text has lost their order."""
        config, roles = self.manifest["config"], self.manifest["roles"]
        if not named(self.manifest):
            return ModelsAgain(self.manifest, self.place.format, self.frame, self.before)
        entity, hidden = list(roles.get("entity", [])), list(roles.get("confidential", []))
        types = self.manifest["output"]["columns"]
        lost = [name for name in hidden if types[name] not in UNORDERED]
        if lost and formats()[self.place.format].typeless:
            return None
        beside = None
        if not {*entity} <= {*self.frame.columns}:
            beside = self.original
            known = beside is not None and {*entity} <= {*beside.schema.names}
            entity = entity if known else []
        options = masking_options({name: config[name] for name in PROMISES if name in config})
        plan = Plan.make("mdav", config["k"], **options)
        where: dict[str, Any] = {"entity": entity, "confidential": hidden, "beside": beside}
        blocks = [list(block) for block in config["columns"]]
        asked = plan, self.after, blocks, self._strata, self._budget
        classes, whole = recounted(*asked, folder=self.folder, **where)
        recount = Recount(plan, blocks, self._strata, classes, whole)  # type: ignore[arg-type]
        return _Models(self.manifest, self.place.format, self.frame, self.before, recount)

    def fewest(self) -> int:
        """Count the records that any two masked columns have in common in all tables."""
        return self.survey.fewest

    def measured(self) -> dict[str, Any]:
        """Measure again all but links between all records, unless a sample was linked; or the release."""
        if self.original is None:
            return self.assessed(list(OF_RELEASE))
        entity = entity_in(self.manifest, self.before)
        return self._of_all(list(registry.assessed(entity=bool(entity))))

    def _of_all(self, metrics: list[str]) -> dict[str, Any]:
        linked = self.manifest.get("how", {}).get("sampled", {}).get("linked")
        if self.height > LINKED and not linked:
            entries = [registry.metrics()[name] for name in metrics]
            metrics = [e.name for e in entries if not {*OF_SAMPLE} & {*parts_of(e)}]
        return self.assessed(metrics) if metrics else {}

    def assessed(
        self, metrics: list[str], *, interval: bool = False, known: Sequence[str] | None = None
    ) -> dict[str, Any]:
        """Compute these measures; of links on a sample, the one of the release, also the interval."""
        sampled = self.manifest.get("how", {}).get("sampled", {})
        found = assessed(
            self.release if self.original is None else self.original,
            self.release,
            self._mask,
            metrics=metrics,
            kinds=kinds_of(self.manifest["config"]),
            known=known,
            entity=entity_in(self.manifest, self.before),
            strata=self._strata,
            budget=self._budget,
            seed=sampled.get("seed", SEED),
            sample=sampled.get("linked") or LINKED,
            folder=self.folder,
        )
        return dict(found) if interval else {n: v for n, v in found.items() if n in metrics}

    def on_demand(self, required: Sequence[Requirement]) -> dict[str, Any]:
        """Compute the required measures that are not among those of every release."""
        named = dict.fromkeys(r.name for r in required)
        return self._of_all([name for name in named if name in registry.on_demand()])

    def off_centre(self) -> list[str]:
        """Find the masked columns whose values are not centres; those of categories are left out."""
        if self.original is None:
            return []
        chosen = {row["column"] for row in self.manifest.get("categories", [])}
        names = [name for name in self._mask if name not in chosen]
        count, off = -(-self.height // self._budget.part), []
        for place, name in enumerate(names):
            # All records of one value are in one file.
            spills = [Spill(self.folder, f"{side}-{place}", count) for side in ("old", "new")]
            try:
                for pair in aligned(
                    self.original, self.release, self._budget.batch, ([name], [name])
                ):
                    parts = (fingerprints(pair[1]).to_numpy() % count).astype(np.intp)
                    for spill, frame in zip(spills, pair, strict=True):
                        spill.write(frame, parts)
            finally:
                for spill in spills:
                    spill.close()
            roles = {**self.manifest["roles"], "mask": [name]}
            told: Any = {**self.manifest, "categories": [], "roles": roles}
            for number in range(count):
                paths = [spill.path(number) for spill in spills]
                if paths[0].exists() and off_centre(told, *(read([path]) for path in paths)):
                    off.append(name)
                    break
        return off

    def categories(self) -> Outcome:
        """Check the columns of categories."""
        empty = [table for table in (self.before, empty_of(self.release)) if table is not None]
        return categories_again(self.manifest, empty, self._rare)

    def _rare(self, names: Sequence[str]) -> dict[str, tuple[float, int]]:
        """Count the cells that lost a rare category."""
        blocks = [list(block) for block in self.manifest["config"]["columns"]]
        entity = list(self.manifest["roles"].get("entity", []))
        columns = ReleasedColumns(blocks, self._strata, [], [], [], entity, [], [])
        tables = self.original or self.release, self.release, None, columns
        return counted_rare(names, *tables, self.manifest["config"]["k"], self._budget)

    def imputed(self) -> dict[str, int] | None:
        """Count the cells of each masked column that were filled; None without the original."""
        return None if self.original is None else self.survey.imputed

    def warnings(self, call: Asked, *, beside: bool) -> list[str] | None:
        """Warn again; None if the sample was one of all rows, or of more memory than there is."""
        how, limit = self.manifest.get("how", {}), self.manifest.get("how", {}).get("memory_limit")
        drawn = how.get("sampled", {}).get("warnings") is not None
        if self.survey.drawn != drawn or (drawn and (limit is None or limit > self.memory)):
            return None
        whole = whole_of(call, self.after, self.original, self._budget, self.folder)
        return warnings_of(call, self.survey, self.release, whole, beside=beside)
