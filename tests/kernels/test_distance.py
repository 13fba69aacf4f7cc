"""Distances to the last bit, and the slack within which products may be wrong."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from polars_microagg.core.partition import Matrix, Vector
from polars_microagg.kernels.distance import (
    centred,
    rounding_slack,
    squared_distances,
    total,
)


def one_by_one(columns: Matrix, point: Vector) -> list[float]:
    distances = []
    for record in columns.T.tolist():
        distance = 0.0
        for a, b in zip(record, point.tolist(), strict=True):
            distance += (a - b) * (a - b)
        distances.append(distance)
    return distances


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("d", [1, 2, 7, 8, 9, 40, 200])
@pytest.mark.parametrize("m", [1, 2, 9, 300])
def test_squares_are_added_in_column_order(d: int, m: int, order: str) -> None:
    rng = np.random.default_rng(d * m)
    columns = np.asarray(rng.standard_normal((d, m)), order="C" if order == "C" else "F")
    point = rng.standard_normal(d)
    before = columns.copy()
    assert squared_distances(columns, point).tolist() == one_by_one(columns, point)
    np.testing.assert_array_equal(columns, before)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(("d", "m"), [(1, 1), (1, 500), (3, 2), (5, 500), (200, 3)])
def test_records_are_added_one_after_the_other(d: int, m: int, order: str) -> None:
    columns = np.random.default_rng(m).standard_normal((d, m))
    columns = np.asarray(columns, order="C" if order == "C" else "F")
    expected = []
    for values in columns.tolist():
        sum_ = 0.0
        for value in values:
            sum_ += value
        expected.append(sum_)
    assert total(columns).tolist() == expected


def test_centring_subtracts_the_mean_whatever_the_layout() -> None:
    x = np.array([[1.0, 10.0], [2.0, 20.0], [6.0, 60.0]])
    assert centred(x).tolist() == [[-2.0, -1.0, 3.0], [-20.0, -10.0, 30.0]]
    assert x.tolist() == [[1.0, 10.0], [2.0, 20.0], [6.0, 60.0]]
    x = np.random.default_rng(0).lognormal(size=(1000, 9))
    same = centred(np.asfortranarray(x))
    np.testing.assert_array_equal(centred(x), same)
    assert same.flags.c_contiguous


@pytest.mark.parametrize("d", [1, 3, 12, 60])
@pytest.mark.parametrize("scale", [1e-150, 1e-3, 1.0, 1e6])
def test_half_the_slack_covers_the_error_of_product_and_distance(d: int, scale: float) -> None:
    # Records close to the point and far from the origin lose the most digits.
    rng = np.random.default_rng(d)
    point = scale * (1 + rng.random(d))
    columns = point[:, None] * (1 + 1e-9 * rng.standard_normal((d, 50)))
    norms = squared_distances(columns, np.zeros(d))
    products = np.append(-2 * point, 1.0) @ np.concatenate((columns, norms[None]))
    half = Fraction(rounding_slack(float(norms.max()), point)) / 2
    distances = squared_distances(columns, point).tolist()
    q = [Fraction(value) for value in point.tolist()]
    norm = sum(value * value for value in q)
    for product, distance in zip(products.tolist(), distances, strict=True):
        assert abs(Fraction(product) + norm - Fraction(distance)) <= half


def test_the_slack_is_small_and_never_zero() -> None:
    assert 0 < rounding_slack(0.0, np.zeros(3)) < 1e-300
    assert rounding_slack(4.0, np.array([2.0])) == pytest.approx(8 * 4 * 2.0**-52 * 8)
