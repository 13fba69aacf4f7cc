"""The arguments of the functions written from the registry: how each is typed and what it means."""

from __future__ import annotations

import inspect
import textwrap
from dataclasses import dataclass
from functools import cache
from typing import Any

from polars_microagg.core.kind import KeyOption, key_options
from polars_microagg.core.model import models
from polars_microagg.core.options import CHOICES, COMMON
from polars_microagg.core.registry import Option, docstring

__all__ = [
    "COLUMNS",
    "COLUMN_WEIGHTS",
    "CONFIDENTIAL",
    "DRAW",
    "ENTITY",
    "ENTITY_MODE",
    "FRAME",
    "KEY",
    "KNOWN",
    "KNOWN_SAMPLE",
    "MASKED",
    "MAX_ROWS_PER_ENTITY",
    "MEASURED",
    "ORDER_BY",
    "ORIGINAL",
    "REFINE",
    "REQUIRED",
    "SCALE",
    "SEED",
    "SHARED",
    "STRATA",
    "WHOSE",
    "WITHIN",
    "WORKERS",
    "Argument",
    "K",
    "key_kinds",
    "model_bounds",
    "own_argument",
    "quoted",
    "sections_of",
    "summary_of",
]

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

    def documented(self) -> str:
        """Write the argument as in a numpydoc section."""
        optional = "" if self.default is REQUIRED else f", default {self.default!r}"
        meaning = textwrap.indent(self.doc, "    ")
        return f"{self.name} : {self.numpydoc or self.annotation}{optional}\n{meaning}"


def quoted(value: object) -> str:
    """Write a default as in Python, texts in double quotes."""
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _choice(name: str, doc: str) -> Argument:
    choices = ", ".join(map(quoted, CHOICES[name]))
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
    numpydoc="str, selector or list",
)
ORDER_BY = Argument(
    "order_by",
    "Names",
    "Columns that fix the order of the records where the plan does not, as after a\n"
    "streaming join; equal distances go to the first record. Rows come out as they came.",
    None,
    numpydoc="str, selector or list",
)
ENTITY = Argument(
    "entity",
    "Names",
    "Columns that say whom a record is about, such as a patient: k then counts distinct entities,\n"
    "not records. A null in them is an error.",
    None,
    numpydoc="str, selector or list",
)
ENTITY_MODE = Argument(
    "entity_mode",
    'Literal["rows", "mean", "alike"] | None',
    'What k entities have in common: each masked row ("rows"); the one row that all rows of an\n'
    'entity become, after their mean ("mean"); or all of their rows, and how many they are\n'
    '("alike"). Has to be named where the entity comes out with the table, and is "rows" elsewhere.',
    None,
    numpydoc='{"rows", "mean", "alike"}',
)
MAX_ROWS_PER_ENTITY = Argument(
    "max_rows_per_entity",
    "int | None",
    'Most rows of an entity, with ``entity_mode="alike"``: those beyond it, in the order of the\n'
    "records, do not come out.",
    None,
    numpydoc="int",
)
CONFIDENTIAL = Argument(
    "confidential",
    "Names",
    "Columns that come out as they are, and of which the records that share a masked record are to\n"
    "tell little. At least one of the bounds that follow says how little. They count records,\n"
    "also where k counts entities.",
    None,
    numpydoc="str, selector or list",
)


def model_bounds() -> tuple[Argument, ...]:
    """Describe the bounds of the privacy models, and their options."""
    return _model_bounds(tuple((name, entry.measure) for name, entry in models().items()))


@cache
def _model_bounds(measures: tuple[tuple[str, object], ...]) -> tuple[Argument, ...]:
    """Describe those of these models, once: every function that is written takes them."""
    registered, arguments = models(), []
    for entry in (registered[name] for name, _ in measures):
        doc = sections_of(docstring(entry.measure))
        if entry.name != "k":
            side = "least" if entry.at_least else "most"
            of = "" if entry.of == "entity" else " of each confidential column"
            words = (
                f"In every class of equal masked records, {entry.what}{of} "
                f"is at {side} this: {summary_of(doc)[0].lower()}{summary_of(doc)[1:]}"
            )
            kind = entry.bound.kind.__name__ if entry.bound.kind else "float"
            text = "\n".join(textwrap.wrap(words.partition("\n\n")[0], 96))
            arguments.append(Argument(entry.name, f"{kind} | None", text, None, numpydoc=kind))
        for option in entry.options.values():
            arguments.append(own_argument(option, doc.get("Parameters", "")))
    return tuple(arguments)


def key_kinds() -> tuple[Argument, ...]:
    """Describe the parameters that say of which kind columns are."""
    return _key_kinds(tuple(key_options().values()))


@cache
def _key_kinds(options: tuple[KeyOption, ...]) -> tuple[Argument, ...]:
    arguments = []
    for entry in options:
        several = f"Mapping[str, {entry.each.__name__}] | None" if entry.each else "Names"
        text = "\n".join(textwrap.wrap(" ".join(entry.doc.split()), 96))
        numpydoc = (
            f"mapping of str to {entry.each.__name__}" if entry.each else "str, selector or list"
        )
        arguments.append(Argument(entry.name, several, text, None, numpydoc=numpydoc))
    return tuple(arguments)


COLUMN_WEIGHTS = Argument(
    "column_weights",
    "Mapping[str, float] | None",
    "How much columns weigh in distances: with 2 a squared distance counts twice. Every column\n"
    "weighs 1 by default, whatever its kind.",
    None,
    numpydoc="mapping of str to float",
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
        "Whether a stratum that has fewer than k records, or that breaks another bound as a whole,\n"
        'raises; is emptied ("null": its masked cells and strata become null, and all that are\n'
        'emptied must keep k and the bounds as one class); or is left out ("drop": its rows do not\n'
        "come out).",
    ),
    _choice("dtype", "Whether columns keep their type, rounded half to even, or become Float64."),
)
REFINE = Argument(
    "refine",
    "bool",
    "Whether records and groups are exchanged afterwards while that lowers the sum of squares;\n"
    "no group falls below k or breaks a bound. Methods that group values refuse it.",
    False,
)
SEED = Argument(
    "seed", "int", "Seed of methods that draw at random; others do not depend on it.", 0
)
WORKERS = Argument(
    "workers",
    "int | None",
    "Most processes that share the work, where that is long enough; as many as there are processors\n"
    "by default. The values do not depend on it.",
    None,
    numpydoc="int",
)
ORIGINAL, MASKED = (
    Argument(name, "Frame", doc, keyword=False, numpydoc="polars.DataFrame or polars.LazyFrame")
    for name, doc in (("original", "The table before."), ("masked", "The table after."))
)
MEASURED = Argument(
    "columns",
    "Columns | None",
    "Columns to measure; all numeric and temporal ones that both tables have by default, and those\n"
    "that are named as categories. Texts, Booleans and Enums have to be named.",
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
WITHIN = Argument(
    "strata",
    "Names",
    "Columns of the masked table that an attacker knows, such as the strata of the release: records\n"
    "are linked, and classes counted, within them.",
    None,
    numpydoc="str, selector or list",
)
DRAW = Argument("seed", "int", "Seed of `known_sample`.", 0)
WHOSE = Argument(
    "entity",
    "Names",
    "Columns of the original that say whom a record is about, such as a patient. A null in them\n"
    "is an error.",
    None,
    numpydoc="str, selector or list",
)
KEY = Argument(
    "key",
    "Names",
    "Columns that identify a row; rows are matched by position by default.",
    None,
    numpydoc="str, selector or list",
)


def sections_of(doc: str) -> dict[str, str]:
    """Split a numpydoc docstring into its sections; the text before them is ''."""
    sections: dict[str, str] = {}
    title, lines = "", doc.splitlines()
    for i, line in enumerate(lines):
        if i + 1 < len(lines) and lines[i + 1].strip() and not lines[i + 1].strip("-"):
            title = line
        elif line.strip("-") or not line:
            sections[title] = f"{sections.get(title, '')}{line}\n"
    return sections


def own_argument(option: Option, text: str) -> Argument:
    """Describe an option of a method, with the words of the method's docstring."""
    parts = [f"Literal[{', '.join(map(quoted, option.choices))}]"] if option.choices else []
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


def summary_of(doc: dict[str, str]) -> str:
    """Return the text before the sections of a docstring."""
    return doc.get("", "").strip()
