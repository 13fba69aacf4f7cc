"""Records in boxes, against plain searches."""

from __future__ import annotations

import numpy as np
import pytest

from polars_microagg.kernels.mdav import box_index
from polars_microagg.kernels.mdav.box_index import BoxIndex
from polars_microagg.kernels.remaining_mean import RemainingMean


@pytest.mark.parametrize("seed", range(60))
def test_lists_hold_the_nearest_records_first_as_far_as_they_are_certain(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(seed)
    monkeypatch.setattr(box_index, "WIDTH", int(rng.integers(1, 9)))
    monkeypatch.setattr(box_index, "PARTS", 1 << int(rng.integers(0, 4)))
    monkeypatch.setattr(box_index, "FIRST", int(rng.integers(1, 4)))
    monkeypatch.setattr(box_index, "CLOSE", int(rng.integers(1, 6)))
    monkeypatch.setattr(box_index, "CELLS", int(rng.integers(1, 200)))
    n, d = int(rng.integers(4, 120)), int(rng.integers(1, 5))
    whole = seed % 2 == 0
    x = rng.integers(0, 4, (n, d)).astype(np.float64) if whole else rng.standard_normal((n, d))
    left = RemainingMean(x)
    left.remove(rng.choice(n, n // 3, replace=False))
    table = BoxIndex(left.records, left.rows)
    while len(left) > 1:
        gone = np.sort(rng.choice(left.rows, (len(left) + 3) // 4, replace=False))
        left.remove(gone)
        table.remove(gone)
        rows = left.rows
        count = int(rng.integers(1, len(rows) + 1))
        asked = np.sort(rng.choice(rows, min(5, len(rows)), replace=False))
        near = table.near(asked, count)
        ends = [*near.starts[1:].tolist(), len(near.rows)]
        for row, start, certain, end in zip(asked, near.starts, near.certain, ends, strict=True):
            squares = np.zeros(len(rows))
            for column in left.columns:
                squares = squares + (column[rows] - column[row]) ** 2
            squares[rows == row] = -1.0
            expected = rows[np.argsort(squares, kind="stable")]
            found = near.rows[start:end]
            assert len(found) >= count
            np.testing.assert_array_equal(found[:count], expected[:count])
            sure = near.rows[start:certain]
            np.testing.assert_array_equal(sure, expected[: len(sure)])
            # Equal distances, and the last one itself, may be rounded apart.
            assert whole or len(sure) >= count - 1


def test_what_is_gone_is_neither_near_nor_far() -> None:
    left = RemainingMean(np.arange(10.0)[:, None])
    table = BoxIndex(left.records, left.rows)
    table.remove(np.array([1, 9]))
    np.testing.assert_array_equal(table.near(np.array([0]), 2).rows[:2], [0, 2])
    values = table.measure(left.columns[:, 0])
    assert table.rows.ravel()[values.argmax()] == 8
    assert np.count_nonzero(values > -np.inf) == 8
