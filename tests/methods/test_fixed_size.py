"""Univariate fixed-size microaggregation, and the axes it sorts by."""

from __future__ import annotations

import numpy as np
import pytest

from polars_microagg.core.registry import methods
from polars_microagg.kernels.order.projection import first_component, sum_of_z
from polars_microagg.methods.fixed_size import fixed_size
from tests.reference import loss, reference


@pytest.mark.parametrize(
    ("k", "low", "high"), [(3, 30.11, 48.48), (4, 34.14, 57.0), (5, 37.59, 60.83)]
)
def test_published_range_over_variables(k, low, high):
    # Comparative study, Table 1, UFS_PV: every variable of tarragona, in both directions.
    x = reference("tarragona")
    losses = [
        loss(x, fixed_size(x, k=k, sort=j, descending=descending).labels)
        for j in range(x.shape[1])
        for descending in (False, True)
    ]
    assert min(losses) == pytest.approx(low, abs=0.011)
    assert max(losses) == pytest.approx(high, abs=0.011)


@pytest.mark.parametrize(
    ("sort", "k", "ascending", "descending"),
    [
        # Comparative study, Table 1, UFS_SZ and UFS_FPC of tarragona. For UFS_FPC and k = 3 it
        # prints 23.87 or 23.89; 3 divides 834, so both directions make the same groups.
        ("sz", 3, 28.92, 28.92),
        ("sz", 4, 32.15, 32.08),
        ("sz", 5, 35.20, 32.56),
        ("fpc", 3, 23.89, 23.89),
        ("fpc", 4, 30.62, 25.99),
        ("fpc", 5, 33.29, 30.74),
    ],
)
def test_published_losses(sort, k, ascending, descending):
    x = reference("tarragona")
    for expected, reverse in ((ascending, False), (descending, True)):
        found = loss(x, fixed_size(x, k=k, sort=sort, descending=reverse).labels)
        assert found == pytest.approx(expected, abs=0.011)


@pytest.mark.parametrize("sort", ["sz", "fpc"])
def test_the_scale_of_the_columns_does_not_matter(sort):
    x = reference("census")
    stretched = x * np.logspace(-4, 6, x.shape[1]) + 1000
    assert fixed_size(x, k=5, sort=sort).labels.tolist() == (
        fixed_size(stretched, k=5, sort=sort).labels.tolist()
    )


def test_by_hand():
    # z-scores of the columns: -1 -1 1 1 and -1 1 -1 1; sums -2 0 0 2, the tie by row.
    x = np.array([[0.0, 5.0], [0.0, 9.0], [4.0, 5.0], [4.0, 9.0]])
    assert sum_of_z(x).tolist() == [-2.0, 0.0, 0.0, 2.0]
    assert fixed_size(x, k=2).labels.tolist() == [0, 0, 1, 1]
    # From the top: row 3, then row 1 before row 2.
    assert fixed_size(x, k=2, descending=True).labels.tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize("descending", [False, True])
def test_ties_go_by_row_in_both_directions(descending):
    x = np.array([[1.0], [1.0], [1.0], [1.0], [1.0]])
    for sort in ("sz", "fpc", 0):
        labels = fixed_size(x, k=2, sort=sort, descending=descending).labels
        assert labels.tolist() == [0, 0, 1, 1, 1]


def test_the_remainder_joins_the_last_block_of_the_direction():
    x = np.arange(7.0)[:, None]
    assert fixed_size(x, k=3, sort=0).labels.tolist() == [0, 0, 0, 1, 1, 1, 1]
    assert fixed_size(x, k=3, sort=0, descending=True).labels.tolist() == [0, 0, 0, 0, 1, 1, 1]


def test_component_of_two_columns_is_half_their_sum():
    # Any 2 x 2 correlation matrix with r > 0 has the eigenvector (1, 1) / sqrt(2).
    rng = np.random.default_rng(1)
    shared = rng.normal(size=(200, 1))
    x = (shared + rng.normal(size=(200, 2))) * [3.0, 1e-5]
    assert np.allclose(first_component(x), sum_of_z(x) / np.sqrt(2))


def test_component_against_a_singular_value_decomposition():
    x = reference("census")
    scores = first_component(x)
    axis = np.linalg.svd(x, full_matrices=False)[2][0]
    assert np.allclose(scores, x @ axis * np.sign(axis.sum()))
    assert scores.var() == pytest.approx(np.linalg.eigvalsh(np.corrcoef(x.T))[-1])


def test_component_whose_loadings_cancel_starts_with_a_positive_one():
    # r = -1: the eigenvector is (1, -1) / sqrt(2) up to its sign.
    x = np.array([[1.0, 30.0], [3.0, 20.0], [5.0, 10.0]])
    assert np.allclose(first_component(x), [-np.sqrt(3), 0.0, np.sqrt(3)])
    assert np.allclose(first_component(x[:, ::-1]), [np.sqrt(3), 0.0, -np.sqrt(3)])


def test_constant_columns_count_for_nothing():
    # 0.1 has no exact mean, so its deviations are not exactly 0.
    x = np.random.default_rng(2).normal(size=(30, 2))
    padded = np.column_stack([np.full(30, 0.1), x, np.full(30, 7.0)])
    for axis in (sum_of_z, first_component):
        assert np.allclose(axis(padded), axis(x))
        assert axis(padded[:, [0, 3]]).tolist() == [0.0] * 30


def test_registered():
    entry = methods()["fixed_size"]
    assert (entry.unit, entry.columnwise) == ("record", False)
    assert entry.options["sort"].choices == ("sz", "fpc")
    assert entry.options["sort"].axis
    assert entry.options["descending"].kind is bool
