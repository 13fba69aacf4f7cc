"""The order of the records of leaves is that of Polars by all keys at once."""

from datetime import date
from decimal import Decimal

import numpy as np
import polars as pl

from polars_microagg.leaves import sorting
from tests.loop import rounds


def drawn(rng, n):
    """A key of some type, with ties, and often with nulls."""
    few = rng.integers(0, rng.choice([2, 5, 1000]), n)
    kinds = [
        lambda: pl.Series(few),
        lambda: pl.Series(few, dtype=pl.Int8, strict=False),
        lambda: pl.Series(rng.choice([-0.0, 0.0, 1.5, -2.0, 1e300], n)),
        lambda: pl.Series(rng.choice([0.0, np.nan, 1.0, np.inf], n)),
        lambda: pl.Series([f"t{v}" for v in few]),
        lambda: pl.Series([f"t{v}" for v in few], dtype=pl.Categorical),
        lambda: pl.Series([["a", "b"][v % 2] for v in few], dtype=pl.Enum(["b", "a"])),
        lambda: pl.Series([date(2000, 1, 1 + v % 28) for v in few]),
        lambda: pl.Series([Decimal(int(v)) / 4 for v in few]),
        lambda: pl.Series(few % 2 == 0),
        lambda: pl.Series([2**100 + int(v) for v in few], dtype=pl.Int128),
        lambda: pl.Series(few.astype(np.uint64) * np.uint64(2**50)),
        lambda: pl.Series([7] * n),
    ]
    made = kinds[rng.integers(len(kinds))]()
    if rng.integers(2):
        made = made.set(pl.Series(rng.random(n) < 0.2), None)
    return made


def test_records_are_sorted_as_by_polars(monkeypatch):
    for seed in range(rounds(400)):
        rng = np.random.default_rng(seed)
        monkeypatch.setattr(sorting, "LONG", int(rng.choice([1, 64])))
        n = int(rng.integers(0, 60))
        runs = rng.integers(0, rng.choice([1, 4, 2**20]), n)
        keys = [drawn(rng, n) for _ in range(rng.integers(0, 4))]
        texts = [k.cast(pl.String) if k.dtype == pl.Categorical else k for k in keys]
        frame = pl.DataFrame(
            [pl.Series("run", runs), *(k.alias(str(j)) for j, k in enumerate(texts))]
        )
        expected = frame.select(
            pl.arg_sort_by(frame.columns, nulls_last=True, maintain_order=True)
        ).to_series()
        assert sorting.sorted_by(runs, keys).tolist() == expected.to_list()
