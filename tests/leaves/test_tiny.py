"""Values so small that their reciprocals are more than a number holds."""

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg

STEPS = -1074
"""The least positive number is 2 to this power."""


@pytest.mark.parametrize("scale", ["zscore", "minmax", "robust", "none"])
@pytest.mark.parametrize("cut", ["median", "gain", "tail+gain"])
def test_the_least_numbers_are_split_and_masked_like_whole_ones(scale, cut):
    whole = np.random.default_rng(3).integers(1, 10**6, (400, 3)).astype(float)
    wanted, found = [], []
    for power in (0, STEPS):
        table = pl.DataFrame(np.ldexp(whole, power), schema=["a", "b", "c"])
        leaves = mg.fit_leaves(table, table.columns, 5, size=40, scale=scale, cut=cut)
        masked = leaves.mask(table)
        mg.verify(masked, table.columns, 5)
        found.append(leaves.assign(table).to_list())
        wanted.append(np.ldexp(masked.to_numpy(), -power))
    assert found[0] == found[1]
    # The least numbers have no digits behind the point.
    assert np.abs(wanted[0] - wanted[1]).max() <= 1.0


def test_the_least_numbers_count_as_much_as_others():
    rng = np.random.default_rng(4)
    x = rng.integers(1, 10**6, (400, 2)).astype(float)
    plain = pl.DataFrame(x, schema=["a", "b"])
    table = plain.with_columns(b=np.ldexp(x[:, 1], STEPS))
    # On this scale no two columns spread alike, so that the last bit of a sum decides nothing.
    own = {"size": 40, "cut": "median", "scale": "minmax"}
    leaves = [mg.fit_leaves(t, ["a", "b"], 5, **own) for t in (plain, table)]
    assert leaves[0].assign(plain).to_list() == leaves[1].assign(table).to_list()
    assert leaves[0].mask(plain)["a"].equals(leaves[1].mask(table)["a"])


def test_two_of_the_least_numbers_are_told_apart():
    table = pl.DataFrame({"a": [0.0] * 6 + [5e-324] * 6})
    leaves = mg.fit_leaves(table, "a", 3, size=6, cut="median")
    assert leaves.assign(table).to_list() == [0] * 6 + [1] * 6
    assert leaves.mask(table).equals(table)
