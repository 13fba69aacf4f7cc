"""The shell of the outermost records against a search of all of them, as records leave it."""

from __future__ import annotations

import numpy as np
import pytest

from polars_microagg.core.partition import Matrix
from polars_microagg.kernels.distance import Point, squared_distances
from polars_microagg.kernels.mdav import outer_shell
from polars_microagg.kernels.mdav.box_index import BoxIndex
from polars_microagg.kernels.mdav.outer_shell import OuterShell
from polars_microagg.kernels.remaining_mean import RemainingMean

SIZE = 64


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outer_shell, "SMALLEST", SIZE)
    monkeypatch.setattr(outer_shell, "QUEUE", 16)


class Peeled:
    """A table that loses its outermost record and the one opposite, round by round."""

    def __init__(self, x: Matrix) -> None:
        self.left = RemainingMean(np.asfortranarray(x))
        self.boxes = BoxIndex(self.left.records, self.left.rows)
        self.shell = OuterShell(self.left, self.boxes, SIZE)

    def farthest(self, point: Point) -> int:
        rows = self.left.rows
        distances = squared_distances(self.left.columns[:, rows], point)
        return int(rows[distances.argmax()])

    def remove(self, *rows: int) -> None:
        gone = np.unique(rows)
        self.left.remove(gone)
        self.boxes.remove(gone)
        self.shell.remove(gone)

    def round(self) -> None:
        row = self.shell.outermost()
        if row < 0:
            # The mean has moved too far. A shell about the new one must know.
            assert len(self.left) < self.shell.built
            self.shell = OuterShell(self.left, self.boxes, SIZE)
            row = self.shell.outermost()
        assert row == self.farthest(self.left.mean())
        self.shell.measure_from(np.array([row]))
        opposite = self.shell.opposite(row)
        assert opposite == self.farthest(self.left.columns[:, row])
        self.remove(row, opposite)


def draws(kind: str) -> Matrix:
    rng = np.random.default_rng(len(kind))
    if kind == "whole":
        return rng.integers(0, 12, (2000, 2)).astype(float)
    return rng.lognormal(size=(2000, 3)) if kind == "skewed" else rng.normal(size=(2000, 3))


@pytest.mark.parametrize("kind", ["even", "skewed", "whole"])
def test_the_shell_finds_what_a_search_of_all_finds(kind: str) -> None:
    peeled = Peeled(draws(kind))
    for _ in range(400):
        peeled.round()


def test_records_take_the_places_of_those_that_are_gone() -> None:
    peeled = Peeled(draws("even"))
    for _ in range(3 * SIZE):
        peeled.round()
    # Six times as many as it held are gone, and it holds as many of those that are left.
    held = peeled.shell.likely_outermost(SIZE)
    assert len(peeled.shell) >= SIZE
    assert not peeled.left.taken[held].any()
