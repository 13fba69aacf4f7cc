"""Centres of groups: an anchor and a difference, worked by hand."""

from fractions import Fraction
from statistics import median

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polars_microagg.kernels.centre import CENTRES, centres, rint_half_even

NAN = np.nan
MAX = 1.7976931348623157e308
seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)
every_centre = pytest.mark.parametrize("how", sorted(CENTRES))


def emitted(x, labels, groups, how):
    """Centres as values, NaN where a group has none."""
    anchors, differences = centres(x, np.asarray(labels), groups, how)
    values = np.take_along_axis(x, np.maximum(anchors, 0), axis=0) + differences
    return np.where(anchors < 0, NAN, values)


@pytest.mark.parametrize(
    ("how", "values", "centre"),
    [
        ("mean", [5, 6], 5.5),
        ("mean", [1, 2, 6], 3),
        ("mean", [7], 7),
        ("mean", [4, NAN, 8], 6),
        ("mean", [NAN, NAN], NAN),
        ("median", [9, 1, 5], 5),
        ("median", [1, 2, 6, 100], 4),
        ("median", [3, 3, 3, 50], 3),
        ("median", [4, NAN, 8, 5], 5),
        ("median", [7], 7),
        ("median", [NAN], NAN),
        # Far from 0: the differences are exact although sums of the values are not.
        ("mean", [2.0**53, 2.0**53 + 2, 2.0**53 + 4], 2.0**53 + 2),
        # From one end of the range to the other: the centre is a third of the way.
        ("mean", [MAX, -MAX, -MAX], -MAX / 3),
        ("mean", [-MAX, MAX, MAX], MAX / 3),
        ("mean", [MAX, MAX], MAX),
        ("median", [MAX, -MAX], 0),
        ("median", [MAX, -MAX, -MAX, MAX, MAX], MAX),
        ("mean", [5e-324, 15e-324], 1e-323),
    ],
)
def test_a_centre_by_hand(how, values, centre):
    x = np.array(values, dtype=float)[:, None]
    found = emitted(x, [0] * len(x), 1, how)[0, 0]
    assert found == pytest.approx(centre, rel=1e-15, abs=0, nan_ok=True)


def test_the_anchor_is_the_first_record_of_the_group_with_a_value():
    x = np.array([[NAN, 1.0], [2.0, 2.0], [4.0, NAN], [6.0, NAN], [8.0, NAN]])
    anchors, differences = centres(x, np.array([0, 0, 1, 0, 1]), 2, "mean")
    assert anchors.tolist() == [[1, 0], [2, -1]]
    # Column 1: (2 + 6) / 2 = 2 + 2 and (4 + 8) / 2 = 4 + 2. Column 2: (1 + 2) / 2 = 1 + 0.5.
    assert differences.tolist() == [[2.0, 0.5], [2.0, 0.0]]


@every_centre
def test_no_records_have_no_centres(how):
    anchors, differences = centres(np.empty((0, 2)), np.array([], dtype=np.intp), 0, how)
    assert anchors.shape == differences.shape == (0, 2)


@every_centre
@pytest.mark.parametrize("value", [0.1, 1 / 3, 1e15 + 0.125, 5e-324, MAX, -MAX, 1e300])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 10])
def test_a_constant_group_keeps_its_value_to_the_bit(how, value, size):
    x = np.array([value] * size + [-value, 0.0])[:, None]
    labels = [0] * size + [1, 1]
    assert emitted(x, labels, 2, how)[0, 0] == value


@every_centre
@given(rng=seeds)
def test_centres_are_those_of_exact_arithmetic_to_the_last_digit(how, rng):
    n, groups = int(rng.integers(1, 30)), int(rng.integers(1, 5))
    x = rng.standard_normal((n, 2)) * 10.0 ** rng.integers(-300, 308, 2)
    x[rng.random(x.shape) < 0.2] = NAN
    labels = rng.integers(0, groups, n)
    found = emitted(x, labels, groups, how)
    for g in range(groups):
        for j in range(2):
            values = [Fraction(v) for v in x[labels == g, j] if v == v]
            if not values:
                assert np.isnan(found[g, j])
                continue
            exact = median(values) if how == "median" else sum(values) / len(values)
            size = float(max(map(abs, values)))
            assert found[g, j] == pytest.approx(float(exact), rel=0, abs=1e-15 * size * len(values))
            assert float(min(values)) <= found[g, j] <= float(max(values))


@every_centre
@given(rng=seeds, shift=st.integers(-(2**45), 2**45))
def test_an_exact_shift_moves_the_centres_and_not_the_differences(how, rng, shift):
    x = rng.integers(-50, 50, (12, 2)).astype(float)
    labels = rng.permutation(np.repeat(np.arange(3), 4))
    anchors, differences = centres(x, labels, 3, how)
    moved_anchors, moved = centres(x + shift, labels, 3, how)
    assert np.array_equal(anchors, moved_anchors)
    assert np.array_equal(differences, moved)


@every_centre
@given(rng=seeds)
def test_a_group_has_the_same_centre_whatever_the_other_groups_hold(how, rng):
    x = rng.standard_normal((8, 1)) * np.repeat(10.0 ** rng.integers(-320, 308, 2), 4)[:, None]
    labels = np.repeat([0, 1], 4)
    together = emitted(x, labels, 2, how)
    for g in (0, 1):
        alone = emitted(x[labels == g], [0] * 4, 1, how)
        assert together[g] == alone[0]


@pytest.mark.parametrize(
    ("anchor", "difference", "whole"),
    [
        # Anchor even: halves go to even differences. Anchor odd: to odd ones.
        (0, 0.5, 0),
        (0, 1.5, 2),
        (0, -0.5, 0),
        (0, -1.5, -2),
        (1, 0.5, 1),
        (1, 1.5, 1),
        (1, -0.5, -1),
        (1, -1.5, -1),
        (3, 2.5, 3),
        (4, 2.5, 2),
        (0, 0.49999999999999994, 0),
        (1, 0.49999999999999994, 0),
        (1, 0.5000000000000001, 1),
        (0, 7.0, 7),
        (1, 7.0, 7),
        (1, -7.75, -8),
        (0, 2.0**60, 2.0**60),
        (1, 2.0**60, 2.0**60),
    ],
)
def test_halves_go_to_the_even_sum(anchor, difference, whole):
    assert rint_half_even(np.array([anchor % 2 != 0]), np.array([difference])) == [whole]


@given(rng=seeds)
def test_rounding_a_difference_is_rounding_the_sum(rng):
    anchors = rng.integers(-(10**9), 10**9, 50)
    differences = rng.integers(-(2**20), 2**20, 50) / 2.0 ** rng.integers(0, 4, 50)
    whole = rint_half_even(anchors % 2 != 0, differences)
    exact = [int(a) + Fraction(d) for a, d in zip(anchors, differences, strict=True)]
    assert (anchors + whole).tolist() == list(map(round, exact))
