"""The lowest loss: never beaten by its starts, never better than the optimum, the same twice."""

import os
import subprocess
import sys
import threading

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import polars_microagg as mg
from polars_microagg.kernels.local import annealing_search, patches, recombined_search
from polars_microagg.kernels.local.annealing_search import (
    annealing_steps,
    block_start,
    border_rounds,
)
from polars_microagg.kernels.local.local_search import squares_within
from polars_microagg.methods import lowloss as module
from polars_microagg.methods.lowloss import lowloss
from polars_microagg.methods.mdav import mdav
from polars_microagg.methods.univariate import univariate
from polars_microagg.progress import progress
from tests.kernels.local.test_moves_and_swaps import optimum, sse
from tests.loop import rounds, tries
from tests.reference import loss, reference

seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)


THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "POLARS_MAX_THREADS")


def sse_of(x, labels):
    """The sum of squares of very many groups."""
    return float(squares_within(x, labels).sum())


def assert_grouping(partition, n, k):
    assert len(partition.labels) == n
    assert partition.smallest >= k
    assert partition.sizes.max() <= 2 * k - 1
    assert np.array_equal(np.bincount(partition.labels), partition.sizes)


# --- Small tables -----------------------------------------------------------------------------


@tries(40)
@given(rng=seeds, k=st.integers(2, 4), n=st.integers(4, 11), ties=st.booleans())
def test_the_optimum_is_never_beaten_and_mostly_found(rng, k, n, ties):
    x = rng.integers(0, 4, (n, 2)).astype(float) if ties else rng.normal(size=(n, 2))
    found, best = sse(x, lowloss(x, k=k, effort=1).labels), optimum(x, k)
    assert found >= best - 1e-9
    assert found <= sse(x, mdav(x, k=k).labels) + 1e-9


def test_the_optimum_of_toy_tables_is_found():
    for seed in range(rounds(60)):
        rng = np.random.default_rng(seed)
        k, n = 2 + seed % 2, 9 + seed % 3
        x = rng.normal(size=(n, 2))
        assert sse(x, lowloss(x, k=k, effort=5).labels) <= optimum(x, k) * (1 + 1e-9)


@tries(40)
@given(rng=seeds, k=st.integers(2, 5), n=st.integers(2, 90), kind=st.integers(0, 3))
def test_sizes_hold_and_no_start_is_better(rng, k, n, kind):
    x = [
        lambda: rng.normal(size=(n, 3)),
        lambda: rng.integers(0, 3, (n, 2)).astype(float),
        lambda: np.zeros((n, 2)),
        lambda: np.exp(4 * rng.normal(size=(n, 2))),
    ][kind]()
    if n < k:
        return
    found = lowloss(x, k=k, effort=1)
    assert_grouping(found, n, k)
    assert sse(x, found.labels) <= sse(x, mdav(x, k=k).labels) * (1 + 1e-12) + 1e-12
    if n < 2 * k:
        assert len(found) == 1


@tries(20)
@given(rng=seeds, k=st.integers(2, 5), n=st.integers(10, 200), ties=st.booleans())
def test_a_single_column_is_grouped_as_well_as_can_be(rng, k, n, ties):
    # To 1 in 10^9 of the optimum, which univariate finds by its own way.
    x = rng.integers(0, 9, (n, 1)).astype(float) if ties else np.exp(rng.normal(size=(n, 1)))
    best = sse(x, univariate(x, k=k).labels)
    assert sse(x, lowloss(x, k=k, effort=1).labels) == pytest.approx(best, rel=1e-9, abs=1e-12)


def test_a_long_single_column_too():
    x = np.random.default_rng(12).lognormal(size=(50_000, 1))
    best = sse_of(x, univariate(x, k=4).labels)
    found = lowloss(x, k=4, effort=1).labels
    assert sse_of(x, found) == pytest.approx(best, rel=1e-9)
    padded = np.concatenate((np.ones((50_000, 1)), x, np.zeros((50_000, 1))), axis=1)
    assert np.array_equal(lowloss(padded, k=4, effort=1).labels, found)


@pytest.mark.deep
@pytest.mark.parametrize("n", [60, 1500])
def test_the_seed_decides_and_nothing_else(n):
    x = np.random.default_rng(1).normal(size=(n, 3))
    one, two = lowloss(x, k=3, effort=0.3, seed=1), lowloss(x, k=3, effort=0.3, seed=1)
    assert np.array_equal(one.labels, two.labels)
    if n > 60:
        other = lowloss(x, k=3, effort=0.3, seed=2)
        assert not np.array_equal(one.labels, other.labels)
    found = []
    work = [
        threading.Thread(target=lambda: found.append(lowloss(x, k=3, effort=0.3, seed=1).labels))
        for _ in range(3)
    ]
    for thread in work:
        thread.start()
    for thread in work:
        thread.join()
    assert all(np.array_equal(one.labels, labels) for labels in found)


DIGEST = """
import hashlib, numpy as np
from polars_microagg.methods import lowloss
lowloss.WHOLE, lowloss.EXACT = {whole}, {whole}
x = np.random.default_rng(3).normal(size=(1500, 4))
print(hashlib.sha256(lowloss.lowloss(x, k=3, effort=0.1, seed=7).labels.tobytes()).hexdigest())
"""


@pytest.mark.deep
@pytest.mark.parametrize("whole", [20_000, 500])
def test_neither_the_process_nor_its_threads_decide(whole):
    found = set()
    for threads in ("1", "2", "4"):
        there = os.environ | dict.fromkeys(THREADS, threads)
        command = [sys.executable, "-c", DIGEST.format(whole=whole)]
        done = subprocess.run(command, env=there, capture_output=True, text=True, check=True)
        found.add(done.stdout)
    assert len(found) == 1


@pytest.mark.parametrize("whole", [pytest.param(20_000, marks=pytest.mark.deep), 500])
@pytest.mark.parametrize(
    "error", [pytest.param(KeyboardInterrupt, marks=pytest.mark.deep), ZeroDivisionError]
)
def test_an_interrupt_leaves_nothing_half_done(monkeypatch, whole, error):
    monkeypatch.setattr(module, "WHOLE", whole)
    monkeypatch.setattr(patches, "PATCH", 400)
    x = np.random.default_rng(4).normal(size=(1200, 3))
    before = x.copy()
    plain = lowloss(x, k=3, effort=0.2).labels
    told = []

    def stop(done, total, what):
        told.append(done / total)
        if done > total / 3:
            raise error

    released = None
    with pytest.raises(error), progress(stop):
        released = lowloss(x, k=3, effort=0.2)
    assert released is None
    assert 0 < told[0] < told[-1] < 1
    assert np.array_equal(x, before)
    assert np.array_equal(lowloss(x, k=3, effort=0.2).labels, plain)


def test_the_budget_is_a_number_of_steps_that_grows_with_the_effort():
    x = np.random.default_rng(5).normal(size=(300, 3))
    totals = []
    for effort in (0.1, 0.2, 0.5):
        with progress(lambda done, total, what: totals.append(total)):
            lowloss(x, k=3, effort=effort)
        assert totals[-1] == annealing_steps(300, effort)
    assert totals == sorted(totals)


@pytest.mark.deep
def test_more_effort_loses_less():
    x = np.random.default_rng(2).lognormal(size=(400, 4))
    losses = [loss(x, lowloss(x, k=3, effort=e).labels) for e in (0, 0.1, 1)]
    assert losses[0] > losses[1] > losses[2]
    assert losses[0] < loss(x, mdav(x, k=3).labels)


def test_steps_grow_with_the_effort_and_hardly_with_the_records():
    assert annealing_steps(1000, 1) == annealing_steps(4000, 1) == recombined_search.STEPS
    assert annealing_steps(1000, 10) == 10 * recombined_search.STEPS
    assert annealing_steps(1000, 0) == 0
    assert annealing_steps(20, 1) == recombined_search.LEAST
    assert 1 < annealing_steps(100_000, 1) / recombined_search.STEPS < 25


def test_borders_are_drawn_more_often_for_more_effort():
    melts = 1 + len(annealing_search.HOT_PATCHES)
    assert border_rounds(1) == melts + annealing_search.CUTS
    assert border_rounds(10) == melts + 10 * annealing_search.CUTS
    assert border_rounds(0.01) == melts + 1
    assert border_rounds(0) == 1


LIMITS = {
    "tarragona": {4: 17.4, 10: 30.6},
    "census": {3: 4.92},
    "eia": {5: 0.755},
}
LEAST = {("tarragona", 4): 17.043, ("census", 3): 4.646}


@pytest.mark.deep
@pytest.mark.parametrize("name", list(LIMITS))
def test_reference_data_lose_this_little(name):
    x = reference(name)
    for k, limit in LIMITS[name].items():
        found = lowloss(x, k=k, effort=1)
        assert_grouping(found, len(x), k)
        assert LEAST.get((name, k), 0) <= loss(x, found.labels) <= limit


# --- Many records -----------------------------------------------------------------------------


@pytest.mark.deep
@pytest.mark.parametrize("kind", ["normal", "skewed", "integers", "equal"])
def test_the_way_for_many_records_holds_for_all(monkeypatch, kind):
    rng = np.random.default_rng(9)
    x = {
        "normal": rng.normal(size=(4000, 3)),
        "skewed": rng.lognormal(sigma=2, size=(4000, 3)),
        "integers": rng.integers(0, 5, (4000, 3)).astype(float),
        "equal": np.ones((4000, 3)),
    }[kind]
    monkeypatch.setattr(module, "WHOLE", 1000)
    monkeypatch.setattr(module, "EXACT", 1000)
    monkeypatch.setattr(patches, "PATCH", 1500)
    found = lowloss(x, k=3, effort=0.2)
    assert_grouping(found, 4000, 3)
    assert np.array_equal(found.labels, lowloss(x, k=3, effort=0.2).labels)
    start = block_start(x - x.mean(axis=0), 3, lambda part: mdav(part, k=3).labels)
    assert sse(x, found.labels) <= sse(x, start) * (1 + 1e-12)
    if kind in ("normal", "skewed"):
        assert sse(x, found.labels) < 0.99 * sse(x, mdav(x, k=3).labels)


@pytest.mark.parametrize("size", [600, pytest.param(2500, marks=pytest.mark.deep)])
def test_more_effort_never_loses_more_in_patches_either(monkeypatch, size):
    monkeypatch.setattr(module, "WHOLE", 100)
    monkeypatch.setattr(patches, "PATCH", 200)
    monkeypatch.setattr(annealing_search, "CUTS", 4)
    x = np.random.default_rng(6).lognormal(size=(size, 3))
    losses = [sse_of(x, lowloss(x, k=3, effort=effort).labels) for effort in (0, 0.1, 1, 3, 8)]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0]


@pytest.mark.deep
def test_thirty_thousand_records_lose_less_than_by_mdav():
    x = np.random.default_rng(10).lognormal(size=(30_000, 3))
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    found = lowloss(x, k=5, effort=0.1)
    assert_grouping(found, 30_000, 5)
    assert loss(x, found.labels) < 0.95 * loss(x, mdav(x, k=5).labels)


# --- Through the doors ------------------------------------------------------------------------


def test_effort_and_seed_go_through_all_doors():
    rng = np.random.default_rng(11)
    frame = pl.DataFrame(rng.normal(size=(150, 2)), schema=["a", "b"])
    eager = mg.lowloss(frame, ["a", "b"], 3, effort=0.5, seed=5)
    lazy = frame.lazy().microagg.lowloss(["a", "b"], 3, effort=0.5, seed=5)
    for engine in ("in-memory", "streaming"):
        assert eager.equals(lazy.collect(engine=engine))
    assert mg.loss(frame, eager) < mg.loss(frame, mg.mdav(frame, ["a", "b"], 3, refine=True))
    refined = mg.lowloss(frame, ["a", "b"], 3, effort=0.5, seed=5, refine=True)
    assert mg.loss(frame, refined) <= mg.loss(frame, eager)


@pytest.mark.parametrize("effort", [-1, 1001, float("nan"), "1", None, True])
def test_an_effort_has_bounds(effort):
    with pytest.raises(mg.InvalidParameterError, match="effort=.* a number from 0 to 1000"):
        mg.lowloss(pl.DataFrame({"a": [1, 2]}), "a", 2, effort=effort)
