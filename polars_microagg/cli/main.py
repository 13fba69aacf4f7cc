"""The program `microagg`: one command, one sentence if it fails, one exit code."""

from __future__ import annotations

import os
import signal
import sys
from _thread import interrupt_main
from argparse import Namespace
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Timer
from typing import NoReturn

from polars_microagg._version import __version__
from polars_microagg.cli import (
    compare,
    completion,
    demo,
    init,
    methods,
    protect,
    report,
    risk,
    verify,
)
from polars_microagg.cli.exit_codes import BUG, INTERRUPTED, PUBLISHED, UNREAD, code_of
from polars_microagg.cli.output import sent, show_json, tell
from polars_microagg.cli.parser import COMMAND, Parser, example
from polars_microagg.cli.stdio import prepare, unheard
from polars_microagg.errors import MicroaggError, OutputError
from polars_microagg.wording import COMMAND_LINE

__all__ = ["COMMANDS", "main", "parsers", "run"]

Command = tuple[str, str, Callable[[Parser], None], Callable[[Namespace], int]]

COMMANDS: dict[str, Command] = {
    "protect": ("mask a table and publish it", protect.EXAMPLES, protect.add, protect.run),
    "risk": ("measure a release", risk.EXAMPLES, risk.add, risk.run),
    "compare": ("find the method", compare.EXAMPLES, compare.add, compare.run),
    "report": ("write the page of a release", report.EXAMPLES, report.add, report.run),
    "verify": ("check a release", verify.EXAMPLES, verify.add, verify.run),
    "methods": ("list the methods", methods.EXAMPLES, methods.add, methods.run),
    "demo": ("see it at work", demo.EXAMPLES, demo.add, demo.run),
    "init": ("write a configuration", init.EXAMPLES, init.add, init.run),
    "completion": (
        "complete commands with the tab key",
        completion.EXAMPLES,
        completion.add,
        lambda arguments: completion.run(arguments, dict(parsers())),
    ),
}

CODES = (
    "exit codes: 0 done, 1 error of the program, 2 wrong usage, 3 wrong input, 4 privacy not "
    "reached\n            (nothing published), 5 output failed (nothing published), 130 interrupted,\n"
    "            141 what was shown was not read to its end"
)


UNMAPPED = "failed to map segment"
"""Message of the system where there is no memory to load a library."""

STOPPED = "Query interrupted"
"""Message of DuckDB where it heard an interrupt in the middle of a query, and ended that instead."""


def parsers() -> dict[str, Parser]:
    """Return the parser of each command."""
    return {name: _parser(name) for name in COMMANDS}


def _parser(name: str) -> Parser:
    what, examples, add, _ = COMMANDS[name]
    description = f"{what[:1].upper()}{what[1:]}."
    parser = Parser(prog=f"microagg {name}", description=description, epilog=examples)
    add(parser)
    return parser


def _front() -> Parser:
    width = max(map(len, COMMANDS)) + 2
    listed = "\n".join(f"  {name.ljust(width)}{what}" for name, (what, *_) in COMMANDS.items())
    front = Parser(
        prog="microagg",
        description="k-anonymous tables whose numbers stay usable.\n\ncommands:\n" + listed,
        epilog=f"{example('microagg demo', 'microagg protect --help')}\n\n{CODES}",
        usage="microagg COMMAND ...",
    )
    front.add_argument("--version", action="version", version=__version__)
    front.add_argument("command", metavar=COMMAND, choices=list(COMMANDS), help="one of these")
    return front


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code.

    `arguments` are those of this process by default.

    >>> main(["methods", "mdav"])
    mdav: Group round the record farthest from the mean, then round the one farthest from it.
    After Domingo-Ferrer and Torra (2005). Group sizes k..2k-1; time grows with n like n^2/k.
    0
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        return _answer(words)
    except MicroaggError as error:
        return _failed(error.told(COMMAND_LINE), code_of(type(error)), words)
    except KeyboardInterrupt as error:
        return _failed(f"Interrupted. {_outcome(error)}", INTERRUPTED, words)
    except BrokenPipeError:  # the reader of a list, such as head, may close it early
        return UNREAD
    except Exception as error:  # the text of an error that is not ours may hold data
        if isinstance(error, RuntimeError) and str(error) == STOPPED:
            return _failed(f"Interrupted. {_outcome(error)}", INTERRUPTED, words)
        if isinstance(error, MemoryError) or UNMAPPED in str(error):
            return _failed(f"There is not enough memory. {_outcome(error)}", BUG, words)
        what = f"{type(error).__name__}{_where(error)}"
        said = f"This is a bug of polars_microagg ({what}): please report it."
        return _failed(f"{said} {_outcome(error)}", BUG, words)


def _outcome(error: BaseException) -> str:
    """Return whether a release was already in place when the error was raised."""
    notes = getattr(error, "__notes__", ())
    return next((note for note in notes if note.endswith(PUBLISHED)), "Nothing was published.")


def _where(error: Exception) -> str:
    """Name the line that raised, and nothing of what it held."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    return (
        ""
        if at is None
        else f" at line {at.tb_lineno} of {Path(at.tb_frame.f_code.co_filename).name}"
    )


def _answer(words: list[str]) -> int:
    try:
        code = _dispatch(words)
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else BUG
    sent()
    return code


def _dispatch(words: list[str]) -> int:
    if not words:
        _front().print_help(sys.stderr)
        return 2
    if words[0] not in COMMANDS:
        _front().parse_args(words[:1])
    parser = _parser(words[0])
    known, left = parser.parse_known_args(words[1:])
    if left:
        parser.unknown(left)
    return COMMANDS[words[0]][3](known)


def _failed(said: str, code: int, words: Sequence[str]) -> int:
    tell(said)
    if "--json" in words and "-" not in words:
        with suppress(OSError, OutputError):
            show_json({"error": said, "exit_code": code})
    return code


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def _again(ignored: sys.UnraisableHookArgs) -> None:
    """Interrupt once more where an interrupt is ignored: in a destructor, or a callback of an import."""
    if isinstance(ignored.exc_value, KeyboardInterrupt):
        # What is raised in here would be ignored, too.
        later = Timer(0.01, interrupt_main, [signal.SIGTERM])
        later.daemon = True
        later.start()
    else:
        sys.__unraisablehook__(ignored)


def run() -> NoReturn:
    """Run the command of this process, and leave with its code."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows has no SIGHUP, and nohup has it ignored
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)
    sys.unraisablehook = _again
    prepare()
    code = main()
    unheard()
    # Native libraries may abort when their threads are taken down, and that would be the exit code.
    os._exit(code)


if __name__ == "__main__":
    run()
