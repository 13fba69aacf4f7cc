"""`microagg completion`: what the shell asks when the tab key is pressed."""

from __future__ import annotations

import argparse
import textwrap
from argparse import Namespace
from collections.abc import Iterable

from polars_microagg.cli.options import own_options
from polars_microagg.cli.output import show
from polars_microagg.cli.parser import Parser, example, options_of
from polars_microagg.core.options import CHOICES
from polars_microagg.core.registry import methods

__all__ = ["EXAMPLES", "SHELLS", "add", "run", "script"]

SHELLS = ("bash", "zsh", "fish")
EXAMPLES = example(
    'eval "$(microagg completion bash)"',
    "microagg completion zsh >> ~/.zshrc",
    "microagg completion fish > ~/.config/fish/completions/microagg.fish",
)

FILES = ("output", "config", "manifest", "report", "hash_key_file", "original")
"""Options whose value is a file; that of any other is offered only if its words are known."""

SEVERAL = ("methods",)
"""Options whose words go with commas between them."""

CASES = """\
    case "$before" in
{values}
        {files}) kind=files ;;
        {others}) kind=none ;;
    esac
    if [ -z "$kind$given" ]; then
        case "$command $current" in
{options}
{positionals}
            *) kind=files ;;
        esac
    fi
"""

BASH = """\
_microagg() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}
    local command=${{COMP_WORDS[1]}} given= kind= several= word
    COMPREPLY=()
    if [ "$current" = "=" ]; then current=; fi
    if [ "$before" = "=" ]; then before=${{COMP_WORDS[COMP_CWORD-2]}}; fi
    if [ "$COMP_CWORD" -eq 1 ]; then
        given="{commands}"
    else
{cases}
    fi
    if [ "$kind" = files ]; then
        compopt -o filenames 2>/dev/null
        while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "$current")
        return
    fi
    case "$several$current" in 1*,*) several="${{current%,*}}," ;; *) several= ;; esac
    while IFS= read -r word; do COMPREPLY+=("$word"); done < <(
        compgen -P "$several" -W "$given" -- "${{current#"$several"}}"
    )
}}
complete -F _microagg microagg
"""

ZSH = """\
#compdef microagg
_microagg() {{
    local current=$words[CURRENT] before=$words[CURRENT-1] command=$words[2] given= kind= several=
    if [[ $current == --*=* ]]; then
        before=${{current%%=*}} current=${{current#*=}}
        compset -P '*='
    fi
    if (( CURRENT == 2 )); then
        given="{commands}"
    else
{cases}
    fi
    if [ "$kind" = files ]; then
        _files
        return
    fi
    if [ -n "$several" ]; then compset -P '*,'; fi
    compadd -- ${{=given}}
}}
(( $+functions[compdef] )) || {{ autoload -U compinit && compinit }}
compdef _microagg microagg
"""


def add(parser: Parser) -> None:
    """Describe the options."""
    parser.add_argument("shell", choices=SHELLS, help="write the script of this shell")


def _words() -> dict[str, list[str]]:
    """Words that can follow an option, by its name in Python."""
    found = {name: list(words) for name, words in CHOICES.items()}
    for name, flag in own_options().items():
        choices = [str(c) for option in flag.found.values() for c in option.choices]
        found[name] = list(dict.fromkeys(choices))
    return found | {"method": list(methods()), "methods": list(methods())}


def _valued(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Options that take a value."""
    return [a for a in parser._actions if a.option_strings and a.nargs != 0]


def _positional(command: str) -> list[str]:
    return {"methods": list(methods()), "completion": list(SHELLS)}.get(command, [])


def script(shell: str, commands: dict[str, argparse.ArgumentParser]) -> str:
    """Write the script of a shell.

    Parameters
    ----------
    shell : {"bash", "zsh", "fish"}
        Which.
    commands : dict
        The parser of each command.

    Returns
    -------
    str
        To be read by the shell.
    """
    if shell == "fish":
        return _fish(commands)
    cases = textwrap.indent(_cases(commands), "    ").rstrip("\n")
    return {"bash": BASH, "zsh": ZSH}[shell].format(commands=" ".join(commands), cases=cases)


def _cases(commands: dict[str, argparse.ArgumentParser]) -> str:
    """What is offered, in words that bash and zsh both understand."""
    spelt: dict[str, set[str]] = {}
    for parser in commands.values():
        for action in _valued(parser):
            spelt.setdefault(action.dest, set()).update(action.option_strings)
    words = _words()
    known = {name: words[name] for name in spelt if words.get(name)}
    others = [name for name in spelt if name not in known and name not in FILES]

    def typed(names: Iterable[str]) -> str:
        return "|".join(sorted(option for name in names for option in spelt[name]))

    return CASES.format(
        values="\n".join(
            f'        {typed([name])}) given="{" ".join(offered)}"'
            + (" several=1 ;;" if name in SEVERAL else " ;;")
            for name, offered in known.items()
        ),
        files=typed(name for name in FILES if name in spelt),
        others=typed(others),
        options="\n".join(
            f'            "{name} -"*) given="{" ".join(sorted(options_of(parser)))}" ;;'
            for name, parser in commands.items()
        ),
        positionals="\n".join(
            f'            "{name} "*) given="{" ".join(_positional(name))}" ;;'
            for name in commands
            if _positional(name)
        ),
    )


def _fish(commands: dict[str, argparse.ArgumentParser]) -> str:
    lines = [f'complete -c microagg -n __fish_use_subcommand -f -a "{" ".join(commands)}"']
    words = _words()
    for command, parser in commands.items():
        seen = f'complete -c microagg -n "__fish_seen_subcommand_from {command}"'
        if offered := _positional(command):
            lines.append(f'{seen} -f -a "{" ".join(offered)}"')
        valued = _valued(parser)
        for action in parser._actions:
            kinds = [
                f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
                for name in action.option_strings
            ]
            given = ""
            if action in valued:
                listed = " ".join(words.get(action.dest, []))
                listed = f"(__fish_append , {listed})" if action.dest in SEVERAL else listed
                given = " -r -F" if action.dest in FILES else f' -x -a "{listed}"'
            if kinds:
                lines.append(f"{seen} {' '.join(kinds)}{given}")
    return "\n".join(lines) + "\n"


def run(given: Namespace, commands: dict[str, argparse.ArgumentParser]) -> int:
    """Write it."""
    show(script(given.shell, commands).rstrip("\n"))
    return 0
