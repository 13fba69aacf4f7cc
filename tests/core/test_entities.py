"""Entities of several rows, masked as one or among those of as many rows, against hand computation."""

from collections import Counter

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.core.entities import profiles, rows_above_cap, strata_alike
from polars_microagg.core.partition import Strata
from polars_microagg.frames.classes import entities_alike, members_of

VISITS = pl.DataFrame(
    {
        "person": [1, 1, 2, 3, 3, 4],
        "a": [1.0, 3.0, 2.0, 10.0, 12.0, 14.0],
        "b": [0, 0, 1, 5, 5, 6],
    }
)


def test_rows_of_an_entity_take_the_mean_of_the_means_of_their_group():
    # Means of the persons are (2, 0), (2, 1), (11, 5) and (14, 6).
    masked = mg.mdav(VISITS, ["a", "b"], 2, entity="person", entity_mode="mean", dtype="float")
    assert masked["a"].to_list() == [2.0, 2.0, 2.0, 12.5, 12.5, 12.5]
    assert masked["b"].to_list() == [0.5, 0.5, 0.5, 5.5, 5.5, 5.5]
    kept = mg.mdav(VISITS, ["a", "b"], 2, entity="person", entity_mode="mean")
    assert kept["b"].to_list() == [0, 0, 0, 6, 6, 6]
    assert kept.schema == VISITS.schema


def test_entities_alike_have_as_many_rows():
    masked = mg.mdav(VISITS, ["a", "b"], 2, entity="person", entity_mode="alike", dtype="float")
    # Persons 1 and 3 have two rows, with means 2 and 11; 2 and 4 have one.
    assert masked["a"].to_list() == [6.5, 6.5, 8.0, 6.5, 6.5, 8.0]
    assert masked["b"].to_list() == [2.5, 2.5, 3.5, 2.5, 2.5, 3.5]


def test_entities_alike_across_strata_have_their_mean_in_each():
    table = pl.DataFrame(
        {
            "person": ["u", "u", "v", "v", "w", "w", "x", "x"],
            "s": [0, 1, 1, 0, 0, 0, 0, 0],
            "a": [1.0, 10.0, 20.0, 3.0, 50.0, 60.0, 70.0, 80.0],
        }
    )
    masked = mg.mdav(table, "a", 2, strata="s", entity="person", entity_mode="alike")
    # u and v have one row in each stratum, w and x two in the first.
    assert masked["a"].to_list() == [2.0, 15.0, 15.0, 2.0, 65.0, 65.0, 65.0, 65.0]


def test_rows_beyond_the_cap_do_not_come_out():
    options = {"entity": "person", "entity_mode": "alike", "max_rows_per_entity": 1}
    masked = mg.mdav(VISITS, ["a", "b"], 4, **options)
    assert masked["person"].to_list() == [1, 2, 3, 4]
    assert masked["a"].to_list() == [(1 + 2 + 10 + 14) / 4] * 4


def test_too_few_alike_are_refused_or_dropped():
    table = VISITS[:5]
    options = {"entity": "person", "entity_mode": "alike"}
    with pytest.raises(mg.TooFewRecordsError, match=r"1 of 2 such sets have fewer \(the smallest"):
        mg.mdav(table, ["a", "b"], 2, **options)
    masked = mg.mdav(table, ["a", "b"], 2, small_strata="drop", **options)
    assert masked["person"].to_list() == [1, 1, 3, 3]


def test_nulls_of_an_entity_are_left_out_of_its_mean():
    table = VISITS.with_columns(a=pl.Series([None, 3.0, 2.0, None, None, 14.0]))
    options = {"entity": "person", "entity_mode": "mean", "nulls": "impute"}
    masked = mg.mdav(table, ["a", "b"], 2, **options)
    # Person 3 has no value of a, and its group the mean of the other person.
    assert masked["a"].to_list() == [2.5, 2.5, 2.5, 14.0, 14.0, 14.0]


@pytest.mark.parametrize("seed", range(60))
def test_profiles_are_equal_where_the_rows_are(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 30))
    entity = np.unique(rng.integers(0, 8, n), return_inverse=True)[1]
    part = np.unique(rng.integers(0, int(rng.integers(1, 5)), n), return_inverse=True)[1]
    number = profiles(entity, part)
    plain = [tuple(sorted(part[entity == e])) for e in range(entity.max() + 1)]
    for one in range(len(plain)):
        for other in range(len(plain)):
            assert (number[one] == number[other]) == (plain[one] == plain[other])
    alike = entities_alike(entity, members_of(pl.DataFrame({"part": part})))
    assert sorted(alike) == sorted(Counter(plain).values())
    kept = strata_alike(entity, Strata.whole(n).by_pattern(np.zeros((n, 1))))
    found = {tuple(sorted(rows.tolist())) for rows in kept.rows()}
    sizes = [int((entity == e).sum()) for e in entity]
    assert found == {tuple(i for i in range(n) if sizes[i] == s) for s in set(sizes)}
    most = int(rng.integers(1, 4))
    seen = [int((entity[:i] == entity[i]).sum()) for i in range(n)]
    assert rows_above_cap(entity, most).tolist() == [s >= most for s in seen]


def test_an_entity_that_comes_out_needs_a_mode():
    for door in (mg.mdav, mg.vmdav):
        with pytest.raises(mg.InvalidParameterError, match="entity_mode is not named"):
            door(VISITS, ["a", "b"], 2, entity="person")
    assert mg.groups(VISITS, ["a", "b"], 2, entity="person")["microagg_group"].n_unique() == 2
    table = VISITS.with_columns(person=pl.Series([1, 1, None, 3, 3, 4]))
    with pytest.raises(mg.InvalidDataError, match="has 1 null value"):
        mg.mdav(table, ["a", "b"], 2, entity="person", entity_mode="rows")
