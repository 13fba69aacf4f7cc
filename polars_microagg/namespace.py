"""The namespaces `.microagg` of DataFrame, LazyFrame and Expr, written from the registry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic

import polars as pl

from polars_microagg import functions
from polars_microagg.analysis import anonymity, assess, compare, lower_bound
from polars_microagg.analysis.aggregates import fewest_entities, worst_number
from polars_microagg.analysis.counted_classes import confidential_models
from polars_microagg.charts.plot import MicroaggPlot
from polars_microagg.core import registry
from polars_microagg.core.model import Model
from polars_microagg.frames.expressions import group_expression, mask_expression
from polars_microagg.frames.overview import Overview
from polars_microagg.frames.released_strata import told_apart
from polars_microagg.frames.selection import F
from polars_microagg.frames.signatures import expression_spec, frame_spec, model_spec
from polars_microagg.frames.with_dtype import with_dtype
from polars_microagg.near_names import Suggesting

__all__ = ["MicroaggExpr", "MicroaggFrame"]


class MicroaggFrame(Overview, Suggesting, Generic[F]):
    """The functions of the package with the frame given, as ``frame.microagg``.

    Type checkers do not know that attribute, which Polars registers at run time. What they check, and
    editors complete, is the function, ``mg.mdav(frame, ...)``, and ``mg.MicroaggFrame(frame).mdav(...)``.

    Examples
    --------
    >>> people = pl.DataFrame({"age": [23, 25, 47, 51]})
    >>> people.microagg.mdav("age", k=2)["age"].to_list()
    [24, 24, 49, 49]
    """

    _call = ".mdav(columns, k)"

    def __init__(self, frame: F) -> None:
        self._frame = frame

    def _take(self) -> Any:
        """Return the frame, and undo that polars keeps this object on it."""
        # The kept namespace and the frame would hold each other until the cyclic collector runs.
        self._frame.__dict__.pop("microagg", None)
        return self._frame

    def _title(self) -> str:
        return f"microagg of a {type(self._take()).__name__}"

    def mask(self, columns: Any, k: Any = None, *, method: Any = "mdav", **options: Any) -> Any:
        """Mask columns by a method given by name; see `polars_microagg.mask`."""
        return functions.mask(self._take(), columns, k, method=method, **options)

    def groups(self, columns: Any, k: Any = None, **options: Any) -> Any:
        """Add the group of each record as a column; see `polars_microagg.groups`."""
        return functions.groups(self._take(), columns, k, **options)

    def verify(self, columns: Any, k: Any, **options: Any) -> None:
        """Raise unless k records share each record; see `polars_microagg.verify`."""
        anonymity.verify(self._take(), columns, k, **options)

    def anonymity(self, columns: Any, **options: Any) -> pl.DataFrame:
        """Count the classes of equal records; see `polars_microagg.anonymity`."""
        return anonymity.anonymity(self._take(), columns, **options)

    def lower_bound(self, columns: Any, k: Any, *, effort: Any = 0.0, **kinds: Any) -> float:
        """Find a floor of `loss` for any grouping; see `polars_microagg.lower_bound`."""
        return lower_bound.lower_bound(self._take(), columns, k, effort=effort, **kinds)

    def assess(self, masked: Any, columns: Any = None, **options: Any) -> pl.DataFrame:
        """Measure the loss and risk of a release; see `polars_microagg.assess`."""
        return assess.assess(self._take(), masked, columns, **options)

    def compare(self, columns: Any, **options: Any) -> pl.DataFrame:
        """Mask by several methods and measure each; see `polars_microagg.compare`."""
        return compare.compare(self._take(), columns, **options)

    @property
    def plot(self) -> MicroaggPlot:
        """Draw charts of what masking does; see `polars_microagg.charts.plot`."""
        return MicroaggPlot(self._take())


class MicroaggExpr(Overview, Suggesting):
    """The methods on expressions, as ``expression.microagg``.

    Type checkers do not know that attribute, which Polars registers at run time; they check
    ``mg.MicroaggExpr(expression).mdav(...)``.

    Examples
    --------
    >>> people = pl.DataFrame({"age": [23, 25, 47, 51], "income": [1, 2, 8, 9]})
    >>> masked = pl.struct("age", "income").microagg.mdav(2)
    >>> people.select(masked.struct.field("age"))["age"].to_list()
    [24, 24, 49, 49]
    """

    _call = ".mdav(k)"

    def __init__(self, expression: pl.Expr) -> None:
        self._expression = expression

    def _title(self) -> str:
        return "microagg of an expression"

    def mask(self, k: Any = None, *, method: Any = "mdav", **options: Any) -> pl.Expr:
        """Mask by a method given by name; see `polars_microagg.mask`."""
        return mask_expression(self._expression, method, k, options)

    def groups(self, k: Any = None, *, method: Any = "mdav", **options: Any) -> pl.Expr:
        """Group of each record, numbered from 0 in each call; see `polars_microagg.groups`."""
        return group_expression(self._expression, method, k, options)

    def k_prime(self) -> pl.Expr:
        """Mean size of the classes of equal records: k', records divided by classes.

        Examples
        --------
        >>> people = pl.DataFrame({"age": [24, 24, 49, 49, 49], "sex": [0, 0, 1, 1, 1]})
        >>> people.select(pl.struct("age", "sex").microagg.k_prime()).item()
        2.5
        """
        classes = with_dtype(
            self._expression, lambda x, dtype: told_apart(x, dtype).n_unique(), returns_scalar=True
        )
        return self._expression.len() / pl.when(classes > 0).then(classes)

    def k_min(self) -> pl.Expr:
        """Size of the smallest class of equal records.

        Examples
        --------
        >>> people = pl.DataFrame({"age": [24, 24, 49, 49, 49], "sex": [0, 0, 1, 1, 1]})
        >>> people.select(pl.struct("age", "sex").microagg.k_min()).item()
        2
        """
        return with_dtype(
            self._expression,
            lambda x, dtype: told_apart(x, dtype).unique_counts().min(),
            returns_scalar=True,
        )

    def k_entities(self, entity: Any) -> pl.Expr:
        """Least number of distinct entities in a class of equal records; their null is an error.

        Examples
        --------
        >>> visits = pl.DataFrame({"age": [24, 24, 24, 49, 49], "who": ["u", "u", "v", "w", "x"]})
        >>> visits.select(pl.struct("age").microagg.k_entities("who")).item()
        2
        """
        return fewest_entities(self._expression, entity)


def _on_frame(entry: registry.Method) -> Callable[..., Any]:
    function = getattr(functions, entry.name)

    def bound(self: MicroaggFrame, columns: Any, k: Any = None, **options: Any) -> Any:
        return function(self._take(), columns, k, **options)

    dressed: Callable[..., Any] = frame_spec(entry, bound=True).dress(bound, __name__)
    return dressed


def _on_expression(entry: registry.Method) -> Callable[..., Any]:
    def bound(self: MicroaggExpr, k: Any = None, **options: Any) -> pl.Expr:
        return mask_expression(self._expression, entry.name, k, options)

    dressed: Callable[..., Any] = expression_spec(entry).dress(bound, __name__)
    return dressed


def _of_model(entry: Model) -> Callable[..., Any]:
    def bound(self: MicroaggExpr, confidential: Any, **options: Any) -> pl.Expr:
        return worst_number(self._expression, entry, confidential, options)

    dressed: Callable[..., Any] = model_spec(entry).dress(bound, __name__)
    return dressed


for _entry in registry.methods().values():
    setattr(MicroaggFrame, _entry.name, _on_frame(_entry))
    setattr(MicroaggExpr, _entry.name, _on_expression(_entry))

for _model in confidential_models().values():
    setattr(MicroaggExpr, _model.name, _of_model(_model))

pl.api.register_dataframe_namespace("microagg")(MicroaggFrame)
pl.api.register_lazyframe_namespace("microagg")(MicroaggFrame)
pl.api.register_expr_namespace("microagg")(MicroaggExpr)
