"""pcp, zscores and sugeno: by hand, and no cut of the order is better."""

from __future__ import annotations

import numpy as np
import pytest

from polars_microagg.core.partition import Matrix, Vector
from polars_microagg.core.registry import methods
from polars_microagg.kernels.order.projection import first_component, sugeno_integral, sum_of_z
from polars_microagg.methods.pcp import pcp
from polars_microagg.methods.sugeno import sugeno
from polars_microagg.methods.zscores import zscores
from tests.methods.plain import sse
from tests.methods.test_mdav import DRAWS
from tests.reference import loss, reference


def integral(values: list[float]) -> float:
    """Take the greatest min(i / N, a_i), the values descending."""
    ranked = sorted(values, reverse=True)
    return max(min((i + 1) / len(ranked), a) for i, a in enumerate(ranked))


def to_unit(x: Matrix) -> Matrix:
    x = x[:, x.max(axis=0) > x.min(axis=0)]
    return (x - x.min(axis=0)) / (x.max(axis=0) - x.min(axis=0))


def test_sugeno_integrals_by_hand():
    # Columns from 0 to 10, so divided by 10; N = 3.
    #   .9 .5 .1: min(1/3, .9) = 1/3, min(2/3, .5) = .5, min(1, .1) = .1: .5
    #   .2 .2 .2: .2, .2, .2: .2
    #   1 1 0: 1/3, 2/3, 0: 2/3
    #   1 0 0: 1/3
    #   0 1 1: 2/3;  1 1 1: 1;  0 0 0: 0
    x = [(5, 9, 1), (2, 2, 2), (10, 10, 0), (10, 0, 0), (0, 10, 10), (10, 10, 10), (0, 0, 0)]
    found, sums = sugeno_integral(np.array(x, dtype=np.float64))
    np.testing.assert_allclose(found, [0.5, 0.2, 2 / 3, 1 / 3, 2 / 3, 1, 0], rtol=1e-15)
    np.testing.assert_allclose(sums, [1.5, 0.6, 2, 1, 2, 3, 0], rtol=1e-15)


@pytest.mark.parametrize("kind", DRAWS)
def test_sugeno_integrals_are_those_of_the_definition(kind):
    rng = np.random.default_rng(len(kind))
    for _ in range(30):
        x = DRAWS[kind](rng, int(rng.integers(1, 40)), int(rng.integers(1, 6)))
        found, _ = sugeno_integral(x)
        unit = to_unit(x)
        expected = [integral(record) if record else 0.0 for record in unit.tolist()]
        np.testing.assert_array_equal(found, expected)


def test_sugeno_by_hand():
    # As above, k = 2: in order 0 .2 | 1/3 .5 2/3 2/3 1. The integrals 2/3 have equal sums, so row 2
    # is before row 4. Runs of two and three; by integrals 0 .2 | 1/3 .5 | 2/3 2/3 1 costs .02 + .014 +
    # .074, 0 .2 1/3 | .5 2/3 | 2/3 1 .056 + .014 + .056, 0 .2 | 1/3 .5 2/3 | 2/3 1 .02 + .056 + .056.
    x = [(5, 9, 1), (2, 2, 2), (10, 10, 0), (10, 0, 0), (0, 10, 10), (10, 10, 10), (0, 0, 0)]
    found = sugeno(np.array(x, dtype=np.float64), k=2, cost="projected")
    assert found.labels.tolist() == [0, 1, 2, 0, 2, 2, 1]


def test_equal_integrals_go_by_sum_then_by_row():
    # N = 2: (1, 0), (1, .4), (1, .2), (.5, .5), (1, .4) all have the integral 1/2, with sums 1 1.4
    # 1.2 1 1.4; (0, 0) and (1, 1) are the ends. In order: row 5, 0, 3, 2, 1, 4, 6.
    x = [(10, 0), (10, 4), (10, 2), (5, 5), (10, 4), (0, 0), (10, 10)]
    integrals, sums = sugeno_integral(np.array(x, dtype=np.float64))
    assert np.lexsort((sums, integrals)).tolist() == [5, 0, 3, 2, 1, 4, 6]


def test_pcp_by_hand():
    # Two columns with correlation r > 0: the loadings are equal, and the order is that of the sums of
    # z-scores. Both are -1.5 -.9 -.3 ... apart but for the second column, 0 0 9 9 9.
    x = np.array([(0, 0), (1, 0), (2, 9), (5, 9), (6, 9)], dtype=np.float64)
    assert np.argsort(first_component(x)).tolist() == np.argsort(sum_of_z(x)).tolist()
    # 0 1 | 2 5 6 costs .5 + 26/3 in the first column, nothing in the second; 0 1 2 | 5 6 costs
    # 2 + .5, and 54 in the second.
    for method in (pcp, zscores):
        assert method(x, k=2).labels.tolist() == [0, 0, 1, 1, 1]


KEYS = {
    pcp: lambda x: (first_component(x),),
    zscores: lambda x: (sum_of_z(x),),
    sugeno: lambda x: sugeno_integral(x),
}


@pytest.mark.parametrize("cost", ["multivariate", "projected"])
@pytest.mark.parametrize("method", KEYS, ids=lambda method: method.__name__)
def test_no_cut_of_the_order_is_better(method, cost):
    rng = np.random.default_rng(7)
    for trial in range(60):
        k = int(rng.integers(2, 5))
        n, d = int(rng.integers(1, 20)), int(rng.integers(1, 4))
        x = rng.integers(0, 6, (n, d)).astype(np.float64) if trial % 2 else rng.normal(size=(n, d))
        keys = KEYS[method](x)
        order = np.lexsort(keys[::-1])
        key: Vector = keys[0]
        y = x if cost == "multivariate" else key[:, None]
        least = {0: 0.0}
        for end in range(k, n + 1):
            least[end] = min(least[s] + sse(y, order[s:end]) for s in least if s <= end - k)
        found = method(x, k=k, cost=cost)
        assert n < 2 * k or k <= found.sizes.min() <= found.sizes.max() < 2 * k
        along = found.labels[order]
        assert np.count_nonzero(np.diff(along)) == len(found) - 1
        total = sum(sse(y, np.flatnonzero(found.labels == g)) for g in range(len(found)))
        if n >= k:
            assert total == pytest.approx(least[n], rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", ["tarragona", "census", "eia"])
@pytest.mark.parametrize("method", KEYS, ids=lambda method: method.__name__)
def test_the_cost_of_the_records_loses_less(name, method):
    x = reference(name)
    for k in (3, 10):
        projected = loss(x, method(x, k=k, cost="projected").labels)
        assert loss(x, method(x, k=k).labels) < projected


def test_registered():
    for name in ("pcp", "zscores", "sugeno"):
        entry = methods()[name]
        assert (entry.sizes, entry.cost, entry.limit) == ("k..2k-1", "n log n", None)
        assert entry.options["cost"].choices == ("multivariate", "projected")
