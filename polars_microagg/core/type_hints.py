"""Options of a method or metric, read from the type hints of its function."""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    NewType,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Axis", "Option", "Range", "docstring", "options_of", "summary"]

Axis = NewType("Axis", int)
"""An option that names one of the masked columns; the method receives its position."""


@dataclass(frozen=True)
class Range:
    """Bounds of a numeric option, as in ``Annotated[float, Range(0)]``.

    `quick` is a value that takes next to no time, of an option that gives better results with more
    time. Every promise holds there too.
    """

    low: float
    high: float = float("inf")
    quick: float | None = None

    def __contains__(self, value: float) -> bool:
        """Return whether the value lies within the bounds, both included."""
        return self.low <= value <= self.high

    def __str__(self) -> str:
        """Write the bounds in words."""
        return (
            f"at least {self.low:g}"
            if self.high == float("inf")
            else f"from {self.low:g} to {self.high:g}"
        )


def docstring(function: Callable[..., Any]) -> str:
    """Return the docstring of a function or class, from its source where ``python -OO`` removed it."""
    if function.__doc__ is not None:
        return inspect.getdoc(function) or ""
    with suppress(OSError, SyntaxError):  # there may be no source
        node = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            return ast.get_docstring(node) or ""
    return ""


def summary(function: Callable[..., Any]) -> str:
    """Return the first line of a docstring."""
    return docstring(function).partition("\n")[0]


@dataclass(frozen=True)
class Option:
    """One keyword option of a method or metric, read from its signature.

    With `several` a sequence of numbers is accepted as well as one number. `keys` are the names that
    a mapping of names to numbers may have.
    """

    name: str
    default: Any
    choices: tuple[Any, ...] = ()
    axis: bool = False
    kind: type | None = None
    range: Range | None = None
    several: bool = False
    keys: tuple[str, ...] = ()

    @classmethod
    def read(cls, name: str, default: object, hint: object) -> Option:
        """Read the type hint of an option."""
        bounds = (
            next((a for a in get_args(hint)[1:] if isinstance(a, Range)), None)
            if get_origin(hint) is Annotated
            else None
        )
        hint = get_args(hint)[0] if get_origin(hint) is Annotated else hint
        parts = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
        choices = tuple(c for part in parts if get_origin(part) is Literal for c in get_args(part))
        kinds = [part for part in parts if part in (int, float, bool)]
        several = any(get_origin(part) is Sequence for part in parts)
        maps = [get_args(part)[0] for part in parts if get_origin(part) is Mapping]
        keys = get_args(maps[0]) if maps else ()
        kind = kinds[0] if kinds else None
        return cls(name, default, choices, Axis in parts, kind, bounds, several, keys)


def options_of(function: Callable[..., Any]) -> dict[str, Option]:
    """Return the keyword options of a function; `k` and `seed` are common to all methods."""
    hints = get_type_hints(function, include_extras=True)
    return {
        p.name: Option.read(p.name, p.default, hints[p.name])
        for p in inspect.signature(function).parameters.values()
        if p.kind is p.KEYWORD_ONLY and p.name not in ("k", "seed")
    }
