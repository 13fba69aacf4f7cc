"""A parser of arguments that answers with sentences."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, NoReturn

from polars_microagg.cli.output import show
from polars_microagg.errors import InvalidParameterError

__all__ = ["Parser", "example", "options_of"]


class Parser(argparse.ArgumentParser):
    """Arguments of one command; what is wrong raises a sentence."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(allow_abbrev=False, **options)
        self._words: list[str] = []

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Keep the words for a sentence about them."""
        self._words = list(sys.argv[1:] if args is None else args)
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and the way out."""
        raise InvalidParameterError(f"{self._sentence(message)} See {self.prog} --help.")

    def _print_message(self, message: str, file: Any = None) -> None:
        # argparse itself takes no notice of an output that fails.
        show(message.removesuffix("\n"), None if file is sys.stdout else file)

    def _sentence(self, message: str) -> str:
        if found := re.fullmatch(
            r"argument (?P<name>.*?): expected (one|at least one) argument", message
        ):
            return self._no_value(found["name"].split("/"))
        if found := re.fullmatch(r"argument (?P<name>.*?): ignored explicit argument .*", message):
            return f"{found['name'].rpartition('/')[2]} takes no value, and one was given."
        if found := re.search(
            r"invalid choice: (?P<got>.*) \(choose from (?P<known>.*)\)", message
        ):
            known = re.findall(r"[\w-]+", found["known"])
            got = found["got"].strip("'\"")
            what = "command" if message.startswith("argument COMMAND") else "choice"
            return f"{self.prog} has no {what} {got!r}. {_hint(got, known)}"
        if found := re.fullmatch(r"the following arguments are required: (?P<names>.*)", message):
            if found["names"] == "COMMAND":
                return (
                    f"{self.prog} needs a command first. There are {', '.join(self._commands())}."
                )
            return f"{self.prog} needs {found['names']}, and none was given."
        return message[:1].upper() + message[1:] + "."

    def _no_value(self, names: list[str]) -> str:
        """Say that a value is missing, or that what was given for one begins with a dash."""
        pairs = zip(self._words, self._words[1:], strict=False)
        behind = next((word for name, word in pairs if name in names and word[1:]), "")
        if not behind.startswith("-") or behind in options_of(self):
            return f"{names[-1]} needs a value, and none was given."
        return (
            f"{names[-1]} was given {behind!r}, which looks like an option. If it is a file, write "
            f"./{behind}; any other value goes behind =, as in {names[-1]}={behind}."
        )

    def _commands(self) -> list[str]:
        return [str(name) for action in self._actions for name in action.choices or ()]

    def unknown(self, left: Sequence[str]) -> NoReturn:
        """Say which argument is not known, and which it may have been meant for."""
        name = left[0].partition("=")[0]
        if name.startswith("-"):
            known = [o for o in options_of(self) if o.startswith("--")]
            hint = _hint(name.replace("_", "-"), known, few=True)
            said = f"{self.prog} has no option {name!r}. {hint}".rstrip()
            if not hint and "." in name:
                said += f" If it is a file, write ./{name}."
        elif "--columns" not in options_of(self):
            said = f"{self.prog} does not take {name!r} as well."
        else:
            said = (
                f"{self.prog} was given {name!r} without an option before it. Names of columns go "
                "with commas between them into --columns, --strata, --keep or --drop."
            )
        raise InvalidParameterError(f"{said} See {self.prog} --help.")


def _hint(name: str, known: Sequence[str], *, few: bool = False) -> str:
    """Suggest the closest; dashes, which all options begin with, do not make them alike."""
    words = {word.lstrip("-"): word for word in known}
    if close := get_close_matches(name.lstrip("-"), words, n=1):
        return f"Did you mean {words[close[0]]!r}?"
    return "" if few else f"There are {', '.join(known)}."


def options_of(parser: argparse.ArgumentParser) -> list[str]:
    """All options of a parser as they are typed."""
    return [text for action in parser._actions for text in action.option_strings]


def example(*lines: str) -> str:
    """The end of a help text: commands that can be typed as they are."""
    return "examples:\n" + "\n".join(f"  {line}" for line in lines)
