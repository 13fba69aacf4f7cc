"""The page on types shows what runs, and what type checkers say."""

import importlib.util
import os
import subprocess
import sys

import pytest

from tests.test_docs import FENCED, ROOT, printed_by

PAGE = (ROOT / "docs" / "types.md").read_text(encoding="utf-8")
BLOCKS = [match.groupdict() for match in FENCED.finditer(PAGE)]
UNCHECKED = """
print(people.microagg.mdav("age", k=2))
print(mg.MicroaggFrame(people).mdav("age", k="2"))
"""


def test_the_page_shows_what_is_printed(tmp_path):
    assert BLOCKS
    assert printed_by(BLOCKS, tmp_path) == [block["shown"] or "" for block in BLOCKS]


@pytest.mark.deep
@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="needs mypy")
def test_the_page_says_what_a_type_checker_says(tmp_path):
    script = tmp_path / "page.py"
    code = "\n".join(block["code"] for block in BLOCKS)
    script.write_text(code + UNCHECKED, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", os.devnull, script],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=os.environ | {"MYPYPATH": str(ROOT)},
    )
    # What is installed is not checked itself; this source tree, without stubs of pyarrow, is.
    namespace, wrong = [line for line in done.stdout.splitlines() if line.startswith(script.name)]
    assert f":{len(code.splitlines()) + 2}:" in namespace
    assert namespace.partition("error: ")[2].partition("  [")[0] in PAGE
    assert 'incompatible type "str"; expected "int"' in wrong
