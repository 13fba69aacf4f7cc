"""Run the notebooks, and write what their cells give.

Usage: python -m docs.site.notebooks [--check]

A notebook is run here without Jupyter, in a folder of its own; --check writes nothing, and the exit code
is 1 if an output is not what is written.
"""

import argparse
import ast
import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import polars as pl

from docs.site.gallery import picture_of
from docs.site.notebook_page import FOLDER, Notebook, said, text_of

__all__ = ["RAISES", "executed"]

ROOT = Path(__file__).resolve().parents[2]
RAISES = "raises-exception"
"""Tag of a cell that shows an error; Jupyter knows it, too."""


def _shown(value: object) -> dict[str, list[str]]:
    """Return the forms in which a notebook keeps a value; a chart is kept as a picture."""
    if type(value).__module__.startswith("altair"):
        drawn = picture_of(value).replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
        forms = {"image/svg+xml": drawn, "text/plain": value.to_dict()["description"]}
    else:
        forms = {"text/plain": repr(value)}
        if hasattr(value, "_repr_html_"):
            forms["text/html"] = value._repr_html_()
    return {form: text.splitlines(keepends=True) for form, text in sorted(forms.items())}


def _outputs(code: str, names: dict[str, Any], number: int, raises: bool) -> list[Notebook]:
    """Run a cell, and return what it prints, shows and, where that is expected, raises."""
    *body, last = ast.parse(code).body
    shows = isinstance(last, ast.Expr) and not code.rstrip().endswith(";")
    first = ast.Module(body if shows else [*body, last], [])
    value, error = None, None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        try:
            exec(compile(first, f"cell {number}", "exec"), names)
            if shows:
                value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
        except Exception as caught:
            if not raises:
                raise
            error = caught
    outputs: list[Notebook] = []
    if text := printed.getvalue():
        lines = text.splitlines(keepends=True)
        outputs.append({"name": "stdout", "output_type": "stream", "text": lines})
    if value is not None:
        result = {"data": _shown(value), "execution_count": number, "metadata": {}}
        outputs.append(result | {"output_type": "execute_result"})
    if error is not None:
        named = {"ename": type(error).__name__, "evalue": str(error), "traceback": []}
        named["traceback"] = [f"{named['ename']}: {named['evalue']}"]
        outputs.append(named | {"output_type": "error"})
    return outputs


def executed(notebook: Notebook) -> Notebook:
    """Return a notebook with what its cells give now, run in order in one empty folder."""
    names: dict[str, Any] = {"__name__": "__main__"}
    cells, number, here = [], 0, Path.cwd()
    with tempfile.TemporaryDirectory() as folder, pl.Config(tbl_width_chars=100):
        os.chdir(folder)
        try:
            for cell in notebook["cells"]:
                if cell["cell_type"] == "code":
                    number += 1
                    raises = RAISES in cell["metadata"].get("tags", [])
                    outputs = _outputs(text_of(cell["source"]), names, number, raises)
                    cell = cell | {"execution_count": number, "outputs": outputs}
                cells.append(cell)
        finally:
            os.chdir(here)
    return notebook | {"cells": cells}


def main(arguments: list[str]) -> int:
    """Run every notebook, and write its outputs or compare them."""
    parser = argparse.ArgumentParser(prog="python -m docs.site.notebooks", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    check, stale = parser.parse_args(arguments).check, []
    for path in sorted((ROOT / FOLDER).glob("*.ipynb")):
        before = json.loads(path.read_text(encoding="utf-8"))
        after = executed(before)
        if said(before) != said(after):
            stale.append(path.name)
        if not check:
            text = json.dumps(after, indent=1, sort_keys=True, ensure_ascii=False)
            path.write_text(f"{text}\n", encoding="utf-8", newline="\n")
    print(*stale, f"{len(stale)} notebooks {'are stale' if check else 'changed'}", sep="\n")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
