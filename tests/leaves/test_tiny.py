"""Values so small that their reciprocals are more than a number holds."""

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from tests.loop import rounds

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


@pytest.mark.parametrize("scale", ["none", "zscore", "minmax", "robust"])
def test_a_leaf_is_masked_alone_as_among_very_large_ones(tmp_path, scale):
    source, target = tmp_path / "in.parquet", tmp_path / "out.parquet"
    for seed in range(rounds(24)):
        rng = np.random.default_rng([5, seed])
        tiny = rng.choice([5e-324, 1e-320, 1e-310, 2.2e-308, 0.0], 220) * rng.choice([1, -1], 220)
        frame = pl.DataFrame(
            {
                "x": np.where(rng.random(220) < 0.1, 1e300 * rng.normal(size=220), tiny),
                "y": np.where(
                    rng.random(220) < 0.05,
                    1e308 * rng.choice([1, -1], 220),
                    rng.normal(size=220) * 10.0 ** rng.integers(-307, 3, 220),
                ),
            }
        )
        call = {"size": (10, 30)[seed % 2], "scale": scale}
        leaves = mg.fit_leaves(frame, ["x", "y"], 3, **call)
        whole, leaf = leaves.mask(frame), leaves.assign(frame)
        rows = [np.flatnonzero(leaf == number) for number in leaf.unique()]
        alone = pl.concat([leaves.mask(frame[own]).with_columns(row=own) for own in rows])
        assert whole.equals(alone.sort("row").drop("row")), seed
        frame.write_parquet(source, row_group_size=37)
        mg.protect_parquet(source, target, ["x", "y"], 3, **call)
        assert pl.read_parquet(target).equals(whole), seed
        target.unlink()
