"""Masked tables that break a privacy model: nothing is published of them."""

from __future__ import annotations

import re

import polars as pl
import pytest

import polars_microagg as mg
from tests.publishing.register import holds


def nothing(folder):
    return not list(folder.iterdir())


PAIRS = pl.DataFrame(
    {
        "who": ["a", "b", "a", "b", "c", "c"],
        "age": [30, 30, 40, 40, 50, 50],
        "dx": ["x", "y", "x", "x", "x", "y"],
    }
)


def already(folder, frame=PAIRS, **options):
    given = {"confidential": "dx", "drop": "who", **options}
    return mg.publish(frame, folder / "o.parquet", "age", 2, method=None, **given)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"entity": "who", "drop": None},
            "The table is not 2-anonymous on 'age': 1 class(es) with 2 record(s) in all are of fewer "
            "than k=2 entities (the fewest is 1)",
        ),
        (
            {"l": 2},
            "The table does not keep l=2 on 'age': 1 class(es) with 2 record(s) in all break it (at "
            "worst, the number of distinct values of 'dx' is 1)",
        ),
        ({"max_share": 0.75}, "(at worst, the share of the commonest value of 'dx' is 1)"),
        ({"t": 0.2}, "(at worst, the distance to the table of 'dx' is 0.333333333333)"),
    ],
)
def test_a_masked_table_that_breaks_a_model(options, words, tmp_path):
    with pytest.raises(mg.NotAnonymousError, match=re.escape(words)):
        already(tmp_path, **options)
    assert nothing(tmp_path)
    told = already(tmp_path, PAIRS.head(2), **options)
    assert told["models"]["confidential"]
    assert all(holds(tmp_path / "o.parquet").values())


def test_classes_are_counted_within_strata(tmp_path):
    """The same age in two strata is two classes, as it is for k."""
    four = pl.DataFrame({"age": [30] * 4, "sex": [*"ffmm"], "dx": [*"xxyy"], "who": [*"abab"]})
    within = r"l=2 on 'age' within strata of 'sex': 2 class\(es\) with 4 record\(s\)"
    with pytest.raises(mg.NotAnonymousError, match=within):
        already(tmp_path, four, strata="sex", l=2)
    assert already(tmp_path, four, drop=["who", "sex"], l=2)["models"]["confidential"]
    shared = already(
        tmp_path, four, strata="sex", entity="who", drop=None, keep="who", entity_mode="alike"
    )
    assert shared["models"]["entity"]["alike_min"] == 2


def test_rows_of_a_person_that_are_those_of_too_few(tmp_path):
    alike = {"entity": "who", "entity_mode": "alike", "drop": None, "keep": "who"}
    four = PAIRS.head(4)
    told = already(tmp_path, four, **alike)
    assert told["models"]["entity"] == {
        **{"released": ["who"], "mode": "alike"},
        **{"entities": 2, "k_entities": 2, "alike_min": 2, "models": {"max_entity_share": 0.5}},
    }
    # Two persons in each class, of whom none has the rows of another.
    ring = pl.DataFrame({"who": [*"abbcca"], "age": [30, 30, 40, 40, 50, 50], "dx": [*"xyxyxy"]})
    (tmp_path / "ring").mkdir()
    few = r"3 entit\(ies\) are those of fewer than k=2 \(the fewest is 1\)"
    with pytest.raises(mg.NotAnonymousError, match=few):
        already(tmp_path / "ring", ring, **alike)
    assert nothing(tmp_path / "ring")
    # The order of the rows of a person says nothing.
    (tmp_path / "other order").mkdir()
    assert already(tmp_path / "other order", four[[0, 3, 2, 1]], **alike)
    assert already(tmp_path, ring, **alike | {"entity_mode": "rows"})["models"]["entity"]
