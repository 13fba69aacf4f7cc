"""One line of a comparison: the least loss that meets what is required."""

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg

TABLE = pl.DataFrame(
    {
        "method": ["mdav", "mdav", "lowloss", "lowloss", "pcp", "md"],
        "k": [3, 5, 3, 5, 5, 3],
        "loss": [9.0, 14.0, 8.0, 12.0, 12.0, None],
        "dld": [15.0, 8.0, 18.0, 9.5, 10.0, None],
        "dr": [30.0, 20.0, 31.0, 22.0, None, None],
        "pareto": [True, True, True, True, None, None],
        "note": [None, None, None, None, None, "too many records"],
    }
)


def picked(*require, table=TABLE):
    row = mg.recommend(table, require=list(require)).row(0, named=True)
    return row["method"], row["k"], row["met"]


@pytest.mark.parametrize(
    ("require", "expected"),
    [
        (["dld<=10"], ("lowloss", 5, True)),
        (["dld<9.5"], ("mdav", 5, True)),
        (["dld <= 15 %"], ("mdav", 3, True)),
        (["dld<=100"], ("lowloss", 3, True)),
        (["dld<=100", "k>=5"], ("lowloss", 5, True)),
        (["dld<=100", "k=5"], ("lowloss", 5, True)),
        (["k>3", "dld>9.5"], ("pcp", 5, True)),
        (["dr<=21"], ("mdav", 5, True)),  # what was not measured is not met
        (["dld<=10", "loss<=10"], ("lowloss", 5, False)),  # 20 % above one limit is the nearest
        (["dld<=6"], ("mdav", 5, False)),
    ],
)
def test_the_line_that_is_picked(require, expected):
    assert picked(*require) == expected


def test_the_reason_says_all():
    found = mg.recommend(TABLE)
    assert found["reason"].item() == (
        "Lowest loss with dld <= 10 %: lowloss, k=5 (loss 12 %, dld 9.5 %). 3 of 5 lines meet this."
    )
    assert found.columns == [*TABLE.columns, "met", "reason"]
    assert found.drop("met", "reason").equals(TABLE[[3]])


LATE = "{0} was not begun: it is expected to take 58 seconds, and of seconds=20 there were 9 left."


def test_the_reason_names_the_lines_that_had_no_time():
    late = pl.DataFrame(
        {
            "method": ["lowloss", "lowloss", "mdav", "genetic"],
            "k": [3, 5, 5, 3],
            "note": [*(LATE.format(m) for m in ("lowloss", "lowloss", "mdav")), "a too long table"],
        }
    )
    some = TABLE.filter(pl.col("method").is_in(["mdav", "pcp"]) & (pl.col("k") < 5))
    compared = pl.concat([some, late], how="diagonal")
    reason = mg.recommend(compared, require="dld<=15")["reason"].item()
    assert reason.endswith(
        "1 of 1 lines meets this. 3 lines did not run for lack of time and may lose less: lowloss, "
        "mdav (k=5). Allow more seconds, or compare fewer methods or ks."
    )
    missed = mg.recommend(compared, require="dld<=1")["reason"].item()
    assert "as if it were met. 3 lines did not run" in missed
    two = mg.recommend(compared.with_columns(k=pl.col("k") + 1), k=4)["reason"].item()
    assert "3 lines did not run" in two
    assert "did not run" not in mg.recommend(compared.drop("note"))["reason"].item()


def test_lines_below_the_k_that_counts_are_not_named_as_late():
    late = TABLE.head(1).with_columns(loss=None, note=pl.lit(LATE.format("mdav")))
    reason = mg.recommend(pl.concat([TABLE, late]), k=5)["reason"].item()
    assert "did not run" not in reason
    reason = mg.recommend(pl.concat([TABLE, late]), k=3)["reason"].item()
    assert "1 line did not run for lack of time and may lose less: mdav (k=3). " in reason


def test_it_says_when_none_is_good_enough():
    found = mg.recommend(TABLE, require="dld<=6").row(0, named=True)
    assert found["reason"].startswith("None of 5 lines has dld <= 6 %. Nearest: mdav, k=5 ")
    assert "do not release this" in found["reason"]


def test_equal_losses_go_to_the_larger_k():
    table = TABLE.with_columns(loss=pl.lit(7.0), dld=pl.lit(1.0))
    assert picked("dld<=10", table=table)[:2] == ("mdav", 5)


def test_it_takes_what_compare_returns():
    people = pl.DataFrame({"age": [23, 25, 31, 47, 52, 58], "pay": [21, 24, 30, 52, 61, 55]})
    compared = mg.compare(people, ["age", "pay"], methods=["mdav", "fixed_size"], ks=[2, 3])
    found = mg.recommend(compared, require="k_prime>=3").row(0, named=True)
    best = compared.filter(k=3).sort("loss").row(0, named=True)
    assert (found["method"], found["k"], found["met"]) == (best["method"], 3, True)


def test_nothing_required_is_no_requirement():
    with pytest.raises(mg.InvalidParameterError, match="or a list with one"):
        mg.recommend(TABLE, require=[])


def test_only_numbers_of_the_table_can_be_required():
    with pytest.raises(mg.InvalidParameterError, match="measure 'method' of require is not known"):
        mg.recommend(TABLE, require="method<=10")


@pytest.mark.parametrize("table", [pl.DataFrame({"a": [1]}), None, TABLE.lazy()])
def test_a_wrong_table_is_named(table):
    with pytest.raises(mg.InvalidParameterError, match="compare returned"):
        mg.recommend(table)


def test_columns_that_a_table_lacks_are_named():
    with pytest.raises(mg.InvalidParameterError, match="compared has no column 'k', 'loss'; "):
        mg.recommend(TABLE.drop("k", "loss"))


def test_a_table_without_a_line_is_told_from_one_without_a_measured_line():
    with pytest.raises(mg.InvalidDataError, match="compared has no row"):
        mg.recommend(TABLE.clear())


def test_a_table_without_a_measured_line_is_named():
    with pytest.raises(mg.InvalidDataError, match="Read their notes"):
        mg.recommend(TABLE.filter(method="md"))


def test_k_is_what_came_out_and_not_what_was_asked_for():
    rng = np.random.default_rng(2)
    people = pl.DataFrame(rng.normal(size=(200, 2)), schema=["a", "b"])
    compared = mg.compare(people, ["a", "b"], methods=["mdav", "individual_ranking"], ks=5)
    assert compared["k_min"].to_list() == [5, 1]
    found = mg.recommend(compared, require="k>=5").row(0, named=True)
    assert (found["method"], found["met"]) == ("mdav", True)
    assert found["reason"].endswith("1 of 2 lines meets this.")
    alone = mg.recommend(compared.tail(1), require="k>=5").row(0, named=True)
    assert not alone["met"]
    assert "individual_ranking, k=5" in alone["reason"]
    assert "k_min 1" in alone["reason"]


@pytest.mark.parametrize("require", ["dld<=100", "dld<=6", "dld<=100,k>=3", "loss<=8"])
@pytest.mark.parametrize("k", [3, 4, 5])
def test_nothing_below_the_k_that_was_asked_for_is_recommended(require, k):
    found = mg.recommend(TABLE, require=require.split(","), k=k).row(0, named=True)
    lines = TABLE.filter(pl.col("k") >= k)
    assert found["k"] >= k
    assert found == mg.recommend(lines, require=require.split(",")).row(0, named=True)


def test_a_k_that_is_required_is_not_given_up_for_the_nearest_line():
    assert picked("loss<=1", "k>=4") == ("lowloss", 5, False)
    assert picked("loss<=1") == ("lowloss", 3, False)


def test_a_table_of_smaller_ks_has_no_line_to_recommend():
    with pytest.raises(mg.InvalidDataError, match=r"None of the 6 line.s. .* k of at least 7"):
        mg.recommend(TABLE, k=7)
    with pytest.raises(mg.InvalidParameterError, match="k=1 is not a group size"):
        mg.recommend(TABLE, k=1)


COLUMNWISE = ["univariate", "individual_ranking", "mic1d"]


def of_two_columns(methods, columns=("a", "b"), ks=5):
    rng = np.random.default_rng(3)
    people = pl.DataFrame(rng.normal(size=(100, 2)), schema=["a", "b"])
    return mg.compare(people, list(columns), methods=methods, ks=ks)


@pytest.mark.parametrize("method", COLUMNWISE)
@pytest.mark.parametrize("require", ["loss<=10", "loss<=100", "k_prime>=1"])
def test_columns_masked_each_on_its_own_are_not_recommended(method, require):
    compared = of_two_columns(["mdav", method, "fixed_size"])
    assert compared["k_min"].to_list() == [5, 1, 5]
    assert compared["loss"][1] == compared["loss"].min()
    found = mg.recommend(compared, require=require, k=5).row(0, named=True)
    assert (found["method"], found["k_min"]) == ("mdav", 5)
    assert found["met"] == (require != "loss<=10" or found["loss"] <= 10)
    assert " and 5 records alike" in found["reason"]


def test_where_no_line_has_k_records_alike_the_reason_says_so():
    compared = of_two_columns(COLUMNWISE)
    found = mg.recommend(compared, require="loss<=100", k=5).row(0, named=True)
    assert not found["met"]
    assert found["reason"].startswith("None of 3 lines has loss <= 100 % and 5 records alike. ")
    assert "k_min 1" in found["reason"]
    assert "do not release this" in found["reason"]


def test_a_method_that_masks_each_column_is_fine_for_one():
    compared = of_two_columns(COLUMNWISE[:2], columns=["a"])
    assert mg.recommend(compared, require="loss<=100", k=5)["met"].item()


def test_blocks_that_were_asked_for_have_k_each():
    compared = of_two_columns(["mdav", "univariate"], columns=[["a"], ["b"]])
    found = mg.recommend(compared, require="loss<=100", k=5).row(0, named=True)
    assert (found["method"], found["met"], found["k_min"]) == ("mdav", True, 1)
    assert "k_min 1" in found["reason"]


def test_what_came_out_alike_must_be_known_of_columns_masked_each_on_its_own():
    compared = of_two_columns(["univariate"]).drop("k_min")
    found = mg.recommend(compared, require="loss<=100", k=5)
    assert not found["met"].item()
    assert "and 5 records alike" in found["reason"].item()
