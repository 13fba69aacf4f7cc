"""The schema of a manifest, derived from its types: misfits, and the JSON Schema for users."""

from __future__ import annotations

import re
import types
from collections.abc import Iterator, Mapping
from typing import (
    Any,
    Literal,
    NotRequired,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from polars_microagg.publishing.manifest.model import SCHEMA, VERSION, Manifest, Pattern

__all__ = ["first_misfit", "json_schema", "misfits"]

JSON_NAMES: dict[type, str] = {
    **{str: "string", int: "integer", float: "number", bool: "boolean"},
    **{type(None): "null", list: "array", dict: "object"},
}
"""Types of JSON."""


def misfits(manifest: Mapping[str, Any]) -> list[str]:
    """Find the keys of a manifest that are missing, unknown, or of another type.

    >>> misfits({"schema": 1, "colour": "red"})[:2]
    ["'schema' is of another type", "'schema_version' is missing"]
    """
    return list(_misfits(manifest, Manifest, ""))


def first_misfit(manifest: Mapping[str, Any]) -> str | None:
    """Find the first top-level key that is missing or of another type, whatever is in it."""
    for key, (hint, required) in _keys(Manifest).items():
        if not (_has_type(manifest[key], hint) if key in manifest else not required):
            return key
    return None


def _keys(hint: Any) -> dict[str, tuple[Any, bool]]:
    """Return the type of each key of an object, and whether it must be there."""
    known = get_type_hints(hint, include_extras=True)
    return {
        key: (get_args(inner)[0], False) if get_origin(inner) is NotRequired else (inner, True)
        for key, inner in known.items()
    }


def _parts(hint: Any) -> tuple[Any, ...]:
    """Return the alternatives of a type."""
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)


def _type_of(hint: Any) -> type:
    """Return the type of a value as Python reads it from JSON."""
    if hasattr(hint, "__metadata__"):
        hint = hint.__origin__
    if get_origin(hint) is Literal:
        return type(get_args(hint)[0])
    if is_typeddict(hint):
        return dict
    plain: type = get_origin(hint) or hint
    return plain


def _has_type(value: object, hint: Any) -> bool:
    """Return whether a value is of a type; True is not an integer, and 1 is not a float."""
    return hint is Any or any(type(value) is _type_of(part) for part in _parts(hint))


def _fits(value: object, hint: Any) -> bool:
    """Return whether a value without parts fits; a text with a pattern matches the whole of it."""
    for part in _parts(hint):
        if get_origin(part) is Literal:
            return value in get_args(part)
        if type(value) is _type_of(part):
            patterns = [p for p in getattr(part, "__metadata__", ()) if isinstance(p, Pattern)]
            return all(re.fullmatch(p, str(value), re.DOTALL) for p in patterns)
    return hint is Any


def _misfits(value: Any, hint: Any, at: str) -> Iterator[str]:
    """Yield what does not fit, with the path of each key."""
    if not _fits(value, hint):
        yield f"{at!r} is of another type"
    elif is_typeddict(hint):
        known = _keys(hint)
        for key, (inner, required) in known.items():
            if key in value:
                yield from _misfits(value[key], inner, _path(at, key))
            elif required:
                yield f"{_path(at, key)!r} is missing"
        for key in value:
            if key not in known:
                yield f"{_path(at, key)!r} is unknown"
    elif get_origin(hint) in (dict, list):
        inner = get_args(hint)[-1]
        for place in value if isinstance(value, dict) else range(len(value)):
            yield from _misfits(value[place], inner, _path(at, place))


def _path(at: str, key: object) -> str:
    return f"{at}.{key}" if at else str(key)


def json_schema() -> dict[str, Any]:
    """Write the types of a manifest as a JSON Schema.

    >>> json_schema()["properties"]["seed"]
    {'type': 'integer'}
    """
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"{SCHEMA}, version {VERSION}",
    }
    return head | _schema(Manifest)


def _schema(hint: Any) -> dict[str, Any]:
    """Write a type as a JSON Schema."""
    if hint is Any:
        return {}
    parts = _parts(hint)
    if len(parts) > 1:
        made = [_schema(part) for part in parts]
        merged: dict[str, Any] = {"type": [one["type"] for one in made]}
        for one in made:
            merged |= {key: value for key, value in one.items() if key != "type"}
        return merged
    schema: dict[str, Any] = {"type": JSON_NAMES[_type_of(hint)]}
    if hasattr(hint, "__metadata__"):
        schema["pattern"] = f"^({hint.__metadata__[0]})$"
    if get_origin(hint) is Literal:
        return {"const": get_args(hint)[0]}
    if get_origin(hint) is list:
        return schema | {"items": _schema(get_args(hint)[0])}
    if get_origin(hint) is dict:
        inner = _schema(get_args(hint)[1])
        return schema | ({"additionalProperties": inner} if inner else {})
    if is_typeddict(hint):
        known = _keys(hint)
        return schema | {
            "description": hint.__doc__,
            "properties": {key: _schema(inner) for key, (inner, _) in known.items()},
            "required": [key for key, (_, required) in known.items() if required],
            "additionalProperties": False,
        }
    return schema
