"""Consistency of a manifest: whether its parts agree with one another."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, TypeAlias

from polars_microagg._version import __version__
from polars_microagg.core.options import COMMON, KEY_OPTIONS, VALUELESS, group_size
from polars_microagg.core.plan import Plan
from polars_microagg.core.registry import Metric, assessed, methods, metrics
from polars_microagg.frames.mask import MaskRequest
from polars_microagg.frames.selection import blocks_of
from polars_microagg.publishing.column_kinds import options_of
from polars_microagg.publishing.formats.files import STREAM, Location
from polars_microagg.publishing.judgement import release_requirements
from polars_microagg.publishing.manifest.model import Manifest
from polars_microagg.publishing.manifest.precision import step
from polars_microagg.publishing.manifest.record import attack_scenario, config_hash
from polars_microagg.publishing.manifest.rounding import agree
from polars_microagg.publishing.manifest.schema import misfits
from polars_microagg.publishing.privacy_models import PROMISES, masking_options

__all__ = [
    "UNPROVEN",
    "Outcome",
    "attacks",
    "composed",
    "configuration",
    "form",
    "name",
    "same_version",
    "times",
]

Outcome: TypeAlias = "tuple[bool | None, str]"
"""A check: True or False, None if it was not made, and a sentence."""

ALWAYS = ("method", "k", "columns", "strata", "require")
"""Keys of every configuration, also of that of a table which was masked elsewhere."""

STEP = 0.0005
"""Seconds by which the times may disagree."""


UNPROVEN = (
    "Without it nothing proves what was asked (method, options, k, requirements, seed), the versions, "
    "the times, the dropped columns and the hash of the original."
)
"""Parts that anybody who can write the manifest can change, together with its plain hash."""


def same_version(manifest: Manifest) -> bool:
    """Return whether this version of the library wrote the manifest, so that its words are known."""
    return bool(manifest["tool"]["polars_microagg"] == __version__)


def form(manifest: Manifest) -> Outcome:
    """Check that every key is there, of its type, and no other."""
    wrong = misfits(manifest)
    if wrong:
        more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        return False, f"In the manifest {', '.join(wrong[:3])}{more}."
    return True, "The manifest has the keys of its schema, and no other."


def name(manifest: Manifest, place: Location) -> Outcome:
    """Check the name and the format of the file."""
    output, table = manifest["output"], place.table
    own, form = table or place.path.name, place.format
    # DuckDB compares names without case.
    named = own.lower() == output["name"].lower() if table else own == output["name"]
    # What went to standard output has no name yet.
    streamed = output["name"] == "-" and output["format"] == STREAM
    if (named or streamed) and output["format"] == form:
        return True, "The name and the format are those of the manifest."
    return False, (
        f"The manifest is that of {output['name']!r} ({output['format']}), and this is {own!r} "
        f"({form})."
    )


def configuration(manifest: Manifest) -> Outcome:
    """Check that the configuration has its hash, is a possible call, and agrees with the rest."""
    config = manifest["config"]
    if config_hash(config) != manifest["config_sha256"]:
        return False, "The configuration is not that of its hash."
    roles = manifest["roles"]
    pairs = {
        "k": (config["k"], manifest["k"]["asked"]),
        "seed": (config.get("seed", 0), manifest["seed"]),
        "strata": (config["strata"], roles["stratum"]),
        "columns": ([name for block in config["columns"] for name in block], roles["mask"]),
        **{n: (config.get(n) or [], roles.get(n, [])) for n in ("entity", "confidential")},
        "require": (config["require"], [str(r) for r in release_requirements(config["require"])]),
    }
    differ = [name for name, (one, other) in pairs.items() if one != other]
    if differ:
        return False, f"The configuration says another {' and '.join(differ)} than the manifest."
    known = _known(config)
    if known is None:
        return None, "The configuration is that of its hash; its method is not known here."
    missing = [name for name in known if name not in config]
    if missing and same_version(manifest):
        return False, f"The configuration lacks {', '.join(map(repr, missing[:10]))}."
    return True, "The configuration is that of its hash, and agrees with the manifest."


def _known(config: Mapping[str, Any]) -> list[str] | None:
    """Return the keys of a configuration of this method, after its values are checked."""
    method, config = config["method"], options_of(config)
    group_size(config["k"])
    blocks_of(config["columns"])
    if method is None:
        counted = (*PROMISES, *KEY_OPTIONS)
        if others := sorted(set(config) - {*ALWAYS, *counted}):
            raise LookupError(others)
        asked = {name: config[name] for name in counted if name in config}
        Plan.make("mdav", config["k"], **masking_options(asked))
        return list(ALWAYS)
    if isinstance(method, str) and method not in methods():
        return None
    options = {n: v for n, v in config.items() if n not in ALWAYS or n == "strata"}
    MaskRequest.of(method, config["columns"], config["k"], masking_options(options))
    common = [name for name in COMMON if name not in VALUELESS]
    return [*ALWAYS, "order_by", *common, *methods()[method].options]


def attacks(manifest: Manifest) -> Outcome:
    """Check that the intruder knows the columns that the measures assume."""
    roles = manifest["roles"]
    names = roles["mask"]
    expected = attack_scenario(names, roles["stratum"], entity=bool(roles.get("entity")))
    if manifest["attack"]["known"] != expected["known"]:
        return False, "The intruder is said to know other columns than those that are masked."
    if manifest["attack"] == expected:
        return True, f"The intruder is said to know the {len(names)} masked column(s)."
    if same_version(manifest):
        return False, "The intruder is described in other words than those of this version."
    return None, "The intruder is described in the words of another version of the library."


def composed(manifest: Manifest) -> list[str]:
    """Find measures that disagree with the measures that they are computed from, up to rounding."""
    measures, digits = manifest["measures"], manifest["digits"]
    differ = []
    for name, entry in assessed().items():
        needed, known = entry.needed({}), metrics()
        parts = {n: v for n in needed if n in known and (v := measures.get(n)) is not None}
        # A metric that also takes the tables cannot be made of published measures alone.
        if len(parts) < len(needed) or measures.get(name) is None:
            continue
        made = _made(entry, parts)
        # Each published part may be off by half of its last digit. The effect of each on the
        # composed measure is added up.
        slack = step(name, measures[name], digits)
        for part, value in parts.items():
            other = parts | {part: value + step(part, value, digits) / 2}
            slack += abs(_made(entry, other) - made)
        if not agree(measures[name], made, slack):
            differ.append(name)
    return differ


def _made(entry: Metric, parts: dict[str, Any]) -> Any:
    """Compute a metric from other metrics."""
    return entry.function(*map(parts.get, entry.inputs))


def times(manifest: Manifest) -> Outcome:
    """Check that the times are in order and add up."""
    times = manifest["times"]
    texts = [times["started"], times["finished"]]
    started, finished = (datetime.fromisoformat(text) for text in texts)
    seconds = (finished - started).total_seconds()
    in_utc = [t.astimezone(UTC).isoformat(timespec="milliseconds") for t in (started, finished)]
    holds = in_utc == texts and seconds >= 0 and abs(seconds - times["seconds"]) < STEP
    return holds, "The times are " + ("" if holds else "not ") + "in order and add up."
