"""MDAV as it searches many records, forced on few, against the plain version."""

from __future__ import annotations

import numpy as np
import pytest

from polars_microagg.core.partition import Labels, Matrix, Partition
from polars_microagg.kernels.mdav import box_index, duplicates, frontier, outer_shell, rounds
from polars_microagg.kernels.mdav.frontier import Frontier
from polars_microagg.kernels.mdav.rounds import FullScan, mdav_groups
from polars_microagg.methods.mdav import mdav
from tests.methods.test_mdav import DRAWS, PlainMdav, small_cases

MODULES = (box_index, frontier, rounds, duplicates, outer_shell)

# What 1e6 records meet: boxes run empty, the shell is used up, answers are spent, bounds fail.
SETTINGS = {
    "tiny": {
        **{"WIDTH": 2, "CLOSE": 1, "SMALLEST": 2, "SHELL": 1000, "QUEUE": 2},
        **{"AHEAD": 1, "FILL": 1, "PATIENCE": 0, "CELLS": 1},
    },
    "small": {
        **{"WIDTH": 8, "CLOSE": 2, "SMALLEST": 8, "QUEUE": 4, "AHEAD": 4, "FILL": 2},
        **{"PATIENCE": 1, "BUSY": 20, "CELLS": 64},
    },
    "as it is": {},
}


def set_all(monkeypatch: pytest.MonkeyPatch, **values: float) -> None:
    for name, value in values.items():
        owners = [module for module in MODULES if name in vars(module)]
        assert owners, name
        for module in owners:
            monkeypatch.setattr(module, name, value)


def at_front(x: Matrix, k: int) -> Labels:
    labels = np.zeros(len(x), dtype=np.intp)
    if len(x) >= 2 * k:
        for number, rows in enumerate(mdav_groups(x, k, search=Frontier), start=1):
            labels[rows] = number
    return Partition.from_labels(labels).labels


@pytest.mark.deep
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("kind", DRAWS)
def test_the_front_groups_as_the_plain_version(
    kind: str, setting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_all(monkeypatch, **SETTINGS[setting])
    for x, k in small_cases(DRAWS[kind], seed=len(kind) + len(setting)):
        expected = PlainMdav(x, k).run()
        np.testing.assert_array_equal(at_front(x, k), expected, err_msg=f"{x.shape}, k={k}")


@pytest.mark.parametrize("kind", DRAWS)
def test_places_group_as_the_plain_version(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duplicates, "SHARE", 1)
    monkeypatch.setattr(rounds, "FEWEST_FOR_DUPLICATES", 0)
    for x, k in small_cases(DRAWS[kind], seed=len(kind)):
        expected = PlainMdav(x, k).run()
        np.testing.assert_array_equal(mdav(x, k=k).labels, expected, err_msg=f"{x.shape}, k={k}")


def test_places_whose_distance_is_rounded_to_nothing_are_not_told_apart() -> None:
    # Squared differences of 1e-170 are 0: rows 0, 2, 4, ... are not nearer to row 0 than the odd
    # ones, and groups of two are rows 0 and 1, 2 and 3, ...
    x = np.where(np.arange(8192) % 2, 1e-170, 0.0)[:, None]
    assert mdav(x, k=2).labels.tolist() == np.arange(8192).repeat(2)[:8192].tolist()


@pytest.mark.parametrize("kind", ["gaussian", "lognormal", "integers to 9", "two scales", "grid"])
@pytest.mark.parametrize("d", [2, 4])
def test_the_ways_of_searching_hand_over_to_each_other(
    kind: str, d: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = DRAWS[kind](np.random.default_rng(d), 6000, d)
    whole = list(mdav_groups(x, 3, search=FullScan))
    np.testing.assert_array_equal(list(mdav_groups(x, 3, search=Frontier)), whole)
    set_all(monkeypatch, MANY=100, FEWEST_FOR_DUPLICATES=10**9, TRIAL=3, MOST_TRIED=5)
    np.testing.assert_array_equal(list(mdav_groups(x, 3)), whole)


@pytest.mark.parametrize("quicker", [Frontier, FullScan])
def test_the_quicker_way_is_used(quicker: type, monkeypatch: pytest.MonkeyPatch) -> None:
    # A clock that runs only while the slower way is at work.
    clock = 0.0
    done = {Frontier: 0, FullScan: 0}

    def counting(kind: type[Frontier | FullScan]) -> None:
        plain = kind.round

        def round_(self: Frontier | FullScan) -> tuple[Labels, Labels]:
            nonlocal clock
            clock += 1.0 if kind is quicker else 2.0
            done[kind] += 1
            return plain(self)

        monkeypatch.setattr(kind, "round", round_)

    counting(Frontier)
    counting(FullScan)
    monkeypatch.setattr(rounds.time, "thread_time", lambda: clock)
    set_all(monkeypatch, MANY=2000, TRIAL=4, MOST_TRIED=8)
    x = np.random.default_rng(0).standard_normal((5000, 2))
    groups = list(mdav_groups(x, 5))
    slower = FullScan if quicker is Frontier else Frontier
    # 5000, 2750 and less than 2000 records: two trials; below 2000 the whole is searched.
    assert done[slower] <= (4 if slower is FullScan else 8) * 2 + (200 if slower is FullScan else 0)
    assert done[quicker] > 200
    assert len(groups) == 999


@pytest.mark.parametrize("kind", ["gaussian", pytest.param("lognormal", marks=pytest.mark.deep)])
def test_many_records_are_grouped_as_by_the_search_of_all(kind: str) -> None:
    x = DRAWS[kind](np.random.default_rng(1), 20_000, 3)
    np.testing.assert_array_equal(
        list(mdav_groups(x, 5, search=Frontier)), list(mdav_groups(x, 5, search=FullScan))
    )


def test_the_input_is_left_alone() -> None:
    x = np.random.default_rng(0).standard_normal((500, 3))
    before = x.copy()
    x.setflags(write=False)
    at_front(x, 4)
    np.testing.assert_array_equal(x, before)
