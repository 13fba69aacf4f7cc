"""Options of privacy models on the command line, and the meaning of their numbers."""

from __future__ import annotations

from argparse import Namespace
from typing import Any, Literal

from polars_microagg.analysis.counted_classes import ENTITY_COUNTS
from polars_microagg.cli.options import typed_as, value_of
from polars_microagg.core.model import models
from polars_microagg.core.options import ENTITY_MODES, MODEL_OPTIONS
from polars_microagg.core.registry import Option
from polars_microagg.publishing.manifest.model import Manifest
from polars_microagg.publishing.privacy_models import PROMISES

__all__ = [
    "ROLES",
    "add_columns",
    "add_models",
    "model_options",
    "options_of_manifest",
    "summaries",
]

ROLES: tuple[Literal["entity", "confidential"], ...] = ("entity", "confidential")

KINDS = {int: "a whole number", float: "a number"}


def add_columns(part: Any) -> None:
    """Describe the options that say whose a record is, and what nobody should learn."""
    part.add_argument("--entity", action="append", metavar="ID", help="whose a record is")
    part.add_argument(
        "--confidential", action="append", metavar="DX", help="what nobody should learn"
    )


def add_models(part: Any, *, caps: bool = False, bounds: bool = True) -> None:
    """Describe the options of privacy models, from the register; without `bounds` those of measures."""
    part.add_argument(
        "--entity-mode", metavar="|".join(ENTITY_MODES), help="rows if ID is not released"
    )
    if caps:
        part.add_argument(
            "--max-rows-per-entity", metavar="N", help="of one entity, with --entity-mode alike"
        )
    for entry in models().values():
        known = [entry.bound] * (bounds and entry.bound.name in MODEL_OPTIONS)
        for option in (*known, *entry.options.values()):
            of = "" if option is entry.bound else f"for {typed_as(entry.name)}; "
            side = "least" if entry.at_least else "most"
            about = f"{of}{_help(option)}" if of else f"{_help(option)}: the {side} of {entry.what}"
            metavar = "|".join(map(str, option.choices)) or option.name.upper()
            part.add_argument(typed_as(option.name), metavar=metavar, help=about)


def _help(option: Option) -> str:
    if option.choices:
        return f"default {option.default}"
    kind = KINDS.get(option.kind or float, "a number")
    return f"{kind} {option.range}" if option.range else kind


def model_options(arguments: Namespace) -> dict[str, Any]:
    """Return the options of privacy models that were typed, names of columns as they were."""
    typed = {name: getattr(arguments, name, None) for name in PROMISES}
    return {
        name: value_of(name, value, "") if isinstance(value, str) else value
        for name, value in typed.items()
        if value is not None
    }


def options_of_manifest(manifest: Manifest) -> dict[str, Any]:
    """Return the options of privacy models that a manifest has, without their bounds."""
    config, roles = manifest["config"], manifest["roles"]
    known = models()
    asked = {n: v for n, v in config.items() if n in MODEL_OPTIONS and n not in known}
    asked = asked if roles.get("confidential") else {}
    asked |= {n: list(names) for n in ROLES if (names := roles.get(n))}
    if "entity" in asked:
        asked["entity_mode"] = config.get("entity_mode")
    return asked


def summaries() -> dict[str, str]:
    """Return the meaning of each number."""
    return {**{name: entry.summary for name, entry in models().items()}, **ENTITY_COUNTS}
