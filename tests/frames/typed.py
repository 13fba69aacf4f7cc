"""Types that can be masked, and series of them."""

import polars as pl

NOW = 1_700_000_000 * 10**9
"""Nanoseconds since 1970 in 2023: far past 2**53, so that float64 loses the last digits."""
SIGNED = [pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.Int128]
UNSIGNED = [pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64, pl.UInt128]


def series(steps, dtype):
    """Series from the integers behind a temporal type."""
    return pl.Series(steps, dtype=pl.Int64).cast(dtype)
