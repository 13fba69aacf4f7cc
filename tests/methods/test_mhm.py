"""MHM: the paths against plain versions, the cut against all cuts, and by hand."""

from __future__ import annotations

import numpy as np
import pytest

from polars_microagg.core.partition import Labels, Matrix
from polars_microagg.core.registry import methods
from polars_microagg.kernels.distance import centred
from polars_microagg.kernels.order.tour import nearest_point_next, through_groups
from polars_microagg.methods.cbfs import cbfs
from polars_microagg.methods.md import md
from polars_microagg.methods.mdav import mdav
from polars_microagg.methods.mhm import mhm
from tests.methods.plain import Plain, sse
from tests.methods.test_mdav import DRAWS
from tests.reference import loss, reference


def walked(x: Matrix) -> list[int]:
    left = Plain(x, 1)
    path = [left.farthest(left.mean())]
    left.remove(path)
    while left.left:
        path.append(left.nearest(left.z[path[-1]], left.left))
        left.remove(path[-1:])
    return path


def walked_through(x: Matrix, labels: Labels) -> list[int]:
    plain = Plain(x, 1)
    z = plain.z
    groups = [np.flatnonzero(labels == g).tolist() for g in range(labels.max() + 1)]
    means = [plain.centroid(group) for group in groups]
    visit, path = walked(np.array(means)), []
    for place, number in enumerate(visit):
        rest = list(groups[number])
        if place:
            here = plain.nearest(means[visit[place - 1]], rest)
        else:
            middle = plain.mean() if z.dtype == object else np.zeros(z.shape[1])
            here = max(rest, key=lambda row: (plain.distance(row, middle), -row))
        rest.remove(here)
        last = []
        if rest and place + 1 < len(visit):
            last = [plain.nearest(means[visit[place + 1]], rest)]
            rest.remove(last[0])
        path.append(here)
        while rest:
            here = plain.nearest(z[here], rest)
            rest.remove(here)
            path.append(here)
        path += last
    return path


@pytest.mark.parametrize("kind", DRAWS)
def test_the_path_goes_to_the_nearest_point_next(kind):
    rng = np.random.default_rng(len(kind))
    for _ in range(30):
        n, d = int(rng.integers(1, 60)), int(rng.integers(1, 5))
        x = DRAWS[kind](rng, n, d)
        assert nearest_point_next(x).tolist() == walked(x)


@pytest.mark.parametrize("kind", DRAWS)
def test_the_path_goes_through_the_groups(kind):
    rng = np.random.default_rng(len(kind))
    for _ in range(30):
        n, d, k = (int(rng.integers(*bounds)) for bounds in ((1, 60), (1, 5), (2, 6)))
        x = DRAWS[kind](rng, n, d)
        labels = cbfs(x, k=k).labels
        assert through_groups(centred(x), labels).tolist() == walked_through(x, labels)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_no_cut_of_the_path_is_better(k):
    rng = np.random.default_rng(k)
    for _ in range(30):
        n = int(rng.integers(2 * k, 16))
        x = rng.integers(0, 30, (n, 2)).astype(np.float64)
        path = nearest_point_next(x)
        least = {0: 0.0}
        for end in range(k, n + 1):
            cuts = [least[s] + sse(x, path[s:end]) for s in range(end - k + 1) if s in least]
            least[end] = min(cuts)
        labels = mhm(x, k=k).labels
        found = sum(sse(x, np.flatnonzero(labels == g)) for g in range(labels.max() + 1))
        assert found == pytest.approx(least[n], rel=1e-9)


def test_by_hand():
    # The mean is (3, 2); squared distances from it are 8 5 25 9 9, so row 2 is first. From (7, 5) they
    # are 61 10 - 58 52, from (4, 4) then 25 - - 20 26, from (0, 2) then 5 - - - 18.
    #   row     0       1       2       3       4
    x = [(1, 0), (4, 4), (7, 5), (0, 2), (3, -1)]
    assert nearest_point_next(np.array(x, dtype=np.float64)).tolist() == [2, 1, 3, 0, 4]


def test_the_cut_by_hand():
    # From 21 down to 0: the runs 21 20 | 9 8 | 2 1 0 cost 0.5 + 0.5 + 2.
    x = [(0.0,), (1.0,), (2.0,), (8.0,), (9.0,), (20.0,), (21.0,)]
    assert nearest_point_next(np.array(x)).tolist() == [6, 5, 4, 3, 2, 1, 0]
    assert mhm(np.array(x), k=2).labels.tolist() == [0, 0, 0, 1, 1, 2, 2]


def test_through_groups_by_hand():
    # Groups {0, 1, 5}, {8, 9} and {2, 3} of a line, less 4: centroids -3, 4.5 and -1.5. The one at
    # 4.5 is farthest from their mean, then -1.5, then -3. It starts with 9, farthest from the mean of
    # all, and ends with 8; 3 is nearest to 8.5, and 2 is left. 1 is nearest to 2.5, and 0 is left.
    columns = np.array([[1.0, 8.0, 9.0, 3.0, 2.0, 0.0]]) - 4
    path = through_groups(columns, np.array([0, 1, 1, 2, 2, 0]))
    assert path.tolist() == [2, 1, 3, 4, 0, 5]


@pytest.mark.deep
@pytest.mark.parametrize("name", ["tarragona", "census", "eia"])
@pytest.mark.parametrize("k", [3, 10])
def test_no_loss_is_higher_than_that_of_the_groups(name, k):
    x = reference(name)
    groups = {"md": md(x, k=k, grow="seed"), "mdav": mdav(x, k=k), "cbfs": cbfs(x, k=k)}
    for order, partition in groups.items():
        assert loss(x, mhm(x, k=k, order=order).labels) <= loss(x, partition.labels) + 1e-9


def test_registered():
    entry = methods()["mhm"]
    assert entry.options["order"].choices == ("npn", "md", "mdav", "cbfs")
