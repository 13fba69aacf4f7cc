"""One release, for every door: masked, written beside its target, read again, judged, renamed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import polars as pl

from polars_microagg.analysis.anonymity import emptied, fewest_records, verify
from polars_microagg.core.requirements import Requirement
from polars_microagg.errors import TooFewRecordsError
from polars_microagg.frames.mask import mask_table
from polars_microagg.frames.selection import by_name
from polars_microagg.out_of_core.workspace import remove_abandoned
from polars_microagg.progress import current
from polars_microagg.publishing.column_roles import ColumnRoles
from polars_microagg.publishing.findings import Findings, manifest_of, now
from polars_microagg.publishing.formats.column_types import refuse_types
from polars_microagg.publishing.formats.files import STREAM, Location
from polars_microagg.publishing.judgement import measured_on_demand
from polars_microagg.publishing.manifest.categories import recorded_categories
from polars_microagg.publishing.manifest.imputed import counted_imputed, counted_values
from polars_microagg.publishing.manifest.model import Category, How, Manifest, Sizes, Source
from polars_microagg.publishing.manifest.record import dumped, recorded_classes, taken
from polars_microagg.publishing.privacy_models import Recount
from polars_microagg.publishing.released_columns import ReleasedColumns
from polars_microagg.publishing.request import ReleaseRequest
from polars_microagg.publishing.staging import stage
from polars_microagg.publishing.warnings.advice import advice, of_release
from polars_microagg.publishing.warnings.persons import Persons

__all__ = ["Hooks", "noted", "release", "work_path"]


def _ignore(*_: object) -> None:
    """Do nothing."""


@dataclass(frozen=True)
class Hooks:
    """Functions of a door that are called while a release is made."""

    stage: Callable[[str], object] = _ignore
    """Called with the name of each step as it begins."""
    ready: Callable[[Manifest, Any], object] = _ignore
    """Called with the manifest, and the table or what was found in a large one, while the release still
    waits; what it raises stops it."""


NONE = Hooks()


def release(
    request: ReleaseRequest,
    roles: ColumnRoles,
    original: pl.DataFrame,
    place: Location,
    *,
    masked: pl.DataFrame | None = None,
    measured: bool = True,
    source: Location | None = None,
    record: Path | None = None,
    overwrite: bool = False,
    hooks: Hooks = NONE,
    how: How | None = None,
) -> tuple[Manifest, list[str]]:
    """Mask, write, read again, judge and put in place; return the manifest and all warnings.

    `masked` is the table if it is masked already, and `measured` whether `original` is the one
    before it. `source` is where the original was read, for its hash, and `how` says why the table is
    masked whole.
    """
    started = now()
    with suppress(OSError):
        # A release out of core that was killed has left rows of its original there.
        remove_abandoned(work_path(place).parent)
    table = original if masked is None else masked
    columns = ReleasedColumns.of(request, roles, table)
    request.refuse_unmeasured(table.height)
    with stage(place, record, overwrite) as staged:
        refuse_types(table.select(map(by_name, columns.released)), place.format, place)
        compared = original
        if request.masking is not None:
            hooks.stage("masking")
            # A request may be older than the progress bar that is shown now.
            plan = replace(request.masking.plan, progress_callback=current())
            table, gone = mask_table(original, replace(request.masking, plan=plan))
            if table.height < original.height:
                compared = original.filter(~gone)
        if not table.height:
            raise TooFewRecordsError.of(0, request.k)
        whose = (compared if masked is None else table).select(map(by_name, columns.entity))
        table = table.select(map(by_name, columns.released))
        hooks.stage("writing")
        staged.write(table)
        hooks.stage("reading again")
        reread = staged.reread(table)
        restored = staged.same(table, reread, columns.names)
        # From here on everything is counted on what was read again, as a reader will see it.
        verify(reread, columns.blocks, request.k, strata=columns.strata)
        recount = columns.recount(request, reread, whose, restored, table)
        hooks.stage("measuring")
        before = compared if measured else None
        found = _InMemory(request, columns, before, reread, restored, whose, recount)
        findings = Findings.of(request, columns, found, original.height)
        made_of = _source(request, source, original)
        output = staged.described(table, reread)
        manifest = manifest_of(request, columns, findings, started, made_of, output, how)
        hooks.ready(manifest, restored)
        hooks.stage("publishing")
        staged.commit(dumped(manifest))
    return manifest, findings.warnings


def work_path(place: Location) -> Path:
    """Return a path in the folder where work is done: on the device of the target, if it is a file."""
    return Path(gettempdir(), "stream") if place.piped else place.path


@dataclass(frozen=True)
class _InMemory:
    """A release as it was read again; `before` is None if there is no original.

    `restored` is the release with the masked columns in their types, and `whose` has the columns that say
    whose the records are.
    """

    request: ReleaseRequest
    columns: ReleasedColumns
    before: pl.DataFrame | None
    reread: pl.DataFrame
    restored: pl.DataFrame
    whose: pl.DataFrame
    counted: Recount | None = None

    @property
    def rows(self) -> int:
        """Rows of the release."""
        return self.reread.height

    @property
    def beside(self) -> bool:
        """Return whether there is an original to measure against."""
        return self.before is not None

    def values(self) -> int:
        """Count the masked cells of the release that have a value."""
        return counted_values(self.reread, self.columns.names)

    def emptied(self) -> int:
        """Count the rows without any value in the masked columns and strata."""
        return emptied(self.reread, [*self.columns.names, *self.columns.strata])

    def sizes(self, blocks: Sequence[Sequence[str]]) -> list[Sizes]:
        """Count the classes on each block of columns."""
        return recorded_classes(self.reread, blocks, self.columns.strata)

    @property
    def _pair(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The original, or the release twice, and the release."""
        return self.restored if self.before is None else self.before, self.restored

    @property
    def _persons(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The pair, of which the first table says whose the records are."""
        before, after = self._pair
        return before.with_columns(self.whose.get_columns()), after

    def fewest(self) -> int:
        """Count the records that any two masked columns have in common in both tables."""
        return fewest_records(self.columns.names, *self._pair)

    def taken(self) -> dict[str, Any]:
        """Measure a release."""
        return taken(*self._persons, self.columns.names, **self._attack)

    def on_demand(self, required: Sequence[Requirement]) -> dict[str, Any]:
        """Compute the required measures that are not among those of every release."""
        return measured_on_demand(required, *self._persons, self.columns.names, **self._attack)

    @property
    def _attack(self) -> dict[str, Any]:
        """The background knowledge of an attacker, and the kinds of the masked columns."""
        columns = self.columns
        return {"kinds": self.request.kinds, "entity": columns.entity, "strata": columns.strata}

    def categories(self) -> list[Category]:
        """Describe the masked columns of categories."""
        kinds, k = self.request.kinds, self.request.k
        return recorded_categories(kinds, self.before, self.restored, self.columns, k)

    def imputed(self) -> dict[str, int]:
        """Count the cells of each masked column that had no value, and have one."""
        return counted_imputed(*self._pair, self.columns.names)

    def warnings(self, *, beside: bool) -> list[str]:
        """Warn of what can be seen in the release, and beside the original of more."""
        before, columns = self.before if beside else None, self.columns
        # What is said without the original is a function of the release: nobody is known by what it lacks.
        known = beside or {*columns.entity} == {*columns.followed}
        who = Persons.of(
            columns.entity if known else [], self.request.options.get("entity_mode"), self.whose
        )
        return _warnings(self.request, columns, before, self.restored, who)


def _warnings(
    request: ReleaseRequest,
    columns: ReleasedColumns,
    original: pl.DataFrame | None,
    released: pl.DataFrame,
    who: Persons | None,
) -> list[str]:
    """Warn of what can be seen in the release, and of more if there is an original."""
    blocks, strata, kept = columns.blocks, columns.strata, columns.as_they_are
    if original is None:
        return of_release(released, blocks, request.k, strata=strata, kept=kept, who=who)
    # A table that is masked already may have columns that the original does not have.
    known = set(original.columns)
    strata, kept = ([n for n in names if n in known] for names in (strata, kept))
    center = str(request.options.get("center", "mean"))
    asked: dict[str, Any] = {"center": center, "kinds": request.kinds, "who": who}
    return advice(original, released, blocks, request.k, strata=strata, kept=kept, **asked)


def _source(request: ReleaseRequest, source: Location | None, original: pl.DataFrame) -> Source:
    """Hash the input, only with a key: a hash without one confirms guesses."""
    if request.hash_key is None:
        return noted({"of": None, "hmac_sha256": None}, source)
    digest = (source or Location(Path("-"), STREAM)).mac(request.hash_key, original)
    return noted({"of": digest["of"], "hmac_sha256": digest["hmac_sha256"]}, source)


def noted(made: Source, source: Location | None) -> Source:
    """Note how the source was read, so that it is read again in the same way."""
    if source is not None and source.separator not in ("", ","):
        made["separator"] = source.separator
    return made
