"""What keys a manifest has, and of what type each of them is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["misfits"]


@dataclass(frozen=True)
class _Kind:
    """Values of some types; True and False are no numbers."""

    types: tuple[type, ...]
    text: str = ""

    def fits(self, value: object) -> bool:
        """Whether a value is of the kind."""
        if isinstance(value, bool) and bool not in self.types:
            return False
        if isinstance(value, str) and self.text:
            return re.fullmatch(self.text, value, re.DOTALL) is not None
        return isinstance(value, self.types)


@dataclass(frozen=True)
class _Each:
    """Any keys, or a list of any length, with values of one form."""

    form: Any
    list: bool = False


TEXT, WHOLE, YES = _Kind((str,)), _Kind((int,)), _Kind((bool,))
NUMBER, COUNT = _Kind((int, float, type(None))), _Kind((int, type(None)))
HEX = _Kind((str,), "[0-9a-f]{64}")
KEYED = _Kind((str, type(None)), "[0-9a-f]{64}")
ANY = _Kind((dict, list, str, int, float, bool, type(None)))
NAMES = _Each(TEXT, list=True)

FORM: dict[str, Any] = {
    "schema": TEXT,
    "schema_version": WHOLE,
    "verdict": {
        "released": YES,
        "k_holds": YES,
        "requirements": _Each({"requirement": TEXT, "found": NUMBER, "met": YES}, list=True),
    },
    "tool": dict.fromkeys(
        ("polars_microagg", "polars", "numpy", "pyarrow", "duckdb", "python"),
        _Kind((str,), r"\d+\.[\w.+-]+"),
    ),
    "config": _Each(ANY),
    "config_sha256": HEX,
    "roles": {"mask": NAMES, "stratum": NAMES, "keep": NAMES, "drop": NAMES},
    "rows": {
        **dict.fromkeys(("in", "out", "emptied", "dropped"), WHOLE),
        "suppressed": _Kind((float,)),
    },
    "cells": {"all": WHOLE, "compared": COUNT},
    "digits": WHOLE,
    "k": {
        "asked": WHOLE,
        "found": COUNT,
        "classes": _Each(
            {
                "columns": NAMES,
                "classes": WHOLE,
                "smallest": COUNT,
                "size_quantiles": _Each(COUNT),
            },
            list=True,
        ),
    },
    "measures": _Each(NUMBER),
    "attack": {
        "known": NAMES,
        **dict.fromkeys(("intruder", "dld", "pld", "interval_disclosure", "k"), TEXT),
        "not_measured": TEXT,
        "sources": _Each(TEXT),
    },
    "warnings": NAMES,
    "seed": WHOLE,
    "times": {"started": TEXT, "finished": TEXT, "seconds": _Kind((int, float))},
    "input": {"of": _Kind((str, type(None)), "file|rows"), "hmac_sha256": KEYED},
    "output": {
        "name": TEXT,
        "format": TEXT,
        "of": _Kind((str,), "file|rows"),
        "sha256": HEX,
        "bytes": COUNT,
        "columns": _Each(TEXT),
    },
    "seal": KEYED,
}


def misfits(manifest: Mapping[str, Any]) -> list[str]:
    """Find the keys of a manifest that are missing, unknown, or of another type.

    Parameters
    ----------
    manifest : mapping
        As it was read.

    Returns
    -------
    list of str
        What is wrong, each with the path of its key; empty if nothing is.

    Examples
    --------
    >>> misfits({"schema": 1, "colour": "red"})[:2]
    ["'schema' is of another type", "'schema_version' is missing"]
    """
    return list(_misfits(manifest, FORM, ""))


def _misfits(value: Any, form: Any, at: str) -> Iterator[str]:
    if isinstance(form, _Kind):
        if not form.fits(value):
            yield f"{at!r} is of another type"
        return
    if isinstance(form, _Each) and form.list and isinstance(value, list):
        value = dict(enumerate(value))
    elif (isinstance(form, _Each) and form.list) or not isinstance(value, Mapping):
        yield f"{at!r} is of another type"
        return
    if isinstance(form, _Each):
        for key, item in value.items():
            yield from _misfits(item, form.form, _path(at, key))
        return
    for key, kind in form.items():
        if key in value:
            yield from _misfits(value[key], kind, _path(at, key))
        else:
            yield f"{_path(at, key)!r} is missing"
    for key in value:
        if key not in form:
            yield f"{_path(at, key)!r} is unknown"


def _path(at: str, key: object) -> str:
    return f"{at}.{key}" if at else str(key)
