"""Whole numbers that are not scaled: equal distances are equal, as in exact arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.core.partition import Labels, Matrix, Partition
from polars_microagg.kernels.mdav.many_strata import mdav_of_strata
from polars_microagg.kernels.scale import scaled
from polars_microagg.methods.k_ward import k_ward
from polars_microagg.methods.mdav import mdav
from polars_microagg.methods.mu_approx import mu_approx
from polars_microagg.methods.multi_dsort import multi_dsort
from tests.loop import rounds
from tests.methods import test_k_ward, test_mu_approx, test_multi_dsort
from tests.methods.test_distance_methods import PAIRS
from tests.methods.test_mdav import PlainMdav

ALL: dict[str, tuple[Callable[..., Partition], Callable[[Matrix, int], Labels]]] = {
    **PAIRS,
    "mdav": (mdav, lambda x, k: PlainMdav(x, k).run()),
    "k_ward": (partial(k_ward, sort=0), partial(test_k_ward.plain, sort=0, projected=False)),
    "k_ward projected": (
        partial(k_ward, sort=0, projected=True),
        partial(test_k_ward.plain, sort=0, projected=True),
    ),
    "mu_approx": (mu_approx, test_mu_approx.plain),
    "multi_dsort": (multi_dsort, partial(test_multi_dsort.plain, resort=True, constant=False)),
}
"""Methods that decide by distances, and what they do in exact arithmetic."""

TIED = [0, -1, -2, 1, -2, -1, -3, -1, 3]


def tables(seed: int, count: int) -> Iterator[tuple[Matrix, int]]:
    """Tiny tables full of ties, some far from zero, with constant columns or equal records."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        n, d, k = int(rng.integers(2, 13)), int(rng.integers(1, 4)), int(rng.integers(2, 4))
        x = rng.integers(-3, 4, (n, d)) if rng.random() < 0.7 else rng.integers(0, 30, (n, d))
        if rng.random() < 0.2:
            x = x + rng.integers(0, 10**6, d)
        if rng.random() < 0.15:
            x[:, rng.integers(d)] = 5
        if rng.random() < 0.15:
            x = x[rng.integers(0, n, n)]
        yield x.astype(np.float64), k


def unscaled(x: Matrix, *, zero: bool = False) -> Matrix:
    return scaled(x, "none", np.ones(x.shape[1]), np.array([len(x)]), zero=zero)


@pytest.mark.parametrize("name", ALL)
def test_equal_distances_go_to_the_lowest_row_as_on_paper(name: str) -> None:
    method, expected = ALL[name]
    for x, k in tables(len(name), rounds(250)):
        found = method(unscaled(x, zero=name.startswith("tfrp")), k=k).labels
        assert found.tolist() == expected(x, k).tolist(), f"{x.tolist()}, k={k}"


@pytest.mark.parametrize("name", [name for name in ALL if not name.startswith("tfrp")])
@pytest.mark.parametrize("offset", [1e9, 1.7e15])
def test_where_zero_is_does_not_matter(name: str, offset: float) -> None:
    # 1.7e15 microseconds after 1970 it is 2023.
    for x, k in tables(len(name), 40):
        far = ALL[name][0](unscaled(x + offset), k=k).labels
        assert far.tolist() == ALL[name][1](x, k).tolist(), f"{x.tolist()}, k={k}"


def test_strata_side_by_side_are_as_on_paper() -> None:
    rng = np.random.default_rng(1)
    sizes = rng.integers(2, 13, 1500)
    x = rng.integers(-3, 4, (int(sizes.sum()), 3)).astype(np.float64)
    # Some strata are not whole, and are next to others that are.
    x[np.repeat(rng.random(len(sizes)) < 0.1, sizes)] += 0.1
    labels, _ = mdav_of_strata(x, sizes, k=2)
    ends = np.cumsum(sizes)[:-1]
    for part, found in zip(np.split(x, ends), np.split(labels, ends), strict=True):
        assert Partition.from_labels(found).labels.tolist() == mdav(part, k=2).labels.tolist()
        if part[0, 0] == np.rint(part[0, 0]) and len(part) >= 4:
            expected = PlainMdav(part, 2).run()
            assert Partition.from_labels(found).labels.tolist() == expected.tolist()


def test_projected_unions_that_cost_the_same_are_told_by_size_as_on_paper() -> None:
    rng = np.random.default_rng(2)
    for _ in range(500):
        x = rng.integers(0, 5, (int(rng.integers(6, 14)), 1)).astype(np.float64)
        expected = test_k_ward.plain(x, 3, 0, projected=True)
        assert k_ward(x, k=3, sort=0, projected=True).labels.tolist() == expected.tolist()


def groups_of(frame: pl.DataFrame, method: str = "mdav", **options: object) -> list[int]:
    grouped = mg.groups(frame, frame.columns, 2, method=method, scale="none", **options)  # type: ignore[arg-type]
    return grouped["microagg_group"].rank("dense").to_list()


@pytest.mark.parametrize(
    "column",
    [
        pl.Series("x", TIED, pl.Int8),
        pl.Series("x", TIED, pl.Float64),
        pl.Series("x", TIED, pl.Int64).cast(pl.Date),
        pl.Series("x", TIED, pl.Int64).cast(pl.Decimal(9, 2)),
        # In hundredths: 0.00, -0.01, ...
        (
            pl.Series("x", TIED, pl.Int64).cast(pl.Decimal(9, 2))
            * pl.Series(["0.01"]).cast(pl.Decimal(9, 2))
        ).cast(pl.Decimal(9, 2)),
    ],
    ids=["integers", "floats", "dates", "decimals", "hundredths"],
)
def test_ties_of_every_type_are_exact(column: pl.Series) -> None:
    # The mean is -2/3; rows 3 and 6, and others later, are as far from a mean as each other.
    assert groups_of(column.to_frame()) == [1, 1, 2, 3, 4, 4, 2, 4, 3]


def test_decimals_of_different_scale_are_counted_in_the_least_unit() -> None:
    rng = np.random.default_rng(5)
    for _ in range(40):
        a, b = rng.integers(-3, 4, (2, 9))
        frame = pl.DataFrame({"a": a, "b": b}).cast(pl.Decimal(9, 1))
        fine = frame.with_columns(pl.col("b").cast(pl.Decimal(9, 3)))
        whole = pl.DataFrame({"a": a, "b": b})
        assert groups_of(frame) == groups_of(fine) == groups_of(whole)


@pytest.mark.parametrize("method", ["tfrp1", "tfrp2"])
def test_the_reference_points_are_of_the_values_as_they_are(method: str) -> None:
    # The points are (0, 0) and (12, 12). Row 2 is farthest from the first, with row 3 beside it.
    frame = pl.DataFrame({"a": [0, 3, 0, 1], "b": [10, 10, 12, 11]})
    assert groups_of(frame, method) == [1, 1, 2, 2]
    strata = pl.concat([frame, frame * 10]).with_columns(region=pl.Series([*"NNNNSSSS"]))
    both = mg.groups(strata, ["a", "b"], 2, method=method, scale="none", strata="region")
    assert both["microagg_group"].rank("dense").to_list() == [1, 1, 2, 2, 3, 3, 4, 4]
    leaves = mg.fit_leaves(frame, ["a", "b"], 2, method=method, scale="none")
    assert leaves.protect(frame)["b"].to_list() == [10, 10, 12, 12]


@pytest.mark.parametrize("scale", ["zscore", "minmax", "robust"])
def test_reference_points_of_scaled_columns_do_not_depend_on_their_zero(scale: str) -> None:
    for x, k in tables(11, 60):
        frame = pl.DataFrame(x.astype(np.int64), schema=[f"c{j}" for j in range(x.shape[1])])
        if len(x) >= k:
            one, other = (
                mg.groups(table, table.columns, k, method="tfrp1", scale=scale)["microagg_group"]  # type: ignore[arg-type]
                for table in (frame, frame + 1000)
            )
            assert one.to_list() == other.to_list()
