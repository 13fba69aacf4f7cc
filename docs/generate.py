"""Write what follows from the code and the papers' cells: stubs, tables, pages, a JSON Schema.

Usage: python docs/generate.py [--check]

With --check nothing is written and the exit code is 1 if a file is stale.
"""

import inspect
import json
import sys
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

# The package beside this file, whatever is installed.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import papers

from polars_microagg import functions
from polars_microagg.analysis.counted_classes import confidential_models
from polars_microagg.core import registry
from polars_microagg.core.model import models
from polars_microagg.frames import signatures
from polars_microagg.frames.arguments import REQUIRED, Argument
from polars_microagg.frames.signatures import Spec
from polars_microagg.namespace import MicroaggExpr, MicroaggFrame
from polars_microagg.publishing.manifest.schema import json_schema

ROOT = Path(__file__).resolve().parents[1]
STUBS = "polars_microagg"
START, END = "<!-- methods -->\n", "<!-- /methods -->\n"

HEAD = '''"""{title}

Written by docs/generate.py from the registry; do not edit.
"""

from collections.abc import {collections}
from typing import Any, {typing}

import polars as pl

from polars_microagg.analysis.attacker import Known
{plot}from polars_microagg.frames.selection import Columns, F, Names
'''
FRAMES = "Frame: TypeAlias = pl.DataFrame | pl.LazyFrame\n"

K = signatures.K
METHOD = Argument("method", "str", "", "mdav")
NAME = Argument("name", "str", "", "microagg_group")
SHARED = (signatures.SCALE, *signatures.SHARED, signatures.REFINE, signatures.SEED)
ON_FRAMES = (signatures.STRATA, signatures.ORDER_BY, *SHARED)
EFFORT = Argument("effort", "float", "", 0.0)
METRICS = Argument("metrics", "str | Sequence[str] | None", "", None)
PEOPLE = (signatures.ENTITY, signatures.ENTITY_MODE, signatures.CONFIDENTIAL)
PERSON = replace(
    signatures.ENTITY, annotation="str | Sequence[str]", default=REQUIRED, keyword=False
)
BOUNDS = signatures.model_bounds()
COUNTED = (
    signatures.STRATA,
    Argument("k", "int | None", "", None),
    signatures.CONFIDENTIAL,
    signatures.ENTITY,
    *(bound for bound in BOUNDS if bound.name not in models()),
)
COMPARED = (
    Argument("methods", "str | Sequence[str] | None", "", None),
    Argument("ks", "int | Sequence[int]", "", (3, 5, 10)),
    signatures.STRATA,
    signatures.KNOWN,
    signatures.KNOWN_SAMPLE,
    Argument("seconds", "float | None", "", None),
    METRICS,
    signatures.SEED,
)
PLOT = f'''@property
def plot(self) -> MicroaggPlot:
    """{(inspect.getdoc(MicroaggFrame.plot) or "").partition(chr(10))[0]}"""
'''
KEYS = (Argument("by", "Names", "", None), signatures.KEY)


def _stub(
    function: Callable[..., object],
    arguments: Iterable[Argument],
    returns: str,
    *,
    options: bool = False,
    bound: bool = False,
) -> str:
    """Write the stub of a function whose docstring is written by hand."""
    spec = Spec(function.__name__, tuple(arguments), returns, "", (), bound)
    head = spec.stub().partition('    """')[0]
    if options:
        head = head.replace("\n) ->", "\n    **options: Any,\n) ->")
    if bound and not spec.arguments:
        head = f"def {spec.name}(self) -> {returns}:\n"
    doc = (inspect.getdoc(function) or "").partition("\n")[0]
    return head + textwrap.indent(f'"""{doc}"""', "    ") + "\n"


def _together(definitions: Iterable[str]) -> str:
    return "\n".join(definitions)


def functions_stub() -> str:
    """Type the functions of the package that work on frames."""
    head = (signatures.FRAME, signatures.COLUMNS, K)
    by_hand = {
        "groups": _stub(functions.groups, (*head, METHOD, NAME, *ON_FRAMES), "F", options=True),
        "mask": _stub(functions.mask, (*head, METHOD, *ON_FRAMES), "F", options=True),
    }
    masking = {n: signatures.frame_spec(e).stub() for n, e in registry.methods().items()}
    measuring = {n: signatures.metric_spec(e).stub() for n, e in registry.metrics().items()}
    written = dict(sorted((by_hand | masking | measuring).items()))
    exported = "".join(f'    "{name}",\n' for name in written)
    return _together(
        [
            HEAD.format(
                title="Types of the functions on frames.",
                collections="Mapping, Sequence",
                typing="Literal, TypeAlias",
                plot="",
            ),
            f"__all__ = [\n{exported}]\n",
            FRAMES,
            *written.values(),
        ]
    )


def _class(name: str, wraps: str, documented: type, methods: Iterable[str]) -> str:
    doc = (inspect.getdoc(documented) or "").partition("\n")[0]
    made = f"def __init__(self, {wraps}) -> None: ...\n"
    body = textwrap.indent(made + _together(methods), "    ", lambda line: bool(line.strip()))
    return f'class {name}:\n    """{doc}"""\n\n{body}'


def namespace_stub() -> str:
    """Type the namespaces, whose methods are the same functions with the frame given."""
    columns, assessed = signatures.COLUMNS, (signatures.MASKED, signatures.MEASURED)
    entries = registry.methods().values()

    def on_frame(name: str, arguments: Iterable[Argument], returns: str, options: bool) -> str:
        function = getattr(MicroaggFrame, name)
        return _stub(function, arguments, returns, options=options, bound=True)

    def on_expression(name: str, arguments: Iterable[Argument], options: bool) -> str:
        function = getattr(MicroaggExpr, name)
        return _stub(function, arguments, "pl.Expr", options=options, bound=True)

    frame = [
        on_frame("mask", (columns, K, METHOD, *ON_FRAMES), "F", True),
        on_frame("groups", (columns, K, METHOD, NAME, *ON_FRAMES), "F", True),
        on_frame("verify", (columns, K, signatures.STRATA, *PEOPLE, *BOUNDS), "None", False),
        on_frame("anonymity", (columns, *COUNTED), "pl.DataFrame", False),
        on_frame("lower_bound", (columns, K, EFFORT), "float", False),
        on_frame(
            "assess",
            (*assessed, METRICS, signatures.KNOWN, signatures.KNOWN_SAMPLE, *KEYS, signatures.DRAW),
            "pl.DataFrame",
            False,
        ),
        on_frame("compare", (columns, *COMPARED), "pl.DataFrame", True),
        PLOT,
        *(signatures.frame_spec(entry, bound=True).stub() for entry in entries),
    ]
    expression = [
        on_expression("mask", (K, METHOD, *SHARED), True),
        on_expression("groups", (K, METHOD, *SHARED), True),
        on_expression("k_prime", (), False),
        on_expression("k_min", (), False),
        on_expression("k_entities", (PERSON,), False),
        *(signatures.model_spec(entry).stub() for entry in confidential_models().values()),
        *(signatures.expression_spec(entry).stub() for entry in entries),
    ]
    head = HEAD.format(
        title="Types of the namespaces.",
        collections="Sequence",
        typing="Generic, Literal, TypeAlias",
        plot="from polars_microagg.charts.plot import MicroaggPlot\n",
    )
    return _together(
        [
            head,
            '__all__ = ["MicroaggExpr", "MicroaggFrame"]\n',
            FRAMES,
            _class("MicroaggFrame(Generic[F])", "frame: F", MicroaggFrame, frame),
            _class("MicroaggExpr", "expression: pl.Expr", MicroaggExpr, expression),
        ]
    )


def method_table() -> str:
    """List the methods, one a row."""
    rows = [
        (f"`{e.name}`", e.summary.rstrip("."), f"{e.unit}s", f"{e.sizes}", e.cite)
        for e in registry.methods().values()
    ]
    return _table(("method", "what it does", "k counts", "group sizes", "from"), rows)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def methods_page() -> str:
    """Describe each method with its source and its own options."""
    parts = [
        "# Methods\n",
        "<!-- Written by docs/generate.py; do not edit. -->\n",
        "k is the least number of records in a group, or of values for methods that count "
        "values: these\ngroup the values of each column, or of all columns, and make no k records "
        "alike. Groups are larger where\n`entity` or a bound on a `confidential` column needs it: "
        "[persons, secrets and k](persons.md).\n",
        method_table(),
    ]
    for entry in registry.methods().values():
        spec = signatures.frame_spec(entry)
        notes = dict(spec.sections)["Notes"].strip()
        own = [argument for argument in spec.arguments if argument.name in entry.options]
        parts += [f"## {entry.name}\n", f"{entry.summary}\n", f"{notes}\n"]
        if own:
            rows = [
                (f"`{a.name}`", a.numpydoc, f"`{a.default!r}`", " ".join(a.doc.split()))
                for a in own
            ]
            parts.append(_table(("option", "values", "default", "meaning"), rows))
    rows = [
        (f"`{e.name}`", e.summary.rstrip("."), "on demand" if e.assessed is None else "yes", e.cite)
        for e in registry.metrics().values()
    ]
    about = (
        "Those marked yes are what `assess` gives by default, and a manifest holds. Those on demand "
        "are\ncomputed where they are named: `metrics=` of `assess` and `compare`, `require=`, and in "
        "SQL and on the\ncommand line likewise. Each is also a function of its own.\n"
    )
    head = ("metric", "what it measures", "by default", "from")
    parts += ["## Metrics\n", about, _table(head, rows)]
    return "\n".join(parts)


def readme() -> str:
    """Put the table of methods between its markers."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    before, start, rest = text.partition(START)
    _, end, after = rest.partition(END)
    if not start or not end:
        sys.exit(f"README.md needs the lines {START}and {END}around the table of methods.")
    return f"{before}{START}\n{method_table()}\n{END}{after}"


def files() -> dict[str, str]:
    """Text of every generated file by its path in the repository."""
    written = {
        f"{STUBS}/functions.pyi": functions_stub(),
        f"{STUBS}/namespace.pyi": namespace_stub(),
        "docs/manifest.schema.json": json.dumps(json_schema(), indent=2) + "\n",
        "docs/methods.md": methods_page(),
        "README.md": readme(),
    }
    # The cells are not in every copy of the sources.
    return written | ({"docs/papers.md": papers.papers_page()} if papers.CELLS.exists() else {})


def main(arguments: list[str]) -> int:
    """Write the files, or only say which are stale."""
    stale = []
    for name, text in files().items():
        path = ROOT / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(name)
            if "--check" not in arguments:
                path.write_text(text, encoding="utf-8", newline="\n")
    if stale:
        print(f"{'stale' if '--check' in arguments else 'wrote'}: {', '.join(stale)}")
    return 1 if stale and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
