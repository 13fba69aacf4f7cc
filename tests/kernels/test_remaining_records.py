"""The shrinking set of records, against a plain one."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from polars_microagg.core.partition import Labels, Matrix, Vector
from polars_microagg.kernels import point_search, smallest
from polars_microagg.kernels.distance import Mean, Point, coordinates
from polars_microagg.kernels.farthest_records import FarthestQueue
from polars_microagg.kernels.remaining_records import RemainingRecords


def distances(columns: Matrix, rows: Labels, point: Point) -> Vector:
    if isinstance(point, Mean):
        # The mean of n whole records is s / n: n times as large, nothing is rounded.
        return distances(point.records * columns, rows, point.total)
    sums = np.zeros(len(rows))
    for j, coordinate in enumerate(point):
        sums = sums + (columns[j, rows] - coordinate) ** 2
    return sums


@pytest.fixture(params=[0, 30, 512])
def direct(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(point_search, "DIRECT", request.param)
    monkeypatch.setattr(point_search, "HEAD", 2)
    monkeypatch.setattr(smallest, "STRIPE", 3)


def draw(rng: np.random.Generator, n: int) -> Matrix:
    d = int(rng.integers(1, 5))
    if rng.random() < 0.5:
        return rng.integers(0, 3, (n, d)).astype(np.float64)
    return rng.standard_normal((n, d))


@pytest.mark.usefixtures("direct")
@pytest.mark.parametrize("seed", range(40))
def test_every_answer_is_that_of_a_plain_search(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 150))
    records = RemainingRecords(draw(rng, n))
    left = np.arange(n)
    while len(left):
        assert len(records) == len(left)
        np.testing.assert_array_equal(records.rows, left)
        point = rng.standard_normal(len(records.columns))
        row, count = int(rng.choice(left)), int(rng.integers(1, 8))
        any_row = int(rng.integers(n))
        assert (any_row in records) == (any_row in left)

        mean = records.mean()
        exact = records.columns[:, left].mean(axis=1)
        np.testing.assert_allclose(coordinates(mean), exact, rtol=0, atol=1e-13)
        for q, found in (
            (mean, records.farthest_from_mean()),
            (point, records.farthest_from_point(point)),
            (records.columns[:, any_row], records.farthest_from(any_row)),
        ):
            assert found == left[distances(records.columns, left, q).argmax()]

        to_point = distances(records.columns, left, point)
        expected = np.sort(left[np.argsort(to_point, kind="stable")[:count]])
        np.testing.assert_array_equal(records.nearest_to_point(point, count), expected)
        to_row = distances(records.columns, left, records.columns[:, row])
        to_row[left == row] = -1
        expected = np.sort(left[np.argsort(to_row, kind="stable")[:count]])
        np.testing.assert_array_equal(records.nearest(row, count), expected)
        assert records.farthest_from(row) == left[np.maximum(to_row, 0).argmax()]

        gone = rng.choice(left, count) if rng.random() < 0.5 else records.nearest(row, count)
        gone = np.unique(gone)
        records.remove(gone)
        left = np.setdiff1d(left, gone)
    assert len(records) == 0


@pytest.mark.usefixtures("direct")
def test_a_record_is_in_its_own_group_before_equal_records_in_lower_rows() -> None:
    records = RemainingRecords(np.repeat([[0.0], [1.0]], 40, axis=0))
    assert records.nearest(70, 3).tolist() == [40, 41, 70]
    assert records.nearest_to_point(records.columns[:, 70], 3).tolist() == [40, 41, 42]
    assert records.farthest_from(70) == 0
    assert records.take(79, 39).tolist() == [*range(40, 78), 79]
    assert records.rows.tolist() == [*range(40), 78]


@pytest.mark.usefixtures("direct")
def test_asking_changes_nothing() -> None:
    x = np.random.default_rng(1).integers(0, 4, (90, 2)).astype(np.float64)
    records = RemainingRecords(x)
    first = records.nearest(50, 6)
    farthest = records.farthest_from(50)
    np.testing.assert_array_equal(records.nearest(50, 6), first)
    assert records.farthest_from(50) == farthest
    assert len(records) == 90
    equal = RemainingRecords(np.ones((20, 2)))
    assert equal.nearest(0, 3).tolist() == [0, 1, 2]
    assert equal.farthest_from(0) == 0


@pytest.mark.parametrize("seed", range(5))
def test_more_records_than_are_queued_may_be_farthest_but_for_rounding(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # All lie on a sphere round the point, so the product puts them in no particular order.
    monkeypatch.setattr(point_search, "DIRECT", 0)
    rng = np.random.default_rng(seed)
    columns = rng.standard_normal((3, 1000))
    columns /= np.sqrt((columns**2).sum(axis=0))
    point = rng.standard_normal(3)
    columns += point[:, None]
    positions, _, reach = point_search.PointTable(point_search.with_norms(columns)).far(point, 10)
    exact = distances(columns, np.arange(1000), point)
    assert exact.argmax() in positions
    assert np.sqrt(np.delete(exact, positions)).max(initial=-np.inf) <= reach


def test_points_are_given_less_the_mean() -> None:
    records = RemainingRecords(np.array([[10.0, 0.0], [20.0, 0.0], [60.0, 0.0]]))
    assert records.columns.tolist() == [[-20.0, -10.0, 30.0], [0.0, 0.0, 0.0]]
    assert records.farthest_from_point(np.array([50.0, 0.0]) - np.array([30.0, 0.0])) == 0


def test_the_mean_stays_accurate_when_the_largest_records_have_gone() -> None:
    # A running sum alone would keep the rounding errors of 1e12 among records of size 1.
    rng = np.random.default_rng(3)
    x = np.concatenate((rng.standard_normal((600, 1)) * 1e12, rng.standard_normal((400, 1))))
    records = RemainingRecords(x)
    order = np.argsort(-np.abs(records.columns[0]), kind="stable")
    for rows in np.split(order[:900], 300):
        records.remove(rows)
        records.mean()
    values = records.columns[0, records.rows].tolist()
    exact = float(sum(map(Fraction, values)) / len(values))
    assert coordinates(records.mean())[0] == pytest.approx(exact, abs=1e-3)


def test_a_queue_is_certain_only_beyond_its_reach() -> None:
    # Queued are the records at -10 and 9, all others lie within 6 of the centroid 0. From 1.5
    # the first is 11.5 away, and others at most 7.5. When it is gone, the record at 9 is exactly
    # 7.5 away: some other record might be as far and lie in a lower row.
    columns, rows = np.array([[-10.0, 9.0]]), np.array([4, 7])
    queue = FarthestQueue(columns, rows, np.array([0.0]), 6.0)
    taken = np.zeros(8, dtype=np.bool_)
    assert queue.farthest(np.array([1.5]), taken) == (4, True)
    taken[4] = True
    assert queue.farthest(np.array([1.5]), taken) == (7, False)
    assert queue.farthest(np.array([1.25]), taken) == (7, True)
    taken[7] = True
    assert not queue.farthest(np.array([0.0]), taken)[1]


def test_a_queue_is_filled_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    filled = []
    far = point_search.PointTable.far

    def counted(
        table: point_search.PointTable, point: Vector, size: int
    ) -> tuple[Labels, Matrix, float]:
        filled.append(size)
        return far(table, point, size)

    monkeypatch.setattr(point_search.PointTable, "far", counted)
    records = RemainingRecords(np.random.default_rng(0).standard_normal((4000, 3)))
    rounds = 0
    while len(records) > point_search.DIRECT:
        records.take(records.farthest_from_mean(), 5)
        rounds += 1
    assert len(filled) < rounds / 10
