"""`microagg methods`: what there is, and the options of each."""

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


def run(given: Namespace) -> int:
    """List the methods, or describe one."""
    every = listed().to_dicts()
    if given.name is not None:
        return _one(given)
    if given.json:
        show_json(every)
        return 0
    rows = [(m["method"], m["unit"], m["sizes"], m["cost"], m["summary"]) for m in every]
    show(table(rows, head=("method", "k counts", "sizes", "time", "summary")))
    return 0


def _one(given: Namespace) -> int:
    if given.name not in methods():
        raise UnknownMethodError.of(given.name, methods())
    entry = methods()[given.name]
    options = {name: str(option.default) for name, option in entry.options.items()}
    if given.json:
        row = next(m for m in listed().to_dicts() if m["method"] == given.name)
        show_json({**row, "cite": entry.cite, "options": options})
        return 0
    show(f"{entry.name}: {entry.summary}")
    show(f"After {entry.cite}. Group sizes {entry.sizes}; time grows with n like {entry.cost}.")
    for name in entry.options:
        said = f"--{name.replace('_', '-')}: {own_options()[name].help}"
        show(textwrap.fill(said, 96, initial_indent="  ", subsequent_indent="      "))
    return 0
