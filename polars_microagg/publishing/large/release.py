"""One release of a table larger than memory: the steps of `publishing/release.py`, by leaves and on disk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from polars_microagg.core import registry
from polars_microagg.core.evaluate import inputs
from polars_microagg.errors import InvalidParameterError, TooFewRecordsError
from polars_microagg.frames.mask import MaskRequest
from polars_microagg.frames.selection import as_frame, by_name
from polars_microagg.leaves.memory_budget import MemoryBudget
from polars_microagg.out_of_core.counts import recounted
from polars_microagg.out_of_core.masking import MaskedFile, mask_source
from polars_microagg.out_of_core.measures import LINKED
from polars_microagg.out_of_core.parquet_source import ParquetSource
from polars_microagg.progress import current
from polars_microagg.publishing.column_roles import ColumnRoles
from polars_microagg.publishing.findings import Findings, manifest_of, now
from polars_microagg.publishing.formats.batches import BATCH
from polars_microagg.publishing.formats.column_types import refuse_types
from polars_microagg.publishing.formats.files import Location
from polars_microagg.publishing.formats.row_hash import digest_of
from polars_microagg.publishing.large.found import OnDisk
from polars_microagg.publishing.large.staging import stage_large
from polars_microagg.publishing.large.survey import Survey
from polars_microagg.publishing.manifest.model import How, Manifest, Source
from polars_microagg.publishing.manifest.record import dumped
from polars_microagg.publishing.privacy_models import Recount
from polars_microagg.publishing.release import NONE, Hooks, noted
from polars_microagg.publishing.released_columns import ReleasedColumns
from polars_microagg.publishing.request import ReleaseRequest
from polars_microagg.wording import Setting

__all__ = ["Room", "refuse_sampled", "release_large"]


@dataclass(frozen=True)
class Room:
    """Memory and disk of a large release: bytes, and a folder beside its target."""

    memory: int
    folder: Path


def release_large(
    request: ReleaseRequest,
    roles: ColumnRoles,
    original: ParquetSource,
    place: Location,
    room: Room,
    how: How,
    *,
    source: Location | None = None,
    record: Path | None = None,
    overwrite: bool = False,
    hooks: Hooks = NONE,
) -> tuple[Manifest, list[str]]:
    """Mask, write, read again, judge and put in place; return the manifest and all warnings.

    As `release`; `original` is the table as it was set down, `source` the file that it was read from, for
    its hash, and `how` says why it is not masked whole.
    """
    started = now()
    empty = original.empty
    columns = ReleasedColumns.of(request, roles, empty)
    request.refuse_unmeasured(original.rows)
    refuse_sampled(request, original.rows)
    masking: MaskRequest = request.masking  # type: ignore[assignment]
    # The columns of an entity are not released, or it is said what its rows become.
    mode = masking.plan.entity_mode or ("rows" if masking.plan.entity else None)
    plan = replace(masking.plan, progress_callback=current(), entity_mode=mode)
    masking = replace(masking, plan=plan)
    budget = MemoryBudget.of(room.memory, 1, len(columns.released), original.wide)
    with stage_large(place, record, overwrite, room.folder, budget.batch) as staged:
        refuse_types(empty.select(map(by_name, columns.released)), place.format, place)
        hooks.stage("masking")
        made_at = room.folder / "made.parquet"
        masked = mask_source(
            original,
            room.folder,
            made_at,
            masking,
            columns.released,
            memory=room.memory,
            name="leaves",
        )
        made = ParquetSource.of(made_at)
        if not made.rows:
            raise TooFewRecordsError.of(0, request.k)
        hooks.stage("writing")
        staged.write(made)
        hooks.stage("reading again")
        reread = staged.reread()
        restored = staged.same(made, reread, columns.names)
        # From here on everything is counted on what was read again, as a reader will see it.
        kept = _kept(masked, made)
        classes, whole = recounted(
            request.promise,
            reread,
            columns.blocks,
            columns.strata,
            budget,
            folder=room.folder,
            entity=columns.entity,
            confidential=columns.confidential,
            beside=original,
            kept_rows=kept,
        )
        for block, counted in zip(columns.blocks, classes, strict=True):
            counted.hold(request.promise, block, columns.strata)
        recount = None
        if columns.entity or columns.confidential:
            # What there is to ask of classes is the same, wherever they were counted.
            sets = columns.blocks, columns.strata, classes, whole
            recount = Recount(request.promise, *sets)  # type: ignore[arg-type]
        hooks.stage("measuring")
        seen = columns.blocks, columns.strata, columns.entity
        survey = Survey.of(original, restored, kept, seen, budget, request.k)
        tables = original, restored, kept, classes, whole, survey, budget, room.folder
        found = OnDisk(request, columns, *tables, recount)
        findings = Findings.of(request, columns, found, original.rows)
        how = _told(how, masked, found, findings.digits)
        made_of = _source(request, source, original)
        output = staged.described(made, reread)
        manifest = manifest_of(request, columns, findings, started, made_of, output, how)
        hooks.ready(manifest, found)
        hooks.stage("publishing")
        staged.commit(dumped(manifest))
    return manifest, findings.warnings


def refuse_sampled(request: ReleaseRequest, rows: int) -> None:
    """Refuse a requirement on persons of whom only a sample of the records will be linked."""
    for bound in request.require:
        entry = registry.metrics().get(bound.name)
        if rows > LINKED and entry and "entity" in inputs(entry):
            why = (
                "Of its records a sample is linked, which has not all of any person. Leave it out, or "
                "give enough memory for the whole table."
            )
            raise InvalidParameterError.cannot(
                "A release out of core", Setting("require", str(bound)), why
            )


def _kept(masked: MaskedFile, made: ParquetSource) -> np.ndarray | None:
    """Return which rows of the original are in the release; None if all are."""
    if masked.suppressed is None or made.rows == masked.rows:
        return None
    return ~masked.suppressed


def _told(how: How, masked: MaskedFile, found: OnDisk, digits: int) -> How:
    """Describe the leaves that masked the table, and what was seen on a sample."""
    told: How = {**how}
    if digits:
        # Also the rows that are not released are in leaves, so they are not counted of few records.
        told["leaves"] = sum(len(leaves) for leaves in masked.leaves)
        told["size"] = max((leaves.size for leaves in masked.leaves), default=0)
    if sampled := found.sampled(digits):
        told["sampled"] = sampled
    return told


def _source(request: ReleaseRequest, source: Location | None, original: ParquetSource) -> Source:
    """Hash the input, only with a key: a hash without one confirms guesses."""
    if request.hash_key is None:
        return noted({"of": None, "hmac_sha256": None}, source)
    if source is None or source.table or source.piped or not source.path.is_file():
        frames: Iterator[pl.DataFrame] = map(as_frame, original.batches(BATCH))
        return noted({"of": "rows", "hmac_sha256": digest_of(frames, request.hash_key)}, source)
    digest = source.mac(request.hash_key, pl.DataFrame())
    return noted({"of": digest["of"], "hmac_sha256": digest["hmac_sha256"]}, source)
