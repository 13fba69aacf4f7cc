"""The distance methods against plain versions that do what the papers say, loop by loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pytest

from polars_microagg.core.partition import Labels, Matrix, Partition
from polars_microagg.core.registry import methods
from polars_microagg.kernels import (
    farthest_records,
    group_dissolving,
    neighbours,
    point_search,
    remaining_records,
    smallest,
)
from polars_microagg.methods import _density, _most_distant
from polars_microagg.methods.cbfs import cbfs
from polars_microagg.methods.dba1 import dba1
from polars_microagg.methods.dba2 import dba2
from polars_microagg.methods.diameter import diameter
from polars_microagg.methods.md import md
from polars_microagg.methods.mdav1 import mdav1
from polars_microagg.methods.mdav2 import mdav2
from polars_microagg.methods.tfrp1 import tfrp1
from polars_microagg.methods.tfrp2 import tfrp2
from polars_microagg.methods.vmdav import vmdav
from tests.methods import plain
from tests.methods.test_mdav import DRAWS, Draw

Method = Callable[..., Partition]

PAIRS: dict[str, tuple[Method, Callable[[Matrix, int], Labels]]] = {
    "mdav1": (mdav1, plain.mdav1),
    "mdav2": (mdav2, plain.mdav2),
    "cbfs": (cbfs, plain.cbfs),
    "tfrp1": (tfrp1, plain.tfrp1),
    "tfrp2": (tfrp2, plain.tfrp2),
    "dba1": (dba1, plain.dba1),
    "dba2": (dba2, plain.dba2),
    "diameter": (diameter, partial(plain.md, grow="seed")),
    "md": (md, plain.md),
    "md seed": (partial(md, grow="seed"), partial(plain.md, grow="seed")),
    "md together": (partial(md, leftover="together"), partial(plain.md, leftover="together")),
    "vmdav": (vmdav, partial(plain.vmdav, gamma=0.2)),
    "vmdav 0": (partial(vmdav, gamma=0), partial(plain.vmdav, gamma=0)),
    "vmdav 1.1": (partial(vmdav, gamma=1.1), partial(plain.vmdav, gamma=1.1)),
    "vmdav 3": (partial(vmdav, gamma=3.0), partial(plain.vmdav, gamma=3.0)),
}

# Sums of squares of subnormal numbers have no digits to compare. The columns that methods are
# given are scaled, so there is none.
KINDS = [kind for kind in DRAWS if kind != "tiny"]

# As small data meet it; with every shortcut that large data meet; with tables full of records
# that are gone and no neighbour to spare.
SETTINGS: dict[str, dict[str, int]] = {
    "as it is": {},
    "large": {"DIRECT": 0, "STRIPE": 3, "SORTED": 2, "HEAD": 1, "CELLS": 40, "BATCH": 1},
    "gone": {"DIRECT": 0, "SHARE": 1, "SPARE": 0, "KNOWN": 0, "STRIPE": 2},
}
MODULES = (
    group_dissolving,
    _density,
    farthest_records,
    _most_distant,
    smallest,
    neighbours,
    remaining_records,
    point_search,
)


@pytest.fixture(params=SETTINGS)
def setting(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    for name, value in SETTINGS[request.param].items():
        for module in MODULES:
            if hasattr(module, name):
                monkeypatch.setattr(module, name, value)
    return str(request.param)


def cases(draw: Draw, seed: int, count: int) -> Iterator[tuple[Matrix, int]]:
    rng = np.random.default_rng(seed)
    for _ in range(count):
        n, d, k = int(rng.integers(1, 45)), int(rng.integers(1, 6)), int(rng.integers(2, 7))
        yield np.asarray(draw(rng, n, d), order=rng.choice(["C", "F"])), k


@pytest.mark.usefixtures("setting")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", PAIRS)
def test_small_data_are_grouped_as_by_the_plain_version(name: str, kind: str) -> None:
    method, expected = PAIRS[name]
    for x, k in cases(DRAWS[kind], seed=len(kind), count=12):
        found = method(x, k=k).labels
        np.testing.assert_array_equal(found, expected(x, k), err_msg=f"{x.tolist()}, k={k}")


@pytest.mark.parametrize("kind", ["gaussian", "integers to 9", "lognormal", "repeated", "tenths"])
@pytest.mark.parametrize("name", PAIRS)
def test_shortcuts_change_nothing(name: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # The plain versions take too long here: all distances as they stand, one batch, no spares.
    x = DRAWS[kind](np.random.default_rng(1), 1300, 3)
    found = PAIRS[name][0](x, k=4).labels
    for module in (point_search, neighbours, _density, _most_distant):
        for constant, value in {"DIRECT": 10**9, "CELLS": 10**9, "BATCH": 10**9}.items():
            if hasattr(module, constant):
                monkeypatch.setattr(module, constant, value)
    monkeypatch.setattr(neighbours, "SPARE", 0)
    monkeypatch.setattr(neighbours, "KNOWN", 0)
    np.testing.assert_array_equal(PAIRS[name][0](x, k=4).labels, found)


@pytest.mark.parametrize("name", PAIRS)
def test_layout_does_not_matter_and_the_input_is_left_alone(name: str) -> None:
    wide = np.random.default_rng(0).standard_normal((700, 12))
    x = np.asfortranarray(wide[:, ::2])
    before = x.copy()
    x.setflags(write=False)
    method = PAIRS[name][0]
    found = method(x, k=4).labels
    np.testing.assert_array_equal(x, before)
    np.testing.assert_array_equal(method(np.ascontiguousarray(x), k=4).labels, found)
    np.testing.assert_array_equal(method(wide[:, ::2], k=4).labels, found)


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("n", [1, 2, 5])
def test_fewer_than_2k_records_are_one_group(name: str, n: int) -> None:
    found = PAIRS[name][0](np.arange(n, dtype=np.float64)[:, None], k=3)
    assert found.labels.tolist() == [0] * n
    assert found.sizes.tolist() == [n]


@pytest.mark.parametrize("name", PAIRS)
def test_what_is_registered_says_how_the_time_grows(name: str) -> None:
    entry = methods()[name.split()[0]]
    assert entry.function.__name__ == name.split()[0]
    assert entry.sizes == "k..2k-1"
    assert (entry.cost, entry.limit) in {
        ("n^2/k", 2_000_000),
        ("n^2", 50_000),
        ("n^2", 200_000),
    }


def column(*values: float) -> Matrix:
    return np.array(values, dtype=np.float64)[:, None]


def test_mdav1_by_hand() -> None:
    # Nine points with mean (3, 2), k = 2.
    #   row      0       1       2       3       4       5       6       7       8
    x = [(0, 0), (1, 0), (9, 6), (0, 1), (8, 5), (3, 1), (2, 4), (3, 1), (1, 0)]
    # Squared distances from the mean: 13 8 52 10 34 1 5 1 8, so r is row 2, and s is row 0, 117
    # from it. Row 4 goes with r, and with s the lowest of rows 1, 3 and 8, which are 1 away.
    # Rows 3 5 6 7 8 are left, at least 2k: two groups more. Their mean is (1.8, 1.4), and row 6
    # is farthest from it, 6.8. From row 6 they are 13 10 0 10 17, so s is row 8. With r goes the
    # lower of rows 5 and 7, and with s row 3, which is 2 from it, row 7 being 5 from it.
    # Row 7 is left over. The centroids are (8.5, 5.5), (0.5, 0), (2.5, 2.5) and (0.5, 0.5), and
    # their squared distances from (3, 1) 50.5, 7.25, 2.5 and 6.5: it joins rows 5 and 6.
    found = mdav1(np.array(x, dtype=np.float64), k=2)
    assert found.labels.tolist() == [0, 0, 1, 2, 1, 3, 3, 3, 2]


def test_mdav1_finds_a_new_s_when_the_group_of_r_has_taken_it() -> None:
    # Row 10 is farthest from the mean, and all others are 5 from it: s is row 0, and r's group
    # takes rows 0 to 3. Then s is row 4, and rows 5 to 8 on the same place go with it. Row 9 is
    # left over: the centroids are ((20 + 0) / 5, 0) = (4, 0) and (5, 0).
    x = np.array([(5, 0)] * 9 + [(4, 3), (0, 0)], dtype=np.float64)
    assert mdav1(x, k=5).labels.tolist() == [0] * 4 + [1] * 5 + [0, 0]


def test_mdav2_by_hand() -> None:
    # Mean 10.2: r is 28, s is 0, so 23 28 and 0 1. Then 2 3 7 8 20 are left, with mean 8: r is
    # 20, and 8 goes with it; s is 2 with 3. 7 is left over: the centroids 25.5, 0.5, 14 and 2.5
    # send it to 2 3. Sums of squares: 12.5 for 23 28, 0.5 for 0 1, 72 for 8 20, 14 for 2 3 7.
    # 8 20 is checked first. The centroid nearest to 8 is 4, and 2 3 7 would grow by
    # 3 / 4 * 16 = 12; 20 would add 2 / 3 * 5.5^2 = 20.2 to 23 28. 32.2 is less than 72.
    # Then 2 3 7 8, which costs 26: all of it would go to 0 1, for 107 - 18^2 / 6 = 53. 20 23 28
    # and 0 1 stay as well. 2 3 7 8 has 2k records and is grouped by MDAV-1: 2 3 and 7 8.
    x = column(0, 1, 2, 3, 7, 8, 20, 23, 28)
    assert mdav1(x, k=2).labels.tolist() == [0, 0, 1, 1, 1, 2, 2, 3, 3]
    assert mdav2(x, k=2).labels.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 3]


def test_cbfs_by_hand() -> None:
    #   row      0       1       2       3       4       5       6       7
    x = [(0, 0), (1, 0), (9, 6), (0, 1), (8, 5), (3, 1), (2, 4), (3, 1)]
    # The mean is (3.25, 2.25), and row 2 is 47.1 from it: rows 2 and 4. The mean of the others is
    # (1.5, 1.17): row 6 is 8.3 from it, and row 5 nearest to it, before row 7. The mean of rows 0
    # 1 3 7 is (1, 0.5): row 7 is 4.25 from it, and row 1, 5 away, goes with it. Rows 0 and 3 are
    # the last group. MDAV-1 would start its second group at row 0, farthest from row 2.
    found = cbfs(np.array(x, dtype=np.float64), k=2)
    assert found.labels.tolist() == [0, 1, 2, 0, 2, 3, 3, 1]


def test_tfrp1_by_hand() -> None:
    #   row      0       1       2       3       4       5
    x = [(0, 3), (2, 0), (1, 1), (4, 4), (9, 5), (9, 4)]
    # The extreme values are 0 and 9. From (0, 0) row 4 is farthest, and row 5 nearest to it. From
    # (9, 9) the others are 117, 130, 128 and 50: row 1, and row 2 goes with it. Rows 0 and 3 are
    # left. From (9, 5), the greatest value of each attribute, they would be 85, 74, 80 and 26:
    # row 0 would come first and take row 2.
    found = tfrp1(np.array(x, dtype=np.float64), k=2)
    assert found.labels.tolist() == [0, 1, 1, 0, 2, 2]


def test_tfrp2_by_hand() -> None:
    # The reference points are 2 and 31. Farthest from 2 is 31, with 25; from 31 it is 2, with 5;
    # from 2 then 23, with 18; from 31 then 7, with 15. 16 is left over: the centroids 28, 3.5,
    # 20.5 and 11 send it to 18 23. Their sums of squares are 18, 4.5, 26 and 32.
    # 7 15 is checked first: 7 goes to 3.5 and 15 to 19, for 2 / 3 * 12.25 + 3 / 4 * 16 = 20.2,
    # less than 32. 15 16 18 23 then costs 38, and 16 and 15 would go to 4.67: it stays, and so
    # do the others. It has 2k records and is grouped by TFRP-1: 23 18 and 15 16.
    x = column(2, 5, 7, 15, 16, 18, 23, 25, 31)
    assert tfrp1(x, k=2).labels.tolist() == [0, 0, 1, 1, 2, 2, 2, 3, 3]
    assert tfrp2(x, k=2).labels.tolist() == [0, 0, 0, 1, 1, 2, 2, 3, 3]


def test_dba_by_hand() -> None:
    # Sums of squares of the 2-neighbourhoods: 2 for 0 2, 0.5 for 2 3, 0.125 for 3 3.5, so these
    # two are a group. Then 0 2 has 2, and 9 2 has 24.5. 9 is left over, and 3.25 nearer than 1.
    assert dba1(column(0, 2, 3, 3.5, 9), k=2).labels.tolist() == [0, 0, 1, 1, 1]
    # 0 1 and 19 20 are equally dense, and 5 14 is last; it is checked first, as created last. 5
    # adds 2 / 3 * 4.5^2 = 13.5 to 0 1, and 14 adds 2 / 3 * 5.5^2 = 20.2 to 19 20: less than 40.5.
    # Neither 14 19 20 nor 0 1 5, which cost 20.7 and 14, can go to the other.
    x = column(0, 1, 5, 14, 19, 20)
    assert dba1(x, k=2).labels.tolist() == [0, 0, 1, 1, 2, 2]
    assert dba2(x, k=2).labels.tolist() == [0, 0, 0, 1, 1, 1]


def test_equal_records_are_the_densest() -> None:
    # Rows 1 and 3 are equal, then rows 2 and 4, then 5 and 6: 1e-9 apart and no more equal.
    x = column(5, 0, 7, 0, 7, 5 + 1e-9, 5 + 2e-9)
    assert [rows.tolist() for rows in _density.densest_first(x.T, 2)] == [[1, 3], [2, 4], [0, 5]]


def test_vmdav_by_hand() -> None:
    # The mean is 13.3. 31 is farthest, with 30. The nearest to them is 20, 10 away, and the
    # nearest to 20 is 9, 11 away: 10 is not less than 0.2 * 11. Then 0 with 1: 2 is 1 away, and 9
    # is 7 from it: 1 < 1.4, so it is added, and the group has 2k - 1. Then 20 with 9.
    x = column(0, 1, 2, 9, 20, 30, 31)
    assert vmdav(x, k=2).labels.tolist() == [0, 0, 0, 1, 1, 2, 2]
    # At 1 the group 30 31 takes 20, as 10 < 11. 9 is left over, nearer to 1 than to 27, and
    # 0 1 2 9 is split by MDAV-1: 9 with 2, farthest from the mean 3, and 0 with 1.
    assert vmdav(x, k=2, gamma=1.0).labels.tolist() == [0, 0, 1, 1, 2, 2, 2]
    # At 0 no group is extended: 2 is left over by 0 1, and goes with 9; 20 is left over.
    assert vmdav(x, k=2, gamma=0.0).labels.tolist() == [0, 0, 1, 1, 2, 2, 2]


def test_md_by_hand() -> None:
    #   row      0        1        2        3        4 ... 8
    x = [(0, 0), (10, 0), (16, 0), (2, 15), *((100 + i, 0) for i in range(5))]
    # Rows 0 and 8 are most distant, 104; row 3 is 103.1 from row 8. Row 0 is farther from the mean
    # (59.8, 1.7), so it is first. Row 1 is nearest to it. Row 3 is sqrt(229) = 15.1 from row 0
    # and sqrt(234) = 15.3 from the mean (5, 0); row 2 is 16 from row 0 and 11 from the mean.
    # Row 8 takes rows 7 and 6, and the other three are the last group.
    matrix = np.array(x, dtype=np.float64)
    assert md(matrix, k=3).labels.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert md(matrix, k=3, grow="seed").labels.tolist() == [0, 0, 1, 0, 1, 1, 2, 2, 2]


def test_md_starts_from_the_end_farther_from_the_mean() -> None:
    # Rows 0 and 3 are most distant, and from both of them row 1 is nearest: 17 and 37, row 2 being
    # 41 from either. The mean is (5.25, -0.75): row 3 is 28.1 from it and row 0 is 23.1.
    x = np.array([(10, 0), (6, 1), (5, -4), (0, 0)], dtype=np.float64)
    assert md(x, k=2).labels.tolist() == [0, 1, 0, 1]


def test_records_left_over_join_each_or_together() -> None:
    # 20 is farther from the mean 9.9 than 0: 20 19 18, then 0 1 2. 5 and 14 are left over: each
    # goes to its own nearest centroid, 1 and 19; their mean 9.5 is nearer to 1.
    x = column(0, 1, 2, 5, 14, 18, 19, 20)
    assert md(x, k=3).labels.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    assert diameter(x, k=3).labels.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    assert md(x, k=3, leftover="together").labels.tolist() == [0, 0, 0, 0, 0, 1, 1, 1]
