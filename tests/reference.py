"""The reference microdata of the literature: census, tarragona, eia, and the trees of adult."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from polars_microagg.core.partition import Labels, Matrix

EIA = [
    "utilityid",
    "resrevenue",
    "ressales",
    "comrevenue",
    "comsales",
    "indrevenue",
    "indsales",
    "othrevenue",
    "othrsales",
    "totrevenue",
    "totsales",
]


MDAV_LOSSES = [
    ("tarragona", 3, 16.9326),
    ("tarragona", 4, 19.5460),
    ("tarragona", 5, 22.4619),
    ("tarragona", 10, 33.1929),
    ("census", 3, 5.6922),
    ("census", 4, 7.4947),
    ("census", 5, 9.0884),
    ("census", 10, 14.1559),
    ("eia", 3, 0.4829),
    ("eia", 4, 0.6713),
    ("eia", 5, 1.6667),
    ("eia", 10, 3.8397),
]
"""Loss of plain MDAV in the literature: file, k, per cent."""


def reference_path(name: str) -> Path:
    """Find a reference file, or skip the test if it is not at hand."""
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    path = Path(os.environ.get("MICROAGG_DATA", default)) / name
    if not path.is_file():
        pytest.skip(f"reference file {name} not found; set MICROAGG_DATA")
    return path


def reference_frame(name: str, *, whole: bool = False) -> pl.DataFrame:
    """Read a reference file, or skip the test if it is not at hand; `whole` keeps all columns."""
    frame = pl.read_csv(reference_path(f"{name}.csv"))
    return frame.select(EIA) if name == "eia" and not whole else frame


def reference(name: str) -> Matrix:
    """Read a reference file, standardised."""
    return standardised(reference_frame(name))


def standardised(frame: pl.DataFrame) -> Matrix:
    """Columns that vary, each with mean 0 and standard deviation 1 (ddof 0)."""
    x = frame.to_numpy().astype(np.float64)
    sd = x.std(axis=0)
    varies = sd > 0
    return np.asfortranarray((x - x.mean(axis=0))[:, varies] / sd[varies])


def loss(x: Matrix, labels: Labels) -> float:
    """100 * SSE / SST of a grouping."""
    means = np.zeros((labels.max() + 1, x.shape[1]))
    np.add.at(means, labels, x)
    means /= np.bincount(labels)[:, None]
    within = ((x - means[labels]) ** 2).sum()
    return 100 * float(within / ((x - x.mean(axis=0)) ** 2).sum())
