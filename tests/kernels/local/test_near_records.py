"""Records near each record: mostly the nearest, none of them twice, and none of them itself."""

import numpy as np
import pytest

from polars_microagg.kernels.local import patches
from polars_microagg.kernels.local.near_records import near_records
from polars_microagg.kernels.local.patches import in_patches


def records(kind, n, d):
    rng = np.random.default_rng(n + d)
    return {
        "uniform": lambda: rng.uniform(-1, 1, (n, d)),
        "normal": lambda: rng.normal(size=(n, d)),
        "tail": lambda: rng.pareto(1.0, (n, d)),
        "islands": lambda: rng.integers(0, 40, (n, 1)) + 1e-6 * rng.normal(size=(n, d)),
        "integers": lambda: rng.integers(0, 3, (n, d)).astype(float),
        "equal": lambda: np.ones((n, d)),
    }[kind]()


def nearest(x, count):
    distances = np.square(x[:, None] - x).sum(axis=2)
    np.fill_diagonal(distances, np.inf)
    return np.sort(distances, axis=1)[:, :count], distances


@pytest.mark.parametrize("kind", ["uniform", "normal", "tail", "islands"])
@pytest.mark.parametrize("d", [1, 2, 4])
def test_most_are_the_nearest_of_all(kind, d):
    x = records(kind, 4000, d)
    x -= x.mean(axis=0)
    found = near_records(x, 8)
    true, distances = nearest(x, 8)
    among = np.take_along_axis(distances, found, axis=1)
    assert (among <= true[:, -1:] * (1 + 1e-4)).mean() > (0.8 if kind == "tail" else 0.97)
    assert (np.diff(among, axis=1) >= -1e-4 * among[:, 1:]).mean() > 0.85


@pytest.mark.parametrize("kind", ["normal", "integers", "equal"])
@pytest.mark.parametrize("n", [1, 2, 79, 81, 163, 1000, 2345])
@pytest.mark.parametrize("factor", [1.0, 1e-160, 1e150])
def test_none_is_twice_and_none_is_itself(kind, n, factor):
    x = factor * records(kind, n, 2)
    found = near_records(x, 16)
    assert found.shape == (n, 16)
    assert ((found >= 0) & (found < n)).all()
    itself = found == np.arange(n)[:, None]
    # A record stands in for what does not exist, after all that does.
    assert (itself.sum(axis=1) == max(0, 17 - n)).all()
    assert (np.diff(itself.astype(int), axis=1) >= 0).all()
    ranked = np.sort(np.where(itself, n + np.arange(16), found), axis=1)
    assert (np.diff(ranked, axis=1) > 0).all()


@pytest.mark.parametrize("kind", ["normal", "tail"])
def test_few_records_have_the_nearest_of_all(kind):
    x = records(kind, 700, 3)
    x -= x.mean(axis=0)
    true, distances = nearest(x, 20)
    among = np.take_along_axis(distances, near_records(x, 20), axis=1)
    assert among == pytest.approx(true, rel=1e-5)


def test_the_same_in_any_units():
    x = records("normal", 900, 3)
    assert (near_records(x, 9) == near_records(2.0**-300 * x, 9)).all()


def test_memory_at_a_time_changes_nothing(monkeypatch):
    x = records("integers", 1500, 3)
    whole = near_records(x, 12)
    monkeypatch.setattr("polars_microagg.kernels.local.near_records.CELLS", 1)
    assert (near_records(x, 12) == whole).all()


@pytest.mark.parametrize("d", [2, 13])
def test_records_of_a_patch_know_those_near_them_in_any_number_of_columns(monkeypatch, d):
    monkeypatch.setattr(patches, "PATCH", 500)
    monkeypatch.setattr(patches, "LEAF", 200)
    # Islands of 25 records, far from each other: the nearest are of the same island.
    rng = np.random.default_rng(d)
    x = np.repeat(100.0 * rng.normal(size=(60, d)), 25, axis=0) + rng.normal(size=(1500, d))
    shares = []

    def work(groups, near, _):
        apart = np.square(groups.x[:-1, None] - groups.x[near]).sum(axis=2)
        shares.append((apart < 50 * d).mean())
        assert (near != np.arange(len(near))[:, None]).mean() > 0.99

    in_patches(x, np.repeat(np.arange(300), 5), 5, 8, rng, work)
    assert len(shares) >= 3
    assert min(shares) > 0.8
