"""Publishing a masked table whole: written beside its target, read again, judged, renamed."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl

from polars_microagg.errors import InvalidParameterError, TooFewRecordsError
from polars_microagg.frames.assess import assess
from polars_microagg.frames.door import Request, mask_frame
from polars_microagg.frames.measures import keys_of, selected, verify
from polars_microagg.frames.selection import Columns, Names, as_frame, by_name
from polars_microagg.parameters import COMMON, group_size
from polars_microagg.registry import methods
from polars_microagg.release.advice import advice, of_release
from polars_microagg.release.files import Place
from polars_microagg.release.manifest import (
    SCHEMA,
    VERSION,
    attack,
    class_sizes,
    config_hash,
    dumped,
    seal,
    tools,
)
from polars_microagg.release.require import Requirement, judged, possible, requirements
from polars_microagg.release.stage import stage
from polars_microagg.release.types import refuse_types

__all__ = ["Job", "publish", "release"]

SHORTEST = 16
"""Bytes of a key; a shorter one can be guessed, and with it the input."""


@dataclass(frozen=True)
class Job:
    """What is asked of a release, checked before anything is read."""

    columns: Any
    k: int
    method: str | None = "mdav"
    options: dict[str, Any] = field(default_factory=dict)
    require: tuple[Requirement, ...] = ()
    dropped: tuple[str, ...] = ()
    hash_key: bytes | None = None

    @classmethod
    def of(
        cls,
        columns: object,
        k: object,
        method: object,
        options: dict[str, Any],
        *,
        require: Any = (),
        dropped: Sequence[str] = (),
        hash_key: bytes | None = None,
    ) -> Self:
        """Check all that can be checked without a table."""
        if method is None:
            k = group_size(k)
            if own := [name for name in options if name != "strata"]:
                raise InvalidParameterError.option("publish without a method", own[0], ["strata"])
        else:
            k = Request.of(method, columns, k, options).plan.k
        if hash_key is not None and len(hash_key) < SHORTEST:
            need = f"a key of at least {SHORTEST} bytes"
            raise InvalidParameterError.kind("hash_key", f"{len(hash_key)} bytes", need)
        asked = tuple(requirements(require))
        possible(asked, None if method is None else k)
        return cls(columns, k, method, options, asked, tuple(dropped), hash_key)  # type: ignore[arg-type]

    def blocks(self, frame: pl.DataFrame) -> list[list[str]]:
        """Columns whose equal values are counted together."""
        if self.method is None:
            return selected(frame, self.columns)
        plan = Request.of(self.method, self.columns, self.k, self.options).kernel(frame.schema).plan
        if plan.groups_cells:
            return [[name] for block in plan.blocks for name in block]
        return [list(block) for block in plan.blocks]

    def strata(self, frame: pl.DataFrame) -> list[str]:
        """Columns that keep records apart."""
        return list(keys_of(frame, "strata", self.options.get("strata")))

    def config(self, frame: pl.DataFrame) -> dict[str, Any]:
        """The whole configuration, with the defaults that hold."""
        own = {}
        if self.method is not None:
            own = {name: o.default for name, o in methods()[self.method].options.items()}
            own = {**COMMON, "order_by": None, **own}
        return {
            **own,
            **{name: _plain(value) for name, value in self.options.items()},
            "method": self.method,
            "k": self.k,
            "columns": self.blocks(frame),
            "strata": self.strata(frame),
            "require": [str(requirement) for requirement in self.require],
        }


def _plain(value: Any) -> Any:
    """Write an option as JSON can hold it."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, str | int | float | None) else str(value)


def publish(
    frame: Any,
    path: str | os.PathLike[str],
    columns: Columns,
    k: int,
    *,
    method: str | None = "mdav",
    strata: Names = None,
    original: Any = None,
    require: str | Sequence[str] = (),
    manifest: str | os.PathLike[str] | None = None,
    overwrite: bool = True,
    hash_key: bytes | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Mask a table and put it in place, whole, verified as written, with its manifest.

    Parameters
    ----------
    frame : polars.DataFrame or polars.LazyFrame
        The table; drop first what is not to be released.
    path : str or path
        A file whose ending tells the format (parquet, csv, arrow, arrows, ndjson), or a table of a
        DuckDB file written ``file.duckdb::table``.
    columns : str, selector, list, or list of lists
        What to mask; all other columns are released as they are.
    k : int
        Smallest group size, at least 2.
    method : str or None, default 'mdav'
        Name of a method; None if `frame` is masked already.
    strata : str or list of str, optional
        Columns whose values keep records apart.
    original : polars.DataFrame or polars.LazyFrame, optional
        With ``method=None``, the table before masking, to measure against; rows match by position.
    require : str or list of str, optional
        What must be reached, such as ``"dld<=10"``; the names are those of `assess`, ``k`` (the
        smallest class of whole masked records) and ``rows``.
    manifest : str or path, optional
        Where the manifest is written; beside the file by default, as ``NAME.manifest.json``.
    overwrite : bool, default True
        Whether a file that is there may be replaced; it stays until the new one is verified.
    hash_key : bytes, optional
        Key of at least 16 bytes for a hash of the rows that came in and for the seal of the
        manifest; there is neither without.
    **options : Any
        As for the function of the method.

    Returns
    -------
    dict
        The manifest.

    Raises
    ------
    NotAnonymousError
        What was written does not have k equal records everywhere; nothing was published.
    RequirementError
        A requirement is not met; nothing was published.
    OutputError
        The file cannot be written; nothing was published.

    Examples
    --------
    >>> import tempfile, polars_microagg as mg
    >>> people = pl.LazyFrame({"age": [23, 25, 47, 51]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     told = mg.publish(people, f"{folder}/ages.parquet", "age", k=2, require="loss<=10")
    ...     pl.read_parquet(f"{folder}/ages.parquet")["age"].to_list(), told["k"]["found"]
    ([24, 24, 49, 49], 2)
    """
    if strata is not None:
        options["strata"] = strata
    job = Job.of(columns, k, method, options, require=require, hash_key=hash_key)
    place = Place.of(path)
    if method is not None and original is not None:
        need = "left out with a method, which masks the frame that is given"
        raise InvalidParameterError.kind("original", type(original).__name__, need)
    table = as_frame(frame).lazy().collect()
    before = table if original is None else as_frame(original).lazy().collect()
    masked = table if method is None else None
    unmeasured = method is None and original is None
    return release(
        job,
        before,
        place,
        masked=masked,
        measured=not unmeasured,
        record=None if manifest is None else Path(manifest),
        overwrite=overwrite,
    )[0]


def release(
    job: Job,
    original: pl.DataFrame,
    place: Place,
    *,
    masked: pl.DataFrame | None = None,
    measured: bool = True,
    source: Place | None = None,
    record: Path | None = None,
    overwrite: bool = False,
    stages: Callable[[str], object] = str,
    before: Callable[[dict[str, Any], pl.DataFrame], object] | None = None,
) -> tuple[dict[str, Any], pl.DataFrame]:
    """Mask, write, read again, judge and put in place; the manifest and the masked table.

    What `stages` is told is the name of each step; `before` is given both results while the
    release still waits, and what it raises stops it.
    """
    started = _now()
    blocks, strata = job.blocks(original), job.strata(original)
    names = [name for block in blocks for name in block]
    with stage(place, record, overwrite) as staged:
        if masked is None:
            released = original.select(by_name(n) for n in original.columns if n not in job.dropped)
            refuse_types(released, place.format, place)
            stages("masking")
            masked = mask_frame(released, job.method, job.columns, job.k, job.options)
        stages("writing")
        staged.write(masked)
        stages("reading again")
        reread = staged.reread()
        restored = staged.same(masked, reread, names)
        if not reread.height:
            raise TooFewRecordsError.of(0, job.k)
        verify(reread, blocks, job.k, strata=strata)
        counted = class_sizes(reread, blocks, strata)
        stages("measuring")
        found = assess(original, restored, names).row(0, named=True) if measured else {}
        smallest = min((c["smallest"] for c in counted if c["smallest"]), default=None)
        kept = [name for name in masked.columns if name not in (*names, *strata)]
        roles = {"mask": names, "stratum": strata, "keep": kept, "drop": list(job.dropped)}
        warned = _warned(job, original if measured else None, restored, blocks, roles)
        # Who asks for k means records, also where k was to hold in each block or column alone.
        whole = [each["smallest"] for each in class_sizes(reread, [names], strata)]
        verdicts = judged(job.require, {**found, "k": whole[0], "rows": reread.height})
        config = job.config(original)
        finished = max(started, _now())
        told = {
            "schema": SCHEMA,
            "schema_version": VERSION,
            "verdict": {"released": True, "k_holds": True, "requirements": verdicts},
            "tool": tools(),
            "config": config,
            "config_sha256": config_hash(config),
            "roles": roles,
            "rows": {
                "in": original.height,
                "out": reread.height,
                "suppressed": max((c["suppressed_records"] for c in counted), default=0),
            },
            "k": {"asked": job.k, "found": smallest, "classes": counted},
            "measures": found,
            "attack": attack(names, strata),
            "warnings": warned,
            "seed": int(job.options.get("seed", 0)),
            "times": {
                "started": started.isoformat(timespec="milliseconds"),
                "finished": finished.isoformat(timespec="milliseconds"),
                "seconds": round((finished - started).total_seconds(), 3),
            },
            "input": _source(job, source, original),
            "output": staged.described(masked, reread),
            "seal": None,
        }
        if job.hash_key is not None:
            told["seal"] = seal(told, job.hash_key)
        if before is not None:
            before(told, restored)
        stages("publishing")
        staged.commit(dumped(told))
    return told, restored


def _now() -> datetime:
    """Now, in whole milliseconds, so that times which are written add up."""
    now = datetime.now(UTC)
    return now.replace(microsecond=now.microsecond // 1000 * 1000)


def _warned(
    job: Job,
    original: pl.DataFrame | None,
    released: pl.DataFrame,
    blocks: list[list[str]],
    roles: dict[str, list[str]],
) -> list[str]:
    """Warn of what can be seen in the release, and of more if there is an original."""
    given: dict[str, Any] = {"strata": roles["stratum"], "kept": roles["keep"]}
    if original is None:
        return of_release(released, blocks, job.k, **given)
    center = str(job.options.get("center", "mean"))
    return advice(original, released, blocks, job.k, center=center, **given)


def _source(job: Job, source: Place | None, original: pl.DataFrame) -> dict[str, Any]:
    """Hash what came in, only with a key: without one, a hash confirms guesses."""
    if job.hash_key is None:
        return {"of": None, "hmac_sha256": None}
    return (source or Place(Path("-"), "stream")).mac(job.hash_key, original)
