"""Warnings: each is given where a specialist would give it, and not where she would not."""

import datetime as dt

import numpy as np
import polars as pl
import polars.selectors as cs
import pytest

import polars_microagg as mg
from polars_microagg.kernels.centre import CENTRES
from polars_microagg.publishing.warnings.advice import advice, of_table

RNG = np.random.default_rng(3)
N = 200
INCOME = RNG.lognormal(10, 0.6, N).round(2)
BASE = pl.DataFrame(
    {"income": INCOME, "age": RNG.integers(18, 90, N), "region": ["N", "S"] * (N // 2)}
)


def said(frame, *, blocks=(("income", "age"),), k=5, strata=(), kept=(), masked=None, **options):
    blocks = [list(block) for block in blocks]
    if masked is None:
        return of_table(frame, blocks, k, strata=strata, kept=kept, **options)
    return advice(frame, masked, blocks, k, strata=strata, kept=kept, **options)


@pytest.mark.parametrize(
    "kept",
    [
        pl.Series(INCOME * 0.9),
        pl.Series(-INCOME * 3 + 7),
        pl.Series(INCOME**3),  # another function of it, in the same order
        pl.Series((INCOME * 0.9).round(2)).cast(pl.String),
        pl.Series([dt.date(1900, 1, 1) + dt.timedelta(days=int(v) // 100) for v in INCOME]),
        pl.Series([None, *(INCOME * 2)[1:]]),
    ],
    ids=["linear", "negative", "monotone", "text", "date", "nulls"],
)
def test_a_kept_column_that_tells_a_masked_one(kept):
    found = said(BASE.with_columns(net=kept), kept=["net"])
    assert found[0].startswith("The kept column 'net' reveals the masked column 'income'")


GAPS = pl.when(pl.int_range(pl.len()) % 4 > 0)
"""Every fourth record has no value."""


@pytest.mark.parametrize(
    "kept",
    [
        GAPS.then("income"),
        GAPS.then(pl.col("income") * -2 + 1),
        GAPS.then(pl.col("income").log()),
        GAPS.then("income").cast(pl.String),
        pl.col("income").cast(pl.String).cast(pl.Categorical),
        pl.struct("region", pay=GAPS.then("income")),
        pl.struct(pay=pl.struct("region", pay="income")),
        pl.concat_list(pl.lit(1.0), "income"),
        pl.concat_list(GAPS.then("income")).list.drop_nulls(),
        pl.concat_arr("income", pl.col("income") * 0),
    ],
    ids=[
        *("gaps", "negative gaps", "monotone gaps", "text gaps", "category", "struct"),
        *("structs", "list", "empty lists", "array"),
    ],
)
def test_a_copy_with_gaps_or_inside_another_type_tells_a_masked_column(kept):
    table = BASE.with_columns(copy=kept)
    for released in (None, mg.mdav(table, ["income", "age"], 5)):
        found = [s for s in said(table, kept=["copy"], masked=released) if "reveals" in s]
        assert [s.partition(":")[0] for s in found] == [
            "The kept column 'copy' reveals the masked column 'income'"
        ]


def test_gaps_of_a_masked_column_hide_nothing_and_few_records_say_nothing():
    """By hand: three records have both, and two."""
    pay = [10.0, 20, None, 40, None, None]
    options = {"blocks": [["pay"]], "k": 2, "kept": ["copy"]}
    for copy, count in (([1, 2, 9, 4, 1, 3], 1), ([None, 2, 9, 4, 1, 3], 0)):
        table = pl.DataFrame({"pay": pay, "copy": copy})
        assert len([s for s in said(table, **options) if "reveals" in s]) == count
    table = pl.DataFrame({"pay": pay, "copy": [2, 4, 9, 1, 1, 3]})  # 10, 20, 40: no order
    assert not [s for s in said(table, **options) if "reveals" in s]


def test_correlation_is_measured_and_not_more_than_needed():
    noise = RNG.normal(size=N)
    x = (INCOME - INCOME.mean()) / INCOME.std()
    for share, warned in ((0.1, True), (0.2, False)):  # correlations of about 0.995 and 0.98
        table = BASE.with_columns(other=pl.Series((x + share * noise).round(1)))
        r = abs(np.corrcoef(INCOME, table["other"])[0, 1])
        assert (r > 0.99) == warned
        assert bool([s for s in said(table, kept=["other"]) if "reveals" in s]) == warned
    assert not said(
        BASE.with_columns(constant=1, sex=pl.Series(["f", "m"] * (N // 2))),
        kept=["constant", "sex"],
    )


def test_a_kept_column_that_is_nearly_unique():
    table = BASE.with_columns(
        number=pl.int_range(N).shuffle(seed=1).cast(pl.String) + "x",
        nearly=pl.int_range(N).clip(0, 181).shuffle(seed=1).cast(pl.String) + "x",
        half=(pl.int_range(N) // 2).shuffle(seed=1).cast(pl.String) + "x",
    )
    found = said(table, kept=["number", "nearly", "half"])
    assert [s.partition(" is nearly unique")[0] for s in found] == [
        "The kept column 'number'",
        "The kept column 'nearly'",
    ]


def test_one_record_that_makes_the_mean_of_its_group():
    values = [1.0, 2, 3, 1000, 5, 6, 7, 8]
    table = pl.DataFrame({"income": values})
    masked = pl.DataFrame({"income": [251.5] * 4 + [6.5] * 4})
    found = said(table, blocks=[["income"]], k=4, masked=masked)
    assert len(found) == 1
    assert found[0].startswith(
        "In 1 of 2 groups one record makes more than 80% of the total of 'income'"
    )
    median = pl.DataFrame({"income": [2.5] * 4 + [6.5] * 4})
    assert not said(table, blocks=[["income"]], k=4, masked=median, center="median")
    even = table.with_columns(income=pl.col("income").clip(0, 20))
    assert not said(even, blocks=[["income"]], k=4, masked=masked)


def test_strata_that_are_rare_or_too_small():
    regions = ["A"] * 3 + ["B"] * 9 + ["C"] * 10 + ["D"] * (N - 22)
    table = BASE.with_columns(region=pl.Series(regions))
    small, rare = said(table, strata=["region"])
    assert small.startswith(
        "1 of 4 strata of 'region' have fewer than k=5 records (the smallest has 3)"
    )
    assert rare.startswith("1 of 4 strata of 'region' are rare, with fewer than 2k=10 records")
    assert not said(BASE, strata=["region"])


def test_blocks_that_break_k():
    blocks = [["income"], ["age"]]
    masked = mg.mdav(BASE, blocks, 5)
    sizes = masked.group_by("income", "age").len()["len"]
    few = int(sizes.filter(sizes < 5).sum())
    found = [s for s in said(BASE, blocks=blocks, masked=masked) if "blocks" in s]
    assert f"taken together, {few} of {N} records share their values with fewer than 5" in found[0]
    assert "masked each on its own" in said(BASE, blocks=blocks)[0]
    assert not [s for s in said(BASE, masked=mg.mdav(BASE, ["income", "age"], 5)) if "blocks" in s]


def test_names_in_the_type_of_an_enum_that_nobody_has_are_told():
    stage = pl.Series("stage", ["low", "high"] * 4, dtype=pl.Enum(["low", "mid", "high"]))
    table = pl.DataFrame({"age": [1, 1, 1, 1, 2, 2, 2, 2], "stage": stage})
    for role in ({"strata": ["stage"]}, {"kept": ["stage"]}):
        (warning,) = [s for s in advice(table, table, [["age"]], 2, **role) if "Enum" in s]
        assert "'stage' names 1 categories that no released record has" in warning
        assert "mid" not in warning
    full = table.with_columns(pl.col("stage").cast(pl.Enum(["low", "high"])))
    assert not [s for s in advice(full, full, [["age"]], 2, kept=["stage"]) if "Enum" in s]


def test_no_warning_holds_a_value():
    table = BASE.with_columns(
        net=pl.col("income") * 0.9, id=pl.Series([f"Secret{i}" for i in range(N)])
    )
    masked = mg.mdav(table, ["income", "age"], 5)
    found = " ".join(said(table, masked=masked, kept=["net", "id"], strata=["region"]))
    assert "Secret" not in found
    assert not [v for v in INCOME if str(v) in found]


def test_an_empty_table_has_nothing_to_warn_of():
    assert said(BASE.clear(), kept=["region"]) == []


# --- Only what is released ------------------------------------------------------------------------


def test_a_stratum_that_was_emptied_is_not_rare():
    """By hand, k=3: A and D are emptied, B is one group, C is two."""
    regions = ["A"] * 2 + ["B"] * 4 + ["C"] * 6 + ["D"]
    table = pl.DataFrame({"income": [1.0, 2, *range(10, 20), 99], "region": regions})
    masked = mg.mdav(table, ["income"], 3, strata="region", small_strata="null")
    assert masked["income"].null_count() == 3
    options = {"blocks": [["income"]], "k": 3, "strata": ["region"]}
    (rare,) = said(table, masked=masked, **options)
    assert rare.startswith("1 of 2 strata of 'region' are rare, with fewer than 2k=6 records")
    before = said(table, small_strata="null", **options)
    assert [s[:34] for s in before] == ["1 of 4 strata of 'region' are rare"]
    assert "(the smallest has 1)" in said(table, **options)[0]


def test_a_kept_column_that_tells_an_emptied_stratum_is_named():
    """By hand, k=3: towns p and q lie in A and D, which are emptied; r lies in B and C."""
    regions = ["A"] * 2 + ["D"] * 2 + ["B"] * 3 + ["C"] * 3
    table = pl.DataFrame(
        {"income": range(10), "region": regions, "town": [*"ppqqrrrrrr"], "sex": [*"fmfmfmfmfm"]}
    )
    masked = mg.mdav(table, ["income"], 3, strata="region", small_strata="null")
    options = {"blocks": [["income"]], "k": 3, "strata": ["region"], "kept": ["town", "sex"]}
    first, _ = said(table, masked=masked, **options)
    assert first.startswith("The kept column 'town' may tell the stratum of 4 of 4 emptied records")
    dropped = table.filter(pl.col("region").is_in(["B", "C"]))
    assert not any("emptied" in s for s in said(dropped, masked=masked[4:], **options))


def test_records_without_any_value_make_no_stratum_of_their_own():
    """By hand, k=2, nulls kept: of the four records of A two have no value, and so has all of B."""
    table = pl.DataFrame(
        {"income": [1.0, 2, None, None, None, None], "region": ["A"] * 4 + ["B"] * 2}
    )
    masked = mg.mdav(table, ["income"], 2, strata="region", nulls="pattern")
    assert masked["income"].to_list() == [1.5, 1.5, None, None, None, None]
    options = {"blocks": [["income"]], "k": 2, "strata": ["region"]}
    after = said(table, masked=masked, **options)
    assert [s[:34] for s in after] == ["1 of 1 strata of 'region' are rare"]
    assert said(table, nulls="pattern", **options) == after


def test_a_group_that_was_emptied_is_not_dominated():
    table = pl.DataFrame({"income": [1.0, 1000, 5, 6, 7, 8], "region": ["A"] * 2 + ["B"] * 4})
    masked = pl.DataFrame({"income": [None, None, 6.5, 6.5, 6.5, 6.5], "region": table["region"]})
    options = {"blocks": [["income"]], "k": 4, "masked": masked}
    assert not said(table, **options)
    assert not said(table, center="median", **options)
    table = table.with_columns(income=pl.Series([1.0, 1000, 5, 6, 7, 800]))
    masked = masked.with_columns(income=pl.Series([None, None, *[204.5] * 4]))
    (found,) = said(table, **(options | {"masked": masked}))
    assert found.startswith("In 1 of 1 groups one record makes more than 80%")


def test_empty_cells_of_one_column_leave_those_of_another():
    """Nulls kept in one column: its groups are those that have a value there."""
    table = pl.DataFrame({"a": [None, None, 1.0, 99.0], "b": [1.0, 1.0, 1.0, 1.0]})
    masked = pl.DataFrame({"a": [None, None, 50.0, 50.0], "b": [1.0] * 4})
    found = said(table, blocks=[["a", "b"]], k=2, masked=masked)
    assert [s[:40] for s in found] == ["In 1 of 1 groups one record makes more t"]


def test_blocks_count_the_records_that_are_released():
    table = pl.DataFrame({"a": [1.0, 2, 3, 4, 5, 6], "b": [1.0, 3, 2, 4, 5, 6]})
    masked = pl.DataFrame(
        {"a": [1.5, 1.5, 3.5, 3.5, None, None], "b": [1.5, 3.5, 1.5, 3.5, None, None]}
    )
    (found,) = said(table, blocks=[["a"], ["b"]], k=2, masked=masked)
    assert "taken together, 4 of 4 records share their values with fewer than 2" in found


def test_a_kept_cell_of_an_emptied_record_is_released_and_counts():
    table = pl.DataFrame({"a": [1.0, 2, 3, 4], "net": [2.0, 4, 6, 8]})
    masked = table.with_columns(a=pl.Series([None, None, 3.5, 3.5]))
    found = said(table, blocks=[["a"]], k=2, masked=masked, kept=["net"])
    assert [s.partition(" column")[0] for s in found] == ["The kept", "The kept"]
    names = pl.Series([f"x{min(i, 18)}" for i in range(20)])  # the two that are released share one
    table = pl.DataFrame({"a": range(20), "name": names})
    masked = table.with_columns(a=pl.Series([None] * 18 + [18.5] * 2))
    (found,) = said(table, blocks=[["a"]], k=2, masked=masked, kept=["name"])
    assert "nearly unique: 19 distinct values in 20 rows" in found


# --- Centres that are values of single records ----------------------------------------------------


@pytest.mark.parametrize(
    ("values", "single"),
    [
        ([1.0, 2, 9, 4, 5, 60], 2),  # the middle of three is 2, and 5
        ([1.0, 2, 2, 4, 5, 60], 1),  # two records have the 2, one has the 5
        ([7.0, 7, 7, 4, 4, 4], 0),  # every record has it, as with the mean
    ],
)
def test_medians_of_odd_groups_are_values_of_records(values, single):
    table = pl.DataFrame({"income": values})
    medians = [sorted(values[i : i + 3])[1] for i in (0, 3)]
    masked = pl.DataFrame({"income": [m for m in medians for _ in range(3)]})
    found = said(table, blocks=[["income"]], k=3, masked=masked, center="median")
    if not single:
        assert not found
        return
    assert found == [
        f"In {single} of 2 groups the centre of 'income' is the value of one record: "
        "center='median' releases values as they were. Use center='mean'."
    ]
    mean = pl.DataFrame({"income": [m + 0.5 for m in medians for _ in range(3)]})
    assert not [s for s in said(table, blocks=[["income"]], k=3, masked=mean) if "centre" in s]


@pytest.mark.parametrize(
    "kind", [pl.Int64, pl.Decimal(12, 2), pl.Date, pl.Duration, pl.Time, pl.Float32]
)
@pytest.mark.parametrize("dtype", ["keep", "float"])
def test_medians_are_found_out_in_any_type(kind, dtype):
    table = pl.DataFrame({"x": pl.Series([1, 2, 9, 40, 50, 90]).cast(pl.Int32).cast(kind)})
    masked = mg.mdav(table, "x", 3, center="median", dtype=dtype)
    found = said(table, blocks=[["x"]], k=3, masked=masked, center="median")
    assert [s[:14] for s in found] == ["In 2 of 2 grou"]


def test_a_median_is_warned_of_before_and_where_it_is_published(tmp_path):
    assert "The median of a group of an odd number" in said(BASE, center="median")[0]
    told = mg.publish(
        BASE, tmp_path / "o.csv", ["income", "age"], 5, keep=cs.all(), center="median"
    )
    sentences = [s for s in told["warnings"] if "is the value of one record" in s]
    assert len(sentences) == 2
    told = mg.publish(BASE, tmp_path / "p.csv", ["income", "age"], 5, keep=cs.all())
    assert not [s for s in told["warnings"] if "is the value of one record" in s]


def test_a_centre_of_one_value_that_others_are_given():
    """Imputed: of three alike records one has an income, which all of them are given."""
    table = pl.DataFrame({"age": [30, 30, 30, 60, 60, 60], "income": [None, 7.0, None, 1, 2, 3]})
    masked = mg.mdav(table, ["age", "income"], 3, nulls="impute")
    assert masked["income"].to_list() == [7, 7, 7, 2, 2, 2]
    found = said(table, blocks=[["age", "income"]], k=3, masked=masked)
    assert found == [
        "In 1 of 2 groups only one record has a value of 'income', and it is the centre that all "
        "of them are given. Drop the column, or keep nulls with nulls='pattern'."
    ]
    (two, *others) = said(table, blocks=[["age", "income"]], k=3, masked=masked, center="median")
    assert two.startswith("In 1 of 2 groups the centre of 'income' is the value of one record")
    assert others == found


def test_every_centre_is_known_to_the_warnings():
    """Of the centres that there are, only the mean is a value of no record."""
    assert set(CENTRES) == {"mean", "median"}
