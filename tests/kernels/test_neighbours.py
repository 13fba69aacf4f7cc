"""Neighbours, most distant and farthest records of a shrinking set, against plain searches."""

from __future__ import annotations

import numpy as np
import pytest

from polars_microagg.core.partition import Labels, Matrix, Vector
from polars_microagg.kernels import farthest_records, neighbours
from polars_microagg.kernels.distance import centred
from polars_microagg.kernels.farthest_records import FarthestFirst
from polars_microagg.kernels.neighbours import Neighbours
from polars_microagg.kernels.remaining_records import RemainingRecords
from polars_microagg.methods import _most_distant
from polars_microagg.methods._most_distant import MostDistant
from tests.loop import rounds
from tests.methods.test_mdav import DRAWS

SMALL = {"CELLS": 30, "SPARE": 0, "KNOWN": 0, "SHARE": 1, "BATCH": 1, "HEAD": 2}


@pytest.fixture(params=["as it is", "small"])
def setting(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (farthest_records, _most_distant, neighbours):
        for name, value in SMALL.items():
            if request.param == "small" and hasattr(module, name):
                monkeypatch.setattr(module, name, value)


def distances(columns: Matrix, rows: Labels, point: Vector) -> Vector:
    sums = np.zeros(len(rows))
    for j, coordinate in enumerate(point):
        sums = sums + (columns[j, rows] - coordinate) ** 2
    return sums


def some_of(rng: np.random.Generator, left: Labels, columns: Matrix) -> Labels:
    """A few records, at random or next to each other."""
    count = int(rng.integers(1, 5))
    if rng.random() < 0.5:
        return rng.permutation(left)[:count]
    return left[distances(columns, left, columns[:, left[-1]]).argsort()[:count]]


@pytest.mark.usefixtures("setting")
@pytest.mark.parametrize("kind", DRAWS)
def test_neighbours_are_those_of_a_plain_search(kind: str) -> None:
    rng = np.random.default_rng(len(kind))
    for _ in range(rounds(24)):
        n, count = int(rng.integers(6, 90)), int(rng.integers(1, 6))
        columns = centred(DRAWS[kind](rng, n, int(rng.integers(1, 5))))
        found = Neighbours(columns, count)
        left = np.arange(n)
        before = np.full((count, n), -1)
        changed = left
        while len(left) > count:
            for row in left:
                others = left[left != row]
                order = distances(columns, others, columns[:, row]).argsort(kind="stable")
                assert found.near[:, row].tolist() == others[order[:count]].tolist()
                assert (row in changed) == (found.near[:, row] != before[:, row]).any()
            before = found.near.copy()
            gone = some_of(rng, left, columns)
            left = np.setdiff1d(left, gone)
            changed = found.remove(gone)
        assert changed.tolist() == []


@pytest.mark.usefixtures("setting")
@pytest.mark.parametrize("kind", DRAWS)
def test_ends_are_those_of_a_plain_search(kind: str) -> None:
    rng = np.random.default_rng(len(kind))
    for _ in range(rounds(24)):
        n = int(rng.integers(2, 60))
        columns = centred(DRAWS[kind](rng, n, int(rng.integers(1, 5))))
        found = MostDistant(columns)
        left = np.arange(n)
        while len(left):
            reach = np.array([distances(columns, left, columns[:, r]).max() for r in left])
            assert found.ends(left).tolist() == left[reach == reach.max()].tolist()
            gone = some_of(rng, left, columns)
            left = np.setdiff1d(left, gone)
            found.remove(gone)


def test_few_places_are_measured_again(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = []
    measure = MostDistant._measure

    def counted(self: MostDistant, places: Labels) -> None:
        measured.append(len(places))
        measure(self, places)

    monkeypatch.setattr(MostDistant, "_measure", counted)
    remaining = RemainingRecords(np.random.default_rng(0).standard_normal((1500, 4)))
    found = MostDistant(remaining.columns)
    turns = 0
    while len(remaining) >= 6:
        rows = remaining.take(int(found.ends(remaining.rows)[0]), 3)
        found.remove(rows)
        turns += 1
    assert sum(measured) < 20 * turns


def test_few_records_are_searched_again(monkeypatch: pytest.MonkeyPatch) -> None:
    searched = []
    search = Neighbours._search

    def counted(self: Neighbours, rows: Labels) -> None:
        searched.append(len(rows))
        search(self, rows)

    monkeypatch.setattr(Neighbours, "_search", counted)
    columns = centred(np.random.default_rng(0).standard_normal((1500, 4)))
    found = Neighbours(columns, 2)
    remaining = RemainingRecords(columns.T)
    while len(remaining) >= 6:
        found.remove(remaining.take(int(remaining.rows[0]), 3))
    assert sum(searched) < 2 * 1500


@pytest.mark.usefixtures("setting")
@pytest.mark.parametrize("kind", DRAWS)
def test_the_farthest_comes_first(kind: str) -> None:
    rng = np.random.default_rng(len(kind))
    for _ in range(rounds(24)):
        n, d = int(rng.integers(1, 200)), int(rng.integers(1, 4))
        remaining = RemainingRecords(DRAWS[kind](rng, n, d))
        point = remaining.columns[:, 0] * 1.0 if rng.random() < 0.5 else rng.standard_normal(d)
        found = FarthestFirst(remaining, distances(remaining.columns, np.arange(n), point))
        while len(remaining):
            left = remaining.rows
            expected = left[distances(remaining.columns, left, point).argmax()]
            assert found.row() == expected
            remaining.remove(some_of(rng, left, remaining.columns))


def test_rows_that_are_still_there() -> None:
    remaining = RemainingRecords(np.arange(6.0)[:, None])
    remaining.remove(np.array([1, 4]))
    assert remaining.among(np.array([5, 4, 0, 1, 3])).tolist() == [5, 0, 3]
