"""Names and texts from outside are shown, and never become part of the page."""

import itertools

import polars as pl
import pytest

from polars_microagg.report import report_html
from polars_microagg.report.svg import svg
from tests.report.release import Page, outside

pytest.importorskip("altair", reason="needs altair: pip install '.[test]'")
pytest.importorskip("vl_convert", reason="needs vl-convert-python: pip install '.[test]'")

BITS = [
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</style><script>1</script>",
    "</title></head><body onload=x>", "--><svg onload=x>", "</text></svg><script>1</script>", "<![CDATA[<b>]]>",
    "javascript:alert(1)", "{{7*7}}", "${7*7}", "%s%n", "&lt;b&gt;", "&#60;b&#62;", "' OR 1=1 --", "datum.x", "\\u003cb>",
    "a\x00b", "a\x1b[31m", "a\u202eb", "a\nb\tc", "\u2028<b>", "url(http://a.b/c)", "*", "^a$", "", " ", "../../etc/passwd",
    "constructor", "__proto__", "toString", "\U0001f600" * 30, "x" * 10_000, "]]>", "<!--", "=cmd|'/c'!A1", "a.b[c]", "a\ufffeb\uffff",
]  # fmt: skip
NAMES = list(
    dict.fromkeys([*BITS, *(f"{a}{b}" for a, b in itertools.product(BITS[:14], BITS[:14]))])
)


def frame(names):
    values = [(i * 37) % 101 for i in range(12)]
    means = [sum(values[i // 4 * 4 :][:4]) // 4 for i in range(12)]
    return tuple(pl.DataFrame(dict.fromkeys(names, v)) for v in (values, means))


def harmless(page):
    read = Page(page)
    return outside(page) == [] and read.crossed == [] and read.open == [] and "\x00" not in page


@pytest.mark.parametrize("start", range(0, len(BITS), 6))
def test_names_of_masked_columns(start):
    names = BITS[start : start + 6]
    original, masked = frame(names)
    page = report_html(original, masked, names, k=4)
    assert harmless(page)
    read = Page(page)
    assert sum(name in read.text for name in names if name.strip()) >= len(names) - 4


def test_two_hundred_names_everywhere_else():
    assert len(NAMES) > 200
    original, masked = frame(["a", *NAMES])
    compared = pl.DataFrame(
        {"method": NAMES[:9], "k": [3] * 9, "loss": [float(i) for i in range(9)], "dld": [1.0] * 9}
        | {"dr": [9.0 - i for i in range(9)], "pareto": [True] * 9, "note": [None] * 9}
    )
    told = {"requirement": NAMES[1], "found": NAMES[2], "met": True}
    manifest = dict(zip(NAMES, reversed(NAMES), strict=True))
    page = report_html(
        original,
        masked,
        "a",
        k=4,
        strata=NAMES,
        settings={name: [name, {name: name}] for name in NAMES},
        manifest=manifest | {"verdict": {"requirements": [told]}},
        compared=compared,
        warnings=NAMES,
    )
    assert harmless(page)
    assert "<script>alert(1)</script>" in Page(page).text


def test_names_in_charts_of_a_notebook():
    names = [name for name in BITS if not name.isspace()]
    original, masked = frame(names)
    plot = original.microagg.plot
    some = ["a\x00b\x1b\uffff", "constructor", "\U0001f600" * 30, "</svg><script>"]
    charts = [
        plot.distributions(masked, names, k=4),
        plot.loss(masked, names),
        plot.correlations(masked, names),
    ]
    compared = pl.DataFrame(
        {
            "method": some,
            "k": 3,
            "loss": [4.0, 3.0, 2.0, 1.0],
            "dr": [1.0, 2.0, 3.0, 4.0],
            "pareto": True,
        }
    )
    for chart in [*charts, plot.risk_utility(compared)]:
        drawn = svg("words", lambda chart=chart: chart)
        assert "\x00" not in drawn
        assert "<script" not in drawn


def test_text_values_of_kept_columns_are_not_shown():
    original, masked = frame(["a"])
    word = pl.lit("<script>secret</script>").alias("note")
    page = report_html(
        original.with_columns(word), masked.with_columns(word), "a", k=4, strata="note"
    )
    assert harmless(page)
    assert "secret" not in page


def test_the_check_bites():
    original, masked = frame(["a"])
    page = report_html(original, masked, "a", k=4)
    assert harmless(page)
    assert not harmless(page.replace("<h1>", f"<h1>{BITS[1]}"))
    assert not harmless(page.replace("<h1>", "<h1></div>"))
