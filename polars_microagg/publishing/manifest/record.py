"""The record of a release: its configuration, its measurements, and its hash."""

from __future__ import annotations

import hashlib
import hmac
import importlib.metadata
import json
import math
import platform
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast

import polars as pl

from polars_microagg._version import __version__
from polars_microagg.analysis.anonymity import classes
from polars_microagg.analysis.assess import assess
from polars_microagg.core import registry
from polars_microagg.errors import InvalidDataError
from polars_microagg.publishing.manifest.model import (
    SCHEMA,
    SEPARATOR,
    VERSION,
    Attack,
    Manifest,
    Sizes,
    Tool,
)
from polars_microagg.publishing.manifest.precision import OF_RELEASE
from polars_microagg.publishing.manifest.schema import first_misfit

__all__ = [
    "QUANTILES",
    "attack_scenario",
    "canonical",
    "config_hash",
    "dumped",
    "read_manifest",
    "recorded_classes",
    "seal",
    "separator_in",
    "separator_of",
    "taken",
    "taken_of_release",
    "tools",
]

SEALED = b"polars_microagg/manifest\n"
"""Prefix that is hashed before a manifest, so that no other file can have its seal as its hash."""

QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)


def separator_in(manifest: Manifest | None) -> str | None:
    """Return the separator by which the source was read, if a manifest has one that is not a comma."""
    noted: Any = manifest and manifest["input"]
    mark = noted.get("separator") if isinstance(noted, dict) else None
    return mark if isinstance(mark, str) and re.fullmatch(SEPARATOR, mark) else None


def separator_of(manifest: Manifest) -> str | None:
    """Return the separator of a release of one column, whose cells may look separated by another mark.

    One of several columns is read without: a spreadsheet may have saved it with another separator.
    """
    columns: Any = manifest["output"].get("columns")
    return "," if isinstance(columns, dict) and len(columns) == 1 else None


def tools() -> Tool:
    """Return versions of everything that the values may depend on."""
    names = ("polars", "numpy", "pyarrow", "duckdb")
    versions = {name: _installed(name) for name in names}
    own = {"polars_microagg": __version__, **versions, "python": platform.python_version()}
    return cast(Tool, own)


@cache
def _installed(name: str) -> str:
    """Return the version of a package; its metadata are files that take milliseconds to read."""
    return importlib.metadata.version(name)


def canonical(config: Mapping[str, Any]) -> bytes:
    """Write a configuration in the canonical form that is hashed: sorted keys, no spaces, ASCII."""
    return json.dumps(config, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def config_hash(config: Mapping[str, Any]) -> str:
    """Hash a configuration.

    >>> config_hash({"k": 5, "method": "mdav"}) == config_hash({"method": "mdav", "k": 5})
    True
    """
    return hashlib.sha256(canonical(config)).hexdigest()


def recorded_classes(
    frame: pl.DataFrame, blocks: Sequence[Sequence[str]], strata: Sequence[str]
) -> list[Sizes]:
    """Count the records that share each masked record, block by block.

    Records that were emptied are a class like any other.

    >>> people = pl.DataFrame({"age": [30, 30, 41, 41, 41]})
    >>> recorded_classes(people, [["age"]], [])[0]["smallest"]
    2
    """
    counted = list[Sizes]()
    for names in blocks:
        sizes = classes(frame, names, strata)["size"]
        quantiles = {f"{q:g}": sizes.quantile(q, "lower") for q in QUANTILES}
        counted.append(
            {
                "columns": list(names),
                "classes": len(sizes),
                "smallest": cast(int | None, sizes.min()),
                "size_quantiles": {q: None if v is None else int(v) for q, v in quantiles.items()},
            }
        )
    return counted


def taken(
    original: pl.DataFrame,
    masked: pl.DataFrame,
    names: Sequence[str],
    kinds: Mapping[str, Any] | None = None,
    entity: Sequence[str] = (),
    strata: Sequence[str] = (),
) -> dict[str, Any]:
    """Compute the measures of a release.

    `entity` are columns of the original that say whose a record is, and `strata` those of the release.
    """
    metrics = list(registry.assessed(entity=bool(entity)))
    known: dict[str, Any] = {"entity": entity, "strata": strata}
    asked: dict[str, Any] = {"metrics": metrics, **known, **(kinds or {})}
    return assess(original, masked, list(names), **asked).row(0, named=True)


def taken_of_release(
    masked: pl.DataFrame,
    names: Sequence[str],
    kinds: Mapping[str, Any],
    strata: Sequence[str] = (),
) -> dict[str, Any]:
    """Compute the measures of the release alone."""
    measured = assess(masked, masked, list(names), metrics=OF_RELEASE, strata=strata, **kinds)
    return measured.row(0, named=True)


def attack_scenario(known: Sequence[str], strata: Sequence[str], *, entity: bool = False) -> Attack:
    """Describe what the intruder of the measures knows and does, with the source of each measure.

    With an `entity` it is known whose the records are, and persons are counted as well.
    """
    # Rows are linked one by one also where persons are counted.
    persons = (
        "what all rows of one person tell together" if entity else "several rows of one person"
    )
    within = ", ".join(map(repr, strata))
    same = f" with the same {within}" if strata else ""
    candidates = f" records{same}" if strata else ""
    attack: Attack = {
        "known": list(known),
        "intruder": "knows the exact original values of these columns for every record, "
        + (f"knows its {within}, " if strata else "")
        + "knows that each person is in the release, and knows nothing else",
        "dld": f"links each original record to the nearest masked one{same}, in standardised distance; "
        "the share of right links, in per cent",
        "pld": f"links{candidates} by the likelihood of Fellegi and Sunter; null above 20,000 records",
        "interval_disclosure": "the share of original values inside an interval about the masked "
        "ones, in per cent",
        "k": "classes of equal masked records are counted"
        + (f" within each value of {within}" if strata else ""),
        "not_measured": "attributes that all records of a class share, columns that were kept, "
        f"{persons}, and other releases of the same persons",
        "sources": {n: entry.cite for n, entry in registry.assessed(entity=entity).items()},
    }
    if entity:
        attack["dld_entity"] = (
            "the share of persons of whom at least one record is linked so, each guessed by itself, in "
            "per cent; null where only a sample of the records is linked"
        )
    return attack


def dumped(manifest: Mapping[str, Any]) -> bytes:
    """Write a manifest as JSON in ASCII; NaN and infinities become null."""
    return (json.dumps(_finite(manifest), indent=2, allow_nan=False) + "\n").encode()


def seal(manifest: Mapping[str, Any], key: bytes) -> str:
    """Return the HMAC of a manifest: nobody without the key can change the manifest unnoticed.

    The seal is the HMAC-SHA-256 of the line "polars_microagg/manifest" and the manifest in its
    canonical form, without its own seal.

    >>> seal({"rows": 9, "seal": None}, b"key") == seal({"rows": 9}, b"key") != seal({}, b"key")
    True
    """
    rest = {name: value for name, value in manifest.items() if name != "seal"}
    return hmac.digest(key, SEALED + canonical(_finite(rest)), "sha256").hex()


def _finite(value: Any) -> Any:
    """Replace NaN and infinities by None."""
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def read_manifest(path: Path) -> Manifest:
    """Read a manifest, and refuse a file that is not one of this version."""
    try:
        manifest = json.loads(path.read_bytes(), object_pairs_hook=_once, parse_constant=_no_number)
    except FileNotFoundError:
        why = (
            "there is no such manifest. Name it, protect the table again, which writes one, or count k "
            "without one: microagg verify OUT --columns age,income --k 5."
        )
        raise InvalidDataError.unreadable(path, why) from None
    except (OSError, ValueError, RecursionError):
        why = "it is no JSON file, or names a key twice. Protect the table again, which writes one."
        raise InvalidDataError.unreadable(path, why) from None
    if not isinstance(manifest, dict) or manifest.get("schema") != SCHEMA:
        why = f"it is JSON and no {SCHEMA}. Name the manifest that protect wrote."
        raise InvalidDataError.unreadable(path, why)
    version = manifest.get("schema_version")
    if version != VERSION or type(version) is not int:
        why = f"its schema version is not {VERSION}. Use the version of the library that wrote it."
        raise InvalidDataError.unreadable(path, why)
    if key := first_misfit(manifest):
        why = f"its key {key!r} is missing or of the wrong type. Protect the table again."
        raise InvalidDataError.unreadable(path, why)
    return cast(Manifest, manifest)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a key that is there twice: another reader might take the other value."""
    read = dict(pairs)
    if len(read) < len(pairs):
        raise ValueError
    return read


def _no_number(_: str) -> None:
    """Refuse NaN and Infinity, which are not JSON."""
    raise ValueError
