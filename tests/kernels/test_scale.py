"""Scales for distances, worked by hand."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polars_microagg.kernels.scale import SCALES, scaled, standardised
from tests.loop import rounds

NAN = np.nan
seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)
every_scale = pytest.mark.parametrize("how", sorted(SCALES))


def one(values, how, factor=1.0):
    """Scale a single column of one stratum."""
    x = np.array(values, dtype=float)[:, None]
    return scaled(x, how, np.array([factor]), np.array([len(x)]))[:, 0]


@pytest.mark.parametrize(
    ("how", "values", "expected"),
    [
        # Mean 3, standard deviation sqrt((4 + 1 + 1 + 4) / 4).
        ("zscore", [1, 2, 4, 5], np.array([-2, -1, 1, 2]) / np.sqrt(2.5)),
        ("zscore", [1, 3], [-1, 1]),
        ("zscore", [7, 7, 7], [0, 0, 0]),
        ("zscore", [1, NAN, 3], [-1, NAN, 1]),
        ("minmax", [2, 3, 6], [0, 0.25, 1]),
        ("minmax", [-5, -5], [0, 0]),
        ("minmax", [2, NAN, 6], [0, NAN, 1]),
        # Quartiles 1, 2, 3 of five values; the range between them is 2.
        ("robust", [0, 1, 2, 3, 40], [-1, -0.5, 0, 0.5, 19]),
        # Quartiles between ranks: of 0, 4 they are 1, 2 and 3.
        ("robust", [0, 4], [-1, 1]),
        ("robust", [0, 1, NAN, 2, 3, 40], [-1, -0.5, NAN, 0, 0.5, 19]),
        # Both quartiles are 5, so the standard deviation: mean 6, squares 4 * 1 + 16 over 5.
        ("robust", [5, 5, 5, 5, 10], [-0.5, -0.5, -0.5, -0.5, 2]),
        ("robust", [3, 3], [0, 0]),
        # From the least value, by the power of two that brings the largest into [1/2, 1).
        ("none", [10, 11, 13], [0, 0.25, 0.75]),
        ("none", [10, 12, 14], [0, 0.25, 0.5]),
    ],
)
def test_a_column_by_hand(how, values, expected):
    expected = np.array(expected, dtype=float)
    assert one(values, how) == pytest.approx(expected, nan_ok=True, abs=1e-15)


def test_none_keeps_the_columns_in_proportion_and_counts_in_the_least_unit():
    # The second column counts hundredths: its range is 300 of them, against 1200 of the first.
    x = np.array([[0.0, 100.0], [12.0, 400.0]])
    out = scaled(x, "none", np.array([1.0, 0.01]), np.array([2]))
    assert out == pytest.approx(np.array([[0, 0], [1200, 300]]) / 2048, rel=1e-15)


@every_scale
def test_a_column_without_values_stays_without_and_a_constant_one_becomes_zero(how):
    x = np.array([[NAN, 4.0, 1.0], [NAN, 4.0, 2.0]])
    out = scaled(x, how, np.ones(3), np.array([2]))
    assert np.isnan(out[:, 0]).all()
    assert (out[:, 1] == 0).all()
    assert np.isfinite(out[:, 2]).all()


@every_scale
def test_the_result_is_in_fortran_order_and_the_input_is_left_alone(how):
    x = np.asfortranarray(np.random.default_rng(0).standard_normal((9, 2)))
    before = x.copy()
    assert scaled(x, how, np.ones(2), np.array([9])).flags.f_contiguous
    assert np.array_equal(x, before)


@every_scale
@given(rng=seeds, shift=st.integers(-(2**40), 2**40), power=st.integers(-900, 900))
def test_exact_shifts_and_powers_of_two_change_no_bit(how, rng, shift, power):
    x = rng.integers(-(2**20), 2**20, (rng.integers(1, 12), 3)) / 2.0**8
    x[rng.random(x.shape) < 0.1] = NAN
    moved = (x + shift) * 2.0**power
    sizes = np.array([len(x)])
    assert np.array_equal(
        scaled(x, how, np.ones(3), sizes), scaled(moved, how, np.ones(3), sizes), equal_nan=True
    )


@every_scale
@given(rng=seeds)
def test_each_stratum_is_scaled_as_if_it_were_alone(how, rng):
    sizes = rng.integers(1, 9, 4)
    ends = np.cumsum(sizes)
    span = 10.0 ** rng.integers(-300, 300, 4)
    x = rng.standard_normal((ends[-1], 2)) * np.repeat(span, sizes)[:, None]
    x[rng.random(x.shape) < 0.2] = NAN
    together = scaled(x, how, np.array([1.0, 0.01]), sizes)
    for start, end in zip(ends - sizes, ends, strict=True):
        alone = scaled(x[start:end], how, np.array([1.0, 0.01]), np.array([end - start]))
        assert np.array_equal(together[start:end], alone, equal_nan=True)


@given(rng=seeds)
def test_zscores_have_mean_0_and_standard_deviation_1(rng):
    x = np.exp(3 * rng.standard_normal((rng.integers(2, 40), 2)))
    out = scaled(x, "zscore", np.ones(2), np.array([len(x)]))
    assert out.mean(axis=0) == pytest.approx([0, 0], abs=1e-13)
    assert out.std(axis=0) == pytest.approx([1, 1], rel=1e-12)


@every_scale
@pytest.mark.parametrize(
    "values",
    [[-1.7e308, 0.0, 1.7e308], [0.0, 5e-324, 1e-323], [1e15, 1e15 + 1, 1e15 + 3], [-0.0, 0.0]],
    ids=["ends", "subnormal", "offset", "zeros"],
)
def test_the_order_of_values_survives_at_the_ends_of_the_range(how, values):
    out = one(values, how)
    assert np.isfinite(out).all()
    assert (np.diff(out) > 0).tolist() == [low < high for low, high in pairwise(values)]


def test_both_tables_are_expressed_in_deviations_of_the_first():
    # Mean 2, standard deviation 1; the constant column is left out.
    x = np.array([[1.0, 7.0], [3.0, 7.0]])
    y = np.array([[2.0, 9.0], [5.0, 9.0]])
    before, after = standardised(x, y)
    assert before.tolist() == [[-1.0], [1.0]]
    assert after.tolist() == [[0.0], [3.0]]


@pytest.mark.parametrize("x", [np.full((3, 1), 4.0), np.full((3, 1), NAN), np.empty((0, 1))])
def test_nothing_is_left_of_a_table_that_does_not_vary(x):
    before, after = standardised(x, x)
    assert before.size == after.size == 0


def test_what_is_absent_is_passed_over():
    x = np.array([[1.0], [NAN], [3.0]])
    before, after = standardised(x, np.array([[2.0], [2.0], [NAN]]))
    assert before[[0, 2], 0].tolist() == [-1.0, 1.0]
    assert after[:2, 0].tolist() == [0.0, 0.0]
    assert np.isnan([before[1, 0], after[2, 0]]).all()


@every_scale
def test_a_stratum_is_scaled_alone_as_among_others(how):
    for seed in range(rounds(200)):
        rng = np.random.default_rng([3, seed])
        sizes = rng.integers(1, 6, int(rng.integers(2, 5)))
        powers = rng.choice([-1070, -1040, -900, 0, 900, 990, 1020], (len(sizes), 3))
        x = np.ldexp(rng.normal(size=(sizes.sum(), 3)), np.repeat(powers, sizes, axis=0))
        factors = [np.ones(3), np.array([1, 0.01, 10]), 2.0 ** rng.integers(-1060, 900, 3)][
            seed % 3
        ]
        zero = bool(rng.integers(2))
        ends = np.cumsum(sizes)
        with np.errstate(all="ignore"):
            among = scaled(x, how, factors, sizes, zero=zero)
            alone = [
                scaled(x[end - size : end], how, factors, np.array([size]), zero=zero)
                for end, size in zip(ends, sizes, strict=True)
            ]
        assert np.array_equal(among, np.concatenate(alone), equal_nan=True), seed


def test_robust_units_of_the_least_quartiles_stay_finite():
    """Values can be infinitely many interquartile ranges apart in floating point."""
    x = np.array([[0.0], [1e-310], [2e-310], [3e-310], [1.0]])
    scales = scaled(x, "robust", np.ones(1), np.array([5]))
    assert np.isfinite(scales).all()
    assert scales.argmax() == 4
