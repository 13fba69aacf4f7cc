"""The register of methods and metrics, filled by decorators in their own files."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import textwrap
import types
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    NewType,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from polars_microagg.core.partition import Labels

__all__ = [
    "ASSESSED",
    "Axis",
    "Method",
    "Metric",
    "Option",
    "Range",
    "assessed",
    "docstring",
    "method",
    "methods",
    "metric",
    "metrics",
]

ASSESSED = (
    *("sse", "sst", "loss", "il1", "il2", "il3", "il4", "il5", "il", "dld", "pld"),
    *("interval_disclosure", "dr", "score", "k_min", "k_prime", "mean_sd", "delta_r", "delta_w"),
    *("fpc_share", "delta_corr", "delta_corr_sd"),
)
"""Metrics that `assess` gives by default, in the order of its columns."""

Axis = NewType("Axis", int)
"""An option that names one of the masked columns; the method receives its position."""

Unit = Literal["record", "value"]
Function = TypeVar("Function", bound="Callable[..., Any]")


@dataclass(frozen=True)
class Range:
    """Bounds of a numeric option, as in ``Annotated[float, Range(0)]``.

    Where an option only buys a better result with time, `quick` is a value that takes next to
    none; every promise holds there too.
    """

    low: float
    high: float = float("inf")
    quick: float | None = None

    def __contains__(self, value: float) -> bool:
        """Tell whether the value lies within the bounds, both included."""
        return self.low <= value <= self.high

    def __str__(self) -> str:
        """Say the bounds in words."""
        return (
            f"at least {self.low:g}"
            if self.high == float("inf")
            else f"from {self.low:g} to {self.high:g}"
        )


def docstring(function: Callable[..., Any]) -> str:
    """Find the docstring of a function; in its source, where ``python -OO`` took it away."""
    if function.__doc__ is not None:
        return inspect.getdoc(function) or ""
    with suppress(OSError, SyntaxError):  # there may be no source
        node = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
        if isinstance(node, ast.FunctionDef):
            return ast.get_docstring(node) or ""
    return ""


@dataclass(frozen=True)
class Option:
    """One keyword option of a method or metric, read from its signature.

    `several` says that a sequence of numbers will do as well as one; `keys` are those of a mapping
    to numbers that will do.
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


@dataclass(frozen=True)
class Method:
    """A registered algorithm.

    `columnwise` methods take one column at a time; `unit` says whether the k of the method is
    a number of records or of values. `absolute` methods compare values of different columns, so that
    it matters where zero is. `cost` is how its time grows with the number n of records of
    a stratum, and `limit` the most records it takes at a time.
    """

    name: str
    function: Callable[..., Any]
    paper: str
    cite: str
    sizes: str
    unit: Unit = "record"
    columnwise: bool = False
    scaled: bool = True
    absolute: bool = False
    lockstep: Callable[..., tuple[Labels, int]] | None = None
    options: Mapping[str, Option] = field(default_factory=dict)
    seeded: bool = False
    cost: str = "n log n"
    limit: int | None = None

    @property
    def summary(self) -> str:
        """First line of the docstring."""
        return docstring(self.function).partition("\n")[0]


@dataclass(frozen=True)
class Metric:
    """A registered measure of (original, masked).

    `inputs` are what the function takes: original, masked, classes, subsets, or other metrics by
    name. `needs` tells from the options which of them count; the others may be None.
    """

    name: str
    function: Callable[..., float | None]
    cite: str
    inputs: tuple[str, ...] = ("original", "masked")
    options: Mapping[str, Option] = field(default_factory=dict)
    returns: str = "float"
    needs: Callable[..., Collection[str]] | None = None

    @property
    def summary(self) -> str:
        """First line of the docstring."""
        return docstring(self.function).partition("\n")[0]

    @property
    def whole(self) -> bool:
        """Whether the result is a whole number."""
        return self.returns.startswith("int")

    def needed(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        """Inputs that count with these options."""
        if self.needs is None:
            return self.inputs
        defaults = {name: option.default for name, option in self.options.items()}
        counted = self.needs(**(defaults | dict(options)))
        return tuple(name for name in self.inputs if name in counted)


_METHODS: dict[str, Method] = {}
_METRICS: dict[str, Metric] = {}


def method(
    *,
    cite: str,
    paper: str = "",
    sizes: str = "k..2k-1",
    unit: Unit = "record",
    columnwise: bool = False,
    scaled: bool = True,
    absolute: bool = False,
    lockstep: Callable[..., tuple[Labels, int]] | None = None,
    cost: str = "n log n",
    limit: int | None = None,
) -> Callable[[Function], Function]:
    """Register a function ``(x, /, *, k, ...) -> Partition`` under its own name.

    Parameters
    ----------
    cite : str
        Author and year.
    paper : str
        Numbers of the papers that define or compare it.
    sizes : str
        Group sizes that come out, in terms of k.
    unit : {"record", "value"}
        What k counts.
    columnwise : bool
        Whether the method takes one column at a time.
    scaled : bool
        Whether the matrix is scaled for distances first.
    absolute : bool
        Whether values of different columns are compared, which must then not be shifted.
    lockstep : callable, optional
        The same method for many small strata side by side, ``(x, sizes, *, k, ...) -> (labels,
        groups)``; it must make the very groups that the function makes of each stratum.
    cost : str
        How its time grows with the number n of records, such as "n^2/k".
    limit : int, optional
        Most records of a stratum; with more, the Plan says which method to use instead.

    Returns
    -------
    callable
        The decorator; it returns the function unchanged.
    """

    def register(function: Function) -> Function:
        hints = get_type_hints(function, include_extras=True)
        options = _options(function)
        name = function.__name__
        _METHODS[name] = Method(
            name,
            function,
            paper,
            cite,
            sizes,
            unit,
            columnwise,
            scaled,
            absolute,
            lockstep,
            options,
            "seed" in hints,
            cost,
            limit,
        )
        return function

    return register


def _options(function: Callable[..., Any]) -> dict[str, Option]:
    """Read the keyword options of a function from its signature."""
    hints = get_type_hints(function, include_extras=True)
    return {
        p.name: Option.read(p.name, p.default, hints[p.name])
        for p in inspect.signature(function).parameters.values()
        if p.kind is p.KEYWORD_ONLY and p.name not in ("k", "seed")
    }


def metric(
    *, cite: str, needs: Callable[..., Collection[str]] | None = None
) -> Callable[[Function], Function]:
    """Register a function ``(original, masked, ..., /, *, ...) -> float`` under its own name.

    Parameters
    ----------
    cite : str
        Author and year.
    needs : callable, optional
        Tells from the options, given as keywords, which inputs count; the function is given None
        for the others.

    Returns
    -------
    callable
        The decorator; it returns the function unchanged.

    Notes
    -----
    The positional parameters say by their names what the function is given: ``original`` and
    ``masked``, matrices with NaN for null; ``classes``, the sizes of the classes of equal masked
    records; ``subsets``, sets of the attributes that an intruder knows, in which case the matrices
    have these attributes; or the name of another metric. Keyword parameters become options.
    """

    def register(function: Function) -> Function:
        signature = inspect.signature(function)
        inputs = [p.name for p in signature.parameters.values() if p.kind is not p.KEYWORD_ONLY]
        name, returns = function.__name__, str(signature.return_annotation)
        options = _options(function)
        _METRICS[name] = Metric(name, function, cite, tuple(inputs), options, returns, needs)
        return function

    return register


@cache
def _discover(room: str) -> None:
    """Import every module of a room once."""
    package = importlib.import_module(f"polars_microagg.{room}")
    for module in sorted(m.name for m in pkgutil.iter_modules(package.__path__)):
        importlib.import_module(f"{package.__name__}.{module}")


def methods() -> Mapping[str, Method]:
    """All registered methods by name, in alphabetical order."""
    _discover("methods")
    return dict(sorted(_METHODS.items()))


def metrics() -> Mapping[str, Metric]:
    """All registered metrics by name, in alphabetical order."""
    _discover("metrics")
    return dict(sorted(_METRICS.items()))


def assessed() -> Mapping[str, Metric]:
    """Metrics of `assess`, in the order of its columns."""
    known = metrics()
    return {name: known[name] for name in ASSESSED if name in known}
