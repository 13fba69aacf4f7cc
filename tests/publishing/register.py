"""A register with a column of every kind that can be masked, and how it is published."""

import datetime as dt

import numpy as np
import polars as pl

import polars_microagg as mg
from polars_microagg.publishing.manifest.check import check

N = 1_200
RNG = np.random.default_rng(11)
PEOPLE = pl.DataFrame(
    {
        "id": [f"00{i}" for i in range(N)],
        "age": RNG.integers(18, 90, N),
        "income": RNG.lognormal(10, 0.7, N).round(2),
        "born": [dt.date(1950, 1, 1) + dt.timedelta(days=int(d)) for d in RNG.integers(0, 9999, N)],
        "paid": pl.Series(RNG.integers(0, 10**6, N)).cast(pl.Decimal(12, 2)),
        "region": RNG.choice(["N", "S", None], N).tolist(),
    }
)
MASKED = ["age", "income", "born", "paid"]


def publish(path, frame=PEOPLE, **options):
    return mg.publish(frame, path, MASKED, 5, strata="region", **{"keep": "id"} | options)


def holds(place, **options):
    return {finding.what: finding.holds for finding in check(place, **options)}
