"""The floor of the loss: below every grouping, above nothing it should not be."""

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import polars_microagg as mg
from polars_microagg.kernels.risk import lower_bound, neighbour_floors
from polars_microagg.kernels.risk.lower_bound import lagrangian_bound, neighbour_bound
from polars_microagg.kernels.risk.neighbour_floors import listed_neighbours
from tests.kernels.local.test_moves_and_swaps import optimum
from tests.loop import share, tries
from tests.reference import reference, reference_frame

seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)


def plain(x, k):
    """The floor from all distances."""
    every = np.sort(((x[:, None] - x[None]) ** 2).sum(axis=2), axis=1)
    return every[:, 1:k].sum() / (2 * k)


@tries(60)
@given(rng=seeds, k=st.integers(2, 4), n=st.integers(4, 9), ties=st.booleans())
def test_no_grouping_goes_under_the_floor(rng, k, n, ties):
    x = rng.integers(0, 4, (n, 2)).astype(float) if ties else rng.normal(size=(n, 2))
    x = x - x.mean(axis=0)
    best = optimum(x, k)
    low = neighbour_bound(x, k)
    high = lagrangian_bound(x, k, best, 60)
    assert low <= best * (1 + 1e-12)
    assert high <= best * (1 + 1e-12)
    assert low == pytest.approx(plain(x, k), rel=1e-8)


@tries(30)
@given(rng=seeds, k=st.integers(2, 3), n=st.integers(6, 9), listed=st.integers(2, 4))
def test_no_grouping_goes_under_the_floor_where_few_pairs_are_listed(rng, k, n, listed):
    x = rng.normal(size=(n, 1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lower_bound, "PAIRS", 0)
        patch.setattr(lower_bound, "LISTED", listed)
        patch.setattr(lower_bound, "FEWER", 0 if listed == 2 else 10**6)
        assert lagrangian_bound(x, k, optimum(x, k), 60) <= optimum(x, k) * (1 + 1e-12)


@pytest.mark.parametrize("d", share([3, 1, 6], 3))
def test_lists_by_leaves_never_know_too_much(monkeypatch, d):
    rng = np.random.default_rng(d)
    x = rng.normal(size=(3000, d))
    exact = listed_neighbours(x, 4)
    monkeypatch.setattr(neighbour_floors, "WHOLE", 100)
    monkeypatch.setattr(neighbour_floors, "LEAF", 64)
    found = listed_neighbours(x, 4)
    every = ((x[:, None] - x[None]) ** 2).sum(axis=2)
    np.fill_diagonal(every, np.inf)
    np.put_along_axis(every, found.near, np.inf, axis=1)
    assert (found.far <= every.min(axis=1) * (1 + 1e-9)).all()
    assert (np.minimum(found.squares, found.far[:, None]) <= exact.squares * (1 + 1e-9)).all()
    if d < 6:
        assert found.squares == pytest.approx(exact.squares)


@pytest.mark.deep
@pytest.mark.parametrize(
    ("name", "k", "floor", "tighter", "least"),
    [
        ("tarragona", 3, 9.8551, 13.85, 14.468),
        ("tarragona", 4, 12.1667, 17.03, 17.118),
        ("census", 3, 3.4438, 4.64, 4.671),
        ("tarragona", 10, 19.2181, 28.8, 30.12),
    ],
)
def test_the_floors_of_the_reference_files(name, k, floor, tighter, least):
    # 100 (1/2k) times the sum of the k-1 smallest squared distances, over SST.
    frame = reference_frame(name)
    assert mg.lower_bound(frame, pl.all(), k) == pytest.approx(floor, abs=5e-5)
    assert tighter < mg.lower_bound(frame, pl.all(), k, effort=1) < least
    x = reference(name)
    assert 100 * plain(x, k) / (x**2).sum() == pytest.approx(floor, abs=5e-5)


def test_a_floor_worked_by_hand():
    # Standardised 0, 1, 8, 9: each is 1 from its nearest, 4 * 1/4 = 1; SST = 4 * var = 65.
    frame = pl.DataFrame({"a": [0, 1, 8, 9]})
    assert mg.lower_bound(frame, "a", 2) == pytest.approx(100 / 65)
    assert frame.lazy().microagg.lower_bound(["a"], 2) == pytest.approx(100 / 65)
    assert mg.lower_bound(frame, "a", 4) <= 100


def test_more_effort_finds_no_lower_floor_and_the_same_one_twice():
    rng = np.random.default_rng(1)
    frame = pl.DataFrame(rng.normal(size=(150, 2)), schema=["a", "b"])
    floors = [mg.lower_bound(frame, ["a", "b"], 3, effort=e) for e in (0, 0.2, 1, 1)]
    assert all(low <= high for low, high in pairwise(floors))
    assert floors[0] < floors[1] < floors[2] == floors[3]
    assert floors[3] <= mg.loss(frame, mg.lowloss(frame, ["a", "b"], 3))


@pytest.mark.parametrize("seed", [2, 3, 4])
def test_the_floor_is_one_beside_records_that_lie_very_far(seed):
    """Rounding beside them hid the nearest of the others, and farther ones made the floor too high."""
    rng = np.random.default_rng(seed)
    n, k, d = int(rng.integers(260, 400)), int(rng.integers(2, 5)), int(rng.integers(1, 4))
    x = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-4, 1)
    x[: int(rng.integers(k, 3 * k))] += 10.0**7
    frame = pl.DataFrame(x, schema=[f"c{j}" for j in range(d)])
    masked = mg.lowloss(frame, frame.columns, k, effort=0.1)
    floor = mg.lower_bound(frame, frame.columns, k, effort=0.1)
    assert 0 < floor <= mg.loss(frame, masked, frame.columns)


def test_what_does_not_vary_has_no_floor():
    assert mg.lower_bound(pl.DataFrame({"a": [1, 1, 1]}), "a", 2) == 0.0


@pytest.mark.parametrize("effort", [-1, float("nan"), float("inf"), "1", None, True])
def test_an_effort_is_a_number(effort):
    with pytest.raises(mg.InvalidParameterError, match="effort=.* must be a number at least 0"):
        mg.lower_bound(pl.DataFrame({"a": [1, 2]}), "a", 2, effort=effort)


def test_what_cannot_be_masked_has_no_floor():
    with pytest.raises(mg.TooFewRecordsError, match="k=3 needs at least 3 records, got 2"):
        mg.lower_bound(pl.DataFrame({"a": [1, 2]}), "a", 3)
    with pytest.raises(mg.MissingValuesError, match="Column 'a' has 1 null"):
        mg.lower_bound(pl.DataFrame({"a": [1, None, 2]}), "a", 2)
    with pytest.raises(mg.NotNumericError, match="Column 'a' is of type Binary"):
        mg.lower_bound(pl.DataFrame({"a": [b"x", b"y"]}), "a", 2)


def test_blocks_have_no_floor_together():
    with pytest.raises(mg.InvalidParameterError, match="cannot honour several blocks of columns"):
        mg.lower_bound(pl.DataFrame({"a": [1, 2, 3], "b": [1, 5, 9]}), [["a"], ["b"]], 2)
