"""Warnings: each is given where a specialist would give it, and not where she would not."""

import datetime as dt

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.release.advice import advice

RNG = np.random.default_rng(3)
N = 200
INCOME = RNG.lognormal(10, 0.6, N).round(2)
BASE = pl.DataFrame(
    {"income": INCOME, "age": RNG.integers(18, 90, N), "region": ["N", "S"] * (N // 2)}
)


def said(frame, *, blocks=(("income", "age"),), k=5, strata=(), kept=(), masked=None, **options):
    return advice(frame, masked, [list(b) for b in blocks], k, strata=strata, kept=kept, **options)


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
    assert not said(table, blocks=[["income"]], k=4, masked=masked, center="median")
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
