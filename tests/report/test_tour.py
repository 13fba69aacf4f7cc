"""The tour and the guide run from the first line to the last, and their pages can be opened."""

import itertools
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.report.release import Page, outside

ROOT = Path(__file__).parents[2]

pytest.importorskip("altair", reason="needs altair: pip install '.[test]'")
pytest.importorskip("vl_convert", reason="needs vl-convert-python: pip install '.[test]'")


@pytest.mark.deep
def test_the_tour(tmp_path):
    folder = tmp_path / "not" / "yet there"
    done = subprocess.run(
        [sys.executable, "-W", "error", ROOT / "examples" / "tour.py", folder],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": str(ROOT), "POLARS_MAX_THREADS": "2"},
    )
    assert "The table is not 5-anonymous on 'age', 'income', 'weight', 'stay'" in done.stdout
    assert "Lowest loss with dld <= 10 %: lowloss, k=10" in done.stdout
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert outside(page) == []
    assert "Nobody stands alone in the masked columns" in Page(page).text
    assert {file.name for file in folder.iterdir()} == {"report.html", "distributions.json"}


def test_the_tour_is_cells_that_say_what_they_do():
    text = (ROOT / "examples" / "tour.py").read_text(encoding="utf-8")
    cells = text.split("# %%")[1:]
    assert len(cells) >= 12
    assert all(
        a.startswith(" [markdown]") != b.startswith(" [markdown]")
        for a, b in itertools.pairwise(cells)
    )
    assert len(text.split()) < 700, "five minutes"


@pytest.mark.deep
def test_the_guide(tmp_path):
    guide = (ROOT / "docs" / "report.md").read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"```python\n(.*?)```", guide, re.DOTALL))
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert done.stdout.startswith("Lowest loss with dld <= 25 %: ")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert outside(page) == []
    assert "Nobody stands alone in the masked columns" in page
