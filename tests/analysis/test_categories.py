"""Measures of columns of categories, whatever the number of their categories."""

import polars as pl
import pytest

import polars_microagg as mg


def shares(before, after, **options):
    tables = (pl.DataFrame({"sex": list(words)}) for words in (before, after))
    return mg.interval_disclosure(*tables, ["sex"], nominal=["sex"], **options)


@pytest.mark.parametrize("by", ["rank", "value", "sd"])
def test_one_of_two_categories_is_inside_if_it_is_the_masked_one(by):
    # As numbers they would be near each other in a wide interval.
    before, after = "f" * 190 + "m" * 10, "f" * 185 + "m" * 15
    assert shares(before, after, by=by, widths=100) == pytest.approx(97.5)
    # A third category changes nothing of the others.
    assert shares("x" + before, "x" + after, by=by, widths=100) == pytest.approx(100 * 196 / 201)


@pytest.mark.parametrize("option", [{"known": ["age"]}, {"known": 1}, {"known_sample": 2}])
def test_what_an_intruder_knows_is_not_passed_over_by_column(option):
    before = pl.DataFrame({"age": [30, 40, 50, 60], "sex": ["f", "f", "m", "m"]})
    with pytest.raises(mg.InvalidParameterError, match="by_column cannot honour known"):
        mg.assess(before, before, ["age", "sex"], by_column=True, **option)
