"""The public functions on frames: one for every registered method and metric."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from polars_microagg.analysis.assess import measure
from polars_microagg.core import registry
from polars_microagg.core.options import COMMON
from polars_microagg.errors import InvalidParameterError
from polars_microagg.frames.mask import group_frame, mask_frame
from polars_microagg.frames.signatures import frame_spec, metric_spec

PUBLIC = "polars_microagg"
ATTACK = {"known", "known_sample", "key", "strata", "entity", "seed"}
"""Parameters that every metric shares."""


def mask(frame: Any, columns: Any, k: Any = None, *, method: Any = "mdav", **options: Any) -> Any:
    """Mask columns by a method given by name.

    Parameters
    ----------
    frame : polars.DataFrame or polars.LazyFrame
        The table.
    columns : str, selector, list, or list of lists
        What to mask.
    k : int
        Smallest group size, at least 2.
    method : str, default 'mdav'
        Name of a method; ``methods()`` lists them.
    **options : Any
        As for the function of the method.

    Returns
    -------
    polars.DataFrame or polars.LazyFrame
        What the function of the method returns.

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> people = pl.DataFrame({"age": [23, 25, 47, 51]})
    >>> mg.mask(people, "age", k=2, method="univariate")["age"].to_list()
    [24, 24, 49, 49]
    """
    if k is None:
        raise InvalidParameterError.missing_k(str(method))
    return mask_frame(frame, method, columns, k, options)


def groups(
    frame: Any,
    columns: Any,
    k: Any = None,
    *,
    method: Any = "mdav",
    name: Any = "microagg_group",
    **options: Any,
) -> Any:
    """Add the number of each record's group as a column, and mask nothing.

    Parameters
    ----------
    frame : polars.DataFrame or polars.LazyFrame
        The table.
    columns : str, selector or list
        Columns whose values decide the groups.
    k : int
        Smallest group size, at least 2.
    method : str, default 'mdav'
        Name of a method; ``methods()`` lists them.
    name : str, default 'microagg_group'
        Name of the new column.
    **options : Any
        As for the function of the method.

    Returns
    -------
    polars.DataFrame or polars.LazyFrame
        The table with a UInt32 column more, numbered by first record; null where a small
        stratum has no group.

    Examples
    --------
    >>> import polars as pl, polars_microagg as mg
    >>> people = pl.DataFrame({"age": [47, 23, 25, 51]})
    >>> mg.groups(people, "age", k=2)["microagg_group"].to_list()
    [0, 1, 1, 0]
    """
    if k is None:
        raise InvalidParameterError.missing_k("groups")
    return group_frame(frame, method, columns, k, name, options)


def _masking(entry: registry.Method) -> Callable[..., Any]:
    def function(frame: Any, columns: Any, k: Any = None, **options: Any) -> Any:
        if "method" in options:
            known = [*entry.options, "strata", "order_by", *COMMON]
            raise InvalidParameterError.option(entry.name, "method", known)
        return mask(frame, columns, k, method=entry.name, **options)

    dressed: Callable[..., Any] = frame_spec(entry).dress(function, PUBLIC)
    return dressed


def _measuring(entry: registry.Metric) -> Callable[..., Any]:
    def function(original: Any, masked: Any, columns: Any = None, **options: Any) -> Any:
        shared = {name: options.pop(name) for name in ATTACK & options.keys()}
        return measure(entry.name, original, masked, columns, shared, options)

    dressed: Callable[..., Any] = metric_spec(entry).dress(function, PUBLIC)
    return dressed


_written = {name: _masking(entry) for name, entry in registry.methods().items()}
_written |= {name: _measuring(entry) for name, entry in registry.metrics().items()}
globals().update(_written)

__all__ = sorted([*_written, "groups", "mask"])
