"""Fine-tuning by decomposition, the sums of squares it compares, and the splitting after it."""

from __future__ import annotations

import numpy as np
import pytest

from polars_microagg.core.partition import Labels, Partition
from polars_microagg.kernels.distance import centred
from polars_microagg.kernels.group_dissolving import decompose
from polars_microagg.kernels.group_splitting import split_large_groups
from polars_microagg.kernels.sum_of_squares import (
    Centroids,
    group_sse,
    sums_of_squares,
    worst_first,
)
from tests.loop import rounds
from tests.methods import plain
from tests.methods.test_mdav import DRAWS

KINDS = [kind for kind in DRAWS if kind != "tiny"]


def line(*values: float) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    return np.array([values], dtype=np.float64)


def numbers(*labels: int) -> Labels:
    return np.array(labels, dtype=np.intp)


@pytest.mark.parametrize("kind", KINDS)
def test_groups_are_dissolved_as_by_the_plain_version(kind: str) -> None:
    rng = np.random.default_rng(len(kind))
    dissolved = 0
    for _ in range(rounds(60)):
        n, d, size = int(rng.integers(2, 60)), int(rng.integers(1, 5)), int(rng.integers(1, 6))
        x = DRAWS[kind](rng, n, d)
        columns = centred(x)
        # Neighbours on the first column share a group, or groups are drawn blindly.
        rank = columns[0].argsort().argsort() if rng.random() < 0.7 else rng.permutation(n)
        labels = Partition.from_labels(rank // size).labels
        groups = [np.flatnonzero(labels == g).tolist() for g in range(labels.max() + 1)]
        order = rng.permutation(len(groups))
        most = None if rng.random() < 0.5 else int(rng.integers(size, 4 * size + 1))
        found = decompose(columns, labels, order, most)
        tuned = plain.tuned(plain.on_paper(x), groups, order.tolist(), most or np.inf)
        expected = plain.labelled(tuned, n)
        np.testing.assert_array_equal(Partition.from_labels(found).labels, expected)
        assert set(found) <= set(labels)
        dissolved += len(groups) - len(tuned)
    assert dissolved > rounds(20) or kind == "constant"


def test_what_a_group_grows_by_is_counted_for_all_its_new_records_together() -> None:
    # 2 and -4 cost 18. In 0 0 each alone would add 2 / 3 of its square, 13.3 in all; together
    # they add 20 - 2^2 / 4 = 19.
    assert decompose(line(0, 0, 2, -4), numbers(0, 0, 1, 1), [1]).tolist() == [0, 0, 1, 1]


def test_growth_that_equals_what_is_saved_dissolves_nothing() -> None:
    # 3 and -3 cost 18 and would add 18 to 0 0.
    assert decompose(line(0, 0, 3, -3), numbers(0, 0, 1, 1), [0, 1]).tolist() == [0, 0, 1, 1]


def test_groups_are_visited_with_what_they_have_received() -> None:
    columns = line(0, 4, 2, 20, -1, -1, 6, 6, 20, 20)
    labels = numbers(0, 0, 1, 1, 2, 2, 3, 3, 4, 4)
    # 0 4 costs 8; 0 adds 2 / 3 to -1 -1, and 4 adds 8 / 3 to 6 6.
    assert decompose(columns, labels, [0]).tolist() == [2, 3, 1, 1, 2, 2, 3, 3, 4, 4]
    # 2 20 costs 162; 2 adds nothing to 0 4, and 20 nothing to 20 20. Then 0 2 4 costs 8 as well,
    # but 0 and 2 together add 1 + 9 - 4^2 / 4 = 6 to -1 -1: 8.67 with the 8 / 3 of 4.
    assert decompose(columns, labels, [1, 0]).tolist() == [0, 0, 0, 4, 2, 2, 3, 3, 4, 4]


def test_centroids_stand_still_during_the_turn_of_a_group() -> None:
    # 5.2 is nearer to 10 than to 0, though it is nearer to 1.47, the mean of 0 0 4.4.
    columns, labels = line(0, 0, 10, 10, 99, 99, 4.4, 5.2, 99), numbers(0, 0, 1, 1, 2, 2, 3, 3, 3)
    assert decompose(columns, labels, [3]).tolist() == [0, 0, 1, 1, 2, 2, 0, 1, 2]


def test_of_equally_near_groups_the_first_receives() -> None:
    # 5 is as near to 0 as to 10, and 99 pays for everything.
    columns, labels = line(10, 10, 0, 0, 99, 99, 5, 99), numbers(0, 0, 1, 1, 2, 2, 3, 3)
    assert decompose(columns, labels, [3]).tolist() == [0, 0, 1, 1, 2, 2, 0, 2]


def test_a_cap_keeps_groups_that_would_overfill_another() -> None:
    # 3 17 costs 98; 3 adds 6.75 to 0 0 0, and 17 adds 6 to 20 20.
    columns, labels = line(0, 0, 0, 20, 20, 3, 17), numbers(0, 0, 0, 1, 1, 2, 2)
    assert decompose(columns, labels, [2], most=4).tolist() == [0, 0, 0, 1, 1, 0, 1]
    assert decompose(columns, labels, [2], most=3).tolist() == labels.tolist()


def test_two_groups_never_become_one() -> None:
    columns, labels = line(0, 0, 3, -4), numbers(0, 0, 1, 1)
    assert decompose(columns, labels, [1, 0]).tolist() == labels.tolist()
    assert decompose(columns, np.zeros(4, dtype=np.intp), [0]).tolist() == [0] * 4


def test_equal_records_stay_together_and_other_labels_as_they_are() -> None:
    columns, labels = np.full((2, 9), 0.1), np.arange(9) // 3
    assert decompose(columns, labels, [2, 1, 0]).tolist() == labels.tolist()
    assert labels.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]


@pytest.mark.parametrize("kind", KINDS)
def test_sums_of_squares(kind: str) -> None:
    rng = np.random.default_rng(len(kind))
    columns = centred(DRAWS[kind](rng, 40, 3))
    labels = Partition.from_labels(rng.integers(0, 9, 40)).labels
    groups = [np.flatnonzero(labels == g) for g in range(labels.max() + 1)]
    exact = [plain.sse(columns.T, group.tolist()) for group in groups]
    assert group_sse(columns, labels) == pytest.approx(exact, rel=1e-9)
    for group, value in zip(groups, exact, strict=True):
        assert sums_of_squares(columns, group[:, None])[0] == pytest.approx(value, rel=1e-9)
    means = Centroids(columns, labels, len(groups)).means
    for group, mean in zip(groups, means.T, strict=True):
        assert mean == pytest.approx(columns[:, group].mean(axis=1), abs=1e-9)


def test_the_sum_of_squares_of_equal_records_is_zero() -> None:
    # 0.1 + 0.1 + 0.1 is not 3 * 0.1.
    columns = np.full((2, 6), 0.1)
    assert group_sse(columns, np.arange(6) // 3).tolist() == [0, 0]
    assert sums_of_squares(columns, np.arange(6).reshape(3, 2)).tolist() == [0, 0]


def test_sums_of_squares_do_not_depend_on_the_other_sets() -> None:
    rng = np.random.default_rng(0)
    columns = rng.standard_normal((5, 500))
    members = rng.integers(0, 500, (7, 90))
    together = sums_of_squares(columns, members)
    for j in range(90):
        assert sums_of_squares(columns, members[:, [j]])[0] == together[j]


def test_groups_that_cost_the_same_on_paper_are_in_order() -> None:
    # 0.5 (0.2 - 0.1)^2 and 0.5 (0.4 - 0.3)^2 differ in the last bits.
    columns = line(0.1, 0.2, 0.3, 0.4, 5.0, 9.0)
    sse = group_sse(columns, numbers(0, 0, 1, 1, 2, 2))
    assert sse[0] < sse[1]
    assert worst_first(columns, numbers(0, 0, 1, 1, 2, 2)).tolist() == [2, 0, 1]


def test_only_large_groups_are_split() -> None:
    labels = numbers(0, 1, 0, 0, 2, 1, 0, 2, 2, 2)
    seen = []

    def halves(rows: Labels) -> Labels:
        seen.append(rows.tolist())
        return np.arange(len(rows)) // 2

    found = split_large_groups(labels, 4, halves)
    assert seen == [[0, 2, 3, 6], [4, 7, 8, 9]]
    assert Partition.from_labels(found).labels.tolist() == [0, 1, 0, 2, 3, 1, 2, 3, 4, 4]
    assert labels.tolist() == [0, 1, 0, 0, 2, 1, 0, 2, 2, 2]
