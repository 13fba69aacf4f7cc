"""Measures of a release at the Polars door: defaults, options, what an intruder knows, regions."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import polars_microagg as mg
from polars_microagg.core import registry

EYES = [pytest.param(lambda frame: frame, id="eager"), pytest.param(pl.DataFrame.lazy, id="lazy")]
as_given = pytest.mark.parametrize("as_given", EYES)

# Each column is grouped on its own, so that any one column is shared by two and both by none.
BEFORE = pl.DataFrame({"id": list("pqrs"), "a": [1, 3, 5, 7], "b": [1.0, 5.0, 2.0, 6.0]})
AFTER = BEFORE.with_columns(a=pl.Series([2, 2, 6, 6]), b=pl.Series([1.5, 5.5, 1.5, 5.5]))
DEFAULT = [
    *("sse", "sst", "loss", "il1", "il2", "il3", "il4", "il5", "il", "dld", "pld"),
    *("interval_disclosure", "dr", "score", "k_min", "k_prime", "mean_sd", "delta_r", "delta_w"),
    *("fpc_share", "delta_corr", "delta_corr_sd"),
]


@as_given
def test_all_metrics_of_the_contract_in_order(as_given):
    found = mg.assess(as_given(BEFORE), as_given(AFTER))
    assert found.columns == DEFAULT == list(registry.assessed())
    types = dict.fromkeys(DEFAULT, pl.Float64) | {"k_min": pl.Int64}
    assert found.schema == types
    row = found.row(0, named=True)
    assert row["dld"] == 100
    assert row["dr"] == pytest.approx((row["dld"] + row["interval_disclosure"]) / 2)
    assert row["score"] == pytest.approx((row["il"] + row["dr"]) / 2)
    for name, value in row.items():
        assert getattr(mg, name)(as_given(BEFORE), as_given(AFTER)) == value, name


@pytest.mark.parametrize("name", ["drisk", "il1s", "eigenvalue_difference", "il1_zero_cells"])
def test_other_metrics_are_given_when_asked_for(name):
    found = mg.assess(BEFORE, AFTER, metrics=[name])
    assert found.item() == getattr(mg, name)(BEFORE, AFTER)
    assert found.schema[name] == (pl.Int64 if name == "il1_zero_cells" else pl.Float64)


def test_no_rows():
    found = mg.assess(BEFORE.clear(), AFTER.clear()).row(0, named=True)
    assert found["loss"] == found["il"] == 0
    assert found["dld"] is found["score"] is found["k_min"] is found["mean_sd"] is None


# --- Options ----------------------------------------------------------------------------------


def test_options_reach_the_metric():
    flat = AFTER.with_columns(b=pl.lit(3.5))
    assert (mg.dld(BEFORE, flat, "a"), mg.dld(BEFORE, flat, "a", optimistic=True)) == (50, 100)
    assert mg.interval_disclosure(BEFORE, AFTER, "a", by="sd", widths=40) == 0
    assert mg.interval_disclosure(BEFORE, AFTER, "a", by="sd", widths=[40, 50]) == 50
    weights = {"dld": 3, "il": 1}
    il, dld = mg.il(BEFORE, AFTER), mg.dld(BEFORE, AFTER)
    assert mg.score(BEFORE, AFTER, weights=weights) == pytest.approx((il + 3 * dld) / 4)
    assert mg.pld(BEFORE, AFTER, limit=3) is None
    assert mg.il5(BEFORE, AFTER, change="relative") != mg.il5(BEFORE, AFTER)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mg.dld(BEFORE, AFTER, optimist=True), "optimist"),
        (lambda: mg.dld(BEFORE, AFTER, optimistic=1), "optimistic=1 .*True or False"),
        (lambda: mg.interval_disclosure(BEFORE, AFTER, by="rnk"), "by='rnk'"),
        (lambda: mg.interval_disclosure(BEFORE, AFTER, widths=101), "widths=101.*from 0 to 100"),
        (lambda: mg.interval_disclosure(BEFORE, AFTER, widths=[1, "x"]), "widths='x'"),
        (lambda: mg.interval_disclosure(BEFORE, AFTER, widths=[]), "widths"),
        (lambda: mg.score(BEFORE, AFTER, weights="mic"), "weights='mic'"),
        (lambda: mg.score(BEFORE, AFTER, weights={"dl": 1}), "a key of weights='dl'"),
        (lambda: mg.score(BEFORE, AFTER, weights={"dld": -1}), r"weights\['dld'\]=-1"),
        (lambda: mg.score(BEFORE, AFTER, weights={"dld": 0}), "some number that is not 0"),
        (lambda: mg.pld(BEFORE, AFTER, tolerance=-0.1), "tolerance=-0.1.*at least 0"),
        (lambda: mg.assess(BEFORE, AFTER, known=3), "known=3.*from 1 to the 2"),
        (lambda: mg.assess(BEFORE, AFTER, known=0), "known=0"),
        (lambda: mg.assess(BEFORE, AFTER, known="subset"), "known names 'subset'"),
        (lambda: mg.assess(BEFORE, AFTER, known=[["a"], []]), "no empty list"),
        (lambda: mg.assess(BEFORE, AFTER, known=[["a"], ["c"]]), "known names 'c'"),
        (
            lambda: mg.assess(BEFORE, AFTER, known=[]),
            r"known=\[\] .* at least one column, or 'all'",
        ),
        (lambda: mg.dld(BEFORE, AFTER, known=()), "at least one column, or 'all'"),
        (lambda: mg.assess(BEFORE, AFTER, metrics=[]), r"metrics=\[\] .* at least one name"),
        (lambda: mg.assess(BEFORE, AFTER, known_sample=0), "known_sample=0"),
        (lambda: mg.assess(BEFORE, AFTER, by="c"), "by names 'c'"),
    ],
)
def test_wrong_options_are_errors(call, message):
    with pytest.raises(mg.InvalidParameterError, match=message):
        call()


# --- What an intruder knows -------------------------------------------------------------------

# By both columns all four are linked and alone; by one of them each shares with another.
KNOWN = [
    (None, 100, 1, 1),
    ("all", 100, 1, 1),
    (["a", "b"], 100, 1, 1),
    ("a", 50, 2, 2),
    (2, 100, 1, 1),
    (1, 50, 2, 2),
    ("subsets", 200 / 3, 5 / 3, 1),
    ([["a"], ["a", "b"]], 75, 1.5, 1),
    ([["b", "a"]], 100, 1, 1),
]


@as_given
@pytest.mark.parametrize(("known", "dld", "k_prime", "k_min"), KNOWN, ids=lambda v: str(v))
def test_sets_of_known_columns(as_given, known, dld, k_prime, k_min):
    found = mg.assess(as_given(BEFORE), as_given(AFTER), known=known).row(0, named=True)
    assert (found["dld"], found["k_prime"]) == pytest.approx((dld, k_prime))
    assert found["k_min"] == k_min
    assert found["dr"] == pytest.approx((dld + found["interval_disclosure"]) / 2)
    assert mg.dld(BEFORE, AFTER, known=known) == pytest.approx(dld)
    # What is known does not change the loss.
    assert found["il"] == mg.il(BEFORE, AFTER)


def test_a_column_may_have_the_name_of_a_word():
    tables = [frame.rename({"a": "all", "b": "subsets"}) for frame in (BEFORE, AFTER)]
    assert mg.dld(*tables, known="all") == mg.dld(*tables, known="subsets") == 50


def test_a_sample_of_sets_is_drawn_by_its_seed():
    wide = pl.DataFrame({f"c{j}": [(i * (2 * j + 3)) % 31 for i in range(40)] for j in range(6)})
    masked = mg.univariate(wide, wide.columns, 3)
    every = mg.dld(wide, masked, known="subsets")
    draws = {mg.dld(wide, masked, known="subsets", known_sample=5, seed=s) for s in range(4)}
    assert len(draws) > 1
    assert mg.dld(wide, masked, known="subsets", known_sample=5, seed=3) in draws
    assert mg.dld(wide, masked, known="subsets", known_sample=63) == pytest.approx(every)
    assert mg.dld(wide, masked, known=6, known_sample=9) == mg.dld(wide, masked)


def test_many_sets_need_a_sample():
    wide = pl.DataFrame({f"c{j}": [1.0, 2.0, 3.0, float(j)] for j in range(20)})
    with pytest.raises(mg.InvalidParameterError, match="there are 1048575 sets of columns"):
        mg.dld(wide, wide, known="subsets")
    assert 0 <= mg.dld(wide, wide, known="subsets", known_sample=20) <= 100


@as_given
@pytest.mark.parametrize(
    "metrics", [None, "dld", "dr", ["k_min", "score"], ["pld", "loss"]], ids=str
)
@pytest.mark.parametrize("known", ["id", ["id", "a"], [["a"], ["b", "id"]]], ids=str)
def test_a_known_column_without_distances_links_nothing(as_given, metrics, known):
    tables = [as_given(t.with_columns(pl.col("id").cast(pl.Binary))) for t in (BEFORE, AFTER)]
    text = r"'id' of type Binary.*ask for .* metrics=\['k_min', 'k_prime'\]"
    with pytest.raises(mg.NotNumericError, match=text):
        mg.assess(*tables, metrics=metrics, known=known)
    for name in ("dld", "pld", "dr", "score"):
        with pytest.raises(mg.NotNumericError, match=text):
            getattr(mg, name)(*tables, known=known)


@as_given
def test_a_known_column_without_distances_is_counted(as_given):
    # Nobody shares an id; on a two and two are alike.
    tables = as_given(BEFORE), as_given(AFTER)
    for known, row in ((["id", "a"], (1, 1.0)), ([["a"], ["id"]], (1, 1.5))):
        found = mg.assess(*tables, metrics=["k_min", "k_prime"], known=known)
        assert found.row(0) == row
    assert mg.k_min(*tables, known="id") == 1
    # What does not depend on what is known is measured beside it.
    both = mg.assess(*tables, metrics=["loss", "k_min"], known="id")
    assert both["loss"].item() == mg.loss(*tables)


def test_a_known_column_that_is_not_measured():
    assert mg.dld(BEFORE, AFTER, "a", known="b") == 50
    assert mg.dld(BEFORE, AFTER, "a", known=["a", "b"]) == 100
    assert mg.loss(BEFORE, AFTER, "a", known="b") == mg.loss(BEFORE, AFTER, "a")


@given(seed=st.integers(0, 200))
def test_a_set_more_is_an_average_more(seed):
    frame = pl.DataFrame(
        {
            n: [(seed * m + i * i * m) % 17 for i in range(20)]
            for n, m in (("x", 3), ("y", 5), ("z", 7))
        }
    )
    masked = mg.univariate(frame, frame.columns, 3, dtype="float")
    singles = [mg.dld(frame, masked, known=name) for name in "xyz"]
    assert mg.dld(frame, masked, known=1) == pytest.approx(sum(singles) / 3)
    prime = [mg.k_prime(frame, masked, known=name) for name in "xyz"]
    assert mg.k_prime(frame, masked, known=1) == pytest.approx(sum(prime) / 3)
    assert mg.k_min(frame, masked, known="subsets") == mg.k_min(frame, masked)


# --- Regions ----------------------------------------------------------------------------------


@as_given
def test_one_row_a_region(as_given):
    regions = pl.Series("region", ["n", "s", None, "n", "s", "s", "n", None])
    before = pl.concat([BEFORE, BEFORE]).with_columns(regions)
    after = pl.concat([AFTER, AFTER]).with_columns(regions)
    names = ["loss", "dld", "k_min"]
    found = mg.assess(as_given(before), as_given(after), ["a", "b"], metrics=names, by="region")
    assert found.columns == ["region", *names]
    assert found["region"].to_list() == ["n", "s", None]
    for region, part in (("n", [0, 3, 6]), ("s", [1, 4, 5]), (None, [2, 7])):
        alone = mg.assess(before[part], after[part], ["a", "b"], metrics=names)
        assert found.filter(pl.col("region").eq_missing(region)).drop("region").equals(alone)


def test_regions_with_a_key_and_more_than_one_column():
    before = BEFORE.with_columns(x=pl.Series([1, 1, 2, 2]), y=pl.lit("u"))
    found = mg.assess(before, AFTER[[3, 0, 2, 1]], key="id", by=["x", "y"])
    assert found.columns == ["x", "y", *DEFAULT]
    assert found.select("x", "y").rows() == [(1, "u"), (2, "u")]
    # In each region a is one value, so that nothing is left of it.
    assert mg.assess(before, AFTER, ["a"], metrics="loss", by="x")["loss"].to_list() == [100, 100]


# --- Keys -------------------------------------------------------------------------------------


@as_given
@pytest.mark.parametrize(
    ("one", "other"),
    [(pl.Int64, pl.String), (pl.String, pl.Int64), (pl.Date, pl.Int64), (pl.Int64, pl.Float64)],
    ids=str,
)
def test_keys_of_other_types_are_refused_in_a_sentence(as_given, one, other):
    rows = pl.Series([11, 12, 13, 14])
    tables = BEFORE.with_columns(id=rows.cast(one)), AFTER.with_columns(id=rows.cast(other))
    text = rf"key=\['id'\] .*: 'id' is of type {one} and {other}, which cannot be compared"
    with pytest.raises(mg.InvalidDataError, match=text) as caught:
        mg.assess(*map(as_given, tables), ["a", "b"], key="id")
    assert "11" not in str(caught.value)
    with pytest.raises(mg.InvalidDataError, match=text):
        mg.dld(*map(as_given, tables), ["a", "b"], key="id")
    with pytest.raises(mg.InvalidDataError, match=text):
        mg.assess(*map(as_given, tables), ["a", "b"], by="a", key=["id"])


def test_keys_of_other_widths_match():
    tables = (
        BEFORE.with_columns(id=pl.Series([1, 2, 3, 4])),
        AFTER.with_columns(id=pl.Series([1, 2, 3, 4])),
    )
    narrow = tables[1].with_columns(pl.col("id").cast(pl.Int8))[::-1]
    assert mg.assess(tables[0], narrow, ["a", "b"], key="id").equals(mg.assess(*tables, ["a", "b"]))


# --- Categories -------------------------------------------------------------------------------


@as_given
def test_a_release_by_a_taxonomy_is_not_measured_without_it(as_given):
    tree = mg.Taxonomy({"nurse": "care", "doctor": "care", "clerk": "office", "boss": "office", "care": "any", "office": "any"})  # fmt: skip
    before = pl.DataFrame({"job": ["nurse", "doctor", "clerk", "boss"], "x": [1, 2, 3, 4]})
    after = mg.mdav(before, "job", 2, taxonomy={"job": tree})
    assert sorted(after["job"]) == ["care", "care", "office", "office"]
    tables, text = (
        (as_given(before), as_given(after)),
        r"Column 'job' has 2 distinct value\(s\) after masking .*with taxonomy, or leave",
    )
    for measure in (mg.assess, mg.loss, mg.dld):
        with pytest.raises(mg.InvalidDataError, match=text) as found:
            measure(*tables, "job")
        assert "care" not in str(found.value)
    assert mg.assess(*tables, "x", metrics="loss").item() == 0
    assert 0 < mg.loss(*tables, "job", taxonomy={"job": tree}) < 100
    # What was there before is measured: four values are 3/2 off their mean in all, and two are 1 off.
    assert mg.loss(before, before[[0, 0, 2, 2]], "job") == pytest.approx(400 / 3)


def test_a_category_that_is_gone_counts_as_the_mean():
    # Two categories are 0 and 1, so their mean is 1/2 and all are 4/4 off it: a null is 1/4 off, as it
    # is the mean, and the other category 1.
    before = pl.DataFrame({"pet": ["cat", "cat", "dog", "dog"]})
    for pets, loss in (
        (["cat", "cat", "dog", None], 25),
        (["cat", None, None, "dog"], 50),
        ([None] * 4, 100),
        (["cat", "cat", "dog", "cat"], 100),
    ):
        after = pl.DataFrame({"pet": pets}, schema={"pet": pl.String})
        assert mg.loss(before, after, "pet") == pytest.approx(loss, rel=1e-12)
