"""Checking a release against its manifest, and the manifest against itself."""

from __future__ import annotations

import hmac
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from polars_microagg.errors import InvalidDataError, MicroaggError
from polars_microagg.frames.assess import assess
from polars_microagg.release.csv import typed
from polars_microagg.release.files import Place, rows_digest
from polars_microagg.release.manifest import class_sizes, config_hash, read_manifest
from polars_microagg.release.require import judged, requirements
from polars_microagg.release.swap import sha256_of

__all__ = ["Finding", "check"]

CLOSE = 1e-9
"""Relative difference of a measure that another machine may make."""


@dataclass(frozen=True)
class Finding:
    """One thing that was checked."""

    what: str
    holds: bool
    says: str


def check(
    place: Place | str | os.PathLike[str],
    record: Path | None = None,
    *,
    original: Place | str | os.PathLike[str] | None = None,
    hash_key: bytes | None = None,
) -> list[Finding]:
    """Check a release against its manifest.

    Parameters
    ----------
    place : Place, str or path
        The release.
    record : Path, optional
        Its manifest; the one beside it by default.
    original : Place, str or path, optional
        The table before: the measures are then taken again.
    hash_key : bytes, optional
        The key of the hash of the original.

    Returns
    -------
    list of Finding
        Every check, in order; the release is sound if all hold.

    Raises
    ------
    InvalidDataError
        The release, the manifest or the original cannot be read.

    Examples
    --------
    >>> import tempfile, polars_microagg as mg
    >>> people = pl.LazyFrame({"age": [23, 25, 47, 51]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     told = mg.publish(people, f"{folder}/ages.csv", "age", k=2)
    ...     all(finding.holds for finding in check(f"{folder}/ages.csv"))
    True
    """
    place = place if isinstance(place, Place) else Place.of(place)
    if original is not None and not isinstance(original, Place):
        original = Place.of(original)
    record = record or place.record
    if record is None:
        raise InvalidDataError("A stream has no manifest beside it. Name it with --manifest.")
    told = read_manifest(record)
    frame = place.read()
    before = None if original is None else original.read()
    steps: dict[str, Callable[[], tuple[bool, str]]] = {
        "configuration": lambda: _config(told),
        "hash": lambda: _hash(told, place, frame),
        "shape": lambda: _shape(told, frame),
        "roles": lambda: _roles(told, frame),
        "k": lambda: _k(told, frame),
        "requirements": lambda: _requirements(told, frame),
    }
    if before is not None:
        again = before
        steps["measures"] = lambda: _measures(told, frame, again)
        if original is not None and hash_key is not None:
            steps["input"] = lambda: _input(told, original.mac(hash_key, again))
    return [_found(what, step) for what, step in steps.items()]


def _found(what: str, step: Callable[[], tuple[bool, str]]) -> Finding:
    """Take one step; a manifest whose parts are missing or of another kind does not hold."""
    try:
        return Finding(what, *step())
    except MicroaggError as error:
        return Finding(what, False, str(error))
    except (LookupError, TypeError, AttributeError, ValueError, pl.exceptions.PolarsError):
        return Finding(what, False, "The manifest does not say it as protect writes it.")


def _config(told: Mapping[str, Any]) -> tuple[bool, str]:
    holds = config_hash(told["config"]) == told["config_sha256"]
    return holds, "The configuration is " + ("" if holds else "not ") + "that of its hash."


def _hash(told: Mapping[str, Any], place: Place, frame: pl.DataFrame) -> tuple[bool, str]:
    of = told["output"]["of"]
    if of == "file" and (place.table or place.piped):
        return False, "The manifest is that of a file, and this is none."
    found = rows_digest(frame) if of == "rows" else sha256_of(place.path)
    holds = hmac.compare_digest(found, str(told["output"]["sha256"]))
    return holds, f"The {of} " + (
        "has" if holds else "does not have"
    ) + " the hash of the manifest."


def _shape(told: Mapping[str, Any], frame: pl.DataFrame) -> tuple[bool, str]:
    rows, columns = told["rows"]["out"], list(told["output"]["columns"])
    holds = frame.height == rows and frame.columns == columns
    return holds, (
        f"The table has {frame.height} rows and {frame.width} columns, the manifest says {rows} "
        f"and {len(columns)}" + ("." if holds else ", or names other columns.")
    )


def _roles(told: Mapping[str, Any], frame: pl.DataFrame) -> tuple[bool, str]:
    roles, config = told["roles"], told["config"]
    released = [*roles["mask"], *roles["stratum"], *roles["keep"]]
    holds = (
        sorted(released) == sorted(frame.columns)
        and not set(roles["drop"]) & set(frame.columns)
        and sorted(n for block in config["columns"] for n in block) == sorted(roles["mask"])
        and list(config["strata"]) == list(roles["stratum"])
    )
    return holds, "Every column has " + (
        "its role, and none that was to be dropped is there."
        if holds
        else "not the one role that the manifest says."
    )


def _k(told: Mapping[str, Any], frame: pl.DataFrame) -> tuple[bool, str]:
    config = told["config"]
    counted = class_sizes(frame, config["columns"], config["strata"])
    smallest = min((c["smallest"] for c in counted if c["smallest"]), default=None)
    asked = told["k"]["asked"]
    holds = (
        asked == config["k"]
        and (smallest is None or smallest >= asked)
        and smallest == told["k"]["found"]
        and counted == told["k"]["classes"]
    )
    return holds, (
        f"The smallest class has {smallest} records, the manifest says {told['k']['found']} and "
        f"asks for {asked}" + ("." if holds else "; the sizes of the classes do not agree.")
    )


def _requirements(told: Mapping[str, Any], frame: pl.DataFrame) -> tuple[bool, str]:
    config, verdict = told["config"], told["verdict"]
    found = {**told["measures"], "k": told["k"]["found"], "rows": frame.height}
    again = judged(requirements(config["require"]), found, refuse=False)
    holds = (
        verdict["released"] is True
        and verdict["k_holds"] is True
        and verdict["requirements"] == again
        and all(result["met"] for result in again)
    )
    count = f"{len(again)} requirement(s)"
    return holds, f"The verdict and its {count} " + ("hold." if holds else "do not hold.")


def _measures(
    told: Mapping[str, Any], frame: pl.DataFrame, before: pl.DataFrame
) -> tuple[bool, str]:
    names = told["roles"]["mask"]
    again = assess(typed(before, names), typed(frame, names), names).row(0, named=True)
    differ = [
        name
        for name, value in told["measures"].items()
        if name not in again or not _close(value, again[name])
    ]
    said = f"{len(again)} measures were taken again"
    if differ:
        return False, f"{said}; {', '.join(map(repr, differ[:10]))} differ from the manifest."
    return True, f"{said} and agree with the manifest."


def _close(told: Any, found: float | None) -> bool:
    if told is None or found is None:
        return told is None and (found is None or not math.isfinite(found))
    return math.isclose(told, found, rel_tol=CLOSE, abs_tol=CLOSE)


def _input(told: Mapping[str, Any], found: Mapping[str, str]) -> tuple[bool, str]:
    if told["input"]["hmac_sha256"] is None:
        return False, "The manifest holds no hash of the original; protect it with a key."
    holds = found["of"] == told["input"]["of"] and hmac.compare_digest(
        found["hmac_sha256"], str(told["input"]["hmac_sha256"])
    )
    return holds, "The original " + ("has" if holds else "does not have") + " the hash of the key."
