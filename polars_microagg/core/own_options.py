"""Options that a function does not have, told with its own parameters first."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from inspect import signature
from typing import Any

from polars_microagg.core.options import COMMON
from polars_microagg.core.registry import methods
from polars_microagg.errors import InvalidParameterError

__all__ = ["options_of_methods", "refuse_unknown"]


def options_of_methods() -> list[str]:
    """Return the options that a function may pass on to some method; the method checks its own."""
    own = {name for entry in methods().values() for name in entry.options}
    return ["strata", "order_by", *COMMON, *sorted(own)]


def refuse_unknown(
    function: Callable[..., Any], given: Iterable[str], shared: Iterable[str]
) -> None:
    """Refuse what is neither a parameter of a function nor an option that it passes on.

    >>> def check(frame, k, *, strata=None, **options):
    ...     refuse_unknown(check, options, ["seed"])
    >>> try:
    ...     check([], 3, stratum="region")
    ... except InvalidParameterError as error:
    ...     print(error)
    check has no option 'stratum'. Did you mean 'strata'?
    """
    shared = list(shared)
    for name in given:
        if name not in shared:
            parameters = signature(function).parameters.values()
            own = [one.name for one in parameters if one.kind is one.KEYWORD_ONLY]
            known = dict.fromkeys([*own, *shared])
            raise InvalidParameterError.option(function.__name__, name, known)
