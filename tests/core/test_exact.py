"""What is emitted is the exact centre of its group, rounded once: no bit tells of the order."""

from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from statistics import median

import duckdb
import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
import polars_microagg.duckdb as mgd
from polars_microagg.core import registry
from tests.laws import bits, typed
from tests.test_doors import assert_same, doors

K = 3
MAX = 1.7976931348623157e308
SINGLE = 3.4028234663852886e38
GROUPED = [m for m in registry.methods().values() if m.unit == "record" or m.columnwise]
WHOLE = {
    pl.Int8(): 2**7,
    pl.Int64(): 2**63,
    pl.UInt64(): 2**64,
    pl.Int128(): 2**127,
    pl.Decimal(9, 2): 10**9,
    pl.Decimal(28, 14): 10**28,
    pl.Decimal(38, 0): 10**38,
    pl.Date(): 10**6,
    pl.Datetime("ns"): 2**62,
    pl.Datetime("ms"): 10**14,
    pl.Time(): 86_400 * 10**9,
    pl.Duration("us"): 2**60,
}


def floats(rng, n, size):
    kinds = [
        rng.uniform(-1, 1, n) * size,
        np.clip(rng.standard_normal(n) * 10.0 ** rng.integers(-40, 39, n), -size, size),
        1 + rng.integers(0, 4, n) * 2.0**-23,
        rng.choice([size, -size, 1.0], n),
        rng.choice([-0.0, 0.0, 5e-324, -1e-45], n),
    ]
    return kinds[rng.integers(len(kinds))]


def steps(rng, n, top):
    low = 0 if top in (2**64, 86_400 * 10**9) else -top + 1
    if rng.random() < 0.5:
        base = max(low, top - 40) if rng.random() < 0.5 else max(low, -20)
        return [base + int(v) for v in rng.integers(0, 40, n)]
    return [low + int(v) * (top - 1 - low) // 2**60 for v in rng.integers(0, 2**60, n)]


def table(rng, n):
    whole = {
        f"w{j}": typed(steps(rng, n, top), dtype) for j, (dtype, top) in enumerate(WHOLE.items())
    }
    real = {
        "f16": pl.Series(floats(rng, n, 65504.0).astype(np.float16)).cast(pl.Float16),
        "f32": pl.Series(floats(rng, n, SINGLE)).cast(pl.Float32),
        "f64": pl.Series(floats(rng, n, MAX)),
        "g64": pl.Series(rng.standard_normal(n) * 10.0 ** rng.integers(-300, 300, n)),
    }
    return pl.DataFrame(whole | real)


def exact_steps(column):
    """Values behind a type as fractions; None for null."""
    values = column.cast(pl.Float64) if column.dtype.is_float() else column.to_physical()
    return [None if value is None else Fraction(value) for value in values.to_list()]


def centre(values, how):
    return median(values) if how == "median" else sum(values) / len(values)


def as_single(value, dtype):
    """A fraction rounded once to a float of fewer digits, never -0."""
    scale, digits = {pl.Float32(): (149, 24), pl.Float16(): (24, 11)}[dtype]
    multiple = value * 2**scale
    spare = max(0, int(abs(multiple)).bit_length() - digits)
    return round(multiple / 2**spare) * 2.0 ** (spare - scale) + 0.0


def expected(exact, dtype, output):
    if not dtype.is_float() and output == dtype:
        return round(exact)
    if dtype in (pl.Float32(), pl.Float16()) and output == dtype:
        return as_single(exact, dtype)
    scale = dtype.scale if isinstance(dtype, pl.Decimal) else 0
    return float(exact / 10**scale) + 0.0


@pytest.mark.parametrize("center", ["mean", "median"])
@pytest.mark.parametrize("dtype", ["keep", "float"])
@pytest.mark.parametrize("seed", range(4))
def test_the_centre_of_each_group_is_emitted_in_its_type(center, dtype, seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(30, 90))
    frame = table(rng, n).with_columns(s=pl.Series(np.arange(n) % (n // 4)))
    columns = frame.columns[:-1]
    masked = mg.mdav(frame, columns, K, strata="s", center=center, dtype=dtype)
    for name in columns:
        exact, emitted = exact_steps(frame[name]), masked[name]
        for stratum in range(n // 4):
            rows = range(stratum, n, n // 4)
            one = expected(
                centre([exact[i] for i in rows], center), frame[name].dtype, emitted.dtype
            )
            values = emitted.to_physical() if not emitted.dtype.is_float() else emitted
            here = values.cast(pl.Float64) if emitted.dtype.is_float() else values
            assert {repr(here[i]) for i in rows} == {repr(one)}, name


@pytest.mark.parametrize("method", GROUPED, ids=lambda m: m.name)
def test_no_bit_depends_on_the_order_of_the_rows_of_a_group(method):
    rng = np.random.default_rng(5)
    # A stratum of three to five records is one group.
    strata = np.repeat(np.arange(30), rng.integers(K, 2 * K, 30))
    frame = table(rng, len(strata)).with_columns(s=pl.Series(strata))
    columns = ["f16", "f32", "f64", "g64", "w1", "w5", "w8"]
    first = mg.mask(frame, columns, K, method=method.name, strata="s")
    order = rng.permutation(len(strata))
    again = mg.mask(frame[order], columns, K, method=method.name, strata="s")
    per_stratum = [f.select("s", *columns).unique("s").sort("s") for f in (first, again)]
    assert bits(per_stratum[0]) == bits(per_stratum[1])


@pytest.mark.parametrize("options", [{}, {"dtype": "float"}, {"center": "median"}], ids=str)
def test_all_doors_emit_the_same_exact_centres(options):
    rng = np.random.default_rng(9)
    n = 60
    money = [Decimal(int(v)).scaleb(-2) for v in rng.integers(-(10**14), 10**14, n)]
    frame = pl.DataFrame(
        {
            "f64": rng.standard_normal(n) * 10.0 ** rng.integers(-300, 300, n),
            "f32": pl.Series(1 + rng.integers(0, 4, n) * 2.0**-23, dtype=pl.Float32),
            "zero": rng.choice([-0.0, 0.0], n),
            "i64": rng.integers(-(2**63), 2**63 - 1, n),
            "day": [date.fromordinal(int(v)) for v in rng.integers(1, 3 * 10**6, n)],
            "at": [datetime(2024, 1, 1, microsecond=int(v)) for v in rng.integers(0, 10**6, n)],
            "hour": [time(int(v), microsecond=int(v)) for v in rng.integers(0, 24, n)],
            "small": pl.Series(money, dtype=pl.Decimal(18, 2)),
            "wide": pl.Series([v**2 // 1 for v in money]).cast(pl.Decimal(38, 3)),
            "region": rng.choice(["n", "s"], n),
        }
    )
    columns = [name for name in frame.columns if name != "region"]
    with mgd.register(duckdb.connect()) as con:
        masked = doors(con, registry.methods()["mdav"], frame, columns, ["region"], **options)
    assert_same(masked)
    assert not any("-0.0" in repr(v) for v in masked["DataFrame"]["zero"].to_list())


@pytest.mark.parametrize("nulls", ["impute", "pattern"])
def test_exact_centres_with_nulls(nulls):
    rng = np.random.default_rng(3)
    strata = np.repeat(np.arange(20), 4)
    holes = rng.random(len(strata)) < 0.4
    frame = table(rng, len(strata)).select("g64", "w1").with_columns(s=pl.Series(strata))
    if nulls == "pattern":
        holes = np.isin(strata, [3, 7])
    frame = frame.with_columns(pl.when(~pl.Series(holes)).then("g64").alias("g64"))
    masked = mg.mdav(frame, ["g64", "w1"], K, strata="s", nulls=nulls)
    exact = exact_steps(frame["g64"])
    for stratum in range(20):
        here = [exact[i] for i in np.flatnonzero(strata == stratum) if exact[i] is not None]
        values = set(masked.filter(s=stratum)["g64"].to_list())
        assert values == ({float(sum(here) / len(here))} if here else {None})


def test_leaves_emit_exact_means():
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({"a": rng.normal(0, 1, 900), "b": rng.normal(0, 1, 900) * 1e-9})
    leaves = mg.fit_leaves(frame, ["a", "b"], k=K, size=100)
    masked = leaves.mask(frame)
    numbered = masked.with_columns(a0=frame["a"], b0=frame["b"])
    for rows in numbered.partition_by(["a", "b"]):
        for name in ("a", "b"):
            values = list(map(Fraction, rows[f"{name}0"].to_list()))
            assert rows[name][0] == float(sum(values) / len(values))


def test_the_last_bit_no_longer_tells_which_row_is_the_outlier():
    rng = np.random.default_rng(0)
    n = 300
    frame = pl.DataFrame({"x": np.round(rng.lognormal(10, 1, n), 2)}).with_columns(
        s=pl.Series(np.arange(n) % (n // K))
    )
    rows = frame.with_row_index()
    seen = set()
    for turn in range(K):
        # Another row of each group comes first.
        turned = rows.sort((pl.col("index") // (n // K) - turn) % K)
        masked = mg.univariate(turned, "x", K, strata="s").sort("index")
        seen.add(masked["x"].to_numpy().tobytes())
    assert len(seen) == 1
