"""Descriptions of the macros, their parameters and examples, in the words of the other doors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from polars_microagg.analysis.anonymity import anonymity, methods, verify
from polars_microagg.analysis.assess import assess
from polars_microagg.analysis.compare import compare
from polars_microagg.analysis.counted_classes import ENTITY_COUNTS
from polars_microagg.analysis.recommend import recommend
from polars_microagg.core import registry
from polars_microagg.core.model import models
from polars_microagg.frames import arguments
from polars_microagg.frames.arguments import Argument, sections_of, summary_of
from polars_microagg.frames.signatures import frame_spec, metric_spec

__all__ = ["comment", "described", "example_of", "options_of", "summaries"]

MACRO = re.compile(
    r"(?P<said>(?:^--.*\n)*)^CREATE OR REPLACE MACRO (?P<schema>microagg(?:_internals)?)\."
    r"(?P<name>\w+)\([^;]*?\)\s+AS\s+(?P<table>TABLE\b)?",
    re.M,
)
"""A macro in a file, and the lines of comment before it."""

OPTION = re.compile(r'"?(\w+)"? := ((?:\[[^\]]*\]|[^,\[])+)')
"""A parameter of a macro with a default."""

EXAMPLES = {
    "anonymity": "FROM microagg.anonymity('masked', ['age', 'income']);",
    "assess": "FROM microagg.assess('patients', 'masked', ['age', 'income'], key := 'id');",
    "compare": "FROM microagg.compare('patients', ['age', 'income'], ks := [3, 5]);",
    "groups": "FROM microagg.groups('patients', ['age', 'income'], 3);",
    "help": "FROM microagg.help('mdav');",
    "k_entities": "SELECT microagg.k_entities((age, income), patient) FROM masked;",
    "k_min": "SELECT microagg.k_min((age, income)) FROM masked;",
    "k_prime": "SELECT microagg.k_prime((age, income)) FROM masked;",
    "l": "SELECT microagg.l((age, income), sick) FROM masked;",
    "loss": "SELECT microagg.loss([o.age], [m.age]) FROM patients o JOIN masked m USING (id);",
    "mask": "FROM microagg.mask('patients', ['age', 'income'], 3, method := 'mdav');",
    "max_share": "SELECT microagg.max_share((age, income), sick) FROM masked;",
    "methods": "FROM microagg.methods();",
    "options": "FROM microagg.options('mdav');",
    "recommend": "FROM microagg.recommend('compared', require := 'dld<=10');",
    "release": "FROM microagg.release('patients', ['age', 'income'], 3, keep := 'region', "
    "drop := 'id');",
    "sse": "SELECT microagg.sse([o.age], [m.age]) FROM patients o JOIN masked m USING (id);",
    "sst": "SELECT microagg.sst([age, income]) FROM patients;",
    "t": "SELECT region, microagg.t((age, income), sick) FROM masked GROUP BY region;",
    "verify": "FROM microagg.verify('masked', ['age', 'income'], 3);",
}
"""A call of each macro that is not that of a method."""

HERE = {
    "groups": "Add the number of each record's group as a column, and mask nothing.",
    "help": "List the macros: what each does, what it takes, and an example.",
    "mask": "Mask columns by a method given by name.",
    "options": "List what a macro takes beside what every call has, with defaults and meanings.",
    "release": "Mask a table of which every column has a role: none is passed through by default.",
}
"""Descriptions of macros that are no function of the same name in analysis or in a register."""

COSTLY = {"t": " Call it for groups: its time grows with the square of the records."}
"""Cautions beside the descriptions of macros that take long on a large table."""

ALSO = {
    "drop": "Columns that do not come out.",
    "keep": "Columns that come out as they are.",
    "ks": "Smallest group sizes.",
    "macro": "The name of one macro; all by default.",
    "method": "Name of a method; methods() lists them.",
    "metrics": "Names of metrics; those of assess by default.",
    "options": "Parameters of the method, as a struct.",
}
"""Descriptions of parameters that are not described elsewhere."""


def _first(text: str) -> str:
    """Return the first paragraph as one line."""
    return " ".join(text.strip().partition("\n\n")[0].split())


def summaries() -> dict[str, str]:
    """Return what each macro does, from the registers and docstrings of Python.

    >>> summaries()["k_min"]
    'Size of the smallest class of equal masked records.'
    """
    functions = (anonymity, assess, compare, methods, recommend, verify)
    found = {f.__name__: _first(registry.docstring(f)) for f in functions}
    # What points to the function that wraps it is said by the function that wraps it.
    found["assess"] = found["assess"].partition(" See ")[0]
    aggregates = ("k_min", "k_prime", "sse", "sst", "loss")
    found |= {name: registry.metrics()[name].summary for name in aggregates}
    confidential = {name: entry for name, entry in models().items() if entry.of == "confidential"}
    for name, entry in confidential.items():
        if name in EXAMPLES:
            what = _first(summary_of(sections_of(registry.docstring(entry.measure))))
            found[name] = f"{what} Of all classes the worst.{COSTLY.get(name, '')}"
    found["k_entities"] = ENTITY_COUNTS["k_entities"]
    return found | HERE | {name: entry.summary for name, entry in registry.methods().items()}


def example_of(name: str) -> str:
    """Return a call of a macro.

    >>> example_of("md")
    "FROM microagg.md('patients', ['age', 'income'], 3);"
    """
    entry = registry.methods().get(name)
    columns = "'income'" if entry and entry.columnwise else "['age', 'income']"
    return EXAMPLES.get(name) or f"FROM microagg.{name}('patients', {columns}, 3);"


def _meanings() -> Mapping[str, str]:
    """Return what each parameter means, by name; those of methods by `method.name`."""
    found = ALSO | {"assess.strata": _in_sql(arguments.WITHIN.doc)}
    for function in (recommend, compare):
        text = sections_of(registry.docstring(function))["Parameters"]
        for name, meaning in re.findall(r"^(\w+) :.*\n((?:    .*\n)+)", text, re.M):
            found[name] = _first(meaning)
    known = [value for value in vars(arguments).values() if isinstance(value, Argument)]
    known += metric_spec(registry.metrics()["dld"]).arguments
    for entry in registry.methods().values():
        spec = frame_spec(entry)
        known += [argument for argument in spec.arguments if argument.name not in entry.options]
        found |= {
            f"{entry.name}.{argument.name}": _in_sql(argument.doc)
            for argument in spec.arguments
            if argument.name in entry.options
        }
    return found | {argument.name: _in_sql(argument.doc) for argument in known}


def _in_sql(text: str) -> str:
    """Write texts of Python as SQL does.

    >>> _in_sql('Filled by the centre ("impute"), with ``entity_mode="alike"``.')
    "Filled by the centre ('impute'), with entity_mode := 'alike'."
    """
    text = re.sub(r'``(\w+)="(\w+)"``', r"\1 := '\2'", " ".join(text.split()))
    return re.sub(r'"(\w+)"', r"'\1'", text).replace("``", "").replace("`", "")


def described(text: str) -> Iterator[tuple[str, str, str, bool]]:
    """Yield schema, name, comment and whether it is a table macro, of each macro in a file of SQL.

    What is for use is described as elsewhere; what is behind it, as in the lines above it.
    """
    what = summaries()
    for match in MACRO.finditer(text):
        name = match["name"]
        if match["schema"] == "microagg":
            said = f"{what[name]} Example: {example_of(name)}"
        else:
            said = f"Not for use. {' '.join(match['said'].replace('-- ', '').split())}".strip()
        yield match["schema"], name, said, bool(match["table"])


def comment(schema: str, name: str, said: str, table: bool) -> str:
    """Write the statement that comments on a macro.

    >>> comment("microagg", "k_min", "Ann's", False)
    "COMMENT ON MACRO microagg.k_min IS 'Ann''s';"
    """
    kind = "MACRO TABLE" if table else "MACRO"
    escaped = said.replace("'", "''")
    return f"COMMENT ON {kind} {schema}.{name} IS '{escaped}';"


def options_of(parameters: Mapping[str, str]) -> dict[tuple[str, str, str], list[str]]:
    """Return option, default and meaning, each with the macros that have it, from their parameters.

    >>> options_of({"mdav": "source, columns, k, seed := 0"})
    {('seed', '0', 'Seed of methods that draw at random; others do not depend on it.'): ['mdav']}
    """
    found: dict[tuple[str, str, str], list[str]] = {}
    known = _meanings()
    for macro, text in parameters.items():
        for name, default in OPTION.findall(text):
            meaning = known.get(f"{macro}.{name}") or known.get(name, "")
            found.setdefault((name, default.strip(), meaning), []).append(macro)
    return found
