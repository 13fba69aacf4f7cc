"""Notebooks show what happens, here and in Jupyter, and are pages of the site."""

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from docs.site import notebooks
from docs.site.notebook_page import FOLDER, notebook_page, said, text_of
from docs.site.notebooks import RAISES, executed

pytestmark = pytest.mark.usefixtures("defaults_of_users")

ROOT = Path(__file__).parents[1]
PATHS = sorted((ROOT / FOLDER).glob("*.ipynb"))
LACKING = [name for name in ("nbclient", "ipykernel") if not find_spec(name)]
JUPYTER = pytest.mark.skipif(
    bool(LACKING), reason=f"needs pip install '.[jupyter]': {', '.join(LACKING)}"
)


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def of_cells(*sources, tags=()):
    cells = [
        {"id": f"cell-{n}", "cell_type": "code", "metadata": {"tags": list(tags)}, "source": source}
        for n, source in enumerate(sources)
    ]
    return {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def in_jupyter(notebook, here):
    """The notebook as a kernel of Jupyter executes it."""
    import nbformat
    from nbclient import NotebookClient

    emptied = [
        cell | {"outputs": [], "execution_count": None} if cell["cell_type"] == "code" else cell
        for cell in notebook["cells"]
    ]
    made = nbformat.reads(json.dumps(notebook | {"cells": emptied}), as_version=4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        patch.setenv("PYTHONWARNINGS", "ignore")
        NotebookClient(made, timeout=300, resources={"metadata": {"path": str(here)}}).execute()
    return json.loads(nbformat.writes(made))


def test_there_are_four():
    assert {path.stem for path in PATHS} == {"adult", "choose_method", "etl_job", "visits"}


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_notebooks_are_whole(path):
    notebook = read(path)
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
    assert text_of(notebook["cells"][0]["source"]).startswith("# ")
    page = notebook_page(notebook)
    assert page.count("\n```python\n") == len(code)
    assert page.count("<svg") == (3 if path.stem == "choose_method" else 0)
    assert "shape: (" not in page
    for cell in code:
        raised = [o["ename"] for o in cell["outputs"] if o["output_type"] == "error"]
        assert bool(raised) == (RAISES in cell["metadata"].get("tags", []))


@pytest.mark.deep
@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_cells_give_what_is_written(path):
    notebook = read(path)
    again = executed(notebook)
    assert said(again) == said(notebook)
    assert [_kinds(cell) for cell in again["cells"]] == [_kinds(c) for c in notebook["cells"]]


def _kinds(cell):
    return [sorted(output.get("data", output)) for output in cell.get("outputs", ())]


def test_what_a_cell_prints_shows_and_raises():
    code = "import polars as pl\nprint('one')\npl.DataFrame({'a': ['x|y']})"
    shown = executed(of_cells(code, "a = 1", "a + 1", "a;", "None"))
    assert [len(cell["outputs"]) for cell in shown["cells"]] == [2, 0, 1, 0, 0]
    assert said(shown)[0][0] == "one\n"
    assert said(shown)[2] == ["2"]
    page = notebook_page(shown)
    assert "```text\none\n```\n\n| a |\n| --- |\n| x\\|y |\n" in page
    raised = executed(of_cells("print(1)\n1 / 0", tags=[RAISES]))
    assert said(raised) == [["1\n", "ZeroDivisionError: division by zero"]]
    with pytest.raises(ZeroDivisionError):
        executed(of_cells("1 / 0"))


def test_a_stale_notebook_is_named_and_written_anew(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(notebooks, "ROOT", tmp_path)
    path = tmp_path / FOLDER / "one.ipynb"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(executed(of_cells("1 + 1"))).replace('"2"', '"3"'))
    assert notebooks.main(["--check"]) == 1
    assert capsys.readouterr().out == "one.ipynb\n1 notebooks are stale\n"
    assert notebooks.main([]) == 0
    assert notebooks.main(["--check"]) == 0
    assert said(read(path)) == [["2"]]


@pytest.mark.deep
@JUPYTER
@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_jupyter_shows_the_same(path, tmp_path):
    import nbformat

    written, there = read(path), in_jupyter(read(path), tmp_path)
    nbformat.validate(written)
    for cell, other in zip(written["cells"], there["cells"], strict=True):
        if "image/svg+xml" not in json.dumps(cell.get("outputs")):
            # The bar of a slow machine leaves an empty text behind.
            shown = [[text for text in texts if text] for texts in said({"cells": [other]})]
            assert shown == said({"cells": [cell]})


BAR = """
import time
from contextlib import ExitStack
from polars_microagg import progress
from polars_microagg.progress import ticker
{0} = ExitStack()
{0}.enter_context(progress("bar"))
tick = ticker("mdav", 100)
for done in range(0, {1} + 1, 20):
    tick(done)
    time.sleep(0.11)
"""
"""A block that is not left: with its end the bar goes."""


@pytest.mark.deep
@JUPYTER
def test_jupyter_shows_a_bar_in_one_output_that_goes(tmp_path):
    there = in_jupyter(of_cells(BAR.format("one", 60), BAR.format("two", 100)), tmp_path)
    under_way, done = (cell["outputs"] for cell in there["cells"])
    assert [output["output_type"] for output in under_way] == ["display_data"]
    assert "mdav [##################            ]  60%" in text_of(
        under_way[0]["data"]["text/html"]
    )
    assert [set(map(text_of, output["data"].values())) for output in done] == [{""}]
