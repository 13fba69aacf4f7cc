"""The report of a release from Python: the page of the command line, with the release or not at all."""

import logging
import re
from pathlib import Path

import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.publishing import memory
from tests.cli.conftest import called

PEOPLE = pl.DataFrame(
    {
        "age": [i * 7 % 41 for i in range(200)],
        "pay": [i * 13 % 97 for i in range(200)],
        "region": ["ab"[i % 2] for i in range(200)],
    }
)
CALL = {"columns": ["age", "pay"], "k": 3, "strata": "region"}


def text_of(page):
    """Return a page without the names, hashes, versions and times of its run."""
    shown = page.read_text(encoding="utf-8")
    return re.sub(
        r"o\.(csv|parquet)|[0-9a-f]{16,}|\d{4}-\d\d-\d\dT[\d:.+Z-]*|seconds</th><td>[\d.]*",
        "",
        shown,
    )


@pytest.mark.parametrize("engine", ["whole", "leaves"])
def test_the_page_is_that_of_the_command_line(tmp_path, monkeypatch, engine):
    monkeypatch.setattr(memory, "BASE", 10**15 if engine == "leaves" else memory.BASE)
    PEOPLE.write_csv(tmp_path / "in.csv")
    folders = tmp_path / "a", tmp_path / "b"
    for folder in folders:
        folder.mkdir()
    told = mg.publish(
        *(tmp_path / "in.csv", tmp_path / "a/o.parquet"),
        **CALL,
        memory="2GB",
        report=tmp_path / "a/r",
    )
    assert told["how"]["engine"] == engine
    options = ["--columns", "age,pay", "--k", "3", "--strata", "region", "--memory", "2GB"]
    files = tmp_path / "in.csv", "-o", tmp_path / "b/o.parquet", "--report", tmp_path / "b/r"
    assert called(tmp_path, "protect", *files, *options)[0] == 0
    pages = [text_of(folder / "r") for folder in folders]
    assert pages[0] == pages[1]
    for folder in folders:
        assert sorted(p.name for p in folder.iterdir()) == [
            "o.parquet",
            "o.parquet.manifest.json",
            "r",
        ]


@pytest.mark.parametrize("source", [PEOPLE, PEOPLE.lazy(), "masked"], ids=str)
def test_a_frame_has_a_report_too(tmp_path, source):
    more = {}
    if isinstance(source, str):
        source, more = mg.mdav(PEOPLE, **CALL), {"method": None, "original": PEOPLE}
    mg.publish(source, tmp_path / "o.csv", **CALL, **more, report=str(tmp_path / "r.html"))
    assert "<html" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_nothing_is_written_of_a_release_that_is_refused(tmp_path):
    for more in ({"require": "dld<=0"}, {"report": tmp_path / "none" / "r.html"}):
        with pytest.raises(mg.NotPublishedError):
            mg.publish(
                PEOPLE, tmp_path / "o.csv", **{**CALL, "report": tmp_path / "r.html", **more}
            )
        assert not [*tmp_path.iterdir()]


def test_a_report_that_is_there_is_replaced_only_where_that_is_allowed(tmp_path):
    page = tmp_path / "r.html"
    page.write_text("old")
    with pytest.raises(mg.TargetExistsError):
        mg.publish(PEOPLE, tmp_path / "o.csv", **CALL, report=page, overwrite=False)
    assert [*tmp_path.iterdir()] == [page]
    mg.publish(PEOPLE, tmp_path / "o.csv", **CALL, report=page)
    assert page.read_text(encoding="utf-8") != "old"


def test_a_report_takes_the_place_of_no_other_file(tmp_path):
    PEOPLE.write_csv(tmp_path / "in.csv")
    for name in ("in.csv", "o.csv", "o.csv.manifest.json"):
        with pytest.raises(
            mg.InvalidParameterError, match="it must be another file than the table"
        ):
            mg.publish(tmp_path / "in.csv", tmp_path / "o.csv", **CALL, report=tmp_path / name)
    assert pl.read_csv(tmp_path / "in.csv").equals(PEOPLE)


@pytest.mark.parametrize("source", ["in.csv", "*.csv", "."])
def test_a_file_has_one_place_under_all_of_its_names(tmp_path, monkeypatch, source):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    PEOPLE.write_csv("in.csv")
    for name in ("sub/../in.csv", "sub/../o.parquet", "sub/../o.parquet.manifest.json"):
        for what in ("manifest", "report"):
            if (what, name[7:]) != ("manifest", "o.parquet.manifest.json"):
                with pytest.raises(mg.InvalidParameterError, match="it must be another file than"):
                    mg.publish(source, "o.parquet", **CALL, **{what: name})
        words = ["--columns", "age,pay", "--k", "3", "--strata", "region", "--overwrite"]
        code, said = called(
            tmp_path, "protect", source, "-o", "o.parquet", *words, "--report", name
        )
        assert (code, "is both" in said) == (2, True), said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.csv", "sub"]
    assert pl.read_csv("in.csv").equals(PEOPLE)


def test_a_masked_table_has_a_report_beside_its_original_alone(tmp_path):
    with pytest.raises(mg.InvalidParameterError, match="was given without original"):
        mg.publish(PEOPLE, tmp_path / "o.csv", **CALL, method=None, report=tmp_path / "r.html")


def test_a_report_without_charts_says_so_in_the_log(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr("polars_microagg.report.release_page.drawable", lambda: False)
    with caplog.at_level(logging.WARNING, "polars_microagg"):
        mg.publish(PEOPLE, tmp_path / "o.csv", **CALL, report=tmp_path / "r.html")
    assert "The report has no charts" in caplog.text
    assert not [name for name in map(str, Path(tmp_path).iterdir()) if name.endswith(".part")]
