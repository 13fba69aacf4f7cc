"""Every message of a wrong call speaks as the command line does: no Python, and nothing twice."""

import re
import shlex

import pytest

from polars_microagg.cli.options import own_options
from polars_microagg.core.options import CHOICES
from polars_microagg.core.registry import methods

from .conftest import ROLES

PROTECT = f"protect in.parquet -o o.parquet {shlex.join(ROLES)}"
FOREIGN = [
    f"{PROTECT} --method {next(m for m in methods() if m not in flag.by_method)} --{name.replace('_', '-')}"
    + ("" if flag.switch else " 1")
    for name, flag in own_options().items()
]
WRONG = [
    *(f"{PROTECT} --{name.replace('_', '-')} zzz" for name in CHOICES),
    *(f"{PROTECT} --{name.replace('_', '-')} {CHOICES[name][0]}x" for name in CHOICES),
    *FOREIGN,
    *(f"{PROTECT} --seed {seed}" for seed in ("-1", "x", "0.5")),
    *(f"{PROTECT} --method vmdav --gamma {gamma}" for gamma in ("x", "-1", "nan")),
    f"{PROTECT} --method fixed_size --sort zzz",
    f"{PROTECT} --method lowloss --effort 2000",
    f"{PROTECT} --method mic1d --center median",
    f"{PROTECT} --method individual_ranking --refine",
    f"{PROTECT} --method zzz",
    f"{PROTECT} --order-by zzz",
    f"{PROTECT} --hash-key-file short.txt",
    f"{PROTECT} --separator ';'",
    f"{PROTECT} --axis x",
    f"{PROTECT} --json=3",
    f"{PROTECT} --k",
    f"{PROTECT} --k 1",
    f"{PROTECT} --k five",
    "protect in.parquet -o o.parquet --columns age",
    "protect in.parquet -o o.zzz --columns age --k 5",
    "protect in.duckdb -o o.parquet --columns age --k 5",
    "risk in.parquet --columns age --original in.parquet --key region",
    "compare in.parquet --columns age --ks 1,x",
    "compare in.parquet --columns age --seconds 0",
    "compare in.parquet --columns age --seed x",
    "compare in.parquet --columns age --require zzz",
    "compare in.parquet --columns age --require 'zzz<=3'",
    "compare in.parquet --columns age --methods zzz",
    "init in.parquet -k 1",
    "methods zzz",
    "methods mdav vmdav",
    "verify in.parquet --columns age --k 1",
    "zzz",
    "--zzz",
]


@pytest.mark.parametrize("line", WRONG)
def test_a_wrong_call_is_answered_in_words_of_the_command_line(
    line, source, tmp_path, microagg, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "short.txt").write_text("short")
    done = microagg(*shlex.split(line))
    said = done.err
    assert done.code in (2, 3), said
    assert said.count("\n") == 1
    assert said.endswith((".\n", "?\n")), said
    # A measure of a requirement is written with its sign here, too.
    python = re.search(r"\b(?!k=5\"|dld<|k=\d+ needs)[a-z_]+=['\"\w\[]", said.replace('"k=5"', ""))
    assert not python, said
    lists = re.findall(r"'\w+', '\w+'", said)
    assert len(lists) == len(set(lists)), said
    assert not list(tmp_path.glob("o.*"))


@pytest.mark.parametrize("line", FOREIGN)
def test_an_option_of_other_methods_names_them(line, source, tmp_path, microagg, monkeypatch):
    monkeypatch.chdir(tmp_path)
    option = next(word for word in shlex.split(line)[::-1] if word.startswith("--"))
    having = own_options()[option[2:].replace("-", "_")].by_method
    said = microagg(*shlex.split(line)).err
    assert f"has no option {option}; {', '.join(having)} ha" in said
