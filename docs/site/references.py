"""References written from what the programs say: commands, macros, functions, benchmarks."""

import ast
import inspect
import os
from importlib import import_module
from pathlib import Path
from textwrap import wrap

import polars_microagg as mg
from polars_microagg.cli.main import COMMANDS, parsers
from polars_microagg.core import registry

__all__ = ["api_pages", "benchmark_page", "commands_page", "macros_page"]

ROOMS = {
    "duckdb": ("polars_microagg.duckdb", "In DuckDB"),
    "spark": ("polars_microagg.spark", "On Spark"),
    "report": ("polars_microagg.report", "Reports"),
}
"""Pages of modules that are imported on their own."""


def commands_page() -> str:
    """Return what `microagg X --help` says, of every command."""
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "100"
    try:
        told = {name: parser.format_help() for name, parser in parsers().items()}
    finally:
        os.environ.pop("COLUMNS")
        if before is not None:
            os.environ["COLUMNS"] = before
    parts = [
        "# Commands\n\nWhat each command says of itself; [the guide](command_line.md) tells the rest.\n"
    ]
    for name, text in told.items():
        parts.append(
            f"## microagg {name}\n\n{COMMANDS[name][0].capitalize()}.\n\n```text\n{text.strip()}\n```\n"
        )
    return "\n".join(parts)


def _called(name: str, parameters: list[str]) -> str:
    return "\n".join(
        wrap(f"microagg.{name}({', '.join(parameters)})", 88, subsequent_indent="    ")
    )


def macros_page() -> str:
    """Return the macros that a registered connection has, as DuckDB lists them."""
    import duckdb

    from polars_microagg.duckdb import register

    con = register(duckdb.connect())
    listed = con.sql(
        "SELECT function_name, function_type, parameters, comment FROM duckdb_functions() "
        "WHERE database_name = 'microagg' AND NOT starts_with(function_name, '_') ORDER BY ALL"
    ).fetchall()
    con.close()
    shared = next(parameters for name, _, parameters, _ in listed if name == "mdav")
    parts = {"table_macro": "", "macro": ""}
    for name, kind, parameters, comment in listed:
        if name in registry.methods() and name != "mdav":
            parameters = ["...", *(each for each in parameters if each not in shared)]
        # The example is a statement to be copied, and no prose.
        said, _, example = (comment or _first_line(getattr(mg, name, None))).partition(" Example: ")
        calls = [_called(name, parameters), *([example] if example else [])]
        shown = "".join(f"```sql\n{call}\n```\n\n" for call in calls)
        parts[kind] += f"### {name}\n\n{said}\n\n{shown}"
    about = (
        "What `register` adds to a connection, as `duckdb_functions()` lists it. `...` stands for the "
        "parameters of\n[`mdav`](#mdav). [The guide](../guides/duckdb.md) says what they mean, with "
        "examples.\n"
    )
    tables = f"## Macros that return tables\n\n{parts['table_macro']}"
    values = f"## Macros and aggregates that return values\n\n{parts['macro']}"
    return f"# Macros\n\n{about}\n{tables}{values}".rstrip() + "\n"


def _directives(module: str, names: list[str]) -> str:
    lines = []
    for name in names:
        thing = getattr(import_module(module), name)
        kind = "autofunction"
        if inspect.isclass(thing):
            kind = "autoexception" if issubclass(thing, BaseException) else "autoclass"
        lines.append(f".. {kind}:: {module}.{name}\n")
        if kind == "autoclass":
            lines[-1] += "   :members:\n"
    return "```{eval-rst}\n" + "\n".join(lines) + "```\n"


def _first_line(thing: object) -> str:
    return (inspect.getdoc(thing) or "").partition("\n")[0] if thing else ""


def _summary(names: list[str]) -> str:
    rows = [
        f"| {{py:obj}}`{name} <polars_microagg.{name}>` | {_first_line(getattr(mg, name))} |"
        for name in names
    ]
    return "\n".join(["| name | what it does |", "| --- | --- |", *rows, ""])


def api_pages() -> dict[str, str]:
    """Return the pages of the reference of Python; methods have pages of their own."""
    methods, metrics = registry.methods(), registry.metrics()
    names = [n for n in mg.__all__ if n not in methods and not n.startswith("__")]
    classes = [n for n in names if inspect.isclass(getattr(mg, n))]
    errors = [n for n in classes if issubclass(getattr(mg, n), BaseException)]
    measures = [n for n in names if n in metrics]
    functions = [n for n in names if n not in {*classes, *measures}]
    groups = {
        "functions": ("Functions", functions),
        "measures": ("Measures", measures),
        "classes": ("Classes", [n for n in classes if n not in errors]),
        "errors": ("Errors", errors),
    }
    pages = {
        f"reference/{page}.md": f"# {title}\n\n{_summary(of)}\n{_directives('polars_microagg', of)}"
        for page, (title, of) in groups.items()
    }
    for page, (module, title) in ROOMS.items():
        room = import_module(module)
        about = _first_line(room)
        text = f"# {title}\n\n`{module}`: {about}\n\n{_directives(module, sorted(room.__all__))}"
        pages[f"reference/{page}.md"] = text
    return pages


def benchmark_page(root: Path) -> str:
    """Return the list of scripts that measure, with what each says of itself and what it printed last."""
    parts = [
        "# Benchmarks\n\nScripts of the repository that measure, and what those that take minutes "
        "printed last: `python benchmarks/keep.py`\nruns these and keeps it, with machine and commit. "
        "The command above a table is that of its\ncommit, which may have another name now. "
        "Tables that take longer are in the guides.\n"
    ]
    for path in sorted((root / "benchmarks").glob("*.py")):
        said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        parts.append(f"## {path.name}\n\n```text\n{said.strip()}\n```\n")
    for kept in sorted((root / "benchmarks" / "results").glob("*.md")):
        parts.append(f"## Printed by {kept.stem}\n\n{kept.read_text(encoding='utf-8')}")
    return "\n".join(parts)
