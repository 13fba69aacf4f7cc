"""The share of one person in a class, worked by hand."""

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.core.attributes import Attribute
from polars_microagg.core.model import models
from polars_microagg.core.partition import Members

VISITS = pl.DataFrame(
    {"x": [1.0, 2, 3, 4, 10, 11, 12, 13], "who": ["a", "a", "a", "b", "b", "c", "d", "e"]}
)
"""Two groups of four: a holds three of the first four rows; the others hold one each."""


def shares(masked):
    """The share of the most frequent person in each class, by plain counts."""
    counts = masked.group_by("x", "who").len()
    return counts.group_by("x").agg(pl.col("len").max() / pl.col("len").sum())["len"].sort()


def test_the_share_is_that_of_the_most_frequent_person():
    measure = models()["max_entity_share"].measure
    who = Attribute.of("who", np.array([0, 0, 0, 1, 1, 2, 3, 4]))
    members = Members(np.arange(8), np.array([4, 4]))
    assert measure(who, members).tolist() == [0.75, 0.25]


def test_groups_join_until_no_person_holds_more_than_the_share():
    call = {"columns": "x", "k": 2, "entity": "who", "entity_mode": "rows"}
    free = mg.mdav(VISITS, **call)
    assert shares(free).to_list() == [0.5, 0.5, 0.75]
    # 1 and 4 are of two persons; 2 and 3, of one, need as many rows of others.
    bound = mg.mdav(VISITS, **call, max_entity_share=0.5)
    assert bound["x"].to_list() == [2.5, 6.5, 6.5, 2.5, 6.5, 6.5, 12.5, 12.5]
    assert shares(bound).to_list() == [0.5] * 3
    # a has three of the first five rows.
    loose = mg.mdav(VISITS, **call, max_entity_share=0.6)
    assert loose["x"].to_list() == [4.0] * 5 + [12.0] * 3


def test_nothing_is_masked_if_a_person_holds_too_much_of_the_table():
    call = {"columns": "x", "k": 2, "entity": "who", "entity_mode": "rows"}
    said = (
        r"^max_entity_share=0.3 cannot be reached: in all records, the row share of the most "
        r"frequent entity of 'who' is 0.375, and no grouping changes that. max_entity_share can be "
        r"at least 0.375.$"
    )
    with pytest.raises(mg.UnreachableError, match=said):
        mg.mdav(VISITS, **call, max_entity_share=0.3)
    with pytest.raises(
        mg.InvalidParameterError, match="^max_entity_share=0.5 was given without en"
    ):
        mg.mdav(VISITS, "x", 2, max_entity_share=0.5)
    with pytest.raises(mg.InvalidParameterError, match="^max_entity_share=50 was given; .*0 to 1"):
        mg.mdav(VISITS, **call, max_entity_share=50)


@pytest.mark.parametrize("mode", ["rows", "mean"])
def test_verify_counts_the_share_again(mode):
    masked = mg.mdav(VISITS, "x", 2, entity="who", entity_mode="rows")
    asked = {"entity": "who", "entity_mode": mode}
    mg.verify(masked, "x", 2, **asked, max_entity_share=0.75)
    said = (
        r"^The table does not keep max_entity_share=0.7 on 'x': 1 class\(es\) with 4 record\(s\) in "
        r"all break it \(at worst, the row share of the most frequent entity of 'who' is 0.75\)"
    )
    with pytest.raises(mg.NotAnonymousError, match=said):
        mg.verify(masked, "x", 2, **asked, max_entity_share=0.7)
    assert mg.anonymity(masked, "x", entity="who")["max_entity_share"].item() == 0.75
    assert mg.anonymity(masked.clear(), "x", entity="who")["max_entity_share"].item() is None


@pytest.mark.parametrize("options", [{"method": "lowloss", "effort": 0.01}, {"refine": True}])
def test_searches_keep_the_share_and_end_below_joined_groups(options):
    rng = np.random.default_rng(4)
    frame = pl.DataFrame(
        {"x": rng.normal(size=400), "who": (rng.pareto(0.7, 400) * 3).astype(int) % 90}
    )
    call = {"entity": "who", "entity_mode": "rows"}
    free = mg.mask(frame, "x", 3, **call, **options)
    assert shares(free).max() > 0.5
    bound = mg.mask(frame, "x", 3, **call, **options, max_entity_share=0.5)
    assert shares(bound).max() <= 0.5
    assert bound["x"].n_unique() > 20
