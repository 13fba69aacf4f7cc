"""One file adds one thing, and it is then at every door where it belongs; nothing else is touched."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.added_kind import KIND

ROOT = Path(__file__).resolve().parents[1]

METHOD = '''
"""Records in the order in which they come."""

import numpy as np

from polars_microagg.core.partition import Matrix, Partition
from polars_microagg.core.registry import method


@method(cite="nobody (2026)")
def as_they_come(x: Matrix, /, *, k: int, backwards: bool = False) -> Partition:
    """Group k records after another as they come.

    Parameters
    ----------
    backwards : bool, default False
        Whether the records that are left over join the first group.
    """
    labels = np.minimum(np.arange(len(x)) // k, len(x) // k - 1)
    return Partition.from_labels(labels.max() - labels[::-1] if backwards else labels)
'''

METRIC = '''
"""Which cells change, and by how much."""

import numpy as np

from polars_microagg.core.partition import Matrix
from polars_microagg.core.registry import metric


@metric(cite="nobody (2026)", assessed=1000, reported=True)
def moved(original: Matrix, masked: Matrix, /) -> int:
    """Number of cells that change."""
    return int(np.count_nonzero(original != masked))


@metric(cite="nobody (2026)")
def furthest(original: Matrix, masked: Matrix, /) -> float | None:
    """Largest change of a cell."""
    return float(np.abs(original - masked).max()) if original.size else None
'''

# A file for each register: the doors are in `tests/registers.py`, under the name of the room. That of
# models is tried in `tests/models/test_added.py`.
ADDED = {
    "methods/as_they_come.py": METHOD,
    "metrics/change.py": METRIC,
    "kinds/size.py": KIND,
}


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A copy of the package, as it is installed, in which nothing is touched but files are added."""
    folder = tmp_path_factory.mktemp("package")
    copy = folder / "polars_microagg"
    shutil.copytree(ROOT / "polars_microagg", copy)
    shutil.copytree(ROOT / "sql", copy / "sql")
    for name, text in ADDED.items():
        (copy / name).write_text(text.lstrip(), encoding="utf-8")
    return folder


def doors(package, room, folder):
    """What is found at the doors, by a process that imports the copy."""
    path = os.pathsep.join(map(str, (package, ROOT)))
    done = subprocess.run(
        [sys.executable, "-m", "tests.registers", room],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": path},
    )
    assert not done.returncode, done.stderr
    return json.loads(done.stdout)


# --- Methods ------------------------------------------------------------------------------------

BACKWARDS = [2.5, 2.5, 2.5, 2.5, 6.0, 6.0, 6.0]
"""Of 1 to 7 with k=3 the first four are a group: the record that is left over joins it."""


@pytest.fixture(scope="module")
def method(package, tmp_path_factory):
    return doors(package, "methods", tmp_path_factory.mktemp("method"))


def test_a_method_masks_at_every_door(method):
    assert method["masked"] == dict.fromkeys(method["masked"], BACKWARDS)
    assert method["groups"] == [0, 0, 0, 1, 1, 1, 1]
    assert method["manifest"] is True


def test_a_method_is_listed_and_described(method):
    summary = "Group k records after another as they come."
    assert method["listed"] == [summary]
    assert method["listed in SQL"] == [[summary]]
    code, text = method["microagg methods"]
    assert code == 0
    assert summary in text
    assert "--backwards" in text
    assert method["signature"] is True


def test_a_method_is_compared(method):
    assert method["compare"] == [None]
    code, text = method["microagg compare"]
    assert code == 0
    assert "as_they_come" in text


# --- Metrics ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def metric(package, tmp_path_factory):
    return doors(package, "metrics", tmp_path_factory.mktemp("metric"))


@pytest.mark.parametrize("name", ["moved", "furthest"])
def test_a_metric_has_one_value_at_every_door(metric, name):
    expected = metric["expected"][name]
    assert expected > 0
    assert metric[name] == dict.fromkeys(metric[name], pytest.approx(expected, rel=1e-12))


def test_a_metric_by_default_is_a_column_in_its_place(metric):
    assert metric["columns"][-2:] == ["delta_corr_sd", "moved"]
    assert metric["columns in SQL"] == [metric["columns"], "bigint"]


def test_a_metric_on_demand_is_a_column_where_it_is_named(metric):
    assert "furthest" not in metric["columns"]
    assert metric["columns in SQL on demand"] == ["furthest", "double"]
    assert metric["risk on demand"][0] == "furthest"
    assert "loss" not in metric["risk on demand"]


def test_a_metric_is_required(metric):
    assert metric["protect"][0] == 0, metric["protect"]
    code, text, published = metric["refused"]
    assert code == 4
    assert "furthest<=0 (what was found is not published; assess gives it)" in text
    assert not published
    assert metric["recommend"].startswith("Lowest loss with furthest < 1e+09: mdav, k=5")
    code, text = metric["microagg compare"]
    assert code == 0
    recommended = json.loads(text)["recommended"]
    assert recommended["met"] is True
    assert recommended["furthest"] == pytest.approx(metric["expected"]["furthest"])


def test_a_manifest_holds_a_metric_by_default_and_of_one_on_demand_the_verdict_alone(metric):
    assert list(metric["manifest"])[-1] == "moved"
    assert "furthest" not in metric["manifest"]
    assert metric["sources"] == "nobody (2026)"
    assert metric["verdict"] == [{"requirement": "furthest<1000000000", "found": None, "met": True}]
    code, text = metric["verify"]
    assert code == 0, text
    assert "The verdict and its 1 requirement(s) hold." in text


def test_a_count_of_the_original_is_rounded_where_it_is_published(metric):
    # 1,200 records: three digits, and no more than a thousand.
    assert metric["expected"]["moved"] > 1_000
    assert metric["manifest"]["moved"] == 1_000


def test_a_report_shows_a_metric_that_says_so(metric):
    assert "moved" in metric["facts"]
    assert "furthest" not in metric["facts"]
    assert "Number of cells that change." in metric["page"]


# --- Kinds --------------------------------------------------------------------------------------

SIZES = ["M", "M", "M", "XL", "XL", "XL"]
"""S, M, M, L, XL, XL with k=3: the means are 2/3 and 8/3 places above S."""

ANSWERS = [True, False, True, False, False, True]
"""Three no, and the first no with both yes: two thirds of it are yes."""

GROUPS = [0, 0, 0, 1, 1, 1]


@pytest.fixture(scope="module")
def kind(package, tmp_path_factory):
    return doors(package, "kinds", tmp_path_factory.mktemp("kind"))


def test_a_kind_is_masked_at_every_door(kind):
    assert kind["masked"] == dict.fromkeys(kind["masked"], SIZES)
    assert kind["answers"] == dict.fromkeys(kind["answers"], ANSWERS)
    assert kind["groups"] == dict.fromkeys(kind["groups"], GROUPS)


def test_a_kind_has_a_parameter_of_its_own(kind):
    # The sizes 36, 38, 38 and 40, 44, 44: as numbers their means would be 37 and 43.
    for door, sizes in kind["named"].items():
        assert sizes == [38, 38, 38, 44, 44, 44], door
    loss = kind["loss of named"]
    assert loss == dict.fromkeys(loss, pytest.approx(100 * 2 / (22 / 3)))


def test_a_kind_is_measured_at_every_door(kind):
    # Two records move by one place; the sum of squares around the mean of 10 / 6 is 22 / 3.
    assert kind["loss"] == dict.fromkeys(kind["loss"], pytest.approx(100 * 2 / (22 / 3)))


def test_a_kind_is_published_checked_and_reported(kind):
    assert kind["manifest"]["k_min"] == 3
    code, text = kind["verify"]
    assert code == 0, text
    assert "The smallest class has 3 records" in text
    assert kind["page"].startswith("<!doctype html>")


def test_what_a_kind_refuses_is_refused_at_every_door_and_not_shown(kind):
    for door, said in kind["refused"].items():
        assert "Column 'x' has 6 " in said, door
        assert "tall" not in said, door


@pytest.mark.deep
def test_without_the_kind_its_parameter_is_unknown(tmp_path):
    found = doors(ROOT, "without_the_kind", tmp_path)
    # DuckDB names the parameters that there are, not the one that is not.
    assert "does not support the supplied arguments" in found.pop("SQL")
    for door, said in found.items():
        assert "sizes" in said, door
