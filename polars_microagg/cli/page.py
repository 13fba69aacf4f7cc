"""The report as one file, where what draws it is installed."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import polars as pl

from polars_microagg.errors import InvalidParameterError

__all__ = ["has_page", "page", "require_page"]


def has_page() -> bool:
    """Tell whether a report can be written."""
    try:
        require_page()
    except InvalidParameterError:
        return False
    return True


def require_page() -> Any:
    """Import what writes the report, or say how to get it.

    Returns
    -------
    module
        `polars_microagg.report`.

    Raises
    ------
    InvalidParameterError
        It is not installed.
    """
    try:
        return importlib.import_module("polars_microagg.report")
    except ImportError:
        raise InvalidParameterError(
            "A report needs packages that draw, which are not installed. Install them with "
            "pip install 'polars_microagg[report]', or leave the report out."
        ) from None


def page(
    original: pl.DataFrame,
    masked: pl.DataFrame,
    blocks: Sequence[Sequence[str]],
    k: int,
    strata: Sequence[str],
    manifest: dict[str, Any] | None,
    warnings: Sequence[str] = (),
) -> bytes:
    """Write the report of a release."""
    names = [name for block in blocks for name in block]
    try:
        html: str = require_page().report_html(
            original,
            masked,
            names,
            k=k,
            strata=list(strata) or None,
            settings=None if manifest is None else manifest["config"],
            manifest=manifest,
            warnings=tuple(warnings or (() if manifest is None else manifest["warnings"])),
        )
    except ImportError:
        raise InvalidParameterError(
            "A report needs packages that draw, which are not installed. Install them with "
            "pip install 'polars_microagg[report]', or leave the report out."
        ) from None
    return html.encode()
