"""A model in one file is at every door that masks; nothing else is touched."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import polars_microagg as mg

ROOT = Path(__file__).resolve().parents[2]

MODEL = '''
"""Span: confidential values of a class are not all near each other."""

from typing import Literal

import numpy as np

from polars_microagg.core.attributes import Attribute
from polars_microagg.core.model import model
from polars_microagg.core.partition import Members, Vector
from polars_microagg.core.registry import Option, Range


@model(
    bound=Option("span", None, kind=float, range=Range(0)),
    at_least=True,
    of="confidential",
    what="the span of the values",
)
def span(
    confidential: Attribute, groups: Members, /, *, span_of: Literal["share", "steps"] = "share"
) -> Vector:
    """Distance of the least and the greatest confidential value of each group.

    Parameters
    ----------
    span_of : {"share", "steps"}, default "share"
        Whether it is a share of the distance in the table, or counts values.
    """
    owner, code, _ = confidential.runs(groups)
    ends = np.cumsum(np.bincount(owner))
    steps = code[ends - 1] - code[np.append(0, ends[:-1])]
    return steps / (1 if span_of == "steps" else max(1, len(confidential.counts) - 1))
'''

APART = [3.0, 3.0, 3.0, 3.0, 3.0, 7.0, 7.0, 7.0]
"""Of 1 to 8 the first five are paid from 10 to 30, and the others 30, 50 and 10: two steps and three."""


@pytest.fixture(scope="module")
def doors(tmp_path_factory):
    """What is found by a process that imports a copy of the package with one more file."""
    folder = tmp_path_factory.mktemp("package")
    shutil.copytree(ROOT / "polars_microagg", folder / "polars_microagg")
    shutil.copytree(ROOT / "sql", folder / "polars_microagg" / "sql")
    file = folder / "polars_microagg" / "models" / "span.py"
    file.write_text(MODEL.lstrip(), encoding="utf-8")
    work = tmp_path_factory.mktemp("work")
    path = os.pathsep.join(map(str, (folder, ROOT)))
    done = subprocess.run(
        [sys.executable, "-m", "tests.models.added"],
        cwd=work,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": path},
    )
    assert not done.returncode, done.stderr
    return json.loads(done.stdout)


def test_a_model_is_held_at_every_door(doors):
    masked = doors[0]["masked"]
    assert len(masked) == 11
    assert masked == dict.fromkeys(masked, APART)
    assert doors[0]["groups"] == [0, 0, 0, 0, 0, 1, 1, 1]
    assert doors[0]["anonymity"] == 2


def test_a_model_is_published_and_checked_again(doors):
    config = doors[0]["config"]
    assert (config["span"], config["span_of"], config["confidential"]) == (2, "steps", ["pay"])
    code, said = doors[0]["verified"]
    assert code == 0, said


def test_what_a_model_cannot_reach_is_refused_at_every_door(doors):
    assert len(doors[1]) == 5
    for door, said in doors[1].items():
        assert re.search(r"span( :=|=| )\s?9.* cannot be reached", said), (door, said)
        assert "the span of the values of 'pay' is " in said, (door, said)


def test_a_model_is_described_and_checked_when_a_call_is_typed(doors):
    said = doors[2]
    assert said["parameters"] == ["span", "span_of"]
    assert said["documented"]
    assert said["help"]
    assert said["no column"].startswith("span=2 was given without confidential.")
    assert "Give l or max_share or span or t as well" in said["no bound"]
    assert said["no model"].startswith("span_of='steps' was given without span.")
    assert said["too low"].startswith("span=-1 was given; it must be a number at least 0.")
    assert said["choice"].startswith("span_of='leaps' is not known")


def test_a_model_is_counted_compared_and_required(doors):
    # Of 10, 10, 20, 20 and 30, 30, 50, 10 the first span is one step of the three that there are.
    found = doors[3]
    assert found["share"] == dict.fromkeys(found["share"], 1 / 3)
    assert found["steps"] == dict.fromkeys(found["steps"], 1)
    assert found["broken"].startswith(
        "The table does not keep span=2 on 'x': 1 class(es) with 4 record(s) in all break it (at "
        "worst, the span of the values of 'pay' is 1)."
    )
    assert found["note"] == [None]
    assert found["required"] == ["span>=2"]
    assert found["lacking"].startswith("require='span>=2' was given without confidential.")


def test_without_the_file_there_is_no_such_model():
    table = pl.DataFrame({"x": [1.0, 2.0], "pay": [1, 2]})
    with pytest.raises(mg.InvalidParameterError, match="span"):
        mg.mask(table, "x", 2, confidential="pay", span=1)
