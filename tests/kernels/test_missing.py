"""What is absent is completed from the nearest record that has it, worked by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polars_microagg.kernels import missing
from polars_microagg.kernels.missing import completed

NAN = np.nan
seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        # 4 is nearer to 5 than to 0.
        ([[0, 9], [5, 1], [4, NAN]], [[0, 9], [5, 1], [4, 1]]),
        # Equal distances go to the first donor.
        ([[4, 1], [6, 2], [5, NAN]], [[4, 1], [6, 2], [5, 1]]),
        ([[6, 2], [5, NAN], [4, 1]], [[6, 2], [5, 2], [4, 1]]),
        # Two columns to compare by: squared distances 25 to the first, 2 to the second.
        ([[3, 4, 1], [1, 1, 2], [0, 0, NAN]], [[3, 4, 1], [1, 1, 2], [0, 0, 2]]),
        # Each column has its own donor where no record has both: a and b of row 0.
        (
            [[0, NAN, NAN], [1, 7, NAN], [2, NAN, 8]],
            [[0, 7, 8], [1, 7, 8], [2, 7, 8]],
        ),
        # Nobody has values in the same columns: the mean of the column stands in.
        ([[1, NAN], [3, NAN], [NAN, 6]], [[1, 6], [3, 6], [2, 6]]),
        # A record without any value is at the mean of every column.
        ([[NAN, NAN], [1, 2], [3, 6]], [[2, 4], [1, 2], [3, 6]]),
        # Nobody has the column: it is 0 for all and weighs nothing.
        ([[NAN, 1], [NAN, 2]], [[0, 1], [0, 2]]),
        ([[1, 2], [3, 4]], [[1, 2], [3, 4]]),
    ],
)
def test_a_table_by_hand(x, expected):
    x = np.array(x, dtype=float)
    before = x.copy()
    out = completed(x)
    assert out.tolist() == expected
    assert out.flags.f_contiguous
    assert np.array_equal(x, before, equal_nan=True)


@pytest.mark.parametrize("shape", [(0, 2), (3, 1)])
def test_nothing_to_learn_from(shape):
    assert completed(np.full(shape, NAN)).tolist() == np.zeros(shape).tolist()


@given(rng=seeds)
def test_a_completed_value_is_that_of_a_nearest_donor(rng):
    n, p = int(rng.integers(1, 30)), int(rng.integers(2, 5))
    x = rng.integers(-9, 9, (n, p)).astype(float)
    x[rng.random(x.shape) < rng.choice([0.1, 0.5, 0.8])] = NAN
    out = completed(x)
    assert not np.isnan(out).any()
    present = ~np.isnan(x)
    assert np.array_equal(out[present], x[present])
    for i, j in np.argwhere(~present):
        donors = np.flatnonzero(present[:, present[i]].all(axis=1) & present[:, j])
        if present[i].any() and len(donors):
            apart = ((x[donors] - x[i])[:, present[i]] ** 2).sum(axis=1)
            assert out[i, j] == x[donors[apart.argmin()], j]
        else:
            assert out[i, j] == pytest.approx(np.nanmean(x[:, j]) if present[:, j].any() else 0)


@given(rng=seeds)
def test_blocks_of_targets_change_nothing(rng):
    x = rng.standard_normal((40, 3))
    x[rng.random(x.shape) < 0.3] = NAN
    whole = completed(x)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(missing, "BLOCK", 1)
        assert np.array_equal(completed(x), whole)


def test_many_donors_are_thinned_evenly(monkeypatch):
    # Of five donors at most three: rows 0, 2 and 4.
    monkeypatch.setattr(missing, "DONORS", 3)
    x = np.column_stack([np.arange(6.0), np.arange(6.0) * 10])
    x[5, 1] = NAN
    assert completed(x)[5, 1] == 40
    x[5, 0] = 3.1
    assert completed(x)[5, 1] == 40
    x[5, 0] = 2.9
    assert completed(x)[5, 1] == 20
