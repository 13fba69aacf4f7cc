"""MDAV as it searches many records, forced on few, against the plain version."""

from __future__ import annotations

import numpy as np
import pytest

from polars_microagg.core.partition import Labels, Matrix, Partition
from polars_microagg.kernels.mdav import box_index, duplicates, frontier, outer_shell, rounds
from polars_microagg.kernels.mdav.frontier import Frontier
from polars_microagg.kernels.mdav.full_scan import FullScan
from polars_microagg.kernels.mdav.rounds import mdav_groups
from polars_microagg.kernels.remaining_mean import RemainingMean
from polars_microagg.methods.mdav import mdav
from tests.methods.test_mdav import DRAWS, PlainMdav, small_cases

MODULES = (box_index, frontier, rounds, duplicates, outer_shell)

# What 1e6 records meet: boxes run empty, the shell is used up, answers are spent, bounds fail.
SETTINGS = {
    "tiny": {
        **{
            "WIDTH": 2,
            "PARTS": 2,
            "FIRST": 1,
            "CLOSE": 1,
            "SMALLEST": 2,
            "SHELL": 1000,
            "QUEUE": 2,
        },
        **{"AHEAD": 1, "FILL": 1, "PATIENCE": 0, "FRESH": 10**9, "CELLS": 1},
    },
    "small": {
        **{
            "WIDTH": 8,
            "PARTS": 4,
            "FIRST": 2,
            "CLOSE": 2,
            "SMALLEST": 8,
            "QUEUE": 4,
            "AHEAD": 4,
            "FILL": 2,
        },
        **{"PATIENCE": 1, "FRESH": 2, "CELLS": 64},
    },
    "as it is": {},
}


def set_all(monkeypatch: pytest.MonkeyPatch, **values: float) -> None:
    for name, value in values.items():
        owners = [module for module in MODULES if name in vars(module)]
        assert owners, name
        for module in owners:
            monkeypatch.setattr(module, name, value)


def grouped(x: Matrix, k: int, search: type[Frontier | FullScan] | None = None) -> Labels:
    return np.concatenate(list(mdav_groups(x, k, search=search)))


def at_front(x: Matrix, k: int) -> Labels:
    labels = np.zeros(len(x), dtype=np.intp)
    if len(x) >= 2 * k:
        groups = grouped(x, k, search=Frontier)
        labels[groups] = np.arange(1, len(groups) + 1)[:, None]
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
    whole = grouped(x, 3, search=FullScan)
    np.testing.assert_array_equal(grouped(x, 3, search=Frontier), whole)
    set_all(monkeypatch, MANY=1000, FEWEST_FOR_DUPLICATES=10**9)
    np.testing.assert_array_equal(grouped(x, 3), whole)


@pytest.mark.parametrize(
    ("d", "k", "fewest"),
    [(1, 2, 131072), (5, 5, 131072), (10, 5, 524288), (3, 20, 262144), (10, 20, 1048576)],
)
def test_the_frontier_is_for_many_records_by_a_rule(d: int, k: int, fewest: int) -> None:
    assert rounds.fewest_for_frontier(d, k) == fewest


def test_the_rule_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[tuple[str, int]] = []

    def noting(kind: type[Frontier | FullScan]) -> None:
        plain = kind.__init__

        def init(self: Frontier | FullScan, left: RemainingMean, k: int) -> None:
            used.append((kind.__name__, len(left)))
            plain(self, left, k)

        monkeypatch.setattr(kind, "__init__", init)

    noting(Frontier)
    noting(FullScan)
    set_all(monkeypatch, MANY=2000)
    rng = np.random.default_rng(0)
    assert len(grouped(rng.standard_normal((5000, 2)), 5)) == 999
    assert used == [("Frontier", 5000), ("Frontier", 2740), ("FullScan", 1500)]
    used.clear()
    assert len(grouped(rng.standard_normal((5000, 10)), 5)) == 999
    assert used == [("FullScan", 5000)]


@pytest.mark.parametrize("kind", ["gaussian", pytest.param("lognormal", marks=pytest.mark.deep)])
def test_many_records_are_grouped_as_by_the_search_of_all(kind: str) -> None:
    x = DRAWS[kind](np.random.default_rng(1), 20_000, 3)
    np.testing.assert_array_equal(grouped(x, 5, search=Frontier), grouped(x, 5, search=FullScan))


def test_the_input_is_left_alone() -> None:
    x = np.random.default_rng(0).standard_normal((500, 3))
    before = x.copy()
    x.setflags(write=False)
    at_front(x, 4)
    np.testing.assert_array_equal(x, before)
