"""Write what follows from the code, the papers' cells and benchmarks: stubs, tables, pages, a picture.

Usage: python docs/generate.py [--check]

With --check nothing is written and the exit code is 1 if a file is stale.
"""

import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path

# The package beside this file, whatever is installed.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import papers
import picture
import stubs

from polars_microagg.core import registry
from polars_microagg.core.type_hints import docstring
from polars_microagg.duckdb.descriptions import comment, described
from polars_microagg.frames import signatures
from polars_microagg.publishing.manifest.schema import json_schema

ROOT = Path(__file__).resolve().parents[1]
STUBS = "polars_microagg"
RESULT = re.compile(r"^(<!-- (benchmarks/results/\S+) -->)$.*?^(<!-- end of \2 -->)$", re.M | re.S)
COMMENTS = "-- Comments that DuckDB keeps, written by docs/generate.py; do not edit.\n"


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
        (f"`{e.name}`", e.summary.rstrip("."), _given(e), e.cite)
        for e in registry.metrics().values()
    ]
    about = (
        "Those marked yes are what `assess` gives by default, and a manifest holds; with an `entity` "
        "also the\none that counts persons. Those on demand are computed where they are named: `metrics=` of "
        "`assess` and\n`compare`, `require=`, and in SQL and on the command line likewise. Each is also "
        "a function of its own.\n"
    )
    head = ("metric", "what it measures", "by default", "from")
    loss = signatures.sections_of(docstring(registry.metrics()["loss"].function))["Notes"]
    parts += ["## Metrics\n", about, _table(head, rows), "### Loss\n", f"{loss.strip()}\n"]
    parts.append(
        "Measures that need numbers, such as `il1` to `il5` and the correlations, leave columns of "
        "categories\nout. [Which columns are keys](keys.md).\n"
    )
    return "\n".join(parts)


def _given(entry: registry.Metric) -> str:
    """Return whether `assess` gives a metric by default."""
    if entry.assessed is None:
        return "on demand"
    return "with an entity" if "entity" in entry.inputs else "yes"


def commented(name: str) -> str:
    """Append a comment on each macro to a file of SQL that is read without Python."""
    text = (ROOT / "sql" / name).read_text(encoding="utf-8").partition(COMMENTS)[0].rstrip()
    said = "".join(f"{comment(*each)}\n" for each in described(text))
    return f"{text}\n\n{COMMENTS}\n{said}"


def with_results(name: str) -> str:
    """Put what benchmarks printed last between the two comments that name its file."""

    def kept(block: re.Match[str]) -> str:
        path = ROOT / block[2]
        # Benchmarks are not in every copy of the sources.
        text = path.read_text(encoding="utf-8") if path.exists() else None
        return f"{block[1]}\n\n{text}\n{block[3]}" if text else block[0]

    return RESULT.sub(kept, (ROOT / name).read_text(encoding="utf-8"))


def files() -> dict[str, str]:
    """Text of every generated file by its path in the repository."""
    written = {
        f"{STUBS}/functions.pyi": stubs.functions_stub(),
        f"{STUBS}/namespace.pyi": stubs.namespace_stub(),
        "docs/manifest.schema.json": json.dumps(json_schema(), indent=2) + "\n",
        "docs/loss.md": with_results("docs/loss.md"),
        "docs/scale_mdav.md": with_results("docs/scale_mdav.md"),
        "docs/methods.md": methods_page(),
        "docs/microaggregation.svg": picture.drawing(),
    }
    written |= {f"sql/{name}": commented(name) for name in ("losses.sql", "measures.sql")}
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
