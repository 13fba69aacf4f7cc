"""Signatures and docstrings of the functions written from the registry."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from typing import Any

from polars_microagg.core.evaluate import inputs
from polars_microagg.core.model import Model
from polars_microagg.core.registry import Method, Metric, docstring
from polars_microagg.frames.arguments import (
    COLUMN_WEIGHTS,
    COLUMNS,
    CONFIDENTIAL,
    DRAW,
    ENTITY,
    ENTITY_MODE,
    FRAME,
    KEY,
    KNOWN,
    KNOWN_SAMPLE,
    MASKED,
    MAX_ROWS_PER_ENTITY,
    MEASURED,
    ORDER_BY,
    ORIGINAL,
    REFINE,
    REQUIRED,
    SCALE,
    SEED,
    SHARED,
    STRATA,
    WHOSE,
    WITHIN,
    WORKERS,
    Argument,
    K,
    key_kinds,
    model_bounds,
    own_argument,
    sections_of,
    summary_of,
)

__all__ = ["Spec", "expression_spec", "frame_spec", "metric_spec", "model_spec"]


@dataclass(frozen=True)
class Spec:
    """A function: its name, arguments and the sections of its docstring."""

    name: str
    arguments: tuple[Argument, ...]
    returns: str
    summary: str
    sections: tuple[tuple[str, str], ...]
    bound: bool = False

    def signature(self) -> inspect.Signature:
        """Return the signature for help and completion."""
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
        parameters = [inspect.Parameter("self", kind[0])] if self.bound else []
        parameters += [
            inspect.Parameter(a.name, kind[a.keyword], default=a.default, annotation=a.annotation)
            for a in self.arguments
        ]
        return inspect.Signature(parameters, return_annotation=self.returns)

    def docstring(self) -> str:
        """Return the docstring in numpydoc form."""
        parameters = "\n".join(argument.documented() for argument in self.arguments)
        sections = (("Parameters", parameters), *self.sections)
        written = [f"{title}\n{'-' * len(title)}\n{text.strip()}\n" for title, text in sections]
        return "\n".join([f"{self.summary}\n", *written])

    def dress(self, function: Any, module: str) -> Any:
        """Set the name, signature and docstring of a generic function."""
        function.__name__ = function.__qualname__ = self.name
        function.__doc__ = self.docstring()
        function.__signature__ = self.signature()
        function.__module__ = module
        return function


RAISES = """InvalidParameterError
    A parameter is wrong; raised when the call is typed, or a column when the schema is known.
InvalidDataError
    Nulls, NaN or infinities, a type without centroid, or fewer than k records."""


def _example(entry: Method) -> str:
    columns = '["income"]' if entry.columnwise else '["age", "income"]'
    verify = f"mg.verify(masked, {columns}, k=3)"
    checked = verify if entry.columnwise or entry.unit == "record" else "masked.height\n6"
    return f""">>> import polars as pl, polars_microagg as mg
>>> ages, incomes = [23, 25, 31, 47, 52, 58], [21, 24, 30, 52, 61, 55]
>>> people = pl.DataFrame({{"age": ages, "income": incomes}})
>>> masked = mg.{entry.name}(people, {columns}, k=3)
>>> {checked}
"""


def frame_spec(entry: Method, *, bound: bool = False) -> Spec:
    """Describe the function of a method on frames."""
    doc = sections_of(docstring(entry.function))
    own = tuple(
        own_argument(option, doc.get("Parameters", "")) for option in entry.options.values()
    )
    people = (ENTITY, ENTITY_MODE, MAX_ROWS_PER_ENTITY, CONFIDENTIAL, *model_bounds())
    kinds = (*key_kinds(), COLUMN_WEIGHTS)
    arguments = (COLUMNS, K, *own, STRATA, *kinds, *people, SCALE, *SHARED, ORDER_BY, REFINE, SEED)
    arguments = (*arguments, WORKERS)
    returns = (
        "polars.DataFrame or polars.LazyFrame\n"
        "    Same columns, rows and order; the masked columns hold the centre of their group."
    )
    sections = (
        ("Returns", returns),
        ("Raises", RAISES),
        ("Notes", doc.get("Notes", entry.cite)),
        ("Examples", _example(entry)),
    )
    return Spec(
        entry.name,
        arguments if bound else (FRAME, *arguments),
        "F",
        summary_of(doc),
        sections,
        bound,
    )


def expression_spec(entry: Method) -> Spec:
    """Describe the method of an expression."""
    doc = sections_of(docstring(entry.function))
    own = tuple(
        own_argument(option, doc.get("Parameters", "")) for option in entry.options.values()
    )
    what = (
        "a column, or a struct whose fields are masked"
        if entry.columnwise
        else "a struct of columns"
    )
    example = f""">>> import polars as pl, polars_microagg
>>> people = pl.DataFrame({{"age": [23, 25, 47, 51], "income": [21, 24, 52, 61]}})
>>> people.select(pl.struct("age", "income").microagg.{entry.name}(2)).height
4
"""
    returns = (
        f"polars.Expr\n    Like the expression, which is {what}; use .over(...) for strata.\n"
        "    What it is called on is the whole table to it: with .over(...) `t` is the distance to the\n"
        "    stratum, where the frame function takes that to the table. Take fields of the result in\n"
        "    a later step: in one step, as by .struct.unnest(), a lazy plan masks once for each field."
    )
    sections = (
        ("Returns", returns),
        ("Raises", RAISES),
        ("Notes", doc.get("Notes", entry.cite)),
        ("Examples", example),
    )
    people = (ENTITY, ENTITY_MODE, CONFIDENTIAL, *model_bounds())
    arguments = (
        K,
        *own,
        *key_kinds(),
        COLUMN_WEIGHTS,
        *people,
        SCALE,
        *SHARED,
        REFINE,
        SEED,
        WORKERS,
    )
    return Spec(entry.name, arguments, "pl.Expr", summary_of(doc), sections, bound=True)


def metric_spec(entry: Metric) -> Spec:
    """Describe the function of a metric."""
    doc = sections_of(docstring(entry.function))
    own = tuple(
        own_argument(option, doc.get("Parameters", "")) for option in entry.options.values()
    )
    persons = "entity" in inputs(entry)
    known = (KNOWN, KNOWN_SAMPLE, KEY, WITHIN, *([WHOSE] if persons else []), DRAW)
    arguments = (ORIGINAL, MASKED, MEASURED, *own, *key_kinds(), *known)
    example = f""">>> import polars as pl, polars_microagg as mg
>>> before = pl.DataFrame({{"age": [30, 32, 41, 43]{', "who": [1, 1, 2, 3]' if persons else ""}}})
>>> after = mg.mdav(before, "age", k=2)
>>> value = mg.{entry.name}(before, after{', entity="who"' if persons else ""})
"""
    sections = (
        ("Returns", doc.get("Returns", "")),
        ("Notes", doc.get("Notes", entry.cite)),
        ("Examples", example),
    )
    return Spec(entry.name, arguments, entry.returns, summary_of(doc), sections)


def model_spec(entry: Model) -> Spec:
    """Describe the aggregate of an expression that counts as a model of confidential columns does."""
    doc = sections_of(docstring(entry.measure))
    own = tuple(
        own_argument(option, doc.get("Parameters", "")) for option in entry.options.values()
    )
    confidential = replace(
        CONFIDENTIAL,
        annotation="str | Sequence[str]",
        doc="Columns that are counted in each class; of several the worst.",
        default=REQUIRED,
        keyword=False,
    )
    example = f""">>> import polars as pl, polars_microagg
>>> people = pl.DataFrame({{"age": [30, 30, 41], "sick": ["no", "yes", "no"]}})
>>> people.select(pl.struct("age").microagg.{entry.name}("sick")).height
1
"""
    returns = "polars.Expr\n    One number for all records, or for each group of an aggregation."
    side = "Least" if entry.at_least else "Greatest"
    sections = (("Returns", returns), ("Notes", doc.get("Notes", "")), ("Examples", example))
    summary = f"{side} of all classes of equal records: {entry.what}."
    return Spec(entry.name, (confidential, *own), "pl.Expr", summary, sections, bound=True)
