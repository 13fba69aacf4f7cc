"""Templates escape by default, refuse what is not defined, and work where nothing draws."""

import re
from pathlib import Path

import jinja2
import polars as pl
import pytest

import polars_microagg.report
from polars_microagg.report import report_html
from polars_microagg.report.environment import environment
from tests.report.release import COLUMNS, Page, outside, tables

FOLDER = Path(polars_microagg.report.__file__).parent / "templates"
TEMPLATES = sorted(FOLDER.rglob("*.html"))


def test_only_drawings_are_html_already():
    marked = [
        name
        for path in TEMPLATES
        for name in re.findall(r"([\w.]+)\|safe", path.read_text("utf-8"))
    ]
    assert set(marked) == {"drawing", "choices.wide", "choices.narrow"}
    assert not any("autoescape" in path.read_text("utf-8") for path in TEMPLATES)


def test_a_text_is_escaped_and_a_missing_one_refused():
    read = environment().from_string
    assert read("{{ x }}").render(x="</b>\u202e'") == "&lt;/b&gt;\ufffd&#39;"
    assert read("{{ x|cut(3) }}").render(x="abcdef") == "ab\u2026"
    with pytest.raises(jinja2.UndefinedError, match="'x' is undefined"):
        read("{{ x }}").render()


def without_charts(monkeypatch, *arguments, **options):
    monkeypatch.setattr("polars_microagg.report.svg.find_spec", lambda name: None)
    return report_html(*arguments, **options)


def compared():
    measured = {"method": ["mdav", "<b>"], "k": 5, "loss": [4.0, 3.0], "dld": 1.0, "dr": [1.0, 2.0]}
    return pl.DataFrame(measured | {"pareto": True, "note": None})


def test_without_charts_all_numbers_are_there(monkeypatch):
    original, masked = tables()
    page = without_charts(
        monkeypatch, original, masked, COLUMNS, k=5, strata="region", compared=compared()
    )
    read = Page(page)
    assert outside(page) == []
    assert (read.open, read.crossed) == ([], [])
    assert len(read.all("svg")) == 1  # the sign of the verdict
    assert "There are no charts" in read.text
    assert not re.search(r"are drawn|Each mark|The area is|The ring", read.text)
    captions = re.findall("<caption>(.*?)</caption>", page)
    assert captions == [
        "Methods and group sizes compared, the lowest loss first",
        *(f"Records by {name}" for name in COLUMNS),
        "Groups by size",
        "Loss of each column",
        "Correlations",
        "Linkage by what the intruder knows",
        "Settings",
        "Measured for this page, on 3,000 records",
    ]
    assert all("open" in attributes for attributes in read.all("details"))


def test_with_charts_the_same_tables_are_folded(monkeypatch):
    pytest.importorskip("altair", reason="needs altair: pip install '.[test]'")
    pytest.importorskip("vl_convert", reason="needs vl-convert-python: pip install '.[test]'")
    original, masked = tables()
    drawn = report_html(original, masked, COLUMNS, k=5, compared=compared())
    plain = without_charts(monkeypatch, original, masked, COLUMNS, k=5, compared=compared())
    assert re.findall("<table>.*?</table>", drawn, re.S) == re.findall(
        "<table>.*?</table>", plain, re.S
    )
    assert "There are no charts" not in drawn
    assert not any("open" in attributes for attributes in Page(drawn).all("details"))
