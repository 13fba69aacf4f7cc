"""`microagg methods`: the methods, and the options of each."""

from __future__ import annotations

import textwrap
from argparse import Namespace

from polars_microagg.analysis.anonymity import methods as listed
from polars_microagg.cli.options import own_options
from polars_microagg.cli.output import show, show_json, table
from polars_microagg.cli.parser import Parser, example
from polars_microagg.core.registry import methods
from polars_microagg.errors import UnknownMethodError

__all__ = ["EXAMPLES", "add", "run"]

EXAMPLES = example("microagg methods", "microagg methods vmdav", "microagg methods --json")


def add(parser: Parser) -> None:
    """Describe the options."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="one method with its options")
    parser.add_argument("--json", action="store_true", help="JSON on standard output")


def run(arguments: Namespace) -> int:
    """List the methods, or describe one."""
    every = listed().to_dicts()
    if arguments.name is not None:
        return _one(arguments)
    if arguments.json:
        show_json(every)
        return 0
    rows = [(m["method"], m["unit"], m["sizes"], m["cost"], m["summary"]) for m in every]
    show(table(rows, head=("method", "k counts", "sizes", "time", "summary")))
    return 0


def _one(arguments: Namespace) -> int:
    if arguments.name not in methods():
        raise UnknownMethodError.of(arguments.name, methods())
    entry = methods()[arguments.name]
    options = {name: str(option.default) for name, option in entry.options.items()}
    if arguments.json:
        row = next(m for m in listed().to_dicts() if m["method"] == arguments.name)
        show_json({**row, "cite": entry.cite, "options": options})
        return 0
    show(f"{entry.name}: {entry.summary}")
    show(f"After {entry.cite}. Group sizes {entry.sizes}; time grows with n like {entry.cost}.")
    for name in entry.options:
        said = f"--{name.replace('_', '-')}: {own_options()[name].help}"
        show(textwrap.fill(said, 96, initial_indent="  ", subsequent_indent="      "))
    return 0
