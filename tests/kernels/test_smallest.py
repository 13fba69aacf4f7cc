"""The smallest of many values, against sorting them all."""

from __future__ import annotations

import numpy as np
import pytest

from polars_microagg.kernels import smallest
from polars_microagg.kernels.smallest import at_least_kth, first_smallest


@pytest.mark.parametrize("top", [1, 3, 1000, 10**9])
@pytest.mark.parametrize("m", [1, 5, 63, 64, 65, 300, 5000])
def test_first_smallest_is_a_stable_sort_cut_short(m: int, top: int) -> None:
    rng = np.random.default_rng(m + top)
    for count in sorted({1, min(m, 2), (m + 1) // 2, m}):
        values = rng.integers(0, top, m).astype(np.float64)
        expected = np.sort(np.argsort(values, kind="stable")[:count])
        np.testing.assert_array_equal(first_smallest(values, count), expected)


def test_first_smallest_by_hand() -> None:
    values = np.array([2.0, 1.0, 2.0, 0.0, 2.0] + [9.0] * 100)
    assert first_smallest(values, 3).tolist() == [0, 1, 3]
    assert first_smallest(values, 4).tolist() == [0, 1, 2, 3]
    assert first_smallest(values[:5], 3).tolist() == [0, 1, 3]


@pytest.mark.parametrize("count", [1, 3, 16, 40])
@pytest.mark.parametrize("m", [40, 1024, 5003])
def test_at_least_kth_bounds_the_kth_smallest_and_not_by_much(m: int, count: int) -> None:
    for seed in range(20):
        values = np.random.default_rng(seed).standard_normal(m)
        bound = at_least_kth(values, count)
        assert np.count_nonzero(values <= bound) >= count
        assert np.count_nonzero(values <= bound) <= 2 * count + 8


def test_at_least_kth_of_sorted_values_is_as_good() -> None:
    values = np.arange(6400, dtype=np.float64)
    assert at_least_kth(values, 5) == 4.0


def test_at_least_kth_passes_over_infinities(monkeypatch: pytest.MonkeyPatch) -> None:
    # Stripes of two: positions 0 and 8, 1 and 9, and so on. Only the last stripe has values.
    monkeypatch.setattr(smallest, "STRIPE", 2)
    values = np.full(16, np.inf)
    values[[7, 15]] = 1.0, 2.0
    assert at_least_kth(values, 1) == 1.0
    assert at_least_kth(values, 2) == 2.0
