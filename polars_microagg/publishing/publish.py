"""Publishing a masked table whole, from Python."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_microagg.core.own_options import options_of_methods, refuse_unknown
from polars_microagg.errors import InvalidParameterError
from polars_microagg.frames.safe_collect import collected, schema_of
from polars_microagg.frames.selection import (
    Columns,
    Names,
    Schema,
    as_frame,
    by_name,
)
from polars_microagg.publishing.any_size import Door, Target, release_any
from polars_microagg.publishing.column_roles import ColumnRoles, OtherColumns
from polars_microagg.publishing.formats.batches import Typed
from polars_microagg.publishing.formats.files import Location
from polars_microagg.publishing.formats.source_files import share_a_file
from polars_microagg.publishing.manifest.model import Manifest
from polars_microagg.publishing.memory import Memory
from polars_microagg.publishing.raw_table import raw, texts_of, typed_columns, typed_values
from polars_microagg.publishing.release import Hooks, release
from polars_microagg.publishing.request import ReleaseRequest
from polars_microagg.publishing.sources import FrameSource, PlaceSource, PlacesSource, places_of
from polars_microagg.wording import Setting

if TYPE_CHECKING:
    from polars_microagg.report.release_page import ReportFile

__all__ = ["publish"]

LOG = logging.getLogger("polars_microagg")
"""The log in which the owner reads what the manifest must not disclose."""


def publish(
    frame: Any,
    path: str | os.PathLike[str],
    columns: Columns,
    k: int,
    *,
    method: str | None = "mdav",
    strata: Names = None,
    keep: Names = None,
    drop: Names = None,
    original: Any = None,
    require: str | Sequence[str] = (),
    manifest: str | os.PathLike[str] | None = None,
    report: str | os.PathLike[str] | None = None,
    overwrite: bool = True,
    hash_key: bytes | None = None,
    memory: int | str | None = None,
    workers: int | None = None,
    **options: Any,
) -> Manifest:
    """Mask a table and put it in place, whole, verified as written, with its manifest.

    Parameters
    ----------
    frame : polars.DataFrame, polars.LazyFrame, str, path or list of paths
        The table, of which every column is masked, a stratum, kept or dropped; none is passed
        through by default. It may be a file as well, a pattern such as ``"in/*.parquet"``, a folder, or
        ``file.duckdb::table``; of CSV, numbers are read from columns that are masked or confidential.
    path : str or path
        A file whose ending gives the format (parquet, csv, arrow, arrows, ndjson), or a table of a
        DuckDB file written ``file.duckdb::table``. What that table held before may stay in the
        free blocks of the file; release to a new file where that must not be.
    columns : str, selector, list, or list of lists
        What to mask.
    k : int
        Smallest group size, at least 2.
    method : str or None, default 'mdav'
        Name of a method; None if `frame` is masked already.
    strata : str, selector or list, optional
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
        manifest says whether it is met, and no value. With `entity` also ``k_entities`` and
        ``alike_min``, with `confidential` also the privacy models, such as ``l``: as `anonymity`
        counts them.
    manifest : str or path, optional
        Where the manifest is written; beside the file by default, as ``NAME.manifest.json``.
    report : str or path, optional
        Where the report is written, one HTML file, as `polars_microagg.report.report_html` writes it. It
        is put in place right after the release, and not at all if nothing is published. Of a table that
        is masked already it takes `original`.
    overwrite : bool, default True
        Whether a file that is there may be replaced, at once and whole; it stays until the new
        one is verified. The command line asks for ``--overwrite``.
    hash_key : bytes, optional
        Key of at least 16 bytes for a hash of the rows that came in and for the seal of the
        manifest; there is neither without.
    memory : int or str, optional
        About the most memory to take, as bytes or like ``"2GB"``, at least 250 MB; half of what is free
        by default. A table that is thought to take more is masked by leaves, out of core: it is set
        down as Parquet beside `path`, unless it is Parquet already, and counted and measured on disk.
        The log and `how` in the manifest say which way was taken and why.
    workers : int, optional
        Processes that share the work; by default as many as there are processors and memory for.
    **options : Any
        As for the function of the method. The columns of `entity` are not released; if they are named
        in `keep` as well, they are, and `entity_mode` must say what their rows become. Those of
        `confidential` are released as they are, also without a bound on them. Both are counted
        again on the file that was read, and the manifest says what was found.

    Returns
    -------
    Manifest
        The manifest, a dict whose keys type checkers know. Of 100 records it gives `loss`, `dld` and,
        with `entity`, `dld_entity` in whole per cents, of 1,000 every measure, and of fewer than 100
        nothing that was measured or counted on the original; `assess` does. Counts of the original, such
        as of dropped rows, are rounded alike.
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
        What was written does not have k equal records everywhere, or breaks a privacy model that
        was asked for; nothing was published.
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
    given = {"strata": strata, "workers": workers}
    options |= {name: value for name, value in given.items() if value is not None}
    refuse_unknown(publish, options, options_of_methods())
    others = OtherColumns.of(keep, drop)
    request = ReleaseRequest.of(columns, k, method, options, require=require, hash_key=hash_key)
    target = Target(Location.to(path), None if manifest is None else Path(manifest), overwrite)
    if method is not None and original is not None:
        need = "left out with a method, which masks the frame that is given"
        raise InvalidParameterError.kind("original", type(original).__name__, need)
    if method is None:
        for name, value in (("memory", memory), ("report", report if original is None else None)):
            if value is not None:
                needed = "method" if name == "memory" else "original"
                raise InvalidParameterError.needs(Setting(name, str(value)), needed)
    places = [] if method is None else places_of(frame)
    if target.record is not None:
        need = "another file than the table and the release"
        _apart("manifest", target.record, [target.place], places, need)
    page = None if report is None else _report(Path(report), target, places)
    hooks = Hooks() if page is None else Hooks(ready=page.ready)
    with page or nullcontext():
        if method is None:
            made, warnings = _released(frame, request, others, original, target, page, hooks)
        else:
            room = Memory.of(memory)
            place = places[0] if len(places) == 1 else None
            door = _door_of(places, request, others) if places else _door(frame, request, others)
            door = door if page is None else replace(door, seen=page.seen)
            made, warnings = release_any(door, target, room, hashed=place, hooks=hooks)
        if page is not None:
            page.publish(target.place)
            warnings = [*warnings, *([page.warning] if page.warning else [])]
    for sentence in warnings:
        if sentence not in made["warnings"]:
            LOG.warning("%s", sentence)
    return made


def _report(path: Path, target: Target, sources: Sequence[Location]) -> ReportFile:
    """Return the report of a release, unless it would take the place of another file of the call."""
    # What writes pages is loaded only by those who ask for one.
    from polars_microagg.report.release_page import ReportFile

    record = target.record or target.place.record
    written = [target.place, *([Location(record, "")] if record else [])]
    need = "another file than the table, the release and its manifest"
    _apart("report", path, written, sources, need)
    return ReportFile(path, overwrite=target.overwrite)


def _apart(
    what: str, path: Path, written: Sequence[Location], sources: Sequence[Location], need: str
) -> None:
    """Refuse a file that would take the place of another of the call."""
    file = Location(path, "")
    if any(
        share_a_file(other, file, source=read)
        for others, read in ((written, False), (sources, True))
        for other in others
    ):
        raise InvalidParameterError.kind(what, str(path), need)


def _roles(request: ReleaseRequest, others: OtherColumns, schema: Schema) -> ColumnRoles:
    """Return the role of every column of a table."""
    roles = others.roles(
        schema,
        request.blocks(schema),
        request.strata(schema),
        request.entity(schema),
        request.confidential(schema),
    )
    request.refuse_unnamed_mode(roles)
    return roles


def _released(
    frame: Any,
    request: ReleaseRequest,
    others: OtherColumns,
    original: Any,
    target: Target,
    page: ReportFile | None,
    hooks: Hooks,
) -> tuple[Manifest, list[str]]:
    """Release a table that is masked already, beside its original if there is one."""
    table = as_frame(frame)
    request = request.named(schema_of(table))
    roles = _roles(request, others, schema_of(table))
    table = collected(_needed(table, request, roles))
    before = table if original is None else collected(as_frame(original, "original"), "original")
    if page is not None:
        page.seen(request, roles, before)
    return release(
        request,
        roles,
        before,
        target.place,
        masked=table,
        measured=original is not None,
        record=target.record,
        overwrite=target.overwrite,
        hooks=hooks,
    )


def _door(frame: Any, request: ReleaseRequest, others: OtherColumns) -> Door:
    """Return the door of a table of polars, whose columns are named before it is read."""
    table = as_frame(frame)
    request = request.named(schema_of(table))
    roles = _roles(request, others, schema_of(table))
    table = _needed(table, request, roles)
    return Door(
        FrameSource(table, len(roles.mask)),
        lambda _: (request, roles, collected(table)),
        lambda _: (request, roles),
        told=_say,
    )


def _door_of(places: list[Location], request: ReleaseRequest, others: OtherColumns) -> Door:
    """Return the door of files or a table, in which text that is masked is read as numbers."""

    def named(schema: Schema) -> tuple[ReleaseRequest, ColumnRoles]:
        own = request.named(schema)
        return own, _roles(own, others, schema)

    def texts(names: Sequence[str]) -> Typed:
        own, roles = named(dict.fromkeys(names, pl.String()))
        return texts_of(roles.mask, roles.confidential, own.kinds)

    def whole(read: pl.DataFrame | None) -> tuple[ReleaseRequest, ColumnRoles, pl.DataFrame]:
        place = places[0]
        frame = raw(place) if read is None else read
        own, roles = named(frame.schema)
        frame = typed_columns(place, frame, roles.mask, own.kinds)
        frame = typed_values(place, frame, roles.confidential)
        return (*named(frame.schema), frame)

    one = PlaceSource(places[0])
    source = one if len(places) == 1 else PlacesSource(tuple(places))
    return Door(source, whole, named, texts, _say)


def _say(why: str) -> None:
    LOG.info("%s It is masked by leaves, out of core.", why)


def _needed(
    table: pl.DataFrame | pl.LazyFrame, request: ReleaseRequest, roles: ColumnRoles
) -> pl.DataFrame | pl.LazyFrame:
    """Leave out of a plan what is only dropped; all is read for a hash."""
    if isinstance(table, pl.LazyFrame) and request.hash_key is None:
        order_by = request.masking.order_by if request.masking else ()
        unread = set(roles.drop).difference(order_by)
        table = table.select(by_name(name) for name in schema_of(table) if name not in unread)
    return table
