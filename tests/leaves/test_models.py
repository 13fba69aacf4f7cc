"""Privacy models of leaves: what is merged, what is stored, and what is refused."""

import base64
import io
import json
import pickle
from datetime import date
from decimal import Decimal

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.leaves.merge import merge_failing
from polars_microagg.leaves.references import Tally
from polars_microagg.leaves.rules import Census, coded, rule_of
from polars_microagg.leaves.tree import Tree

from .model_counts import held
from .people import by_hand

COLUMNS = ["a", "b"]
OPTIONS = {
    "entity": ["who"],
    "entity_mode": "rows",
    "confidential": ["sick", "wage"],
    "l": 2,
    "t": 0.5,
}


def visits(n=360, seed=0):
    rng = np.random.default_rng(seed)
    near = np.sort(rng.integers(0, 5, n))
    return pl.DataFrame(
        {
            "id": np.arange(n),
            "a": near + rng.normal(size=n),
            "b": rng.normal(size=n).round(2),
            "who": np.arange(n) // 6,
            "sick": pl.Series([["flu", "cold", None, "ok", "rare"][v] for v in near]),
            "wage": near + rng.integers(0, 3, n),
        }
    )


def least(frame, **by):
    """Fewest entities and kinds of sickness of a class."""
    counted = frame.group_by(COLUMNS).agg(
        pl.col("who").n_unique(), pl.col("sick").drop_nulls().n_unique().clip(1)
    )
    return counted["who"].min(), counted["sick"].min()


# A tree of four leaves: (0 1) (2 3), and one that cuts off leaf 3 first.
EVEN = Tree(*np.array([[0, 0, 0], [5, 2, 8], [1, -1, -3], [2, -2, -4]]), np.array([4, 4, 4, 4]))
TAIL = Tree(*np.array([[0, 0, 0], [8, 5, 2], [1, 2, -1], [-4, -3, -2]]), np.array([4, 4, 4, 4]))
MERGES = {
    "with the leaf beside it": (EVEN, [4, 4, 4, 4], [0, 1, 2, 3], [2], [0, 1, 2, 2], [2]),
    "two that fail once": (EVEN, [4, 4, 4, 4], [0, 1, 2, 3], [0, 1], [0, 0, 2, 3], [0]),
    "over an empty one": (EVEN, [4, 0, 4, 4], [0, 1, 2, 3], [0], [0, 1, 0, 0], [0]),
    "with the nearest of many": (TAIL, [4, 40, 4, 4], [0, 1, 2, 3], [3], [0, 1, 2, 2], [2]),
    "with all of a few": (TAIL, [4, 1, 1, 4], [0, 1, 2, 3], [3], [3, 3, 3, 3], [3]),
    "as one after another": (EVEN, [4, 4, 4, 4], [0, 0, 2, 3], [0], [0, 0, 0, 0], [0]),
    "alone": (EVEN, [4, 4, 4, 4], [0, 0, 0, 0], [0], [0, 0, 0, 0], []),
}


@pytest.mark.parametrize("name", MERGES)
def test_a_leaf_that_fails_is_joined_across_the_nearest_cut(name):
    tree, counts, into, failing, joined, grown = MERGES[name]
    found = merge_failing(tree, np.array(counts), np.array(into), np.array(failing))
    assert [part.tolist() for part in found] == [joined, grown]


def test_joining_ends_with_one_leaf_of_all_in_as_many_rounds_as_the_tree_is_deep():
    frame = visits(3000)
    tree = mg.fit_leaves(frame, COLUMNS, 3, size=10, cut="median").tree
    counts = np.full(len(tree), 10)
    for start in (0, len(tree) // 2, len(tree) - 1):
        into, failing, rounds = np.arange(len(tree)), np.array([start]), 0
        while len(failing):
            into, failing = merge_failing(tree, counts, into, failing)
            rounds += 1
        assert len(np.unique(into)) == 1
        assert rounds <= 2 * np.log2(len(tree)) + 2


@pytest.mark.parametrize(
    "values",
    [
        ["b", None, "a", "b"],
        [2.5, -0.0, 0.0, None, float("nan")],
        [Decimal("1.5"), Decimal("1.25"), None],
        [date(2020, 1, 2), date(1960, 1, 1)],
        [True, None, False],
        [b"b", b"a"],
        [None, None],
    ],
    ids=str,
)
def test_batches_are_counted_as_one_column_and_come_back_from_json(values):
    column = pl.Series(values)
    tally = Tally()
    for batch in (column, column[:1], column[1:]):
        tally.add(batch)
    found = tally.reference("x")
    counted = column.value_counts().sort(column.name, nulls_last=False)
    assert found.values.rename("").equals(counted[column.name].rename(""), null_equal=True)
    assert found.counts.tolist() == (2 * counted["count"]).to_list()
    codes = found.codes(column).to_list()
    assert np.bincount(codes).tolist() == counted["count"].to_list()
    table = pl.DataFrame(
        {"a": np.arange(40.0), "x": (values * 40)[:40]}, schema_overrides={"x": column.dtype}
    )
    leaves = mg.fit_leaves(table, "a", 4, confidential="x", max_share=1.0)
    again = mg.Leaves.from_json(leaves.to_json())
    assert again == leaves
    assert again.references[0].values.dtype == column.dtype
    assert again.protect(table).equals(leaves.protect(table))


def test_categories_are_told_by_their_words():
    words = ["b", "a", "b", "c"]
    kinds = Tally.of(pl.Series(words, dtype=pl.Categorical), "x")
    # As text, since the bytes of categories depend on which was met first.
    assert kinds.values.dtype == pl.String
    assert kinds.values.to_list() == ["a", "b", "c"]
    assert kinds.codes(pl.Series(["c", "a"], dtype=pl.Categorical)).to_list() == [2, 0]
    levels = Tally.of(pl.Series(words, dtype=pl.Enum(["c", "b", "a"])), "x")
    assert levels.values.to_list() == ["c", "b", "a"]
    assert levels.attribute(pl.Series([0])).ordered
    assert not kinds.attribute(pl.Series([0])).ordered


def test_the_rule_of_a_leaf_compares_with_the_whole_table():
    frame = visits()
    leaves = mg.fit_leaves(frame, COLUMNS, 4, size=30, **OPTIONS)
    part = frame.filter(leaves.assign(frame) == leaves.assign(frame)[0])
    rule = rule_of(leaves.plan, leaves.references, coded(leaves.plan, leaves.references, part))
    counted = [b.attribute.counts for b in rule.bounds if b.attribute and b.model.name == "t"]
    assert [c.sum() for c in counted] == [frame.height, frame.height]
    assert counted[0].tolist() == frame["sick"].value_counts().sort("sick")["count"].to_list()


def test_leaves_are_merged_as_the_models_need_and_hold_them(tmp_path):
    frame = visits()
    leaves = mg.fit_leaves(frame, COLUMNS, 4, size=30, **OPTIONS)
    plain = mg.fit_leaves(frame, COLUMNS, 4, size=30)
    assert 1 < len(leaves) < len(plain)
    masked = by_hand(leaves, frame)
    assert least(masked)[0] >= 4
    assert least(masked)[1] >= 2
    assert masked.equals(leaves.mask(frame))
    masked.write_parquet(tmp_path / "masked.parquet")
    assert not held(tmp_path / "masked.parquet", COLUMNS, 4, {"wage": "wage"}, **OPTIONS)
    mixed = frame.sample(fraction=1, shuffle=True, seed=1)
    again = mg.fit_leaves(mixed, COLUMNS, 4, size=30, **OPTIONS)
    assert again.to_json() == leaves.to_json()
    assert again.mask(mixed).sort("id").equals(masked)


def test_bounds_that_every_group_holds_change_no_bit():
    frame = visits(700).with_columns(who=pl.col("id"), sick=pl.col("id") % 2)
    plain = mg.fit_leaves(frame, COLUMNS, 4, size=30).mask(frame)
    for options in (
        {"entity": "who", "entity_mode": "rows"},
        {"confidential": "sick", "l": 1, "max_share": 1.0, "t": 1.0},
    ):
        leaves = mg.fit_leaves(frame, COLUMNS, 4, size=30, **options)
        assert leaves.mask(frame).equals(plain)


def test_a_large_leaf_is_cut_by_rank_into_blocks_that_hold_the_models():
    n = 1200
    frame = pl.DataFrame(
        {"a": np.repeat([0.0, 1.0], n // 2), "b": [1.0] * n, "who": np.arange(n) // 9}
    )
    leaves = mg.fit_leaves(frame, COLUMNS, 5, size=10, entity="who", entity_mode="rows")
    masked = leaves.mask(frame)
    assert masked.group_by(COLUMNS).agg(pl.col("who").n_unique())["who"].min() >= 5
    spread = frame.with_columns(a=pl.int_range(n).cast(pl.Float64), b=pl.lit(0.0))
    old = mg.Leaves.from_json(mg.fit_leaves(frame, COLUMNS, 5, size=10, cut="median").to_json())
    wide = {**json.loads(old.to_json()), "options": {"entity": ["who"], "entity_mode": "rows"}}
    masked = mg.Leaves.from_json(json.dumps(wide)).mask(spread)
    assert masked.group_by(COLUMNS).agg(pl.col("who").n_unique())["who"].min() >= 5
    assert masked["a"].n_unique() > 10


def test_leaves_of_a_sample_are_merged_by_the_whole_table():
    frame = visits()
    sample = frame.filter(pl.col("id") % 3 == 0)
    leaves = mg.fit_leaves(sample, COLUMNS, 4, records=360, size=30, **OPTIONS)
    assert leaves.references == ()
    with pytest.raises(mg.InvalidDataError, match="not know how often each value of 'sick'"):
        leaves.protect(frame)
    with pytest.raises(mg.InvalidParameterError, match="counts is of type list"):
        leaves.merge([30] * len(leaves.tree))
    for whole in (frame, frame.lazy()):
        merged = leaves.merge(whole)
        assert by_hand(merged, frame).equals(leaves.mask(frame))
    other = frame.with_columns(sick=pl.lit("gout"))
    with pytest.raises(mg.InvalidDataError, match=r"'sick' has \d+ value\(s\) that the table") as e:
        by_hand(merged, other)
    assert "gout" not in str(e.value)
    same = frame.with_columns(sick=pl.lit("flu"))
    with pytest.raises(mg.InvalidDataError, match=r"l=2 does not hold .* of 'sick' is 1\. Give"):
        by_hand(merged, same)


def test_json_keeps_the_options_and_without_them_is_as_it_was():
    frame = visits()
    leaves = mg.fit_leaves(frame, COLUMNS, 4, size=30, **OPTIONS)
    for other in (mg.Leaves.from_json(leaves.to_json()), pickle.loads(pickle.dumps(leaves))):
        assert other == leaves
        assert other.plan.models == leaves.plan.models
        assert by_hand(other, frame).equals(by_hand(leaves, frame))
    read = json.loads(leaves.to_json())
    assert {name: read["options"][name] for name in OPTIONS} == OPTIONS
    plain = json.loads(mg.fit_leaves(frame, COLUMNS, 4, size=30).to_json())
    assert set(plain) == set(read) - {"references"}
    assert set(plain["options"]) == {"scale", "seed"}


def ipc(**columns):
    stream = io.BytesIO()
    pl.DataFrame(columns).write_ipc(stream)
    return base64.b64encode(stream.getvalue()).decode()


ALTERED = {
    "a list": [],
    "one of two": {"sick": ipc(value=["a"], count=[1])},
    "another": {"sick": ipc(value=["a"], count=[1]), "x": ipc(value=["a"], count=[1])},
    "no text": {"sick": 5, "wage": ipc(value=["a"], count=[1])},
    "no base64": {"sick": "?", "wage": ipc(value=["a"], count=[1])},
    "no table": {"sick": "AAAA", "wage": ipc(value=["a"], count=[1])},
    "no counts": {"sick": ipc(value=["a"]), "wage": ipc(value=["a"], count=[1])},
    "nothing": {"sick": ipc(value=[], count=[]), "wage": ipc(value=["a"], count=[1])},
    "counts of nobody": {"sick": ipc(value=["a"], count=[0]), "wage": ipc(value=[1], count=[1])},
    "counts with a null": {
        "sick": ipc(value=[1, 2], count=[1, None]),
        "wage": ipc(value=[1], count=[1]),
    },
    "counts that are words": {
        "sick": ipc(value=["a"], count=["1"]),
        "wage": ipc(value=[1], count=[1]),
    },
    "descending": {"sick": ipc(value=["b", "a"], count=[1, 1]), "wage": ipc(value=[1], count=[1])},
    "twice": {"sick": ipc(value=["a", "a"], count=[1, 1]), "wage": ipc(value=[1], count=[1])},
    "lists": {"sick": ipc(value=[["a"]], count=[1]), "wage": ipc(value=[1], count=[1])},
}


@pytest.mark.parametrize("name", ALTERED)
def test_an_altered_reference_is_refused(name):
    leaves = mg.fit_leaves(visits(200), COLUMNS, 4, size=30, **OPTIONS)
    read = json.loads(leaves.to_json()) | {"references": ALTERED[name]}
    with pytest.raises(mg.InvalidParameterError, match="altered JSON of leaves"):
        mg.Leaves.from_json(json.dumps(read))


NAMES = {"entity": "who", "entity_mode": "rows"}
REFUSED = {
    "unnamed": ({"entity": "who"}, "entity_mode is not named"),
    "mean": (
        {"entity": "who", "entity_mode": "mean"},
        "Mask the table whole, with the function mdav",
    ),
    "alike": (
        {"entity": "who", "entity_mode": "alike", "max_rows_per_entity": 2},
        "'alike'. Mask the table whole",
    ),
    "not there": (NAMES | {"entity": "whom"}, "entity names 'whom', which is not a column"),
    "masked": ({"confidential": "b", "l": 2}, "'b' is masked and is in confidential"),
    "two roles": (NAMES | {"confidential": "who", "l": 2}, "is in entity and in confidential"),
    "nested": ({"confidential": "list", "l": 2}, "columns of single values, and 'list' is of type"),
    "nested entity": (
        NAMES | {"entity": "list"},
        "columns of single values, and 'list' is of type",
    ),
    "alone": ({"l": 2}, "l=2 was given without confidential"),
    "nothing": ({"confidential": "sick"}, "was given without"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_calls_that_leaves_cannot_honour(name):
    options, text = REFUSED[name]
    frame = visits(60).with_columns(list=pl.concat_list("b"))
    with pytest.raises(mg.InvalidParameterError, match=text):
        mg.fit_leaves(frame, COLUMNS, 5, **options)


def test_tables_that_cannot_hold_a_model_are_refused_with_what_they_could():
    frame = visits(120).with_columns(who=pl.col("id") % 3)
    with pytest.raises(mg.TooFewRecordsError, match="k=5 needs at least 5 entities, got 3"):
        mg.fit_leaves(frame, COLUMNS, 5, **NAMES)
    with pytest.raises(mg.InvalidDataError, match="l can be at most 4"):
        mg.fit_leaves(frame, COLUMNS, 5, confidential="sick", l=5)
    holes = frame.with_columns(who=pl.when(pl.col("id") > 1).then("who"))
    with pytest.raises(mg.InvalidDataError, match="'who' has 2 null"):
        mg.fit_leaves(holes, COLUMNS, 3, **NAMES)


@pytest.mark.parametrize("t_scale", ["values", "ranks"])
def test_a_table_of_many_records_is_counted_as_one_group_from_its_counts(monkeypatch, t_scale):
    frame = visits(400)
    options = {"confidential": ["sick", "wage"], "l": 3, "t": 0.0, "t_scale": t_scale}
    plan = mg.fit_leaves(frame, COLUMNS, 4, size=400, **OPTIONS | options).plan
    for few in (10, 10**6):
        monkeypatch.setattr("polars_microagg.leaves.rules.FEW", few)
        census = Census(plan)
        for batch in frame.iter_slices(33):
            census.add(batch)
        assert [int(one.counts.sum()) for one in census.references()] == [400, 400]
        assert (census.entities is None) == (few == 10)
        census = Census(plan)
        census.add(frame.with_columns(sick=pl.lit("flu")))
        with pytest.raises(mg.InvalidDataError, match="l can be at most 1"):
            census.references()


def test_a_leaf_of_which_no_record_is_left_is_no_table_of_which_none_is():
    frame = pl.DataFrame({"x": range(400), "s": ["a"] * 200 + ["b"] * 100 + ["c"] * 100})
    # All of b are alike, and all of c; emptied together they are not.
    sick = pl.when(s="a").then(pl.col("x") % 3).when(s="b").then(7).otherwise(8)
    frame = frame.with_columns(sick=sick)
    asked = {"strata": "s", "small_strata": "null", "confidential": "sick", "l": 2}
    masked = mg.fit_leaves(frame, "x", 4, size=8, **asked).mask(frame)
    assert masked.filter(pl.col("x").is_null()).get_column("s").null_count() == 200
