"""The options that every method shares, and the checks of single parameters."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from polars_microagg.core.kind import key_options
from polars_microagg.core.model import models
from polars_microagg.core.registry import Method, Option
from polars_microagg.errors import InvalidParameterError
from polars_microagg.errors.release import in_two_roles
from polars_microagg.kernels.centre import CENTRES
from polars_microagg.kernels.scale import SCALES

__all__ = [
    "CHOICES",
    "COMMON",
    "ENTITY_MODES",
    "KEY_OPTIONS",
    "MODEL_OPTIONS",
    "VALUELESS",
    "check_option",
    "checked_options",
    "group_size",
    "keys_asked",
    "names_of",
    "number_of_workers",
    "repeated",
    "weights_of",
    "whole_number",
]

CHOICES: dict[str, tuple[str, ...]] = {
    "scale": tuple(SCALES),
    "center": CENTRES,
    "nulls": ("raise", "impute", "pattern"),
    "small_strata": ("raise", "null", "drop"),
    "dtype": ("keep", "float"),
}

MODEL_OPTIONS: dict[str, Option] = {
    option.name: option
    for entry in models().values()
    for option in (entry.bound, *entry.options.values())
    if option.name != "k"
}
"""Bounds of the privacy models, and their options; k is a parameter by itself."""

KEY_OPTIONS = key_options()
"""Parameters that say of which kind columns are."""

COMMON: dict[str, Any] = {
    **{name: choices[0] for name, choices in CHOICES.items()},
    "refine": False,
    "seed": 0,
    "entity": None,
    "entity_mode": None,
    "max_rows_per_entity": None,
    "confidential": None,
    **{name: option.default for name, option in MODEL_OPTIONS.items()},
    **dict.fromkeys(KEY_OPTIONS),
    "column_weights": None,
    "workers": None,
}
"""Options that every method shares, with their defaults."""

VALUELESS = ("workers",)
"""Options that change no value, and are no part of what a release was asked for."""

ENTITY_MODES = ("rows", "mean", "alike")
"""Ways to mask the rows of one entity."""


LARGEST = float(np.finfo(np.float64).max)
"""Largest number that an option may be."""

LIGHTEST, HEAVIEST = 1e-6, 1e6
"""Bounds of the weight of a column."""

ROWS = 2**32 - 1
"""Most records of a table."""


def whole_number(name: str, value: object, need: str, low: int) -> int:
    """Check an integer parameter; numpy's integers pass, booleans and 5.0 do not."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise InvalidParameterError.kind(name, value, need) from None
    if isinstance(value, bool | np.bool_) or number < low:
        raise InvalidParameterError.kind(name, value, need)
    return number


def number_of_workers(workers: object) -> int | None:
    """Check a number of processes; None is as many as there are processors."""
    if workers is None:
        return None
    return whole_number("workers", workers, "a whole number of at least 1", 1)


def group_size(k: object) -> int:
    """Check k."""
    try:
        size = whole_number("k", k, "", 2)
    except InvalidParameterError:
        raise InvalidParameterError.k(k) from None
    if size > ROWS:
        raise InvalidParameterError.kind("k", k, f"at most {ROWS}, as no table has more records")
    return size


def repeated(names: Iterable[str]) -> list[str]:
    """Find the names that are listed more than once.

    >>> repeated(["sex", "age", "sex"])
    ['sex']
    """
    return sorted(name for name, count in Counter(names).items() if count > 1)


def names_of(what: str, names: object) -> tuple[str, ...]:
    """Check a parameter that names columns.

    >>> names_of("strata", "sex"), names_of("strata", None)
    (('sex',), ())
    """
    listed = [names] if isinstance(names, str) else names
    if listed is None:
        return ()
    if not isinstance(listed, Sequence) or not all(isinstance(name, str) for name in listed):
        raise InvalidParameterError.kind(what, names, "a column name or a list of names")
    if twice := repeated(listed):
        raise InvalidParameterError.duplicate(what, twice)
    return tuple(listed)


def checked_options(
    method: Method, options: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Check the options of a call: those of its method, and those of all methods by field of a plan."""
    common = COMMON | {name: value for name, value in options.items() if name in COMMON}
    for name, choices in CHOICES.items():
        if not isinstance(common[name], str) or common[name] not in choices:
            raise InvalidParameterError.choice(name, common[name], choices)
    own = {name: value for name, value in options.items() if name not in COMMON}
    for name, value in own.items():
        if name not in method.options:
            known_options = [*method.options, "strata", "order_by", *COMMON]
            raise InvalidParameterError.option(method.name, name, known_options)
        check_option(method.options[name], value)
    for name in ("entity", "confidential"):
        common[name] = names_of(name, common[name])
    bounds = {name: common.pop(name) for name in MODEL_OPTIONS}
    kinds = keys_asked({name: common.pop(name) for name in KEY_OPTIONS})
    common["column_weights"] = weights_of(common["column_weights"])
    for name, value in bounds.items():
        check_option(MODEL_OPTIONS[name], value)
    if common["entity_mode"] not in (None, *ENTITY_MODES):
        raise InvalidParameterError.choice("entity_mode", common["entity_mode"], ENTITY_MODES)
    if common["max_rows_per_entity"] is not None:
        need = "a whole number of at least 1"
        common["max_rows_per_entity"] = whole_number(
            "max_rows_per_entity", common["max_rows_per_entity"], need, 1
        )
    common["workers"] = number_of_workers(common["workers"])
    common["seed"] = whole_number("seed", common["seed"], "a whole number of at least 0", 0)
    return own, common | {"models": bounds, "kinds": kinds}


def keys_asked(options: Mapping[str, Any]) -> dict[str, Any]:
    """Check the parameters that say of which kind columns are; those that name none are left out.

    >>> keys_asked({"nominal": "zip", "ordinal": None, "scale": "none"})
    {'nominal': ('zip',)}
    """
    asked: dict[str, Any] = {}
    for name, entry in KEY_OPTIONS.items():
        value = options.get(name)
        if entry.each is None:
            asked[name] = names_of(name, value)
        elif value is None:
            asked[name] = {}
        elif isinstance(value, Mapping) and all(
            isinstance(column, str) and isinstance(each, entry.each)
            for column, each in value.items()
        ):
            asked[name] = dict(value)
        else:
            _refuse_mapping(name, value, entry.each)
    if twice := repeated(column for columns in asked.values() for column in columns):
        one, other = [name for name, columns in asked.items() if twice[0] in columns][:2]
        raise in_two_roles(twice[0], one, other)
    return {name: columns for name, columns in asked.items() if columns}


def _refuse_mapping(name: str, value: object, each: type) -> NoReturn:
    """Refuse what does not map columns to objects of a type, and say which column it is."""
    need = f"a mapping of columns to {each.__name__}"
    if not isinstance(value, Mapping):
        raise InvalidParameterError.kind(name, value, need)
    wrong = [item for item in value.items() if not isinstance(item[1], each)]
    column, other = (wrong or list(value.items()))[0]
    need = (
        f"{need}, such as {each.__name__}.read('tree.csv') or {each.__name__}({{'cat': 'animal'}})"
    )
    raise InvalidParameterError.kind(name, type(other).__name__, need, str(column))


def weights_of(column_weights: object) -> dict[str, float]:
    """Check the weights of columns in distances.

    >>> weights_of({"region": 2})
    {'region': 2.0}
    """
    if column_weights is None:
        return {}
    need = "a mapping of columns to numbers above 0"
    if not isinstance(column_weights, Mapping) or not all(
        isinstance(name, str) for name in column_weights
    ):
        raise InvalidParameterError.kind("column_weights", column_weights, need)
    for column, value in column_weights.items():
        number = isinstance(value, int | float | np.integer | np.floating)
        if not number or isinstance(value, bool) or not LIGHTEST <= value <= HEAVIEST:
            need = f"a number from {LIGHTEST:g} to {HEAVIEST:g}"
            raise InvalidParameterError.kind("column_weights", value, need, column)
    return {name: float(value) for name, value in column_weights.items()}


def check_option(option: Option, value: object, key: str | None = None) -> None:
    """Check an option of a method or metric, or the part of it that `key` names."""
    chosen = any(type(value) is type(choice) and value == choice for choice in option.choices)
    if chosen or (isinstance(value, str) and option.axis):
        return
    if value is None and option.default is None:
        return
    if option.keys and isinstance(value, Mapping):
        _check_mapping(option, value)
        return
    if option.several and isinstance(value, Sequence) and not isinstance(value, str) and value:
        for item in value:
            check_option(replace(option, several=False), item)
        return
    if option.choices and option.kind is None:
        raise InvalidParameterError.choice(option.name, value, option.choices)
    if option.kind is bool:
        if not isinstance(value, bool):
            raise InvalidParameterError.switch(option.name, value)
        return
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(
        value, bool
    )
    whole = number and (option.kind is float or isinstance(value, int | np.integer))
    # Infinity is allowed and nan is not; a whole number may be too large to be a float.
    held = whole and (abs(value) <= LARGEST if isinstance(value, int) else not np.isnan(value))  # type: ignore[call-overload]
    inside = held and (option.range is None or value in option.range)  # type: ignore[operator]
    if not inside:
        need = "a whole number" if option.kind is int else "a number"
        need = f"{need} {option.range}" if option.range else need
        raise InvalidParameterError.kind(option.name, value, need, key)


def _check_mapping(option: Option, value: Mapping[Any, Any]) -> None:
    """Check a mapping of names to numbers that are not all 0."""
    for key, number in value.items():
        if key not in option.keys:
            raise InvalidParameterError.key(option.name, key, option.keys)
        check_option(Option(option.name, 0.0, kind=float, range=option.range), number, key)
    if not any(value.values()):
        raise InvalidParameterError.kind(option.name, dict(value), "some number that is not 0")
