"""Records that groups take away."""

from __future__ import annotations

import numpy as np

from polars_microagg.kernels.distance import coordinates, total
from polars_microagg.kernels.remaining_mean import RemainingMean


def test_the_sum_is_taken_afresh_only_when_half_are_gone_and_the_mean_is_asked_for() -> None:
    # 1e16 and 1 cannot be added without loss, so a running sum that 1e16 has left is not exact.
    x = np.array([1e16, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, -1e16])[:, None]
    left = RemainingMean(x)
    first = left.columns.copy()
    left.remove(np.array([0, 7]))
    running = total(first) - total(first[:, [0, 7]])
    assert left.mean().tolist() == (running / 6).tolist()
    left.remove(np.array([1, 2]))
    fresh = total(first[:, [3, 4, 5, 6]]) / 4
    assert left.mean().tolist() == fresh.tolist()
    assert left.rows.tolist() == [3, 4, 5, 6]
    assert len(left) == 4


def test_a_known_sum_is_not_added_up_again() -> None:
    left = RemainingMean(np.arange(12.0).reshape(6, 2))
    rows = np.array([1, 4])
    left.remove(rows, total(left.columns[:, rows]))
    mean = coordinates(left.mean())
    np.testing.assert_array_equal(mean, left.columns[:, [0, 2, 3, 5]].mean(axis=1))
