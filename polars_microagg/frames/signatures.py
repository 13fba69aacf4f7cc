"""Signatures and docstrings of the functions written from the registry, and their stubs."""

from __future__ import annotations

import inspect
import textwrap
from dataclasses import dataclass
from typing import Any

from polars_microagg.core.options import CHOICES, COMMON
from polars_microagg.core.registry import Method, Metric, Option, docstring

__all__ = ["Argument", "Spec", "expression_spec", "frame_spec", "metric_spec"]

REQUIRED = inspect.Parameter.empty


@dataclass(frozen=True)
class Argument:
    """One argument: how it is typed and what it means."""

    name: str
    annotation: str
    doc: str
    default: Any = REQUIRED
    keyword: bool = True
    numpydoc: str = ""

    def typed(self) -> str:
        """Write the argument as in a ``def``."""
        default = "" if self.default is REQUIRED else f" = {_quoted(self.default)}"
        return f"{self.name}: {self.annotation}{default}"

    def documented(self) -> str:
        """Write the argument as in a numpydoc section."""
        optional = "" if self.default is REQUIRED else f", default {self.default!r}"
        meaning = textwrap.indent(self.doc, "    ")
        return f"{self.name} : {self.numpydoc or self.annotation}{optional}\n{meaning}"


def _quoted(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _choice(name: str, doc: str) -> Argument:
    choices = ", ".join(map(_quoted, CHOICES[name]))
    return Argument(name, f"Literal[{choices}]", doc, COMMON[name], numpydoc=f"{{{choices}}}")


FRAME = Argument(
    "frame",
    "F",
    "The table. A LazyFrame stays lazy: nothing is read when the call is typed.",
    keyword=False,
    numpydoc="polars.DataFrame or polars.LazyFrame",
)
COLUMNS = Argument(
    "columns",
    "Columns",
    "What to mask: a name, a selector, a list of them; or a list of lists, blocks that are\n"
    "masked each on its own (k then holds for each block only).",
    keyword=False,
    numpydoc="str, selector, list, or list of lists",
)
K = Argument("k", "int", "Smallest group size, at least 2.", keyword=False)
STRATA = Argument(
    "strata",
    "Names",
    "Columns whose values keep records apart; null is a stratum of its own.",
    None,
    numpydoc="str or list of str",
)
ORDER_BY = Argument(
    "order_by",
    "Names",
    "Columns that fix the order of the records where the plan does not, as after a\n"
    "streaming join; equal distances go to the first record. Rows come out as they came.",
    None,
    numpydoc="str or list of str",
)
SCALE = _choice("scale", "How columns are scaled, for distances only.")
SHARED = (
    _choice("center", "Which centre replaces the values of a group."),
    _choice(
        "nulls",
        'Whether nulls raise; are filled by the centre of their group ("impute": distances are\n'
        'over the values present); or stay ("pattern": records with nulls in the same columns\n'
        "are masked among themselves). NaN and infinities always raise.",
    ),
    _choice(
        "small_strata",
        'Whether a stratum with fewer than k records raises; is emptied ("null": its masked cells\n'
        "and strata become null, and all that are emptied must be at least k); or is left out\n"
        '("drop": its rows do not come out).',
    ),
    _choice("dtype", "Whether columns keep their type, rounded half to even, or become Float64."),
)
REFINE = Argument(
    "refine",
    "bool",
    "Whether records and groups are exchanged afterwards while that lowers the sum of squares;\n"
    "no group falls below k. Methods that group values refuse it.",
    False,
)
SEED = Argument(
    "seed", "int", "Seed of methods that draw at random; others do not depend on it.", 0
)
ORIGINAL, MASKED = (
    Argument(name, "Frame", doc, keyword=False, numpydoc="polars.DataFrame or polars.LazyFrame")
    for name, doc in (("original", "The table before."), ("masked", "The table after."))
)
MEASURED = Argument(
    "columns",
    "Columns | None",
    "Columns to measure; all that both tables have by default.",
    None,
    keyword=False,
    numpydoc="str, selector or list",
)
KNOWN = Argument(
    "known",
    "Known",
    'What an intruder knows, for measures of linkage and anonymity: a list of columns; "all" of\n'
    '`columns` (the default); a whole number m, for all sets of m columns; "subsets", for all\n'
    "sets; or a list of lists of columns. The result is the average over the sets, or the\n"
    "least for `k_min`.",
    None,
    numpydoc="str, int or list",
)
KNOWN_SAMPLE = Argument(
    "known_sample",
    "int | None",
    "How many of the sets to draw at random without repetition; all by default.",
    None,
    numpydoc="int",
)
DRAW = Argument("seed", "int", "Seed of `known_sample`.", 0)
KEY = Argument(
    "key",
    "Names",
    "Columns that identify a row; rows are matched by position by default.",
    None,
    numpydoc="str or list of str",
)


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

    def stub(self) -> str:
        """Write the definition for a .pyi file; of the docstring, its first line."""
        plain = [a.typed() for a in self.arguments if not a.keyword]
        keyword = [a.typed() for a in self.arguments if a.keyword]
        listed = [*(["self"] if self.bound else []), *plain, *(["*", *keyword] if keyword else [])]
        text = textwrap.indent(f'"""{self.summary}"""', "    ")
        head = f"def {self.name}(\n" + "".join(f"    {item},\n" for item in listed)
        return f"{head}) -> {self.returns}:\n{text}\n"

    def dress(self, function: Any, module: str) -> Any:
        """Give a generic function this name, signature and docstring."""
        function.__name__ = function.__qualname__ = self.name
        function.__doc__ = self.docstring()
        function.__signature__ = self.signature()
        function.__module__ = module
        return function


def _sections(doc: str) -> dict[str, str]:
    """Split a numpydoc docstring into its sections; the text before them is ''."""
    sections: dict[str, str] = {}
    title, lines = "", doc.splitlines()
    for i, line in enumerate(lines):
        if i + 1 < len(lines) and lines[i + 1].strip() and not lines[i + 1].strip("-"):
            title = line
        elif line.strip("-") or not line:
            sections[title] = f"{sections.get(title, '')}{line}\n"
    return sections


def _own(option: Option, text: str) -> Argument:
    """Describe an option of a method, with the words of the method's docstring."""
    parts = [f"Literal[{', '.join(map(_quoted, option.choices))}]"] if option.choices else []
    parts += ["str"] if option.axis else []
    parts += [option.kind.__name__] if option.kind else []
    parts += ["Sequence[float]"] if option.several else []
    parts += ["Mapping[str, float]"] if option.keys else []
    blocks = inspect.cleandoc(text).split("\n")
    start = next((i for i, line in enumerate(blocks) if line.startswith(f"{option.name} :")), None)
    doc: list[str] = []
    numpydoc = ""
    if start is not None:
        numpydoc = blocks[start].partition(" : ")[2].partition(", default")[0]
        for line in blocks[start + 1 :]:
            if line and not line.startswith(" "):
                break
            doc.append(line.strip())
    return Argument(
        option.name, " | ".join(parts), "\n".join(doc).strip(), option.default, numpydoc=numpydoc
    )


def _summary(doc: dict[str, str]) -> str:
    return doc.get("", "").strip()


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
    doc = _sections(docstring(entry.function))
    own = tuple(_own(option, doc.get("Parameters", "")) for option in entry.options.values())
    arguments = (COLUMNS, K, *own, STRATA, SCALE, *SHARED, ORDER_BY, REFINE, SEED)
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
        entry.name, arguments if bound else (FRAME, *arguments), "F", _summary(doc), sections, bound
    )


def expression_spec(entry: Method) -> Spec:
    """Describe the method of an expression."""
    doc = _sections(docstring(entry.function))
    own = tuple(_own(option, doc.get("Parameters", "")) for option in entry.options.values())
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
    returns = f"polars.Expr\n    Like the expression, which is {what}; use .over(...) for strata."
    sections = (
        ("Returns", returns),
        ("Raises", RAISES),
        ("Notes", doc.get("Notes", entry.cite)),
        ("Examples", example),
    )
    arguments = (K, *own, SCALE, *SHARED, REFINE, SEED)
    return Spec(entry.name, arguments, "pl.Expr", _summary(doc), sections, bound=True)


def metric_spec(entry: Metric) -> Spec:
    """Describe the function of a metric."""
    doc = _sections(docstring(entry.function))
    own = tuple(_own(option, doc.get("Parameters", "")) for option in entry.options.values())
    arguments = (ORIGINAL, MASKED, MEASURED, *own, KNOWN, KNOWN_SAMPLE, KEY, DRAW)
    example = f""">>> import polars as pl, polars_microagg as mg
>>> before = pl.DataFrame({{"age": [30, 32, 41, 43]}})
>>> after = mg.mdav(before, "age", k=2)
>>> value = mg.{entry.name}(before, after)
"""
    sections = (
        ("Returns", doc.get("Returns", "")),
        ("Notes", doc.get("Notes", entry.cite)),
        ("Examples", example),
    )
    return Spec(entry.name, arguments, entry.returns, _summary(doc), sections)
