"""Classes of equal records and what they tell about a confidential column."""

import datetime as dt

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import polars_microagg as mg
from polars_microagg.core.attributes import Attribute
from polars_microagg.core.partition import Members
from polars_microagg.kernels.earth_mover import Ladder, ordered_distances, variational_distances

# Classes of sizes 3, 2, 1.
TABLE = pl.DataFrame(
    {
        "age": [30, 30, 30, 41, 41, 52],
        "sick": ["u", "v", "u", "u", "u", "w"],
        "wage": [1, 2, 3, 2, 2, 9],
    }
)
FIRST = ["records", "classes", "k_min", "k_prime", "uniques"]
SIZES = ["size_q25", "size_median", "size_q75", "size_max", "histogram"]


@pytest.mark.parametrize("as_given", [lambda f: f, pl.DataFrame.lazy], ids=["eager", "lazy"])
def test_by_hand(as_given):
    found = mg.anonymity(as_given(TABLE), "age", k=3, confidential="sick").row(0, named=True)
    plain = mg.anonymity(TABLE, "age")
    assert plain.columns == FIRST
    assert tuple(found.values())[:5] == plain.row(0) == (6, 3, 1, 2.0, 1)
    # The classes of 2 and 1 hold 3 records.
    assert found["at_risk"] == 3
    sizes = [found[name] for name in ("size_q25", "size_median", "size_q75", "size_max")]
    assert sizes == [1.5, 2.0, 2.5, 3]
    assert found["histogram"] == [{"size": s, "classes": 1} for s in (1, 2, 3)]
    assert found["l"] == 1
    # u v w have 4/6 1/6 1/6; the class of one w: (4/6 + 1/6 + 5/6) / 2.
    assert found["t"] == pytest.approx(5 / 6)


def test_ordered_values_by_hand():
    # 1 2 3 9 have 1/6 3/6 1/6 1/6, so F is 1/6 4/6 5/6; the class of 9 has 0 0 0: 10/6 over 3.
    found = mg.anonymity(TABLE, "age", confidential="wage").row(0, named=True)
    assert found["t"] == pytest.approx(10 / 18)
    # Without it: 1 2 2 2 3, F is 1/5 4/5; 1/3 2/3 and 0 1: (2/15 + 2/15) / 2 and (1/5 + 1/5) / 2.
    found = mg.anonymity(TABLE[:5], "age", confidential="wage").row(0, named=True)
    assert found["t"] == pytest.approx(1 / 5)
    assert found["l"] == 1
    assert mg.anonymity(TABLE[:3], "age", confidential="wage")["l"].item() == 3


def test_the_worst_of_several_columns_counts():
    one, two = (mg.anonymity(TABLE[:5], "age", confidential=n) for n in ("sick", "wage"))
    both = mg.anonymity(TABLE[:5], "age", confidential=["sick", "wage"])
    for name, worst in (("l", min), ("max_share", max), ("t", max)):
        assert both[name].item() == worst(one[name].item(), two[name].item())


def test_strata_divide_the_classes():
    found = mg.anonymity(TABLE, "age", strata="sick", confidential="wage", k=2)
    assert found["classes"].item() == 4
    assert found["at_risk"].item() == 2
    assert TABLE.microagg.anonymity("age", strata="sick", confidential="wage", k=2).equals(found)


def test_k_adds_the_sizes_and_the_records_at_risk():
    found = mg.anonymity(TABLE, "age", k=2)
    assert found.columns == [*FIRST, *SIZES, "at_risk"]
    both = mg.anonymity(TABLE, "age", k=2, confidential="sick")
    assert both.columns == [*FIRST, *SIZES, "at_risk", "l", "max_share", "t"]
    assert both.select(found.columns).equals(found)
    assert found["at_risk"].item() == 1
    with pytest.raises(mg.InvalidParameterError, match="k=1"):
        mg.anonymity(TABLE, "age", k=1)
    with pytest.raises(mg.InvalidParameterError, match="confidential names 'wages'"):
        mg.anonymity(TABLE, "age", confidential="wages")


def test_a_null_hides_nobody_and_is_a_share():
    # Class 0 shows u and v beside a null; class 1 only u; class 2 nothing.
    sick = ["u", "v", None, "u", None, None, None, None]
    table = pl.DataFrame({"a": [0, 0, 0, 1, 1, None, None, None], "c": sick})
    ls = {0: 2, 1: 1, None: 1}
    for value, wanted in ls.items():
        part = table.filter(pl.col("a").eq_missing(value))
        assert mg.anonymity(part, "a", confidential="c")["l"].item() == wanted
    found = mg.anonymity(table, "a", confidential="c")
    assert found["l"].item() == 1
    # u v null have 2/8 1/8 5/8, the last class 0 0 1: (2/8 + 1/8 + 3/8) / 2.
    assert found["t"].item() == pytest.approx(3 / 8)
    # The same as numbers 7 and 9: null 7 9 have F 5/8 7/8, the classes 1/3 2/3, 1/2 1 and 1 1.
    wage = table.with_columns(pl.col("c").replace_strict({"u": 7, "v": 9}, default=None))
    found = mg.anonymity(wage, "a", confidential="c")
    assert found["l"].item() == 1
    assert found["t"].item() == pytest.approx((7 / 24 + 5 / 24) / 2)


def test_no_rows():
    found = mg.anonymity(TABLE.clear(), "age", k=2, confidential="wage").row(0, named=True)
    assert found["records"] == found["at_risk"] == 0
    assert found["histogram"] == []
    assert found["l"] is found["t"] is found["size_max"] is None


@pytest.mark.parametrize(
    "values",
    [
        [dt.date(2024, 1, 1), dt.date(2024, 1, 2), dt.date(2024, 1, 4), dt.date(2024, 1, 4)],
        [1.5, 2.5, 9.5, 9.5],
        pl.Series([1, 2, 3, 3], dtype=pl.UInt64),
    ],
    ids=["date", "float", "uint"],
)
def test_only_the_order_of_ordered_values_counts(values):
    table = pl.DataFrame({"a": [0, 0, 1, 1], "c": values})
    # F is 1/4 2/4; the classes have 1/2 1 and 0 0: 3/8 each.
    assert mg.anonymity(table, "a", confidential="c")["t"].item() == pytest.approx(3 / 8)


@given(rng=st.integers(0, 2**32 - 1).map(np.random.default_rng))
def test_distances_of_whole_tables_of_shares(rng):
    n = int(rng.integers(1, 50))
    classes = np.unique(rng.integers(0, 6, n), return_inverse=True)[1]
    codes = np.unique(rng.integers(0, 8, n), return_inverse=True)[1]
    counts = np.zeros((classes.max() + 1, codes.max() + 1))
    np.add.at(counts, (classes, codes), 1)
    gaps = counts / counts.sum(axis=1, keepdims=True) - counts.sum(axis=0) / n
    groups = Members.of(np.arange(n), classes, len(counts))
    runs = (attribute := Attribute.of("c", codes)).runs(groups)
    apart = variational_distances(*runs, groups.sizes, attribute.shares)
    assert apart == pytest.approx(np.abs(gaps).sum(axis=1) / 2)
    ladder = Ladder.of(attribute.counts)
    steps = ordered_distances(*runs, groups.sizes, ladder)
    mean = np.abs(np.cumsum(gaps, axis=1)).sum(axis=1) / max(codes.max(), 1)
    assert steps == pytest.approx(mean)
    for distances in (apart, steps):
        assert distances.min() >= 0
        assert distances.max() <= 1
