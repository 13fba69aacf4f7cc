"""Mic1D-k: the paper's steps done one by one, and by hand."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.core.partition import Matrix
from polars_microagg.core.registry import methods
from polars_microagg.methods.mic1d import mic1d
from tests.methods.test_mdav import DRAWS


def blocked(values: list[float], k: int, tail: str) -> list[list[int]]:
    """Positions of the values of each block."""
    order = sorted(range(len(values)), key=lambda i: (values[i], i))
    blocks = [order[i : i + k] for i in range(0, len(order), k)]
    if tail == "merge" and len(blocks) > 1 and len(blocks[-1]) < k:
        last = blocks.pop()
        blocks[-1] += last
    return blocks


def plain(x: Matrix, k: int, tail: str) -> Matrix:
    values = x.ravel().tolist()
    ranges, passes = [], [values]
    for _ in range(2):
        now, bounds = passes[-1], {}
        normalised = [0.5] * len(now)
        for block in blocked(now, k, tail):
            low, high = min(now[i] for i in block), max(now[i] for i in block)
            for i in block:
                bounds[i] = low, high
                if high > low:
                    normalised[i] = (now[i] - low) / (high - low)
        ranges.append(bounds)
        passes.append(normalised)
    masked = [0.0] * len(values)
    # The blocks of the second pass are those of the values that were normalised once.
    for block in blocked(passes[1], k, tail):
        for i in block:
            masked[i] = sum(passes[2][j] for j in sorted(block)) / len(block)
    for bounds in reversed(ranges):
        masked = [bounds[i][0] + v * (bounds[i][1] - bounds[i][0]) for i, v in enumerate(masked)]
    return np.array(masked).reshape(x.shape)


@pytest.mark.parametrize("tail", ["merge", "keep"])
@pytest.mark.parametrize("kind", DRAWS)
def test_values_are_masked_as_by_the_steps_of_the_paper(kind, tail):
    rng = np.random.default_rng(len(kind))
    for _ in range(30):
        n, d = int(rng.integers(1, 30)), int(rng.integers(1, 5))
        k = int(rng.integers(2, n * d + 3))
        x = DRAWS[kind](rng, n, d)
        found, expected = mic1d(x, k=k, tail=tail).values, plain(x, k, tail)
        span = np.ptp(x) or 1.0
        np.testing.assert_allclose(found / span, expected / span, rtol=1e-9, atol=1e-9)


def test_by_hand():
    # Sorted: 0 3 10 | 20 27 30. Normalised: 0 .3 1 | 0 .7 1. Sorted again: 0 (of the 0), 0 (of the
    # 20), .3 (of the 3) | .7 (of the 27), 1 (of the 10), 1 (of the 30). Normalised again: 0 0 1 with
    # mean 1/3, and 0 1 1 with mean 2/3. Back once: 0 + 1/3 .3 = .1, and .7 + 2/3 .3 = .9. Back twice:
    # 0 -> 0 + .1 10 = 1, 3 -> 1, 20 -> 20 + .1 10 = 21; 27 -> 20 + .9 10 = 29, 10 -> 9, 30 -> 29.
    x = np.array([(0.0, 27.0), (20.0, 3.0), (10.0, 30.0)])
    expected = [(1, 29), (21, 1), (9, 29)]
    np.testing.assert_allclose(mic1d(x, k=3).values, expected, rtol=1e-12)


def test_the_values_that_remain():
    # 0 1 2 | 6 7: kept, the last block is normalised to 0 1, and the second pass has 0 0 .5 | 1 1: means
    # 1/3 of 0 .. .5 and a constant block. Merged, all five are one block, and so is the second pass.
    x = np.array([[0.0], [1.0], [2.0], [6.0], [7.0]])
    kept = mic1d(x, k=3, tail="keep").values[:, 0]
    np.testing.assert_allclose(kept, [1 / 3, 1 / 3, 2, 6 + 1 / 6, 7], rtol=1e-12)
    np.testing.assert_allclose(mic1d(x, k=3).values[:, 0], [16 / 5] * 5, rtol=1e-12)


@pytest.mark.parametrize("value", [0.1, -3.0, 1e300, 5e-324])
def test_equal_values_stay_as_they_are(value):
    assert (mic1d(np.full((7, 3), value), k=4).values == value).all()


def test_the_ends_of_the_range_do_not_overflow():
    x = np.array([[1.7976931348623157e308, -1.7976931348623157e308], [0.0, 1e308]])
    for k in (2, 3, 4):
        assert np.isfinite(mic1d(x, k=k).values).all()


def test_it_promises_no_equal_records():
    x = pl.DataFrame(np.random.default_rng(0).normal(size=(200, 3)), schema=["a", "b", "c"])
    masked = mg.mic1d(x, ["a", "b", "c"], 60)
    assert mg.anonymity(masked, ["a", "b", "c"])["k_min"].item() < 60
    entry = methods()["mic1d"]
    assert (entry.unit, entry.columnwise, entry.scaled) == ("value", False, False)
    assert "promised" in (mic1d.__doc__ or "")


def test_units_of_decimals_and_whole_numbers_meet():
    frame = pl.DataFrame(
        {"a": pl.Series(["0.00", "20.00", "10.00"]).cast(pl.Decimal(6, 2)), "b": [27, 3, 30]}
    )
    masked = mg.mic1d(frame, ["a", "b"], 3)
    # As by hand: 1, 21 and 9; 29, 1 and 29. The whole numbers stay between 3 and 30, the others
    # between 0 and 20.
    assert masked["b"].to_list() == [29, 3, 29]
    assert [float(v) for v in masked["a"]] == [1, 20, 9]
    floats = mg.mic1d(frame, ["a", "b"], 3, dtype="float")
    np.testing.assert_allclose(floats.to_numpy(), [(1, 29), (21, 1), (9, 29)], rtol=1e-9)
