"""Groups spread over the values of a confidential column, against plain Python on small cases."""

import numpy as np

from polars_microagg.kernels.local.spread_start import spread_groups
from tests.loop import rounds

SEEDS = 200


def rng_of(seed):
    return np.random.default_rng([15, seed])


def test_spread_groups_take_as_many_records_of_each_layer():
    for seed in range(rounds(SEEDS)):
        rng = rng_of(seed)
        layers = int(rng.integers(2, 5))
        k = layers * int(rng.integers(1, 4))
        n = int(rng.integers(2 * k, 8 * k))
        x = rng.integers(-3, 4, (n, 2)).astype(float)
        codes = rng.integers(0, int(rng.integers(1, n)), n)
        labels = spread_groups(x, codes, k, layers)
        # The records nearest to zero are left over, the last of equals.
        away = sorted(range(n), key=lambda row: (-(x[row] ** 2).sum(), row))
        kept = sorted(away[: n // layers * layers])
        assert sorted(np.flatnonzero(labels >= 0)) == kept
        by_code = sorted(kept, key=lambda row: (codes[row], row))
        width = len(kept) // layers
        layer = {row: place // width for place, row in enumerate(by_code)}
        groups = labels.max() + 1
        assert groups == max(1, len(kept) // k)
        for g in range(groups):
            counts = np.bincount([layer[r] for r in np.flatnonzero(labels == g)], minlength=layers)
            assert len(set(counts.tolist())) == 1
            assert k <= counts.sum() < 2 * k or groups == 1


def test_spread_groups_of_many_records_are_made_in_blocks(monkeypatch):
    monkeypatch.setattr("polars_microagg.kernels.local.spread_start.BLOCK", 16)
    for seed in range(rounds(40)):
        rng = rng_of(seed)
        n, layers = int(rng.integers(100, 200)), 2
        x, codes = rng.normal(size=(n, 2)), rng.integers(0, n, n)
        labels = spread_groups(x, codes, 4, layers)
        blocks = max(b for b in (1, 2, 4, 8, 16) if b == 1 or n // b >= 16)
        width = n // (blocks * layers)
        assert (labels >= 0).sum() == blocks * layers * width
        by_code = sorted(np.flatnonzero(labels >= 0), key=lambda row: (codes[row], row))
        half = set(by_code[: len(by_code) // 2])
        for g in range(labels.max() + 1):
            own = set(np.flatnonzero(labels == g))
            assert 2 * len(own & half) == len(own) >= 4
