"""Groups of a leaf are searched for what its borders cost: less is lost, and nothing else changes."""

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.leaves import masking

COLUMNS = ["a", "b", "c"]


def drawn(kind="gaussian", n=6000, seed=0):
    rng = np.random.default_rng(seed)
    if kind == "integers":
        x = rng.integers(0, 12, (n, 3))
    else:
        x = rng.lognormal(size=(n, 3)) if kind == "lognormal" else rng.normal(size=(n, 3))
    return pl.DataFrame(x, schema=COLUMNS).with_row_index("id")


def masked_by(leaves, frame):
    """Each leaf masked on its own, and all sorted by id."""
    parts = frame.with_columns(leaves.assign(frame)).partition_by("leaf", include_key=False)
    return pl.concat([leaves.protect(part) for part in parts]).sort("id")


@pytest.mark.parametrize("kind", ["gaussian", "lognormal", "integers"])
def test_leaves_lose_at_most_five_per_cent_more_than_the_table(kind, monkeypatch):
    frame = drawn(kind, 6000)
    leaves = mg.fit_leaves(frame, COLUMNS, k=5, size=500)
    assert len(leaves) > 8
    masked = leaves.mask(frame)
    mg.verify(masked, COLUMNS, k=5)
    whole = mg.loss(frame, mg.mdav(frame, COLUMNS, 5), COLUMNS)
    loss = mg.loss(frame, masked, COLUMNS)
    assert loss <= 1.05 * whole
    monkeypatch.setattr(masking, "SEARCHED", None)
    assert loss < 0.97 * mg.loss(frame, leaves.mask(frame), COLUMNS)


@pytest.mark.parametrize("kind", ["gaussian", "integers"])
@pytest.mark.parametrize("options", [{}, {"refine": True}, {"scale": "none", "center": "median"}])
def test_a_leaf_comes_out_the_same_alone_among_others_and_in_any_order(kind, options, monkeypatch):
    frame = drawn(kind, 2400)
    leaves = mg.fit_leaves(frame, COLUMNS, k=4, size=400, **options)
    assert len(leaves) > 3
    masked = leaves.mask(frame)
    assert masked_by(leaves, frame).equals(masked)
    mixed = frame.sample(fraction=1, shuffle=True, seed=3)
    assert leaves.mask(mixed).sort("id").equals(masked)
    monkeypatch.setattr("polars_microagg.leaves.protect.MANY", 500)
    assert leaves.mask(frame).equals(masked)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"method": "cbfs"},
        {"method": "lowloss", "effort": 0},
        {"nulls": "pattern"},
        {"strata": "s"},
        {"strata": "s", "small_strata": "drop"},
    ],
)
def test_leaves_masked_together_or_one_by_one_come_out_the_same(options, monkeypatch):
    frame = drawn(n=2400).with_columns(s=pl.col("id") % 90 // 60)
    if "small_strata" in options:
        frame = frame.with_columns(s=pl.max_horizontal(pl.lit(0), pl.col("id") // 9 - 150))
    if "nulls" in options:
        frame = frame.with_columns(a=pl.when(pl.col("id") % 5 > 0).then("a"))
    leaves = mg.fit_leaves(frame, COLUMNS, k=4, size=200, **options)
    masked, calls = leaves.mask(frame), []

    def slow(method, sizes, k, options):
        calls.append(sizes)
        return 2.0 * sizes

    monkeypatch.setattr(masking, "seconds_of", slow)
    assert leaves.mask(frame).equals(masked)
    assert calls


def test_a_table_of_twice_the_size_is_one_leaf_and_masked_as_the_table():
    frame = drawn(n=2000)
    leaves = mg.fit_leaves(frame, COLUMNS, k=5, size=1000)
    assert len(leaves) == 1
    assert leaves.losses == {}
    assert leaves.mask(frame).equals(mg.mdav(frame, COLUMNS, 5))
    assert len(mg.fit_leaves(frame, COLUMNS, k=5, size=999)) > 1
    # A sample counts records only roughly.
    assert len(mg.fit_leaves(frame, COLUMNS, k=5, size=1000, records=2001)) > 1


def test_leaves_that_were_all_merged_are_the_table():
    frame = drawn(n=2000)
    leaves = mg.fit_leaves(frame, COLUMNS, k=5, size=900)
    merged = leaves.merge([1] * (len(leaves.tree) - 1) + [1997])
    assert len(merged) == 1
    for one, several in ((leaves, True), (merged, False)):
        (plan,) = one.plans_of(np.array([0]))[1][:-1]
        assert plan.searched == several
        assert plan.thorough == (not several)


@pytest.mark.parametrize(
    "options",
    [
        {"method": "vmdav"},
        {"refine": True},
    ],
)
def test_other_methods_and_refine_are_not_searched(options, monkeypatch):
    frame = drawn(n=1200)
    leaves = mg.fit_leaves(frame, COLUMNS, k=4, size=300, **options)
    masked = leaves.mask(frame)

    def never(*arguments, **options):
        raise AssertionError(arguments, options)

    monkeypatch.setattr(masking, "improved_strata", never)
    assert leaves.mask(frame).equals(masked)
    with pytest.raises(AssertionError):
        mg.fit_leaves(frame, COLUMNS, k=4, size=300).mask(frame)


@pytest.mark.parametrize(
    ("options", "less"),
    [({"entity": "who", "entity_mode": "rows"}, 0.97), ({"confidential": "what", "t": 0.6}, 0.99)],
)
def test_groups_are_searched_before_they_are_made_to_satisfy_models(options, less, monkeypatch):
    rng = np.random.default_rng(2)
    frame = drawn(n=6000).with_columns(
        who=rng.integers(0, 3000, 6000), what=rng.integers(0, 40, 6000)
    )
    leaves = mg.fit_leaves(frame, COLUMNS, k=5, size=500, **options)
    masked = leaves.mask(frame)
    mg.verify(masked, COLUMNS, k=5, **options)
    assert masked_by(leaves, frame).equals(masked)
    monkeypatch.setattr(masking, "SEARCHED", None)
    assert mg.loss(frame, masked, COLUMNS) < less * mg.loss(frame, leaves.mask(frame), COLUMNS)


def test_categories_are_searched_like_numbers():
    rng = np.random.default_rng(5)
    frame = drawn(n=4000).with_columns(t=pl.Series(rng.choice(["u", "v", "w"], 4000)))
    columns = [*COLUMNS, "t"]
    leaves = mg.fit_leaves(frame, columns, k=4, size=900)
    masked = leaves.mask(frame)
    assert masked_by(leaves, frame).equals(masked)
    mg.verify(masked, columns, k=4)


def test_strata_that_are_one_leaf_are_masked_as_such_and_others_searched():
    frame = drawn(n=6000).with_columns(s=pl.when(pl.col("id") < 800).then(1).otherwise(2))
    leaves = mg.fit_leaves(frame, COLUMNS, k=4, size=900, strata="s")
    plans = leaves.plans_of(np.array([0]))[1]
    assert [getattr(plan, "searched", None) for plan in plans] == [True, None]
    masked = leaves.mask(frame)
    assert masked_by(leaves, frame).equals(masked)
    small = pl.col("s") == 1
    assert masked.filter(small).equals(mg.mdav(frame.filter(small), COLUMNS, 4))


def test_leaves_with_nulls_are_searched_pattern_by_pattern():
    rng = np.random.default_rng(6)
    frame = drawn(n=5000).with_columns(a=pl.when(pl.Series(rng.random(5000) > 0.3)).then("a"))
    for nulls in ("pattern", "impute"):
        leaves = mg.fit_leaves(frame, COLUMNS, k=4, size=900, nulls=nulls)
        masked = leaves.mask(frame)
        mixed = frame.sample(fraction=1, shuffle=True, seed=1)
        assert leaves.mask(mixed).sort("id").equals(masked)
