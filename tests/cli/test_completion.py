"""The tab key, pressed in the shells themselves."""

import os
import re
import select
import shutil
import subprocess
import time

import pytest

from polars_microagg.cli.completion import SHELLS, script
from polars_microagg.cli.main import COMMANDS, parsers
from polars_microagg.core.registry import methods, metrics

CASES = [
    ("microagg pro", "protect"),
    ("microagg verify --orig", "--original"),
    ("microagg protect --meth", "--method"),
    ("microagg protect in.csv --hash", "--hash-key-file"),
    ("microagg protect in.csv --method vmd", "vmdav"),
    ("microagg protect in.csv --method=vmd", "--method=vmdav"),
    ("microagg protect in.csv --nulls im", "impute"),
    ("microagg protect in.csv --cost maxd", "maxdist"),
    ("microagg protect in.csv --seed pat", "pat"),
    ("microagg protect in.csv --columns pat", "pat"),
    ("microagg compare in.csv --methods mdav,zsc", "mdav,zscores"),
    ("microagg risk out.csv --metrics drisk,interv", "drisk,interval_disclosure"),
    ("microagg risk out.csv --metrics il1_z", "il1_zero_cells"),
    ("microagg compare in.csv --small-strata nu", "null"),
    ("microagg methods vmd", "vmdav"),
    ("microagg completion fi", "fish"),
    ("microagg protect pat", "patients.csv"),
    ("microagg protect in.csv -o pat", "patients.csv"),
    ("microagg protect in.csv --config jo", "job.toml"),
    ("microagg init with", "with space.csv"),
    ("microagg risk o.csv --original sub", "sub/"),
]
"""What is typed, and what its last word becomes."""

BASH = """\
PS1=
bind 'set bell-style none'
source ./microagg.bash
told() { printf '<<%s>>\\n' "$READLINE_LINE"; READLINE_LINE=; READLINE_POINT=0; }
bind -x '"\\C-t": told'
"""
ZSH = """\
PROMPT=
setopt no_beep
source ./microagg.zsh
told() { print -r -- "<<$BUFFER>>"; BUFFER= }
zle -N told
bindkey '^T' told
"""
START = {
    "bash": ["bash", "--noprofile", "--rcfile", "rc.bash", "-i"],
    "zsh": ["zsh", "-d", "-i"],
}


def needs(shell):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name in ("patients.csv", "job.toml", "with space.csv"):
        (tmp_path / name).touch()
    (tmp_path / "sub").mkdir()
    for shell in SHELLS:
        text = script(shell, dict(parsers()))
        (tmp_path / f"microagg.{shell}").write_text(text)
    (tmp_path / "rc.bash").write_text(BASH)
    (tmp_path / ".zshrc").write_text(ZSH)
    for name in ("HOME", "ZDOTDIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("ZSH_DISABLE_COMPFIX", "true")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def until(master, mark, seconds=20):
    """Read what a terminal shows up to a mark."""
    shown, end = b"", time.monotonic() + seconds
    while mark not in shown:
        ready, _, _ = select.select([master], [], [], max(0, end - time.monotonic()))
        assert ready, f"nothing came after {shown!r}"
        shown += os.read(master, 65536)
    return shown.decode()


def pressed(shell, lines):
    """Type lines into an interactive shell, each with the tab key at its end, and see what it has."""
    import pty

    master, slave = pty.openpty()
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), slave)
    with subprocess.Popen(START[shell], **streams, start_new_session=True) as running:
        os.close(slave)
        try:
            os.write(master, b"printf '%s' rea; echo dy\n")
            until(master, b"ready\r\n")
            found = []
            for line in lines:
                os.write(master, f"{line}\t\x14".encode())
                found.append(re.search(r"<<(.*?)>>", until(master, b">>"), re.DOTALL)[1])
            return found
        finally:
            running.kill()
            os.close(master)


@pytest.mark.deep
@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_the_tab_key_completes(shell, folder):
    needs(shell)
    found = pressed(shell, [line for line, _ in CASES])
    expected = [
        f"{line.rpartition(' ')[0]} {word}".replace("th sp", "th\\ sp") for line, word in CASES
    ]
    assert [line.rstrip() for line in found] == expected


def fish(line):
    done = subprocess.run(
        ["fish", "--no-config", "-c", f"source microagg.fish; complete -C '{line}'"],
        capture_output=True,
        text=True,
        check=True,
        timeout=20,
    )
    assert not done.stderr
    return [word.partition("\t")[0] for word in done.stdout.splitlines()]


@pytest.mark.deep
@pytest.mark.parametrize(("line", "word"), CASES)
def test_fish_completes(line, word, folder):
    needs("fish")
    offered = fish(line)
    last = line.rpartition(" ")[2]
    assert offered == ([] if word == last else [word])


BASH_ALL = """\
source ./microagg.bash
COMP_WORDS=({words}); COMP_CWORD={at}; _microagg; printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def offered(*words):
    """All that bash offers for the last word."""
    text = BASH_ALL.format(
        words=" ".join(f"'{word}'" for word in ("microagg", *words)), at=len(words)
    )
    done = subprocess.run(["bash", "-c", text], capture_output=True, text=True, check=True)
    assert not done.stderr
    return done.stdout.splitlines()


@pytest.mark.deep
@pytest.mark.parametrize("shell", ["bash", "fish"])
def test_all_there_is_is_offered(shell, folder):
    needs(shell)

    def listed(*words):
        return offered(*words) if shell == "bash" else fish(" ".join(("microagg", *words)))

    assert sorted(listed("")) == sorted(COMMANDS)
    assert sorted(listed("protect", "in", "--method", "")) == sorted(methods())
    assert sorted(listed("risk", "out", "--metrics", "")) == sorted(metrics())
    assert sorted(listed("protect", "in", "--nulls", "")) == ["impute", "pattern", "raise"]
    assert {"patients.csv", "with space.csv"} <= set(listed("protect", ""))
    for name, parser in parsers().items():
        options = {o for a in parser._actions for o in a.option_strings if o.startswith("--")}
        assert {word for word in listed(name, "--") if word.startswith("--")} == options


@pytest.mark.deep
def test_zsh_loads_it_by_itself(folder):
    """As a file of the functions of zsh, and with no completion system before."""
    needs("zsh")
    asked = "source microagg.zsh; print -r -- $_comps[microagg]"
    done = subprocess.run(
        ["zsh", "-f", "-c", asked], capture_output=True, text=True, check=True, timeout=20
    )
    assert done.stdout == "_microagg\n"
    assert (folder / "microagg.zsh").read_text().startswith("#compdef microagg\n")


@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_has_a_script(shell, microagg):
    done = microagg("completion", shell)
    assert done.code == 0
    assert done.out.strip() == script(shell, dict(parsers())).strip()
