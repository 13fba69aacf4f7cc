"""A small register, and the command line called in this process."""

import contextlib
import io
import re
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import polars as pl
import pytest

from polars_microagg.cli.main import main

SECRET = "Zelda-Secret"


@dataclass
class Done:
    code: int
    out: str
    err: str


PROGRAM = [sys.executable, "-m", "polars_microagg.cli.main"]
"""The command line, as the first words of a process of its own."""


def process(folder, *arguments):
    """Run the program in a process and a folder of its own: its code, and what it said on standard error."""
    done = subprocess.run(
        [*PROGRAM, *map(str, arguments)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return sane(done.returncode, done.stderr)


def called(folder, *arguments):
    """The same without a process, whose imports take longer than what most commands do."""
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()) as said,
    ):
        code = main([str(argument) for argument in arguments])
    return sane(code, said.getvalue())


def sane(code, said):
    assert "Traceback" not in said
    assert "bug" not in said
    return code, said


@pytest.fixture(scope="session")
def people():
    rng = np.random.default_rng(5)
    n = 60
    return pl.DataFrame(
        {
            "name": [f"{SECRET}-{i}" for i in range(n)],
            "region": ["N", "S"] * (n // 2),
            "age": rng.integers(18, 90, n),
            "income": rng.lognormal(10, 0.5, n).round(2) + 987000,
        }
    )


@pytest.fixture
def source(people, tmp_path):
    people.write_parquet(tmp_path / "in.parquet")
    return tmp_path / "in.parquet"


@pytest.fixture
def microagg(capsys):
    def call(*arguments):
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        found = capsys.readouterr()
        return Done(code, found.out, found.err)

    return call


ROLES = ["--columns", "age,income", "--strata", "region", "--drop", "name", "--k", "5"]


def sound(done, code, text, folder, before):
    """One sentence, no value, no trace, and the folder as it was."""
    assert done.code == code, done.err
    assert re.search(text, done.err), done.err
    assert done.err.count("\n") == 1
    assert "Traceback" not in done.err
    assert SECRET not in done.err
    assert "987" not in done.err
    assert not done.out
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


def state(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
