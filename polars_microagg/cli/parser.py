"""A parser of arguments whose errors are sentences."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from polars_microagg.cli.output import show
from polars_microagg.errors import InvalidParameterError, usage
from polars_microagg.publishing.formats.register import ending_of, format_of

__all__ = ["COMMAND", "Parser", "example", "options_of"]


COMMAND = "COMMAND"
"""The argument that names a command."""


class Parser(argparse.ArgumentParser):
    """Arguments of one command; what is wrong raises an error with a sentence."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(allow_abbrev=False, exit_on_error=False, **options)
        self._words: list[str] = []
        self._needed: list[argparse.Action] = []

    def add_argument(self, *names: Any, **options: Any) -> argparse.Action:
        """Add an argument; whether it is there is checked by this class, not by argparse."""
        action = super().add_argument(*names, **options)
        if action.required:
            action.required = False
            self._needed.append(action)
        return action

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse, and raise which argument is wrong or missing."""
        self._words = list(sys.argv[1:] if args is None else args)
        try:
            parsed, left = super().parse_known_args(args, namespace)
        except argparse.ArgumentError as error:
            # Every other fault of an option is refused before argparse sees it.
            named = {"/".join(action.option_strings): action for action in self._actions}
            if error.argument_name not in named:
                self.error(str(error))
            option = named[error.argument_name].option_strings[-1]
            raise usage.takes_no_value(self.prog, option) from None
        if missing := [action for action in self._needed if getattr(parsed, action.dest) is None]:
            if missing[0].metavar == COMMAND:
                raise usage.needs_a_command(self.prog, map(str, missing[0].choices or ()))
            names = ", ".join(str(action.metavar or action.dest) for action in missing)
            raise usage.needed(self.prog, names, help_too=True)
        return parsed, left

    def error(self, message: str) -> NoReturn:
        """Raise what only argparse finds wrong."""
        said = f"{message[:1].upper()}{message[1:]}."
        raise usage.wrong_arguments(self.prog, said)

    def _print_message(self, message: str, file: Any = None) -> None:
        # argparse itself takes no notice of an output that fails.
        show(message.removesuffix("\n"), None if file is sys.stdout else file)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            what = "command" if action.metavar == COMMAND else "choice"
            known = [str(choice) for choice in action.choices]
            raise usage.unknown_choice(self.prog, what, value, known)

    def _match_argument(self, action: argparse.Action, arg_strings_pattern: str) -> int:
        try:
            return super()._match_argument(action, arg_strings_pattern)
        except argparse.ArgumentError:
            failed = self._no_value(action.option_strings)
        raise failed

    def _no_value(self, names: Sequence[str]) -> InvalidParameterError:
        """Return an error: a value is missing, or begins with a dash."""
        pairs = zip(self._words, self._words[1:], strict=False)
        next_word = next((word for name, word in pairs if name in names and word[1:]), "")
        if not next_word.startswith("-") or next_word in options_of(self):
            return usage.needs_a_value(self.prog, names[-1])
        return usage.looks_like_an_option(self.prog, names[-1], next_word)

    def unknown(self, left: Sequence[str]) -> NoReturn:
        """Refuse an unknown argument, and suggest the one that was meant."""
        name, known = left[0].partition("=")[0], options_of(self)
        if name.startswith("-"):
            raise usage.option_unknown(self.prog, name, [o for o in known if o.startswith("--")])
        if "--original" in known and ("::" in name or format_of(ending_of(Path(name)))):
            raise usage.one_table(self.prog, name)
        if "--columns" not in known:
            raise usage.one_too_many(self.prog, name)
        raise usage.without_an_option(self.prog, name)


def options_of(parser: argparse.ArgumentParser) -> list[str]:
    """Return all options of a parser as they are typed."""
    return [text for action in parser._actions for text in action.option_strings]


def example(*lines: str) -> str:
    """Write the end of a help text: commands that can be typed as they are."""
    return "examples:\n" + "\n".join(f"  {line}" for line in lines)
