"""The page in a real browser without a network: it draws, asks for nothing and complains of nothing."""

import functools
import json
import re
import shutil
import subprocess

import pytest

from polars_microagg.report import report_html
from tests.browser import BROWSER, FLAGS
from tests.report.release import COLUMNS, compared, tables

pytest.importorskip("altair", reason="needs altair: pip install '.[test]'")
pytest.importorskip("vl_convert", reason="needs vl-convert-python: pip install '.[test]'")

pytestmark = [
    pytest.mark.deep,
    pytest.mark.skipif(BROWSER is None, reason="needs chromium: apt-get install chromium"),
]


@functools.cache
def alone():
    """Tell whether a program can be cut off from the network altogether."""
    there = shutil.which("unshare") and shutil.which("true")
    return (
        bool(there)
        and not subprocess.run(["unshare", "--net", "true"], capture_output=True).returncode
    )


def opened(folder, page, *more):
    """Open a page: the document, what the console said, and the addresses that were asked for."""
    file, log = folder / "page.html", folder / "net.json"
    file.write_text(page, encoding="utf-8")
    command = [
        BROWSER,
        *FLAGS,
        "--host-resolver-rules=MAP * ~NOTFOUND",
        f"--user-data-dir={folder / 'profile'}",
        f"--log-net-log={log}",
    ]
    command += [*more, file.as_uri()]
    try:
        if alone():
            # A network of its own, with nothing in it.
            command = ["unshare", "--net", *command]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    finally:
        shutil.rmtree(folder / "profile", ignore_errors=True)
    said = [line for line in done.stderr.splitlines() if ":CONSOLE" in line]
    events = json.loads(log.read_text(encoding="utf-8"))["events"]
    asked = {e["params"]["url"] for e in events if "url" in e.get("params", {})}
    # The browser asks its maker for things of its own.
    own = re.compile(r"https?://[\w.-]*\b(google|googleapis|gstatic|gvt1)\.com/")
    return done.stdout, said, {url for url in asked if not own.match(url) and url != file.as_uri()}


@pytest.fixture(scope="module")
def page():
    original, masked = tables()
    told = {
        "settings": {"method": "mdav"},
        "warnings": ["<b onclick='x'>"],
        "manifest": {"seed": 0},
    }
    return report_html(original, masked, COLUMNS, k=5, strata="region", compared=compared(), **told)


def test_it_opens_without_a_network(tmp_path, page):
    document, said, asked = opened(tmp_path, page)
    assert said == []
    assert asked == set()
    assert "<h1>Nobody stands alone, but read a warning first</h1>" in document
    assert document.count("<svg") == page.count("<svg") > 8
    assert document.rstrip().endswith("</body></html>")


def test_the_browser_would_have_told(tmp_path, page):
    bad = "<img src='http://example.invalid/a.png'><script>console.error('seen')</script></main>"
    open_page = re.sub(r'<meta http-equiv="Content-Security-Policy".*?>', "", page)
    assert open_page != page
    _, said, asked = opened(tmp_path, open_page.replace("</main>", bad))
    assert any("seen" in line for line in said)
    assert asked == {"http://example.invalid/a.png"}


def test_even_then_the_policy_of_the_page_would_have_stopped_it(tmp_path, page):
    bad = "<img src='http://example.invalid/a.png'><script>document.title = 'run'</script></main>"
    document, said, asked = opened(tmp_path, page.replace("</main>", bad))
    assert asked == set()
    assert "<title>run" not in document
    assert sum("Content Security Policy" in line for line in said) == 2
