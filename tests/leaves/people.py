"""People with a column of every kind that leaves must carry, and leaves masked by hand."""

from datetime import date, timedelta
from decimal import Decimal

import numpy as np
import polars as pl

COLUMNS = ["age", "income", "born", "debt"]


def people(n, seed=0):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "id": np.arange(n),
            "note": pl.Series([f"note {v}" for v in rng.integers(0, 9, n)], dtype=pl.Categorical),
            "age": pl.Series(rng.integers(18, 95, n), dtype=pl.Int16),
            "income": np.round(rng.lognormal(9, 1.2, n), 2),
            "born": [date(1950, 1, 1) + timedelta(int(d)) for d in rng.integers(0, 900, n)],
            "debt": pl.Series(
                [Decimal(int(v)) / 100 for v in rng.integers(0, 999, n)], dtype=pl.Decimal(9, 2)
            ),
            "tags": [[int(v), None] for v in rng.integers(0, 9, n)],
        }
    )


def by_hand(leaves, frame):
    """Each leaf masked on its own, and all in the order in which they came."""
    numbered = frame.with_columns(leaves.assign(frame)).with_row_index("at")
    parts = numbered.partition_by("leaf")
    masked = [leaves.protect(part.drop("leaf", "at")).with_columns(part["at"]) for part in parts]
    return pl.concat(masked).sort("at").drop("at")
