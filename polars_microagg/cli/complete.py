"""`microagg completion`: what the shell asks when the tab key is pressed."""

from __future__ import annotations

import argparse
from argparse import Namespace

from polars_microagg.cli.parser import Parser, example, options_of
from polars_microagg.cli.say import show
from polars_microagg.parameters import CHOICES
from polars_microagg.registry import methods

__all__ = ["EXAMPLES", "SHELLS", "add", "run", "script"]

SHELLS = ("bash", "zsh", "fish")
EXAMPLES = example(
    'eval "$(microagg completion bash)"',
    "microagg completion zsh >> ~/.zshrc",
    "microagg completion fish > ~/.config/fish/completions/microagg.fish",
)

BASH = """\
_microagg() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} words=
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "{commands}" -- "$current"))
        return
    fi
    case "$before" in
{values}
    esac
    if [ -z "$words" ] && [ "${{current#-}}" != "$current" ]; then
        case "${{COMP_WORDS[1]}}" in
{options}
        esac
    fi
    if [ -n "$words" ]; then
        COMPREPLY=($(compgen -W "$words" -- "$current"))
    else
        COMPREPLY=($(compgen -f -- "$current"))
    fi
}}
complete -o filenames -F _microagg microagg
"""
ZSH = "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n"


def add(parser: Parser) -> None:
    """Describe the options."""
    parser.add_argument("shell", choices=SHELLS, help="write the script of this shell")


def _words() -> dict[str, list[str]]:
    """Words that can follow an option."""
    values = {f"--{name.replace('_', '-')}": list(words) for name, words in CHOICES.items()}
    return values | {"--method": list(methods()), "--methods": list(methods())}


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
    options = {name: sorted(options_of(parser)) for name, parser in commands.items()}
    if shell == "fish":
        return _fish(options)
    text = BASH.format(
        commands=" ".join(commands),
        values="\n".join(f'        {o}) words="{" ".join(w)}" ;;' for o, w in _words().items()),
        options="\n".join(
            f'            {name}) words="{" ".join(o)}" ;;' for name, o in options.items()
        ),
    )
    return text if shell == "bash" else ZSH + text


def _fish(options: dict[str, list[str]]) -> str:
    lines = [f'complete -c microagg -n __fish_use_subcommand -f -a "{" ".join(options)}"']
    for command, names in options.items():
        for name in names:
            kind = f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
            words = _words().get(name)
            given = f' -x -a "{" ".join(words)}"' if words else ""
            lines.append(
                f'complete -c microagg -n "__fish_seen_subcommand_from {command}" {kind}{given}'
            )
    return "\n".join(lines) + "\n"


def run(given: Namespace, commands: dict[str, argparse.ArgumentParser]) -> int:
    """Write it."""
    show(script(given.shell, commands).rstrip("\n"))
    return 0
