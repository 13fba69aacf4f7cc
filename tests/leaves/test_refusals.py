"""Each refusal of leaves names a way out that a user of leaves has."""

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg

TABLE = pl.DataFrame({"age": np.arange(40.0), "income": np.arange(40.0) % 7, "note": ["x"] * 40})
HOLES = TABLE.with_columns(age=pl.when(pl.col("age") > 2).then("age"))
STRANGE = TABLE.with_columns(age=pl.col("age").replace({3.0: float("inf")}))
NOTE = pl.col("note").cast(pl.Binary)


def fitted(table, folder, **options):
    return mg.fit_leaves(table, ["age", "income"], 5, size=10, **options)


def assigned(table, folder, **options):
    return mg.fit_leaves(TABLE, ["age", "income"], 5, size=10, **options).assign(table)


def protected(table, folder, **options):
    return mg.fit_leaves(TABLE, ["age", "income"], 5, size=10, **options).protect(table)


def masked(table, folder, **options):
    return mg.fit_leaves(TABLE, ["age", "income"], 5, size=10, **options).mask(table)


def written(table, folder, **options):
    table.write_parquet(folder / "in.parquet")
    given = ["age", "income"], 5
    return mg.protect_parquet(folder / "in.parquet", folder / "out.parquet", *given, **options)


def by_older_leaves(table, folder):
    return written(table, folder, leaves=mg.fit_leaves(TABLE, ["age", "income"], 5, size=10))


DOORS = [fitted, assigned, protected, masked, written, by_older_leaves]
WAYS = {
    "nulls": (HOLES, mg.MissingValuesError, "'age' has 3 null .* Use nulls='impute'"),
    "infinite": (STRANGE, mg.MissingValuesError, "'age' has 1 NaN .* Replace them by null"),
    "bytes": (TABLE.with_columns(age=NOTE), mg.NotNumericError, "Leave it out, cast it"),
    "text": (TABLE.with_columns(age="note"), mg.NotNumericError, "type that it had there, or fit"),
    "few": (TABLE.head(4), mg.TooFewRecordsError, "at least 5 records, got 4. Lower k, or give"),
}


# Some records may be assigned before the others, however few.
# Leaves may be fitted to texts, and not to numbers when they are given texts.
NONE = [(assigned, "few"), (fitted, "text"), (written, "text")]
CALLS = [(d, why) for d in DOORS for why in WAYS if (d, why) not in NONE]


@pytest.mark.parametrize(("door", "why"), CALLS, ids=lambda part: getattr(part, "__name__", part))
def test_the_way_out_is_one_that_leaves_have(tmp_path, door, why):
    table, error, text = WAYS[why]
    with pytest.raises(error, match=text):
        door(table, tmp_path)


@pytest.mark.parametrize("door", [fitted, written], ids=lambda door: door.__name__)
def test_an_unknown_option_lists_those_that_leaves_have(tmp_path, door):
    with pytest.raises(mg.InvalidParameterError, match=r"mdav has no option 'xyz'") as caught:
        door(TABLE, tmp_path, xyz=1)
    assert "'center'" in str(caught.value)
    with pytest.raises(mg.InvalidParameterError, match="Did you mean 'gamma'"):
        door(TABLE, tmp_path, method="vmdav", gama=1)


def test_a_method_that_is_no_name_and_leaves_that_are_none(tmp_path):
    with pytest.raises(mg.UnknownMethodError, match="There is no method"):
        fitted(TABLE, tmp_path, method=["mdav"])
    with pytest.raises(mg.InvalidParameterError, match="leaves='str' was given; it must be leaves"):
        written(TABLE, tmp_path, leaves="my leaves")


def masked_whole(frame, columns, **options):
    mg.mdav(frame, columns, 5, **options)


def masked_by_leaves(frame, columns, **options):
    mg.fit_leaves(frame, columns, 5, **options).mask(frame)


@pytest.mark.parametrize("mask", [masked_whole, masked_by_leaves])
def test_patterns_of_nulls_that_are_small_strata_are_named_as_the_reason(mask):
    # Three of a region lack their pay: a stratum nobody named.
    few = pl.when(pl.int_range(pl.len()) >= 3).then("pay")
    people = pl.DataFrame(
        {"age": range(40), "pay": np.arange(40.0), "dx": ["a", "b"] * 20, "region": ["N"] * 40}
    )
    people = people.with_columns(few)
    said = (
        r"1 of 2 strata have fewer than k=5 records \(the smallest has 3\); with nulls='pattern', "
        r"records that lack the same values are a stratum\. .*fill nulls with nulls='impute', or use"
    )
    with pytest.raises(mg.TooFewRecordsError, match=said):
        mask(people, ["age", "pay"], strata="region", nulls="pattern")
    with pytest.raises(mg.TooFewRecordsError, match=r"the smallest has 3\)\. Lower k, merge"):
        mask(
            people.with_columns(region=few.is_null()),
            ["age", "pay"],
            strata="region",
            nulls="impute",
        )
    five = pl.when(pl.int_range(pl.len()) >= 5).then("pay")
    people = people.with_columns(
        five, pl.when(pl.int_range(pl.len()) >= 5).then("dx").otherwise(pl.lit("a")).alias("dx")
    )
    said = r"in a stratum of 5 records, .* records that lack the same values are a stratum\. "
    with pytest.raises(mg.InvalidDataError, match=said):
        mask(people, ["age", "pay"], strata="region", nulls="pattern", confidential="dx", l=2)
