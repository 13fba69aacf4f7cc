"""Distinct values: exact while they are few, and close to the truth when they are many."""

import numpy as np
import polars as pl
import pytest

from polars_microagg.out_of_core.distinct_values import LEAST, DistinctValues


def counted(column, size):
    values = DistinctValues()
    for part in pl.DataFrame([column]).iter_slices(size):
        values.add(part.to_series())
    return values.count


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_few_values_are_counted_exactly(size):
    rng = np.random.default_rng(1)
    names = pl.Series(rng.integers(0, 50, 300).astype(str))
    for column in (names, names.cast(pl.Categorical), pl.Series([None, 1.5, None]), names.head(0)):
        assert counted(column, size) == column.n_unique()


@pytest.mark.parametrize("values", [5_000, 60_000, 400_000])
def test_many_values_are_counted_within_five_per_cent(values):
    rng = np.random.default_rng(values)
    column = pl.Series("^a$", rng.permutation(np.repeat(np.arange(values), 2)))
    found = counted(column, 70_000)
    assert found == counted(column.alias("").reverse(), 33_000)
    # Three standard errors.
    assert abs(found / values - 1) < 3 / LEAST**0.5
