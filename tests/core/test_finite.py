"""From finite values come finite values, of any size, by every method and in every type."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.core import registry

MAX = 1.7976931348623157e308
K = 3
DECIMAL = pl.Decimal(28, 14)
every_method = pytest.mark.parametrize("method", list(registry.methods()))


def table(rng):
    n = int(rng.integers(2 * K, 30))
    wide = [(10**38 - 1) * int(v) for v in rng.integers(-1, 2, n)]
    return pl.DataFrame(
        {
            "ends": rng.choice([MAX, -MAX, 1e308, -1e308, 1.0, 0.0, -0.0, 5e-324], n),
            "mixed": rng.standard_normal(n) * 10.0 ** rng.integers(-300, 300, n),
            "single": pl.Series(rng.choice([3.4e38, -3.4e38, 1e-45, 0.0], n), dtype=pl.Float32),
            "half": pl.Series(rng.choice([65504.0, -65504.0, 1.0], n)).cast(pl.Float16),
            "money": pl.Series(rng.integers(-(10**13), 10**13, n)).cast(DECIMAL),
            "wide": pl.Series(wide, dtype=pl.Int128).cast(pl.Decimal(38, 0)),
            "i64": rng.choice([-(2**63), 2**63 - 1, 0], n),
            "u128": pl.Series([int(v) << 127 for v in rng.integers(0, 2, n)], dtype=pl.UInt128),
        }
    )


OPTIONS = [{}, {"dtype": "float"}, {"scale": "none"}, {"scale": "minmax"}, {"scale": "robust"}]
OPTIONS += [{"center": "median"}, {"refine": True}]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@every_method
def test_no_method_emits_inf_nan_or_minus_zero(method, options):
    rng = np.random.default_rng(len(method))
    for _ in range(2):
        frame = table(rng)
        columns = rng.permutation(frame.columns)[: int(rng.integers(1, 9))].tolist()
        try:
            masked = mg.mask(frame, columns, K, method=method, **options)
        except mg.InvalidParameterError:
            continue
        for column in masked.select(columns):
            assert not column.null_count()
            if column.dtype.is_float():
                assert column.is_finite().all()
                numbers = column.cast(pl.Float64).to_numpy()
                assert not np.signbit(numbers[numbers == 0]).any()
            assert column.cast(pl.Float64).min() >= frame[column.name].cast(pl.Float64).min() or (
                method == "mic1d"
            )


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtype", ["keep", "float"])
@pytest.mark.parametrize("small", [DECIMAL, pl.Float32, pl.Float16, pl.Int64, pl.Decimal(38, 38)])
def test_small_numbers_beside_the_largest_stay_finite(small, dtype):
    few = pl.Series([0, 0, 0, 0] if small == pl.Decimal(38, 38) else [1, 2, 3, 4]).cast(small)
    frame = pl.DataFrame({"small": few, "large": [1e308, MAX, -MAX, -1e308]})
    for k in (2, 3, 8):
        masked = mg.mic1d(frame, ["small", "large"], k, dtype=dtype)
        for column in masked:
            assert not column.null_count()
            assert not column.dtype.is_float() or column.is_finite().all()
