"""The page of the command line: its commands run, and print what it says."""

import re
import shlex
from pathlib import Path

import pytest

from polars_microagg.cli.exit_codes import CODES
from polars_microagg.cli.main import COMMANDS
from polars_microagg.publishing.formats.register import formats
from polars_microagg.publishing.manifest.model import Manifest

PAGE = (Path(__file__).parents[2] / "docs" / "command_line.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```sh\n(.*?)^```\n(?:```text\n(.*?)^```\n)?", PAGE, re.M | re.S)


def test_the_commands_print_what_the_page_shows(tmp_path, monkeypatch, microagg):
    monkeypatch.chdir(tmp_path)
    assert len(BLOCKS) >= 4
    for code, shown in BLOCKS:
        for line in code.splitlines():
            program, *arguments = shlex.split(line)
            assert program == "microagg"
            done = microagg(*arguments)
            assert done.code == (4 if "loss<=1'" in line else 0), done.err
        if shown:
            assert (done.out or done.err) == shown


@pytest.mark.parametrize(
    "words",
    [
        COMMANDS,
        [f"`{key}`" for key in Manifest.__annotations__ if "schema" not in key],
        [ending for entry in formats().values() for ending in entry.endings],
    ],
)
def test_the_page_names_all_there_is(words):
    missing = [word for word in words if word not in PAGE]
    assert missing == [] or missing == [".ddb", ".db", ".pq"]


def test_the_page_has_every_exit_code():
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", PAGE, re.M)} == {
        0,
        1,
        130,
        141,
        *CODES.values(),
    }
