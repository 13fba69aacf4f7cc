"""The section on persons and confidential columns: what was promised, what was found."""

import polars as pl
import pytest

from polars_microagg.report import report_html
from polars_microagg.report.persons import persons
from tests.report.release import COLUMNS, Page, outside, tables

pytest.importorskip("jinja2", reason="needs jinja2: pip install '.[test]'")

FOUND = [
    {"model": "l", "column": "dx", "asked": 2, "found": 3},
    {"model": "max_share", "column": "dx", "asked": None, "found": 0.4321},
    {"model": "t", "column": "<b>pay</b>", "asked": 0.25, "found": 0.2},
    {"model": "entropy", "column": "dx", "asked": None, "found": None},
]
ENTITY = {"released": [], "mode": "rows", "entities": 1234, "k_entities": 6, "alike_min": None}
SHARE = {"models": {"max_entity_share": 0.67}}


def told(entity=None, found=FOUND):
    models = {"confidential": found} | ({"entity": entity} if entity else {})
    return {"models": models, "roles": {"entity": ["patient"] if entity else []}}


def text(manifest):
    original, masked = tables(300)
    page = report_html(original, masked, COLUMNS, k=5, strata="region", manifest=manifest)
    assert outside(page) == []
    return " ".join(Page(page).text.split())


def test_each_model_has_a_row():
    assert persons(told(), 5)["rows"] == [
        ["the number of distinct values of dx", "at least 2", "3"],
        ["the share of the commonest value of dx", "nothing", "0.4321"],
        ["the distance to the table of <b>pay</b>", "at most 0.25", "0.2"],
        ["entropy of dx", "nothing", "not told"],
    ]


def test_persons_have_rows():
    rows = persons(told(ENTITY, []), 5)["rows"]
    assert rows == [
        ["persons in all", "", "1,234"],
        ["persons in the smallest group", "at least 5", "6"],
    ]
    shared = told(ENTITY | SHARE, [])
    share = "the row share of the most frequent entity"
    assert persons(shared, 5)["rows"][2:] == [[share, "nothing", "0.67"]]
    bound = shared | {"config": {"max_entity_share": 0.7}}
    assert persons(bound, 5)["rows"][2:] == [[share, "at most 0.7", "0.67"]]
    alike = ENTITY | {"mode": "alike", "alike_min": 7}
    assert persons(told(alike, []), 5)["rows"][2:] == [
        ["persons with the same rows", "at least 5", "7"]
    ]
    few = ENTITY | {"entities": None, "k_entities": None}
    assert [row[2] for row in persons(told(few, []), 5)["rows"]] == ["not told", "not told"]


def test_the_page_says_it_in_words():
    said = text(told(ENTITY))
    assert "Rows with the same patient are those of one person" in said
    assert "It was not released. Each group of equal rows holds rows of at least 5 persons." in said
    assert "Nobody should learn dx and <b>pay</b> of a person." in said
    assert "Several rows a person." not in said
    assert "what was counted is how far that goes here" in said
    followed = text(told(ENTITY | {"released": ["patient"], "mode": "alike"}))
    assert "It was released. At least 5 persons have the same rows, taken together." in followed
    assert "Rows that are put together." in followed


@pytest.mark.parametrize("manifest", [None, {}, {"models": 3}, {"models": {}}, told(found=7)])
def test_without_either_there_is_no_section(manifest):
    assert persons(manifest, 5) is None
    said = text(manifest)
    assert "Persons and confidential columns" not in said
    assert "Several rows a person." in said


@pytest.mark.parametrize(
    ("named", "shown"),
    [
        (["patient"], True),
        (["patient", "visit"], False),
        ([], False),
        ([3], False),
        ([{}], False),
        ("patient", False),
        (["blank"], False),
    ],
)
def test_persons_are_linked_only_by_all_columns_that_tell_them_apart(named, shown):
    original, masked = tables(300)
    number = pl.int_range(pl.len())
    original = original.with_columns(
        patient=number // 3, blank=pl.when(number % 3 > 0).then(number // 3)
    )
    told = {"roles": {"entity": named}}
    page = report_html(original, masked, COLUMNS, k=5, strata="region", manifest=told)
    assert ("of persons linked rightly by a record" in page) == shown


def test_whatever_stands_in_its_place():
    odd = {
        "entity": {"mode": 3, "entities": True, "released": 1},
        "confidential": [1, {"model": 2}],
    }
    rows = persons({"models": odd, "roles": 4}, 5)["rows"]
    assert rows[0] == ["persons in all", "", "not told"]
    assert rows[-1] == ["2 of None", "nothing", "not told"]
