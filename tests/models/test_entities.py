"""Entities and their rows, against plain Python."""

from collections import Counter

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.core.attributes import Attribute
from polars_microagg.core.entities import (
    EntityRule,
    profiles,
    rows_above_cap,
    strata_alike,
)
from polars_microagg.core.model import models
from polars_microagg.core.partition import Members, Strata
from polars_microagg.core.rule import Bound, Rule
from polars_microagg.frames.classes import entities_alike, members_of
from tests.loop import rounds


def drawn(seed):
    """Entities of rows in parts; some entity may have none."""
    rng = np.random.default_rng([16, seed])
    n = int(rng.integers(1, 30))
    return rng, n, rng.integers(0, int(rng.integers(1, 9)), n), rng.integers(0, 1 + seed % 4, n)


def test_profiles_are_equal_where_the_rows_are():
    for seed in range(rounds(2000)):
        _, n, entity, part = drawn(seed)
        number = profiles(entity, part)
        rows = [Counter(part[entity == one].tolist()) for one in range(max(entity) + 1)]
        assert len(number) == len(rows)
        for one, own in enumerate(rows):
            assert (number[one] == -1) == (not own)
            for other, theirs in enumerate(rows):
                assert (number[one] == number[other]) == (own == theirs)
        assert set(number.tolist()) - {-1} == set(range(max(number) + 1))
        alike = Counter(map(str, (sorted(own.items()) for own in rows if own)))
        classes = members_of(pl.DataFrame({"part": part}))
        assert sorted(entities_alike(entity * 3 + 5, classes)) == sorted(alike.values())
        assert n


def test_rows_above_the_cap_come_after_as_many_of_their_entity():
    for seed in range(rounds(400)):
        _, n, entity, _ = drawn(seed)
        most = 1 + seed % 3
        wanted = [list(entity[:i]).count(entity[i]) >= most for i in range(n)]
        assert rows_above_cap(entity, most).tolist() == wanted


def test_strata_are_split_by_the_rows_of_entities():
    for seed in range(rounds(400)):
        rng, n, entity, part = drawn(seed)
        entity = np.unique(entity, return_inverse=True)[1]
        there = np.flatnonzero(rng.random(n) < 0.8)
        sizes = np.bincount(part[there])
        strata = Strata(there[np.argsort(part[there], kind="stable")], sizes[sizes > 0])
        split = strata_alike(entity, strata)
        found = {tuple(sorted(rows)) for rows in np.split(split.order, np.cumsum(split.sizes)[:-1])}
        rows = {one: Counter(part[i] for i in there if entity[i] == one) for one in set(entity)}
        wanted = {
            tuple(j for j in there if part[j] == part[i] and rows[entity[j]] == rows[entity[i]])
            for i in there
        }
        assert found - {()} == wanted


@pytest.mark.parametrize("name", ["k", "max_entity_share", "l", "max_share", "t"])
def test_a_rule_on_entities_asks_of_the_rows_of_each_part(name):
    answers = set()
    for seed in range(rounds(600)):
        rng, n, entity, part = drawn(seed)
        entity = np.unique(entity, return_inverse=True)[1]
        count = entity.max() + 1
        of_entity = models()[name].of == "entity"
        codes = entity if of_entity else np.unique(rng.integers(0, 4, n), return_inverse=True)[1]
        attribute = Attribute.of("a", codes, ordered=bool(seed % 2))
        limit = {"k": 2, "max_entity_share": 0.6, "l": 2, "max_share": 0.6, "t": 0.3}[name]
        rule = Rule((Bound(models()[name], limit, attribute),))
        rows = Members.of(np.arange(n), entity, count)
        some = rng.permutation(count)[: rng.integers(1, count + 1)]
        labels = np.unique(rng.integers(0, 3, len(some)), return_inverse=True)[1]
        asked = EntityRule(rule, rows, part, part.max() + 1).take(some)
        groups = Members.of(np.arange(len(some)), labels, labels.max() + 1)
        wanted = []
        for group in range(labels.max() + 1):
            own = np.flatnonzero(np.isin(entity, some[labels == group]))
            classes = [own[part[own] == one] for one in set(part[own].tolist())]
            wanted.append(
                any(rule.failing(Members(rows, np.array([len(rows)])))[0] for rows in classes)
            )
        assert asked.failing(groups).tolist() == wanted
        answers |= set(wanted)
        # Entities lie in order of the mean of the codes of their rows, as these have them alone.
        if not of_entity:
            come = [code for one in some for code in codes[entity == one].tolist()]
            alone = sorted({*come}) if attribute.ordered else list(dict.fromkeys(come))
            means = [np.mean([alone.index(c) for c in codes[entity == one]]) for one in some]
            (order,) = asked.spreads()
            assert (np.sign(np.subtract.outer(order, order)) == signs(means)).all()
    assert answers == {True, False}


def signs(means):
    """Which of two means is the larger one, for all pairs."""
    apart = np.subtract.outer(means, means)
    return np.sign(np.where(np.abs(apart) < 1e-12, 0, apart))


def test_a_rule_on_entities_leaves_out_what_k_entities_satisfy():
    rows = Members(np.arange(4), np.array([2, 2]))
    persons = Attribute.of("person", np.array([0, 0, 1, 1]))
    sick = Attribute.of("sick", np.array([0, 0, 1, 1]))
    alone = Rule((Bound(models()["k"], 2, persons),))
    both = Rule((*alone.bounds, Bound(models()["l"], 2, sick)))
    loose = Rule((*alone.bounds, Bound(models()["l"], 1, sick)))
    part = np.zeros(4, dtype=int)
    assert EntityRule(alone, rows, part, 1).beyond_size() is None
    assert EntityRule(loose, rows, part, 1).beyond_size() is None
    beyond = EntityRule(both, rows, part, 1).beyond_size()
    assert [bound.model.name for bound in beyond.rule.bounds] == ["l"]


# --- Calls --------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["mean", "alike"])
@pytest.mark.parametrize("dropped", [False, True])
def test_groups_of_entities_are_the_classes_that_come_out(mode, dropped):
    for seed in range(rounds(40)):
        rng = np.random.default_rng([21, seed])
        n = int(rng.integers(30, 80))
        frame = pl.DataFrame({"a": rng.normal(size=n), "p": rng.integers(0, n // 3, n)})
        # All persons have rows in one stratum, and some in two.
        frame = frame.with_columns(s=pl.Series(rng.integers(0, 4, n) // 3))
        call = {"k": 2, "entity": "p", "entity_mode": mode, "strata": "s"}
        call["small_strata"] = "drop"
        if dropped:
            alone = pl.DataFrame({"a": [99.0], "p": [999], "s": [9]})
            frame = pl.concat([frame, alone.cast(dict(frame.schema))])
        numbered = mg.groups(frame, "a", **call)
        out = mg.mdav(frame, "a", **call)
        kept = numbered.filter(pl.col("microagg_group").is_not_null())
        assert kept.height == out.height
        assert (kept.height < frame.height) or not dropped
        both = out.with_columns(group=kept["microagg_group"])
        assert (both.group_by("group").agg(pl.struct("a", "s").n_unique())["a"] == 1).all()
        assert (both.group_by("a", "s").agg(pl.col("group").n_unique())["group"] == 1).all()
        first = both["group"].unique(maintain_order=True).to_list()
        assert first == list(range(len(first)))


@pytest.mark.parametrize("mode", ["mean", "alike"])
def test_rows_without_a_value_take_no_part_in_the_mean(mode):
    table = {
        "p": [1, 1, 2, 2, 3, 3, 4, 4],
        "a": [0.0, 2.0, 1.0, 1.0, 9.0, 9.0, 8.0, 8.0],
        "b": [4.0, None, None, None, None, None, None, None],
    }
    call = {"k": 2, "entity": "p", "entity_mode": mode, "nulls": "impute", "scale": "none"}
    out = mg.mdav(pl.DataFrame(table), ["a", "b"], **call)
    assert out["a"].to_list() == [1.0] * 4 + [8.5] * 4
    # The second pair has no value, and takes the centre of all.
    assert out["b"].to_list() == [4.0] * 8


def test_rows_of_a_null_pattern_are_masked_among_themselves():
    table = {
        "p": [1, 1, 2, 2, 3, 3],
        "a": [0.0, 2.0, 4.0, 4.0, 5.0, 7.0],
        "b": [1.0, None, 3.0, None, 5.0, None],
    }
    call = {"k": 3, "entity": "p", "entity_mode": "mean", "nulls": "pattern"}
    out = mg.mdav(pl.DataFrame(table), ["a", "b"], **call)
    assert out["a"].to_list() == [3.0, 13 / 3] * 3
    assert out["b"].to_list() == [3.0, None] * 3
