"""Rules, the columns that they count, and which records they suppress, against plain Python."""

import contextlib
from collections import Counter

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.core.attributes import Attribute
from polars_microagg.core.model import models
from polars_microagg.core.partition import Members, Strata
from polars_microagg.core.plan import Plan
from polars_microagg.core.rule import Bound, Rule
from polars_microagg.core.suppression import to_suppress
from tests.loop import rounds


def numbered(values):
    return np.unique(values, return_inverse=True)[1]


def bound(name, limit, codes, **options):
    return Bound(models()[name], limit, Attribute.of("a", np.asarray(codes)), options)


# --- Columns ------------------------------------------------------------------------------------


def test_runs_are_the_values_of_each_group_and_how_many_have_them():
    for seed in range(rounds(400)):
        rng = np.random.default_rng([17, seed])
        n = int(rng.integers(1, 20))
        codes, labels = numbered(rng.integers(0, 4, n)), rng.integers(0, 4, n)
        groups = Members.of(np.arange(n), labels, 4)
        attribute = Attribute.of("a", codes)
        wanted = sorted(Counter(zip(labels.tolist(), codes.tolist(), strict=True)).items())
        owner, code, count = attribute.runs(groups)
        assert [((o, c), m) for o, c, m in zip(owner, code, count, strict=True)] == wanted
        assert attribute.codes is codes
    nobody = Members(np.empty(0, dtype=int), np.zeros(2, dtype=int))
    assert [len(part) for part in attribute.runs(nobody)] == [0, 0, 0]


def test_a_column_among_released_records_is_that_of_their_table():
    for seed in range(rounds(400)):
        rng = np.random.default_rng([18, seed])
        n = int(rng.integers(2, 20))
        codes = numbered(rng.integers(0, 5, n))
        released = rng.random(n) < 0.6
        nulls = bool(seed % 2)
        before = Attribute.of("a", codes, ordered=seed % 3 > 0, nulls=nulls)
        before.cache["old"] = 1
        after = before.among(released)
        if released.any():
            assert after.codes[released].tolist() == numbered(codes[released]).tolist()
            assert after.counts.tolist() == list(np.bincount(numbered(codes[released])))
            assert after.nulls == (nulls and 0 in codes[released])
        assert (after.ordered, after.name, after.cache) == (before.ordered, "a", {})
        rows = np.flatnonzero(released)
        part = before.take(rows)
        assert part.codes.tolist() == codes[rows].tolist()
        assert part.counts is before.counts
        assert part.cache is before.cache
        assert np.allclose(before.shares, np.bincount(codes) / n, rtol=1e-15)


# --- Rules --------------------------------------------------------------------------------------


@pytest.mark.parametrize("counted", [False, True])
def test_no_records_are_in_no_groups(counted):
    attribute = bound("l", 2, [0, 1]) if counted else Bound(models()["k"], 2)
    groups = Rule((attribute,)).groups(np.empty(0, dtype=int))
    assert groups.sizes.tolist() == []


def test_a_group_breaks_a_rule_that_breaks_one_of_its_bounds():
    sick = [0, 0, 1, 1, 0, 1]
    rule = Rule((bound("k", 2, [0, 1, 2, 2, 3, 4]), bound("l", 2, sick)))
    groups = Members(np.arange(6), np.array([2, 2, 2]))
    assert rule.failing(groups).tolist() == [True, True, False]
    assert rule.broken(groups).model.name == "k"
    assert rule.broken(Members(np.arange(2), np.array([2]))).model.name == "l"
    assert rule.broken(Members(np.array([4, 5]), np.array([2]))) is None
    assert rule.bounds[0].worst(groups) == 1
    assert bound("max_share", 0.5, sick).worst(groups) == 1.0
    assert rule.entity_codes.tolist() == [0, 1, 2, 2, 3, 4]
    assert rule.take(np.array([5, 0])).entity_codes.tolist() == [4, 0]


def test_a_rule_counts_released_records_alone_where_some_are_left_out():
    rule = Rule((bound("t", 0.1, [0, 1, 2, 2]),))
    assert rule.among(np.ones(4, dtype=bool)) is rule
    part = rule.among(np.array([True, True, False, False]))
    groups = Members(np.array([0, 1]), np.array([2]))
    assert part.failing(groups).tolist() == [False]
    assert rule.failing(groups).tolist() == [True]


def test_confidential_columns_are_spread_once_each():
    sick = Attribute.of("sick", np.array([0, 1]))
    wage = Attribute.of("wage", np.array([1, 0]), ordered=True)
    own = [Bound(models()[name], 1, one) for one in (sick, wage) for name in ("l", "max_share")]
    rule = Rule((Bound(models()["k"], 2, Attribute.of("p", np.array([0, 1]))), *own))
    assert [codes.tolist() for codes in rule.spreads()] == [[0, 1], [1, 0]]
    assert Rule((Bound(models()["k"], 2),)).spreads() == []


def test_codes_are_those_that_the_records_have_among_themselves():
    rows = np.array([4, 3, 1, 5])
    for ordered, nulls, wanted in (
        (False, False, [0, 1, 2, 0]),
        (False, True, [1, 2, 0, 1]),
        (True, False, [2, 1, 0, 2]),
    ):
        one = Attribute.of("sick", np.array([1, 0, 2, 4, 6, 6, 3, 5]), ordered=ordered, nulls=nulls)
        assert one.take(rows).own_codes().tolist() == wanted


def test_a_rule_leaves_out_what_every_record_satisfies():
    everyone, twins = np.arange(3), np.array([0, 0, 1])
    assert Rule((Bound(models()["k"], 2),)).beyond_size() is None
    rule = Rule((bound("k", 2, twins), bound("l", 1, twins), bound("l", 2, everyone)))
    assert [one.limit for one in rule.beyond_size().bounds] == [2, 2]
    assert Rule((bound("k", 2, everyone), bound("t", 1, twins))).beyond_size() is None


# --- Records that are suppressed ----------------------------------------------------------------


def hidden_rows(x, blocks, parts, person, sick, call, mode):
    """Which rows are hidden, step by step; None where the hidden ones are no class."""
    n = len(x)
    seen, hidden = Counter(), set()
    for i in range(n):
        seen[person[i]] += 1
        if call.get("max_rows_per_entity") and seen[person[i]] > call["max_rows_per_entity"]:
            hidden.add(i)

    def breaks(rows):
        few = len({person[i] for i in rows}) < call["k"] if mode else len(rows) < call["k"]
        return few or len({sick[i] for i in rows}) < call.get("l", 1)

    while True:
        before = set(hidden)
        for columns in blocks:
            rows = [i for i in range(n) if i not in hidden]
            key = {i: (parts[i], *np.isnan(x[i, columns])) for i in rows}
            if mode == "alike":
                own = {p: sorted(key[i] for i in rows if person[i] == p) for p in set(person)}
                key = {i: (key[i], str(own[person[i]])) for i in rows}
            for one in set(key.values()):
                group = [i for i in rows if key[i] == one]
                if breaks(group):
                    hidden |= set(group)
                    if mode == "alike":
                        gone = {person[i] for i in group}
                        hidden |= {i for i in range(n) if person[i] in gone}
        if hidden == before:
            break
    if call["small_strata"] == "null" and hidden and breaks(hidden):
        return None
    return [i in hidden for i in range(n)]


@pytest.mark.parametrize("mode", [None, "rows", "alike"])
def test_what_is_suppressed_is_the_least_that_leaves_the_rule_everywhere(mode):
    some = 0
    for seed in range(rounds(400)):
        rng = np.random.default_rng([19, seed])
        n = int(rng.integers(4, 30))
        x = rng.normal(size=(n, 2))
        x[rng.random((n, 2)) < rng.choice([0.0, 0.1, 0.3])] = np.nan
        person, sick = (numbered(rng.integers(0, m, n)) for m in (12, 3))
        call = {"small_strata": ["drop", "null"][seed % 2 and mode != "alike"], "nulls": "pattern"}
        if mode:
            call |= {"entity": "p", "entity_mode": mode}
        if mode == "alike" and seed % 3 == 0:
            call["max_rows_per_entity"] = int(rng.integers(1, 3))
        if seed % 4 > 1:
            call |= {"confidential": "sick", "l": 2}
        blocks = [[slice(0, 2)], [slice(0, 1), slice(1, 2)]][seed % 2]
        k = int(rng.integers(2, 4))
        names = [["a", "b"][one] for one in blocks]
        plan = Plan.make("mdav", k, **call).bind(names)
        parts = rng.integers(0, 3, n)
        order = np.argsort(parts, kind="stable")
        sizes = np.bincount(parts)
        strata = Strata(order, sizes[sizes > 0])
        own = [Attribute.of("sick", sick)] if "l" in call else []
        rule = plan.rule(Attribute.of("p", person) if mode else None, own)
        wanted = hidden_rows(x, blocks, parts, person, sick, {**call, "k": k}, mode)
        found = None
        with contextlib.suppress(mg.InvalidDataError):
            found = to_suppress(plan, x, strata, rule).tolist()
        assert found == wanted
        some += wanted is not None and 0 < sum(wanted) < n
    assert some > rounds(400) // 6


@pytest.mark.parametrize(
    ("rows", "k", "mode", "said"),
    [
        ([3], 4, None, "k=4 needs at least 4 records, got 3"),
        ([3], 3, "rows", "k=3 needs at least 3 entities, got 2"),
        ([3, 4], 4, None, "1 of 2 strata have fewer than k=4 records (the smallest has 3)"),
        ([3, 5], 3, "rows", "1 of 2 strata have fewer than k=3 entities (the smallest has 2)"),
        ([3, 5], 3, "alike", "(the smallest has 1)"),
    ],
)
def test_too_few_are_counted_where_they_are(rows, k, mode, said):
    n = sum(rows)
    options = {"entity": "p", "entity_mode": mode} if mode else {}
    plan = Plan.make("mdav", k, **options).bind([["a"]])
    persons = Attribute.of("p", np.arange(n) // 2)
    x = np.arange(n, dtype=float)[:, None]
    strata = Strata(np.arange(n), np.array(rows))
    with pytest.raises(mg.InvalidDataError) as error:
        to_suppress(plan, x, strata, plan.rule(persons if mode else None))
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("rows", "said"), [([7], "in all records, "), ([3, 4], "in a stratum of 3 records, ")]
)
def test_what_cannot_be_reached_is_said_of_where_it_is_not(rows, said):
    plan = Plan.make("mdav", 2, confidential="sick", l=2).bind([["a"]])
    sick = Attribute.of("sick", np.array([0, 0, 0, 1, 1, 1, 1 + (len(rows) > 1)]))
    rule = plan.rule(None, [sick])
    strata = Strata(np.arange(7), np.array(rows))
    x = np.arange(7.0)[:, None]
    if len(rows) == 1:
        rule = Plan.make("mdav", 2, confidential="sick", l=3).rule(None, [sick])
    with pytest.raises(mg.InvalidDataError, match="the number of distinct values") as error:
        to_suppress(plan, x, strata, rule)
    assert said in str(error.value)


@pytest.mark.parametrize("policy", ["raise", "null", "drop"])
def test_no_policy_on_strata_is_advised_where_all_of_them_together_break_a_bound(policy):
    frame = pl.DataFrame({"x": range(12), "s": ["a"] * 8 + ["b"] * 4, "sick": list("uvw") * 4})
    asked = {"strata": "s", "confidential": "sick", "small_strata": policy}
    with pytest.raises(mg.UnreachableError, match=".* is 3.* l can be at most 3") as error:
        mg.mdav(frame, "x", 2, **asked, l=4)
    assert "small_strata" not in str(error.value)
    # Of a bound that all together keep, a stratum may break it alone.
    alone = frame.with_columns(sick=pl.when(s="b").then(pl.lit("u")).otherwise("sick"))
    if policy == "raise":
        with pytest.raises(
            mg.UnreachableError, match="in a stratum of 4 records.*; or merge strata"
        ):
            mg.mdav(alone, "x", 2, **asked, l=3)
    elif policy == "drop":
        assert mg.mdav(alone, "x", 2, **asked, l=3).height == 8


@pytest.mark.parametrize(
    ("bound", "said"), [({"l": 2}, "lower l"), ({"max_share": 0.8}, "raise max_share")]
)
def test_emptied_records_that_break_a_bound_are_not_said_to_be_all(bound, said, tmp_path):
    (name, limit), reached = next(iter(bound.items())), 1
    frame = pl.DataFrame({"x": range(10), "s": ["a"] * 8 + ["b"] * 2, "sick": [*"uvwuvwuvuu"]})
    text = rf"{name}={limit} cannot be reached: small_strata='null' would empty 2 record\(s\), which are a "
    text += rf"class like any other, and in it .* of 'sick' is {reached}\. Use small_strata='drop' to leave "
    text += rf"them out, {said}, or merge strata\."
    asked = {"strata": "s", "confidential": "sick", "small_strata": "null", **bound}
    with pytest.raises(mg.UnreachableError, match=text):
        mg.mdav(frame, "x", 2, **asked)
    frame.write_parquet(tmp_path / "in.parquet")
    with pytest.raises(mg.UnreachableError, match=text):
        mg.protect_parquet(tmp_path / "in.parquet", tmp_path / "out.parquet", "x", 2, **asked)
    assert mg.mdav(frame, "x", 2, **{**asked, "small_strata": "drop"}).height == 8


def test_an_expression_does_not_say_all_records_where_it_may_see_one_stratum():
    frame = pl.DataFrame({"x": range(10), "s": ["a"] * 8 + ["b"] * 2, "sick": [*"uvwuvwuvuu"]})
    one = pl.struct("x", "sick").microagg.mdav(2, confidential="sick", l=2)
    text = r"in the records that are masked together, .* is 1.*l can be at most 1\. Under \.over\(\.\.\.\) "
    text += "they are one stratum: the frame function with strata= and small_strata= can empty or drop it"
    with pytest.raises(mg.UnreachableError, match=text):
        frame.select(one.over("s"))
    dropped = mg.mdav(frame, "x", 2, strata="s", confidential="sick", l=2, small_strata="drop")
    assert dropped.height == 8
    # What an expression empties is what lacks the same values.
    gaps = frame.with_columns(y=pl.when(s="a").then("x"))
    asked = {"confidential": "sick", "l": 2, "nulls": "pattern"}
    text = "would empty 2 .* Use the frame function with small_strata='drop', and strata= in place of .over"
    with pytest.raises(mg.UnreachableError, match=text):
        gaps.select(pl.struct("x", "y", "sick").microagg.mdav(2, small_strata="null", **asked))
    assert mg.mdav(gaps, ["x", "y"], 2, small_strata="drop", **asked).height == 8


def test_a_method_of_values_counts_the_values_of_records():
    plan = Plan.make("mic1d", 3, nulls="pattern", small_strata="drop").bind([["a", "b"]])
    nan = np.nan
    x = np.array([[1, 2], [3, 4], [5, 6], [1, nan], [2, nan], [nan, nan], [7, nan]], dtype=float)
    # Two records of two values, one of two, two and one of one value, and one without any.
    strata = Strata(np.arange(7), np.array([2, 1, 2, 1, 1]))
    assert to_suppress(plan, x, strata).tolist() == [False] * 2 + [True] * 3 + [False, True]
