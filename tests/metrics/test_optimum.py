"""How far above the optimum: never less than the truth, and 0 where the release is optimal."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import polars_microagg as mg
from polars_microagg.metrics.optimum import above_optimum
from tests.kernels.local.test_moves_and_swaps import optimum, sse
from tests.loop import tries


def released(x, labels):
    return np.stack([x[labels == g].mean(axis=0) for g in np.unique(labels)])[
        np.unique(labels, return_inverse=True)[1]
    ]


@tries(40)
@given(seed=st.integers(0, 2**32 - 1), k=st.integers(2, 3), n=st.integers(6, 9))
def test_the_truth_is_never_above_it(seed, k, n):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    labels = np.minimum(rng.permutation(n) // k, n // k - 1)
    k = np.bincount(labels).min()
    truth = 100 * (sse(x, labels) / optimum(x, k) - 1)
    plain, tighter = (above_optimum(x, released(x, labels), effort=e) for e in (0, 0.3))
    assert truth - 1e-6 <= tighter <= plain + 1e-9


def test_it_agrees_with_the_floor_and_is_there_when_asked_for():
    rng = np.random.default_rng(1)
    frame = pl.DataFrame(rng.normal(size=(200, 3)), schema=["a", "b", "c"])
    masked = mg.lowloss(frame, ["a", "b", "c"], 4)
    wanted = 100 * (mg.loss(frame, masked) / mg.lower_bound(frame, pl.all(), 4) - 1)
    row = mg.assess(frame, masked, metrics=["loss", "above_optimum"])
    assert mg.above_optimum(frame, masked, effort=0) == pytest.approx(wanted)
    assert row["above_optimum"][0] == mg.above_optimum(frame, masked) < 0.3 * wanted
    tighter = 100 * (mg.loss(frame, masked) / mg.lower_bound(frame, pl.all(), 4, effort=1) - 1)
    assert row["above_optimum"][0] == pytest.approx(tighter, abs=0.2)
    assert "above_optimum" not in mg.assess(frame, masked).columns


def test_where_nothing_can_be_said():
    x = np.array([[0.0], [1.0], [8.0], [9.0]])
    assert above_optimum(x, x) == 0.0
    assert above_optimum(x, x + np.array([[0.0], [1.0], [0.0], [0.0]])) is None
    assert above_optimum(np.array([[np.nan], [1.0]]), np.ones((2, 1))) is None
    pairs = np.array([[0.0], [4.0], [0.0], [10.0], [4.0], [10.0]])
    assert above_optimum(pairs, np.array([[2.0], [2.0], [5.0], [5.0], [7.0], [7.0]])) is None
    assert above_optimum(np.ones((4, 2)), np.ones((4, 2))) == 0.0
