"""Laws of mixtures of kinds: what is promised holds on what is emitted, for every call."""

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.core.kind import kind_of
from polars_microagg.core.mixtures import located
from polars_microagg.core.partition import Strata
from polars_microagg.kernels.embedding import MOST
from tests.kinds.draws import NUMBERS, Mixture, draw, draw_call
from tests.kinds.hostile import broken, same, wrong
from tests.loop import rounds
from tests.models.hostile import CHEAP, METHODS, released

# --- What is promised is kept -------------------------------------------------------------------


def test_what_is_emitted_keeps_what_is_promised():
    rng = np.random.default_rng(11)
    calls = [draw_call(rng) for _ in range(rounds(400))]
    done = [(call, out) for call in calls if (out := released(call)) is not None and out.height]
    assert len(done) > len(calls) // 2
    for call, out in done:
        assert not wrong(call, out, again=False), call.options
    found = broken(done)
    assert not found, done[found[0][0]][0].options


def test_a_call_has_its_bits_and_a_stratum_those_it_has_alone():
    rng = np.random.default_rng(12)
    for _ in range(rounds(80)):
        call = draw_call(rng)
        out = released(call)
        if out is not None and out.height:
            assert not wrong(call, out), call.options


def test_the_count_finds_what_is_broken():
    before = pl.DataFrame(
        {
            "a": ["x", "x", "y", "y", "z", "z"],
            "b": ["cat", "cat", "cat", "dog", "eel", "eel"],
            "id": range(6),
            "person": ["p", "p", "q", "r", "s", "s"],
        }
    )
    after = before.with_columns(
        a=pl.Series(["x"] * 3 + ["z"] * 3), b=pl.Series(["pet"] * 3 + ["eel"] * 3)
    )
    paths = {"cat": ["cat", "pet", "*"], "dog": ["dog", "pet", "*"], "eel": ["eel", "*"]}
    kind = {"a": "text", "b": "tree"}
    rows = Mixture(before, [["a", "b"]], 2, {}, kind, {"b": paths})
    # The fourth record is a dog, of which eel is not true; two records have x, and two have z.
    assert broken([(rows, after)]) == [(0, "not above", 1)]
    three = Mixture(before, [["a", "b"]], 3, {}, kind, {"b": paths})
    assert sorted(broken([(three, after)])) == [(0, "not above", 1), (0, "rare", 2)]
    # A single person has x, and a single one z and an eel.
    persons = {"entity": ["person"], "entity_mode": "rows", "center": "median"}
    some = Mixture(before, [["a", "b"]], 2, persons, kind, {"b": paths})
    assert broken([(some, after)]) == [(0, "rare", 1)]
    assert wrong(rows, after, again=False) == []
    swapped = after.with_columns(pl.col("person").reverse())
    assert wrong(rows, swapped, again=False) == ["other columns or order"]
    assert wrong(rows, after.cast({"a": pl.Categorical}), again=False) == ["type of a"]


# --- Order --------------------------------------------------------------------------------------


TIED = ("multi_dsort", "sugeno")
"""They sort by ranks or by scores of single coordinates, which categories make equal."""


@pytest.mark.parametrize("method", [m for m in METHODS if m not in (*TIED, "genetic", "fuzzy")])
def test_the_order_of_records_does_not_matter_where_nothing_ties(method):
    rng = np.random.default_rng([13, METHODS.index(method)])
    for _ in range(rounds(8)):
        kinds = ["real", *map(str, rng.choice(["text", "tree", "enum", "clock", "truth"], 2))]
        frame, kind, options, paths = draw(rng, kinds=kinds)
        # Records at distances of their own, whatever their categories.
        frame = frame.with_columns(a=pl.Series(rng.normal(size=frame.height)))
        options = options | {"method": method, "seed": 1, **CHEAP.get(method, {})}
        call = Mixture(frame, [list(kind)], 3, options, kind, paths)
        out = released(call)
        order = rng.permutation(frame.height)
        other = Mixture(frame[order], call.blocks, 3, options, kind, paths)
        result = released(other)
        assert (out is None) == (result is None)
        if out is None:
            continue
        result = result.sort("id")
        if not same(out, result):
            before, after = (
                mg.loss(frame, t, list(kind), **loss_kinds(options)) for t in (out, result)
            )
            assert before == pytest.approx(after, rel=1e-9), (method, kinds)


def loss_kinds(options):
    """The options that say of which kind columns are."""
    return {
        name: options[name]
        for name in ("nominal", "ordinal", "taxonomy", "circular")
        if name in options
    }


# --- Where an option asks for nothing -----------------------------------------------------------


def test_a_column_that_is_named_as_what_it_is_changes_no_bit():
    rng = np.random.default_rng(14)
    for _ in range(rounds(40)):
        frame, kind, options, paths = draw(rng, kinds=["text", "enum", "real"])
        call = Mixture(frame, [list(kind)], 2, options | {"method": "mdav"}, kind, paths)
        out = released(call)
        if out is not None:
            assert same(out, call(nominal=["a"], ordinal=["b"]))


def test_a_weight_pulls_records_of_one_category_together():
    rng = np.random.default_rng(15)
    frame = pl.DataFrame({"a": rng.normal(size=200), "b": rng.choice(["x", "y"], 200)})
    light, heavy = (
        mg.mdav(frame, ["a", "b"], 5, column_weights={"b": weight}) for weight in (1e-6, 1e6)
    )
    assert mg.changed(frame, heavy, "b") <= 4 < mg.changed(frame, light, "b")
    assert mg.loss(frame, light, "a") < mg.loss(frame, heavy, "a")


# --- Floors -------------------------------------------------------------------------------------


def partitions(n, k):
    """All ways to make groups of at least k of n records, as labels in order of first records."""
    found = [(0,)]
    for _ in range(n - 1):
        found = [(*one, g) for one in found for g in range(max(one) + 2)]
    return [np.array(one) for one in found if np.bincount(one).min() >= k]


def test_the_floor_is_under_every_grouping_of_a_mixture():
    rng = np.random.default_rng(16)
    for turn in range(rounds(40)):
        kinds = [
            str(k)
            for k in rng.choice(["text", "tree", "enum", "clock", "real", "truth", "prefix"], 2)
        ]
        frame, kind, options, _ = draw(rng, rows=8, kinds=kinds)
        k = 2 if frame.height < 8 else 3
        if frame.height < k:
            continue
        asked = loss_kinds(options)
        floor = mg.lower_bound(frame, list(kind), k, effort=0.2 if turn % 4 == 0 else 0, **asked)
        spread, parts = 0.0, []
        for name in kind:
            column = frame[name]
            made = kind_of(column.dtype, name, asked)
            codes = made.coordinates(column, Strata.whole(len(column)))
            wide = located(codes[:, None], [made.embedding(column)])[0]
            wide = wide - wide.mean(axis=0)
            total = np.square(wide).sum()
            # A column that does not vary has no loss.
            if total > 1e-9:
                parts.append(wide * np.sqrt(frame.height / total))
                spread += frame.height
        if not parts:
            assert floor == 0
            continue
        x = np.hstack(parts)
        least = min(
            sum(np.square(x[labels == g] - x[labels == g].mean(axis=0)).sum() for g in set(labels))
            for labels in partitions(frame.height, k)
        )
        assert floor <= 100 * least / spread * (1 + 1e-9) + 1e-9
        out = mg.lowloss(frame, list(kind), k, effort=0.01, **asked)
        assert floor <= mg.loss(frame, out, list(kind), **asked) * (1 + 1e-9) + 1e-9


# --- Many categories ----------------------------------------------------------------------------


def test_many_categories_have_few_coordinates_and_right_distances_on_average():
    rng = np.random.default_rng(17)
    column = pl.Series([f"d{i}" for i in rng.integers(0, 900, 3000)])
    made = kind_of(pl.String())
    codes = made.coordinates(column, None)
    wide = located(codes[:, None], [made.embedding(column)])[0]
    assert wide.shape[1] <= MOST
    one, other = rng.integers(0, 3000, (2, 20000))
    apart = codes[one] != codes[other]
    found = np.square(wide[one] - wide[other]).sum(axis=1)
    assert (found[~apart] == 0).all()
    assert found[apart].mean() == pytest.approx(1, abs=0.02)
    assert found[apart].min() > 0.3
    assert found[apart].max() < 1.7


def test_categories_have_no_more_coordinates_than_they_need():
    for words, need in ((["x"], 1), (["x", "y"], 1), (["x", "y", "z"], 3)):
        column = pl.Series(words * 3)
        made = kind_of(pl.String())
        wide = located(made.coordinates(column, None)[:, None], [made.embedding(column)])[0]
        assert wide.shape[1] == need


def test_numbers_are_not_touched_by_categories_beside_them():
    rng = np.random.default_rng(18)
    for _ in range(rounds(40)):
        frame, kind, options, _ = draw(rng, kinds=["real", "number", "date"])
        assert set(kind.values()) <= set(NUMBERS)
        assert not options
        frame = frame.with_columns(b=pl.lit("same"))
        plain = mg.mdav(frame, ["a", "c"], 3) if frame.height >= 3 else frame
        among = mg.mdav(frame, ["a", "b", "c"], 3) if frame.height >= 3 else frame
        # A category that all records have parts nobody.
        assert same(plain.select("a", "c"), among.select("a", "c"))
