"""Runs from guessed states of stretches, against those from matrices."""

import numpy as np

from polars_microagg.kernels.order import dynamic_programme
from polars_microagg.kernels.order.dynamic_programme import DynamicProgramme
from polars_microagg.kernels.order.runs import optimal_runs
from tests.loop import rounds


def through(way, monkeypatch):
    """Sweep stretches from guesses or from matrices only; say whether the other was called."""
    called = []
    if way == "matrices":
        monkeypatch.setattr(DynamicProgramme, "_from_guesses", lambda *_: None)
    matrices = DynamicProgramme._from_matrices

    def counted(self, *arguments):
        called.append(way)
        return matrices(self, *arguments)

    monkeypatch.setattr(DynamicProgramme, "_from_matrices", counted)
    return called


def long_columns(rng, n):
    """Columns of several stretches: without and with ties, skewed, equally spaced in part."""
    normal = rng.standard_normal(n)
    yield normal
    yield np.exp(2 * normal)
    yield rng.integers(0, 10 ** int(rng.integers(1, 6)), n).astype(float)
    yield normal.round(2)
    yield np.concatenate([normal[: n // 2] * 1e-9, np.arange(n - n // 2) * 0.5])


def test_guessed_states_and_matrices_find_the_same_runs(monkeypatch):
    rng = np.random.default_rng(17)
    for _ in range(rounds(6)):
        k = int(rng.integers(2, 13))
        for column in long_columns(rng, int(rng.integers(2000, 6000))):
            y = np.sort(column)
            for columns in ([y], [column, column[::-1].copy()]):
                with monkeypatch.context() as patch:
                    patch.setattr(dynamic_programme, "TOGETHER", int(rng.choice([4, 256])))
                    guessed = DynamicProgramme(columns, k, length=300).runs()
                    through("matrices", patch)
                    found = DynamicProgramme(columns, k, length=300).runs()
                assert np.array_equal(guessed, found), k


def test_states_meet_on_ordinary_numbers_and_stay_apart_on_equally_spaced_ones(monkeypatch):
    rng = np.random.default_rng(5)
    called = through("guesses", monkeypatch)
    for y in (rng.standard_normal(20000), rng.integers(0, 500, 20000).astype(float)):
        DynamicProgramme([np.sort(y)], 5, length=500).runs()
    assert called == []
    DynamicProgramme([np.arange(20000.0)], 5, length=500).runs()
    assert called == ["guesses"]


def test_beside_far_outliers_nothing_is_guessed(monkeypatch):
    rng = np.random.default_rng(5)
    called = through("guesses", monkeypatch)
    y = np.sort(rng.standard_normal(20000))
    optimal_runs(y, 5)
    assert called == []
    optimal_runs(np.append(y, 1e4), 5)
    assert called == ["guesses"]
    optimal_runs(np.append(y, 1e4)[::-1].reshape(-1, 1), 5)
    assert called == ["guesses"] * 2


def test_stretches_that_were_guessed_wrong_are_swept_again(monkeypatch):
    # Ordinary numbers but for one equally spaced stretch before a border.
    rng = np.random.default_rng(6)
    y = np.sort(rng.uniform(0, 1e6, 6000))
    y[2300:2705] = np.linspace(y[2300], y[2705], 405, endpoint=False)
    swept = []
    sweep = DynamicProgramme._sweep

    def counted(self, state, lanes, start=0):
        swept.append(lanes.tolist())
        return sweep(self, state, lanes, start)

    monkeypatch.setattr(DynamicProgramme, "_sweep", counted)
    monkeypatch.setattr(dynamic_programme, "AHEAD", 10)
    programme = DynamicProgramme([y], 5, length=300, blocks=4)
    runs = programme.runs()
    assert len(swept) > 2
    assert len(swept[-1]) < programme.count / 4
    assert np.array_equal(runs, DynamicProgramme([y], 5).runs())
    through("matrices", monkeypatch)
    assert np.array_equal(runs, DynamicProgramme([y], 5, length=300, blocks=4).runs())
