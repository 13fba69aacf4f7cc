"""The register of methods and metrics, filled by decorators in their own files."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import types
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from polars_microagg.core.type_hints import Axis, Option, Range, docstring, options_of, summary

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from polars_microagg.core.partition import Labels

__all__ = [
    "Axis",
    "Method",
    "Metric",
    "MetricInput",
    "Option",
    "Range",
    "assessed",
    "discover",
    "docstring",
    "method",
    "methods",
    "metric",
    "metrics",
    "on_demand",
    "summary",
]

Unit = Literal["record", "value"]

MetricInput = Literal[
    "original", "masked", "classes", "subsets", "joint", "numeric", "entity", "strata"
]
"""Parts of a release that a metric may take, typed in `core/evaluate.py`; other inputs are metrics."""

MetricUnit = Literal["", "%", "points"]
"""Unit of a metric: per cent, points out of 100, or none, as of shares, sums and counts."""

Function = TypeVar("Function", bound="Callable[..., Any]")


@dataclass(frozen=True)
class Method:
    """A registered algorithm.

    `columnwise` methods take one column at a time; `unit` says whether the k of the method is
    a number of records or of values. `absolute` methods compare values of different columns, so that
    it matters where zero is. `cost` is how its time grows with the number n of records of
    a stratum, and `limit` the most records it takes at a time; `seconds` are those for each
    record, and for the square of their number, where they are not those of others of its cost.
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
    search: Callable[..., Labels] | None = None
    seconds: tuple[float, float] | None = None

    @property
    def summary(self) -> str:
        """Return the first line of the docstring."""
        return summary(self.function)


@dataclass(frozen=True)
class Metric:
    """A registered measure of (original, masked).

    `inputs` are what the function takes: each a `MetricInput` or another metric by name. `needs`
    says from the options which of them count; the others may be None. `assessed` is the place among
    the columns that `assess` gives by default, where it is known whose the records are if `entity` is
    an input; None is one that is computed on demand. Above `limit` records it has no value by default.
    """

    name: str
    function: Callable[..., float | None]
    cite: str
    inputs: tuple[str, ...] = ("original", "masked")
    options: Mapping[str, Option] = field(default_factory=dict)
    returns: str = "float"
    needs: Callable[..., Collection[str]] | None = None
    assessed: int | None = None
    reported: bool = False
    unit: MetricUnit = ""
    limit: int | None = None

    @property
    def summary(self) -> str:
        """Return the first line of the docstring."""
        return summary(self.function)

    @property
    def whole(self) -> bool:
        """Return whether the result is a whole number."""
        return self.returns.startswith("int")

    def needed(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the inputs that count with these options."""
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
    search: Callable[..., Labels] | None = None,
    seconds: tuple[float, float] | None = None,
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
    search : callable, optional
        Goes on with groups that satisfy a rule, ``(x, labels, /, *, k, rule, ...) -> labels``, where
        those of the function do not.
    seconds : tuple of float, optional
        Seconds of one processor for a record, and for the square of their number, where they are
        others than of methods of the same cost: by them it is decided what is worth processes.

    Returns
    -------
    callable
        The decorator; it returns the function unchanged.
    """

    def register(function: Function) -> Function:
        hints = get_type_hints(function, include_extras=True)
        options = options_of(function)
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
            search,
            seconds,
        )
        return function

    return register


def metric(
    *,
    cite: str,
    needs: Callable[..., Collection[str]] | None = None,
    assessed: int | None = None,
    reported: bool = False,
    unit: MetricUnit = "",
    limit: int | None = None,
) -> Callable[[Function], Function]:
    """Register a function ``(original, masked, ..., /, *, ...) -> float`` under its own name.

    Parameters
    ----------
    cite : str
        Author and year.
    needs : callable, optional
        Says from the options, passed as keywords, which inputs count; the function gets None for
        the others.
    assessed : int, optional
        Place among the columns that `assess` gives by default, from left to right; manifests then
        hold the metric as well. Without a place it is computed on demand: where it is named.
    reported : bool
        Whether a report shows it.
    unit : {"", "%", "points"}
        Per cent, points out of 100, or none. What is published of a metric is rounded to digits of
        100 or of 1 accordingly.
    limit : int, optional
        Most records of which it has a value by default; with more the result is None.

    Returns
    -------
    callable
        The decorator; it returns the function unchanged.

    Notes
    -----
    The positional parameters say by their names what the function takes: ``original`` and
    ``masked``, matrices with NaN for null, of columns of numbers; ``joint``, the column that each
    column of the matrices is a coordinate of, in which case they have those of categories, too;
    ``numeric``, which of them are of numbers; ``classes``, the sizes of the classes of equal masked
    records, which stands alone; ``subsets``, sets of the attributes that an intruder knows, in which
    case the matrices have these attributes; ``entity`` and ``strata``, the number of the person and of
    the stratum of each record, None if not known; or the name of another metric. Keyword parameters
    become options. The result is a whole number, a real number, or None.
    """

    def register(function: Function) -> Function:
        signature, name = inspect.signature(function), function.__name__
        inputs = [p.name for p in signature.parameters.values() if p.kind is not p.KEYWORD_ONLY]
        result = get_type_hints(function)["return"]
        kinds = get_args(result) if get_origin(result) in (Union, types.UnionType) else (result,)
        if not {*kinds} <= {int, float, types.NoneType}:
            # Every door has a column, a bound or a digit for a number, and for nothing else.
            raise TypeError(f"metric {name!r} returns {result}; it must return a number or None.")
        _METRICS[name] = Metric(
            name,
            function,
            cite,
            tuple(inputs),
            options_of(function),
            _written(signature.return_annotation),
            needs,
            assessed,
            reported,
            unit,
            limit,
        )
        return function

    return register


def _written(annotation: object) -> str:
    """Return the text of an annotation, which is text already where annotations are postponed."""
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


@cache
def discover(room: str) -> None:
    """Import every module of a room once."""
    package = importlib.import_module(f"polars_microagg.{room}")
    for module in sorted(m.name for m in pkgutil.iter_modules(package.__path__)):
        importlib.import_module(f"{package.__name__}.{module}")


def methods() -> Mapping[str, Method]:
    """Return all registered methods by name, in alphabetical order."""
    discover("methods")
    return dict(sorted(_METHODS.items()))


def metrics() -> Mapping[str, Metric]:
    """Return all registered metrics by name, in alphabetical order."""
    discover("metrics")
    names = tuple(sorted(_METRICS))
    _refuse_unknown_inputs(names)
    return {name: _METRICS[name] for name in names}


@cache
def _refuse_unknown_inputs(names: tuple[str, ...]) -> None:
    """Refuse unknown inputs, and others beside `classes`: metrics may be registered after their parts."""
    offered = get_args(MetricInput)
    for name in names:
        for taken in _METRICS[name].inputs:
            if taken not in (*offered, *names):
                need = f"must be one of {', '.join(offered)}, or a metric"
                raise TypeError(f"metric {name!r} has the input {taken!r}, which {need}.")
        beside = [taken for taken in _METRICS[name].inputs if taken != "classes"]
        if beside and "classes" in _METRICS[name].inputs:
            others = ", ".join(beside)
            raise TypeError(f"metric {name!r} takes {others} beside classes, which stands alone.")


def assessed(*, entity: bool = False) -> Mapping[str, Metric]:
    """Return the metrics that `assess` gives by default, in the order of its columns.

    Those that count persons are among them if an `entity` says whose the records are.
    """
    places = {
        name: entry.assessed
        for name, entry in metrics().items()
        if entry.assessed is not None and (entity or "entity" not in entry.inputs)
    }
    return {name: _METRICS[name] for name in sorted(places, key=places.__getitem__)}


def on_demand() -> Mapping[str, Metric]:
    """Return the metrics that are computed only where they are named, in alphabetical order."""
    return {name: entry for name, entry in metrics().items() if entry.assessed is None}
