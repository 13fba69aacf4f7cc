"""The map of a report: other methods and ks, with all other options of the release."""

from __future__ import annotations

from typing import Any

import polars as pl

from polars_microagg.analysis.compare import compare
from polars_microagg.cli.output import tell
from polars_microagg.core.options import COMMON, VALUELESS, names_of
from polars_microagg.errors import InvalidDataError, InvalidParameterError
from polars_microagg.publishing.column_kinds import options_of
from polars_microagg.publishing.formats.text_types import quantities
from polars_microagg.publishing.manifest.model import Manifest
from polars_microagg.publishing.privacy_models import masking_options
from polars_microagg.wording import COMMAND_LINE

__all__ = ["release_map"]

SHARED = {*COMMON, "order_by"}.difference(VALUELESS)
"""Options of the release that other methods take as well."""


def release_map(before: pl.DataFrame, manifest: Manifest, seconds: Any) -> pl.DataFrame | None:
    """Compare methods at the k of the release and at those of the papers, with its other options.

    Return None, and report why, if that cannot be done. `before` is the original, with types.
    """
    if seconds == 0:
        return None
    if not isinstance(seconds, int | float) or not seconds > 0:
        raise InvalidParameterError.kind("seconds", seconds, "a number above 0, or 0 for no map")
    config, types = manifest["config"], manifest["output"]["columns"]
    options = {name: value for name, value in options_of(config).items() if name in SHARED}
    options = masking_options(options)
    named = {
        what: names_of(what, options.get(what)) for what in ("entity", "confidential", "order_by")
    }
    if missing := [n for names in named.values() for n in names if n not in before.columns]:
        listed = ", ".join(map(repr, dict.fromkeys(missing)))
        tell(
            f"The report has no map: {listed} is needed for the guarantees of this release, and is not in "
            "the sample of its rows. Leave out --memory to compare with the whole table."
        )
        return None
    blocks = config["columns"]
    # What was text when it was released was counted as text.
    numbers = [name for name in named["confidential"] if types[name] != "String"]
    try:
        return compare(
            quantities(before, numbers),
            blocks if len(blocks) > 1 else blocks[0],
            ks=sorted({3, 5, 10, manifest["k"]["asked"]}),
            strata=config["strata"] or None,
            seconds=seconds,
            **options,
        )
    except (InvalidParameterError, InvalidDataError) as error:
        tell(f"The report has no map: {error.told(COMMAND_LINE)}")
        return None
