"""`microagg completion`: a script that completes commands with the tab key."""

from __future__ import annotations

import argparse
import textwrap
from argparse import Namespace
from collections.abc import Iterable

from polars_microagg.cli.options import own_options
from polars_microagg.cli.output import show
from polars_microagg.cli.parser import Parser, example, options_of
from polars_microagg.core.options import CHOICES, ENTITY_MODES, MODEL_OPTIONS
from polars_microagg.core.registry import methods, metrics

__all__ = ["EXAMPLES", "SHELLS", "add", "run", "script"]

SHELLS = ("bash", "zsh", "fish")
EXAMPLES = example(
    'eval "$(microagg completion bash)"',
    "microagg completion zsh >> ~/.zshrc",
    "microagg completion fish > ~/.config/fish/completions/microagg.fish",
)

FILES = ("output", "config", "manifest", "report", "hash_key_file", "original")
"""Options whose value is a file; that of any other is offered only if its words are known."""

SEVERAL = ("methods", "metrics")
"""Options whose words go with commas between them."""

CASES = """\
    case "$before" in
{values}
        {files}) kind=files ;;
        {others}) kind=none ;;
    esac
    if [ -z "$kind$offered" ]; then
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
    local command=${{COMP_WORDS[1]}} offered= kind= several= word
    COMPREPLY=()
    if [ "$current" = "=" ]; then current=; fi
    if [ "$before" = "=" ]; then before=${{COMP_WORDS[COMP_CWORD-2]}}; fi
    if [ "$COMP_CWORD" -eq 1 ]; then
        offered="{commands}"
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
        compgen -P "$several" -W "$offered" -- "${{current#"$several"}}"
    )
}}
complete -F _microagg microagg
"""

ZSH = """\
#compdef microagg
_microagg() {{
    local current=$words[CURRENT] before=$words[CURRENT-1] command=$words[2] offered= kind= several=
    if [[ $current == --*=* ]]; then
        before=${{current%%=*}} current=${{current#*=}}
        compset -P '*='
    fi
    if (( CURRENT == 2 )); then
        offered="{commands}"
    else
{cases}
    fi
    if [ "$kind" = files ]; then
        _files
        return
    fi
    if [ -n "$several" ]; then compset -P '*,'; fi
    compadd -- ${{=offered}}
}}
(( $+functions[compdef] )) || {{ autoload -U compinit && compinit }}
compdef _microagg microagg
"""


def add(parser: Parser) -> None:
    """Describe the options."""
    parser.add_argument("shell", choices=SHELLS, help="write the script of this shell")


def _words() -> dict[str, list[str]]:
    """Return the words that can follow an option, by its name in Python."""
    words = {name: list(choices) for name, choices in CHOICES.items()}
    words["entity_mode"] = list(ENTITY_MODES)
    words |= {n: [str(c) for c in option.choices] for n, option in MODEL_OPTIONS.items()}
    for name, flag in own_options().items():
        choices = [str(c) for option in flag.by_method.values() for c in option.choices]
        words[name] = list(dict.fromkeys(choices))
    by_name = {"method": methods(), "methods": methods(), "metrics": metrics()}
    return words | {name: list(entries) for name, entries in by_name.items()}


def _valued(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Return the options that take a value."""
    return [a for a in parser._actions if a.option_strings and a.nargs != 0]


def _positional(command: str) -> list[str]:
    """Return the words that a command takes without an option."""
    return {"methods": list(methods()), "completion": list(SHELLS)}.get(command, [])


def script(shell: str, commands: dict[str, argparse.ArgumentParser]) -> str:
    """Write the script that a shell reads, from the parser of each command."""
    if shell == "fish":
        return _fish(commands)
    cases = textwrap.indent(_cases(commands), "    ").rstrip("\n")
    return {"bash": BASH, "zsh": ZSH}[shell].format(commands=" ".join(commands), cases=cases)


def _cases(commands: dict[str, argparse.ArgumentParser]) -> str:
    """Write what is offered, in words that bash and zsh both understand."""
    spellings: dict[str, set[str]] = {}
    for parser in commands.values():
        for action in _valued(parser):
            spellings.setdefault(action.dest, set()).update(action.option_strings)
    words = _words()
    known = {name: words[name] for name in spellings if words.get(name)}
    others = [name for name in spellings if name not in known and name not in FILES]

    def typed(names: Iterable[str]) -> str:
        return "|".join(sorted(option for name in names for option in spellings[name]))

    return CASES.format(
        values="\n".join(
            f'        {typed([name])}) offered="{" ".join(offered)}"'
            + (" several=1 ;;" if name in SEVERAL else " ;;")
            for name, offered in known.items()
        ),
        files=typed(name for name in FILES if name in spellings),
        others=typed(others),
        options="\n".join(
            f'            "{name} -"*) offered="{" ".join(sorted(options_of(parser)))}" ;;'
            for name, parser in commands.items()
        ),
        positionals="\n".join(
            f'            "{name} "*) offered="{" ".join(_positional(name))}" ;;'
            for name in commands
            if _positional(name)
        ),
    )


def _fish(commands: dict[str, argparse.ArgumentParser]) -> str:
    """Write a line of fish for each option of a command."""
    lines = [f'complete -c microagg -n __fish_use_subcommand -f -a "{" ".join(commands)}"']
    words = _words()
    for command, parser in commands.items():
        after = f'complete -c microagg -n "__fish_seen_subcommand_from {command}"'
        if offered := _positional(command):
            lines.append(f'{after} -f -a "{" ".join(offered)}"')
        valued = _valued(parser)
        for action in parser._actions:
            kinds = [
                f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
                for name in action.option_strings
            ]
            value = ""
            if action in valued:
                joined = " ".join(words.get(action.dest, []))
                joined = f"(__fish_append , {joined})" if action.dest in SEVERAL else joined
                value = " -r -F" if action.dest in FILES else f' -x -a "{joined}"'
            if kinds:
                lines.append(f"{after} {' '.join(kinds)}{value}")
    return "\n".join(lines) + "\n"


def run(arguments: Namespace, commands: dict[str, argparse.ArgumentParser]) -> int:
    """Show the script."""
    show(script(arguments.shell, commands).rstrip("\n"))
    return 0
