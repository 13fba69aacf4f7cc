"""Classes of equal records: verified and counted on four rows, worked by hand."""

import datetime as dt

import polars as pl
import polars.selectors as cs
import pytest

import polars_microagg as mg

EYES = [pytest.param(lambda frame: frame, id="eager"), pytest.param(pl.DataFrame.lazy, id="lazy")]
as_given = pytest.mark.parametrize("as_given", EYES)

# Classes of a: 1, 1 and 2, 2. Of b: 5, 5 and 6 and 7. Of both: (1, 5) twice, (2, 6), (2, 7).
TABLE = pl.DataFrame({"a": [1, 1, 2, 2], "b": [5, 5, 6, 7], "s": ["x", "x", "x", None]})


def not_anonymous(columns, k, classes, records, smallest):
    return (
        rf"not {k}-anonymous on {columns}: {classes} class\(es\) with {records} record\(s\) in all "
        rf"are smaller than k={k} \(the smallest has {smallest}\)"
    )


# --- verify -----------------------------------------------------------------------------------


@as_given
@pytest.mark.parametrize(
    ("columns", "k", "strata"),
    [
        ("a", 2, None),
        (["a"], 2, None),
        (cs.by_name("a"), 2, None),
        ([["a"]], 2, None),
        (["a", "a2"], 2, None),
        ([["a"], ["a2"]], 2, None),
        (["a", "s"], 2, []),
    ],
    ids=str,
)
def test_a_table_with_k_records_in_every_class_passes(as_given, columns, k, strata):
    table = TABLE.with_columns(a2=pl.col("a") * 2, s=pl.lit("x"))
    assert mg.verify(as_given(table), columns, k, strata=strata) is None
    assert as_given(table).microagg.verify(columns, k, strata=strata) is None


@as_given
@pytest.mark.parametrize(
    ("columns", "k", "strata", "said"),
    [
        ("a", 3, None, ("'a'", 3, 2, 4, 2)),
        (["a", "b"], 2, None, ("'a', 'b'", 2, 2, 2, 1)),
        (["a", "b"], 3, None, ("'a', 'b'", 3, 3, 4, 1)),
        # Each block has classes of its own; the first that falls short is named.
        ([["a"], ["b"]], 2, None, ("'b'", 2, 2, 2, 1)),
        ([["b"], ["a"]], 3, None, ("'b'", 3, 3, 4, 1)),
        # Within x: 1, 1 and 2. Within the null stratum: 2.
        ("a", 2, "s", ("'a' within strata of 's'", 2, 2, 2, 1)),
        ("a", 2, ["s"], ("'a' within strata of 's'", 2, 2, 2, 1)),
        # A stratum may be measured as well: then it is counted once.
        (["a", "s"], 2, "s", ("'a', 's'", 2, 2, 2, 1)),
        (cs.integer(), 2, None, ("'a', 'b'", 2, 2, 2, 1)),
        # A null is a value: here one record has it.
        ("s", 3, None, ("'s'", 3, 1, 1, 1)),
    ],
    ids=str,
)
def test_a_table_with_smaller_classes_is_refused_with_the_counts(
    as_given, columns, k, strata, said
):
    with pytest.raises(mg.NotAnonymousError, match=not_anonymous(*said)):
        mg.verify(as_given(TABLE), columns, k, strata=strata)


@as_given
def test_records_without_any_value_are_a_class_like_any_other(as_given):
    # One record is emptied. The other nulls are values: (1, null) twice is a class.
    table = pl.DataFrame({"a": [None, 1, 1, 2, 2], "b": [None, None, None, 4, 4]})
    with pytest.raises(mg.NotAnonymousError, match=not_anonymous("'a', 'b'", 2, 1, 1, 1)):
        mg.verify(as_given(table), ["a", "b"], 2)
    mg.verify(as_given(pl.concat([table, table.head(1)])), ["a", "b"], 2)
    # Emptied in each of two strata, which their records still show; and with their strata.
    keys = pl.DataFrame({"a": [None, None, 3, 3], "s": ["x", "y", "z", "z"]})
    with pytest.raises(mg.NotAnonymousError, match="2 class"):
        mg.verify(as_given(keys), "a", 2, strata="s")
    emptied = keys.with_columns(s=pl.Series([None, None, "z", "z"]))
    mg.verify(as_given(emptied), "a", 2, strata="s")
    # Each block is counted on its own: b has a null three times, a once.
    mg.verify(as_given(table), "b", 2)
    with pytest.raises(mg.NotAnonymousError, match="on 'a'"):
        mg.verify(as_given(table), [["a"], ["b"]], 2)


@as_given
def test_any_type_can_be_verified(as_given):
    table = pl.DataFrame(
        {
            "text": ["u", "u", "v"],
            "flag": [True, True, False],
            "nan": [float("nan"), float("nan"), 1.0],
            "zero": [-0.0, -0.0, 0.0],
            "day": [dt.date(2024, 1, 1)] * 2 + [dt.date(2024, 1, 2)],
        }
    )
    for name in table.columns:
        mg.verify(as_given(table[:2]), name, 2)
        with pytest.raises(mg.NotAnonymousError, match=not_anonymous(f"'{name}'", 2, 1, 1, 1)):
            mg.verify(as_given(table), name, 2)


@as_given
def test_no_rows_are_anonymous(as_given):
    assert mg.verify(as_given(TABLE.clear()), ["a", "b"], 5, strata="s") is None


# --- anonymity --------------------------------------------------------------------------------

COUNTS = {
    "records": pl.Int64,
    "classes": pl.Int64,
    "k_min": pl.Int64,
    "k_prime": pl.Float64,
    "uniques": pl.Int64,
}


@as_given
@pytest.mark.parametrize(
    ("columns", "strata", "row"),
    [
        ("a", None, (4, 2, 2, 2.0, 0)),
        ("b", None, (4, 3, 1, 4 / 3, 2)),
        (["a", "b"], None, (4, 3, 1, 4 / 3, 2)),
        ([["a", "b"]], None, (4, 3, 1, 4 / 3, 2)),
        (cs.integer(), None, (4, 3, 1, 4 / 3, 2)),
        # x: 1, 1 and 2; null: 2.
        ("a", "s", (4, 3, 1, 4 / 3, 2)),
        # Null is a value like any other: x three times, null once.
        ("s", None, (4, 2, 1, 2.0, 1)),
    ],
    ids=str,
)
def test_anonymity_counts_the_classes(as_given, columns, strata, row):
    found = mg.anonymity(as_given(TABLE), columns, strata=strata)
    assert found.schema == COUNTS
    assert found.rows() == [row]


@as_given
def test_each_block_is_counted_and_verified_on_its_own(as_given):
    # No two records are equal on a and b, and two each on a or on b.
    table = pl.DataFrame(
        {"a": [1, 1, 2, 2], "b": [5, 6, 5, 6], "c": [3, 3, 3, 4], "s": ["u", "v", "u", "u"]}
    )
    found = mg.anonymity(as_given(table), [["a"], ["c", "b"]])
    assert found["columns"].to_list() == [["a"], ["c", "b"]]
    assert found.drop("columns").rows() == [(4, 2, 2, 2.0, 0), (4, 3, 1, 4 / 3, 2)]
    mg.verify(as_given(table), [["a"], ["b"]], 2)
    assert mg.anonymity(as_given(table), [["a"], ["b"]])["k_min"].to_list() == [2, 2]
    assert mg.anonymity(as_given(table), ["a", "b"])["k_min"].to_list() == [1]
    with pytest.raises(mg.NotAnonymousError, match="not 2-anonymous on 'c', 'b'"):
        mg.verify(as_given(table), [["a"], ["c", "b"]], 2)
    told = mg.anonymity(as_given(table), [["a"], ["c", "b"]], k=2, confidential="s")
    assert told.select("columns", "at_risk", "l").rows() == [
        (["a"], 0, 1),
        (["c", "b"], 2, 1),
    ]


@as_given
def test_the_anonymity_of_no_rows_is_unknown(as_given):
    found = mg.anonymity(as_given(TABLE.clear()), "a")
    assert found.schema == COUNTS
    assert found.rows() == [(0, 0, None, None, 0)]
