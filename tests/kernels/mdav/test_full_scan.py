"""MDAV by products in single precision, forced through everything they leave open."""

from __future__ import annotations

import numpy as np
import pytest

from polars_microagg.core.partition import Matrix
from polars_microagg.kernels.distance import squared_distances
from polars_microagg.kernels.mdav import full_scan
from polars_microagg.kernels.mdav.full_scan import FullScan
from polars_microagg.kernels.mdav.single_table import SingleTable
from polars_microagg.kernels.remaining_mean import RemainingMean
from polars_microagg.methods.mdav import mdav
from tests.loop import rounds
from tests.methods.test_mdav import DRAWS, PlainMdav

SCALES = {
    "1e150": lambda rng, n, d: rng.standard_normal((n, d)) * 1e150,
    "1e-150": lambda rng, n, d: rng.standard_normal((n, d)) * 1e-150,
    "1e-160": lambda rng, n, d: rng.standard_normal((n, d)) * 1e-160,
    "negative zeros": lambda rng, n, d: np.where(rng.random((n, d)) < 0.5, -0.0, 1.0),
    "outliers": lambda rng, n, d: (
        rng.standard_normal((n, d)) * np.where(rng.random((n, 1)) < 0.1, 1e14, 1.0)
    ),
}
# The mean of these is rounded, which decides between distances so near, in the plain version too.
NEAR = {
    "near ties": lambda rng, n, d: (
        rng.choice([-2.0, 1.0, 1.5], (n, d)) * (1 + rng.integers(0, 5, (n, d)) * 2.0**-26)
    ),
}
PLAIN = DRAWS | SCALES
KINDS = PLAIN | NEAR

# One round at a time; a queue at any size; doubt decided in double precision; a table that is all
# gone, or written anew each time; a reach that always fails, or takes in everything.
SETTINGS = {
    "as it is": {},
    "queued": {"QUEUED": 0, "RUN": 1, "MORE": 0},
    "doubted": {"FEW": 0, "TRUST": 0, "GROW": 1e9, "CUT": 1.0, "SHRINK": 1.0},
    "in double": {"FEW": 0, "TRUST": 10**9, "MORE": 4},
    "never written anew": {"MORE": 10**9, "QUEUED": 0, "SHRINK": 0.1, "GROW": 1.0},
}


def set_all(monkeypatch: pytest.MonkeyPatch, setting: str) -> None:
    for name, value in SETTINGS[setting].items():
        assert hasattr(full_scan, name)
        monkeypatch.setattr(full_scan, name, value)


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("kind", PLAIN)
def test_groups_are_those_of_the_plain_version(
    kind: str, setting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_all(monkeypatch, setting)
    rng = np.random.default_rng(len(kind) + 100 * len(setting))
    for _ in range(rounds(40)):
        n, d, k = int(rng.integers(1, 151)), int(rng.integers(1, 9)), int(rng.integers(2, 11))
        x = np.asfortranarray(KINDS[kind](rng, n, d))
        expected = PlainMdav(x, k).run()
        np.testing.assert_array_equal(mdav(x, k=k).labels, expected, err_msg=f"{x.shape}, k={k}")


@pytest.mark.deep
@pytest.mark.parametrize("kind", PLAIN)
def test_larger_tables_are_grouped_as_by_the_plain_version(kind: str) -> None:
    x = KINDS[kind](np.random.default_rng(3), 1500, 3)
    np.testing.assert_array_equal(mdav(x, k=4).labels, PlainMdav(x, 4).run())


def exact(left: RemainingMean, rows: Matrix, point: Matrix) -> Matrix:
    return squared_distances(left.columns.take(rows, axis=1), point)


@pytest.mark.parametrize("kind", KINDS)
def test_values_apart_by_more_than_the_slack_are_in_the_order_of_exact_distances(kind: str) -> None:
    rng = np.random.default_rng(len(kind))
    for _ in range(rounds(20)):
        n, d = int(rng.integers(3, 200)), int(rng.integers(1, 13))
        left = RemainingMean(np.asfortranarray(KINDS[kind](rng, n, d)))
        rows = np.sort(rng.choice(n, int(rng.integers(2, n + 1)), replace=False))
        table = SingleTable(left, rows)
        if not table.useful:
            continue
        some = int(rng.integers(len(rows)))
        sums = left.columns[:, rows].cumsum(axis=1)[:, -1]
        weights = table.weigh(sums, len(rows))
        assert table.spans(weights)
        mean = sums / len(rows)
        for values, point in (
            (table.measure(some, 0), left.columns[:, rows[some]]),
            (table.measure_weighed(table.single(weights)), mean),
        ):
            order = values.argsort()
            ranked = values[order].astype(np.float64)
            distances = exact(left, rows[order], point)
            # All that are beyond the slack from here are farther.
            after = ranked.searchsorted(ranked + table.slack, side="right")
            least = np.append(np.minimum.accumulate(distances[::-1])[::-1], np.inf)
            assert (distances < least[after]).all()


def test_what_is_gone_has_the_value_0_from_everywhere() -> None:
    left = RemainingMean(np.random.default_rng(0).standard_normal((50, 3)))
    table = SingleTable(left, left.rows)
    table.remove(np.array([[3, 4], [7, 9]]))
    values = table.measure(5, 0)
    assert values[[3, 4, 7, 9]].tolist() == [0.0] * 4
    assert np.count_nonzero(values == 0.0) == 4


def searches(x: Matrix, k: int) -> list[bool]:
    """Return, table by table, whether it was in single precision."""
    left = RemainingMean(x)
    scan = FullScan(left, k)
    tables, rows = [scan.single], scan.rows
    while len(left) >= 3 * k:
        scan.groups()
        if scan.rows is not rows:
            tables.append(scan.single)
            rows = scan.rows
    return tables


@pytest.mark.parametrize("kind", ["gaussian", "lognormal", "offset", "1e150", "1e-150"])
def test_single_precision_serves_ordinary_tables(kind: str) -> None:
    assert all(searches(KINDS[kind](np.random.default_rng(0), 2000, 4), 5))


def test_a_table_too_wide_for_single_precision_is_in_double_until_its_outliers_are_gone() -> None:
    x = np.random.default_rng(0).standard_normal((2000, 2))
    x[:10] *= 1e9
    tables = searches(x, 5)
    assert tables[0]
    assert not tables[1]
    assert tables[-1]


def test_a_table_without_differences_is_in_double_at_once() -> None:
    left = RemainingMean(np.ones((100, 2)))
    assert not FullScan(left, 3).single
    assert not SingleTable(left, left.rows).useful


def test_tables_are_in_double_for_a_while_after_too_many_ties() -> None:
    # 20 distinct records of 100 rows each: the nearest k are always more than can be compared.
    x = np.repeat(np.random.default_rng(0).standard_normal((20, 3)), 100, axis=0)
    tables = searches(x, 5)
    assert tables[:5] == [True, False, False, False, True]
