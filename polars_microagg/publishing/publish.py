"""Publishing a masked table whole: written beside its target, read again, judged, renamed."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from polars_microagg.analysis.anonymity import fewest_records, verify
from polars_microagg.errors import InvalidParameterError, TooFewRecordsError
from polars_microagg.frames.mask import MaskRequest, mask_table
from polars_microagg.frames.safe_collect import collected, schema_of
from polars_microagg.frames.selection import (
    Columns,
    Names,
    Others,
    as_frame,
    by_name,
    names_of,
)
from polars_microagg.publishing.column_roles import OtherColumns
from polars_microagg.publishing.formats.column_types import refuse_types
from polars_microagg.publishing.formats.files import STREAM, Location
from polars_microagg.publishing.judgement import judged, measured_on_demand
from polars_microagg.publishing.manifest.model import (
    SCHEMA,
    VERSION,
    Cells,
    Manifest,
    Roles,
    Source,
)
from polars_microagg.publishing.manifest.precision import digits_of, published
from polars_microagg.publishing.manifest.record import (
    attack_scenario,
    config_hash,
    counted_rows,
    dumped,
    recorded_classes,
    seal,
    taken,
    tools,
)
from polars_microagg.publishing.manifest.rounding import rounded
from polars_microagg.publishing.request import ReleaseRequest
from polars_microagg.publishing.staging import stage
from polars_microagg.publishing.warnings.advice import advice, of_release

__all__ = ["ReleaseRequest", "publish", "release"]

LOG = logging.getLogger("polars_microagg")
"""Where its owner reads what the manifest must not tell."""


def publish(
    frame: Any,
    path: str | os.PathLike[str],
    columns: Columns,
    k: int,
    *,
    method: str | None = "mdav",
    strata: Names = None,
    keep: Others = None,
    drop: Others = None,
    original: Any = None,
    require: str | Sequence[str] = (),
    manifest: str | os.PathLike[str] | None = None,
    overwrite: bool = True,
    hash_key: bytes | None = None,
    **options: Any,
) -> Manifest:
    """Mask a table and put it in place, whole, verified as written, with its manifest.

    Parameters
    ----------
    frame : polars.DataFrame or polars.LazyFrame
        The table, of which every column is masked, a stratum, kept or dropped; none is passed
        through by default.
    path : str or path
        A file whose ending tells the format (parquet, csv, arrow, arrows, ndjson), or a table of a
        DuckDB file written ``file.duckdb::table``. What that table held before may stay in the
        free blocks of the file; release to a new file where that must not be.
    columns : str, selector, list, or list of lists
        What to mask.
    k : int
        Smallest group size, at least 2.
    method : str or None, default 'mdav'
        Name of a method; None if `frame` is masked already.
    strata : str or list of str, optional
        Columns whose values keep records apart.
    keep : str, selector or list, optional
        Columns to release as they are. A selector means those that are left: ``cs.all()`` all that
        are not masked, strata or named to be dropped.
    drop : str, selector or list, optional
        Columns not to release; a selector as in `keep`.
    original : polars.DataFrame or polars.LazyFrame, optional
        With ``method=None``, the table before masking, to measure against; rows match by position.
    require : str or list of str, optional
        What must be reached, such as ``"dld<=10"``; the names are those of all metrics, ``k`` (the
        smallest class of whole masked records), ``rows``, and ``suppressed`` (the per cent of the
        rows that were emptied or dropped). Of a metric that `assess` gives on demand only, the
        manifest says whether it is met, and no value.
    manifest : str or path, optional
        Where the manifest is written; beside the file by default, as ``NAME.manifest.json``.
    overwrite : bool, default True
        Whether a file that is there may be replaced, at once and whole; it stays until the new
        one is verified. The command line asks for ``--overwrite``.
    hash_key : bytes, optional
        Key of at least 16 bytes for a hash of the rows that came in and for the seal of the
        manifest; there is neither without.
    **options : Any
        As for the function of the method.

    Returns
    -------
    dict
        The manifest. Of 100 records it tells `loss` and `dld` in whole per cents, of 1,000 every
        measure, and of fewer than 100 nothing that was measured on the original; `assess` does.
        It is what the file says, and may go where the release goes, as metadata of a scheduler. Warnings
        that only the original shows are not in it below 100 records: they are for its owner, and go to
        the log, as warnings of the logger ``polars_microagg``.

    Raises
    ------
    InvalidParameterError
        A column has no role, or two; or another parameter is wrong. Nothing was read.
    InvalidDataError
        The table cannot be read or masked. What its plan said is left out, as it may hold values.
    NotAnonymousError
        What was written does not have k equal records everywhere; nothing was published.
    RequirementError
        A requirement is not met; nothing was published.
    OutputError
        The file cannot be written; nothing was published.

    Examples
    --------
    >>> import tempfile, polars_microagg as mg
    >>> people = pl.LazyFrame({"name": ["A", "B", "C", "D"], "age": [23, 25, 47, 51]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     told = mg.publish(people, f"{folder}/p.parquet", "age", k=2, drop="name", require="loss<=9")
    ...     pl.read_parquet(f"{folder}/p.parquet").to_dict(as_series=False), told["k"]["found"]
    ({'age': [24, 24, 49, 49]}, 2)
    """
    if strata is not None:
        options["strata"] = strata
    rest = OtherColumns.of(keep, drop)
    job = ReleaseRequest.of(columns, k, method, options, require=require, hash_key=hash_key)
    place = Location.to(path)
    if method is not None and original is not None:
        need = "left out with a method, which masks the frame that is given"
        raise InvalidParameterError.kind("original", type(original).__name__, need)
    table = as_frame(frame)
    masked_names = [name for block in job.blocks(table) for name in block]
    dropped = rest.dropped(schema_of(table), masked_names, job.strata(table))
    job = replace(job, dropped=tuple(dropped))
    table = _read(table, job)
    before = table if original is None else collected(as_frame(original), "original")
    masked = table if method is None else None
    unmeasured = method is None and original is None
    told, _ = release(
        job,
        before,
        place,
        masked=masked,
        measured=not unmeasured,
        record=None if manifest is None else Path(manifest),
        overwrite=overwrite,
        warn=(warned := list[str]()).append,
    )
    for sentence in warned:
        if sentence not in told["warnings"]:
            LOG.warning("%s", sentence)
    return told


def _read(table: pl.DataFrame | pl.LazyFrame, job: ReleaseRequest) -> pl.DataFrame:
    """Read what is wanted: all of it for a hash, and else nothing that is only dropped."""
    if isinstance(table, pl.LazyFrame) and job.hash_key is None:
        unread = set(job.dropped).difference(names_of("order_by", job.options.get("order_by")))
        table = table.select(by_name(name) for name in schema_of(table) if name not in unread)
    return collected(table)


def release(
    job: ReleaseRequest,
    original: pl.DataFrame,
    place: Location,
    *,
    masked: pl.DataFrame | None = None,
    measured: bool = True,
    source: Location | None = None,
    record: Path | None = None,
    overwrite: bool = False,
    stages: Callable[[str], object] = str,
    warn: Callable[[str], object] = str,
    before: Callable[[Manifest, pl.DataFrame], object] | None = None,
) -> tuple[Manifest, pl.DataFrame]:
    """Mask, write, read again, judge and put in place; the manifest and the masked table.

    What `stages` is told is the name of each step, and `warn` every warning once the release is
    published; `before` is given both results while the release still waits, and what it raises
    stops it.
    """
    started = _now()
    table, source_table = (original if masked is None else masked), original
    blocks, strata = job.blocks(table), job.strata(table)
    names = [name for block in blocks for name in block]
    with stage(place, record, overwrite) as staged:
        dropped = set(job.dropped)
        wanted = [name for name in table.columns if name not in dropped]
        refuse_types(table.select(map(by_name, wanted)), place.format, place)
        if masked is None:
            stages("masking")
            request = MaskRequest.of(job.method, job.columns, job.k, job.options)
            masked, gone = mask_table(original, request)
            if masked.height < original.height:
                original = original.filter(~gone)
        if not masked.height:
            raise TooFewRecordsError.of(0, job.k)
        masked = masked.select(by_name(n) for n in masked.columns if n not in dropped)
        stages("writing")
        staged.write(masked)
        stages("reading again")
        reread = staged.reread(masked)
        restored = staged.same(masked, reread, names)
        verify(reread, blocks, job.k, strata=strata)
        counted = recorded_classes(reread, blocks, strata)
        stages("measuring")
        found = taken(original, restored, names) if measured else {}
        digits = digits_of(fewest_records(names, original, restored)) if measured else 0
        compared = found.pop("cells", None)
        measures = published(found, digits)
        if measured:
            found |= measured_on_demand(job.require, original, restored, names)
        cells: Cells = {
            "all": source_table.height * len(names),
            "compared": compared if digits else None,
        }
        smallest = min(c["smallest"] for c in counted if c["smallest"])
        others = {*names, *strata}
        kept = [name for name in masked.columns if name not in others]
        roles: Roles = {"mask": names, "stratum": strata, "keep": kept, "drop": list(job.dropped)}
        warned = _warned(job, original if measured else None, restored, blocks, roles)
        # What only the original shows is told of a small table to its owner, and nobody else.
        shown = warned if digits else _warned(job, None, restored, blocks, roles)
        # Who asks for k means records, also where k was to hold in each block or column alone.
        (whole,) = recorded_classes(reread, [names], strata)
        rows = counted_rows(source_table.height, reread, [*names, *strata])
        counts = {"k": whole["smallest"], "rows": reread.height, "suppressed": rows["suppressed"]}
        said = {**measures, **rounded(counts)}
        verdicts = judged(job.require, {**found, **counts}, told=said)
        config = job.config(table)
        finished = max(started, _now())
        told: Manifest = {
            "schema": SCHEMA,
            "schema_version": VERSION,
            "verdict": {"released": True, "k_holds": True, "requirements": verdicts},
            "tool": tools(),
            "config": config,
            "config_sha256": config_hash(config),
            "roles": roles,
            "rows": {**rows, "suppressed": rounded(rows)["suppressed"]},
            "cells": cells,
            "k": {"asked": job.k, "found": smallest, "classes": counted},
            "measures": measures,
            "digits": digits,
            "attack": attack_scenario(names, strata),
            "warnings": shown,
            "seed": int(job.options.get("seed", 0)),
            "times": {
                "started": started.isoformat(timespec="milliseconds"),
                "finished": finished.isoformat(timespec="milliseconds"),
                "seconds": round((finished - started).total_seconds(), 3),
            },
            "input": _source(job, source, source_table),
            "output": staged.described(masked, reread),
            "seal": None,
        }
        if job.hash_key is not None:
            told["seal"] = seal(told, job.hash_key)
        if before is not None:
            before(told, restored)
        stages("publishing")
        staged.commit(dumped(told))
    for sentence in warned:
        warn(sentence)
    return told, restored


def _now() -> datetime:
    """Now, in whole milliseconds, so that times which are written add up."""
    now = datetime.now(UTC)
    return now.replace(microsecond=now.microsecond // 1000 * 1000)


def _warned(
    job: ReleaseRequest,
    original: pl.DataFrame | None,
    released: pl.DataFrame,
    blocks: list[list[str]],
    roles: Roles,
) -> list[str]:
    """Warn of what can be seen in the release, and of more if there is an original."""
    given: dict[str, Any] = {"strata": roles["stratum"], "kept": roles["keep"]}
    if original is None:
        return of_release(released, blocks, job.k, **given)
    # A table that is masked already may have columns that the one before it has not.
    there = set(original.columns)
    given = {what: [n for n in names if n in there] for what, names in given.items()}
    center = str(job.options.get("center", "mean"))
    return advice(original, released, blocks, job.k, center=center, **given)


def _source(job: ReleaseRequest, source: Location | None, original: pl.DataFrame) -> Source:
    """Hash what came in, only with a key: without one, a hash confirms guesses."""
    if job.hash_key is None:
        return {"of": None, "hmac_sha256": None}
    digest = (source or Location(Path("-"), STREAM)).mac(job.hash_key, original)
    return {"of": digest["of"], "hmac_sha256": digest["hmac_sha256"]}
