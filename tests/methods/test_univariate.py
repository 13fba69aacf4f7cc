"""Optimal univariate microaggregation: by hand, by exhaustion, on the reference files."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from polars_microagg.core.partition import Labels, Partition
from polars_microagg.core.registry import methods
from polars_microagg.methods.individual_ranking import individual_ranking
from polars_microagg.methods.univariate import univariate
from tests.reference import loss, reference, reference_frame


def column(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float64)[:, None]


@pytest.mark.parametrize(
    ("x", "k", "groups"),
    [
        # Sorted 1 2 9 10 11 30 31, in three groups with the gaps between them.
        (column(31, 9, 1, 10, 30, 2, 11), 2, [0, 1, 2, 1, 0, 2, 1]),
        # Equal values go by row: 1 1 | 1 1 1 costs 0 any way; the last group is the shortest.
        (column(1, 1, 1, 1, 1), 2, [0, 0, 0, 1, 1]),
        # 1 5 | 5 5 5 costs 8 and 1 5 5 | 5 5 more; of the fives, the first row joins the 1.
        (column(5, 1, 5, 5, 5), 2, [0, 0, 1, 1, 1]),
        (column(3, 1, 2), 2, [0, 0, 0]),
        (column(4, 3, 2, 1), 2, [0, 0, 1, 1]),
    ],
)
def test_by_hand(x, k, groups):
    assert univariate(x, k=k).labels.tolist() == groups


def exact_sse(x: list[int], labels: Labels) -> Fraction:
    total = Fraction(0)
    for group in range(labels.max() + 1):
        members = [x[i] for i in np.flatnonzero(labels == group)]
        total += sum(v * v for v in members) - Fraction(sum(members) ** 2, len(members))
    return total


def all_groupings(n: int, k: int) -> list[Labels]:
    """All partitions of n records into groups of at least k, contiguous or not."""
    found = []

    def extend(labels: list[int], sizes: list[int]) -> None:
        left = n - len(labels)
        if sum(max(0, k - size) for size in sizes) > left:
            return
        if not left:
            found.append(np.array(labels))
            return
        for group in range(len(sizes) + 1):
            grown = [*sizes, 0] if group == len(sizes) else [*sizes]
            grown[group] += 1
            extend([*labels, group], grown)

    extend([], [])
    return found


@pytest.mark.parametrize(("n", "k"), [(8, 2), (9, 3), (8, 4)])
def test_no_grouping_at_all_has_a_smaller_sum_of_squares(n, k):
    rng = np.random.default_rng(1)
    groupings = all_groupings(n, k)
    for spread in (2, 6, 100):
        x = rng.integers(0, spread, n)
        values = [int(v) for v in x]
        least = min(exact_sse(values, labels) for labels in groupings)
        found = exact_sse(values, univariate(x[:, None].astype(np.float64), k=k).labels)
        assert found == least


@pytest.mark.parametrize(
    ("name", "k", "percent"),
    [
        # 100 SSE / SST, by a programme in rational numbers and by two other packages.
        ("sales", 5, "4.303593"),
        ("sales", 10, "8.380475"),
        ("current_assets", 10, "5.258"),
        ("operating_profit", 10, "10.62"),
    ],
)
def test_loss_of_tarragona_columns(name, k, percent):
    x = reference_frame("tarragona").select(name).to_numpy().astype(np.float64)
    digits = len(percent.partition(".")[2])
    assert f"{loss(x, univariate(x, k=k).labels):.{digits}f}" == percent


@pytest.mark.parametrize("name", ["tarragona", "census", "eia"])
@pytest.mark.parametrize("k", [2, 3, 5, 10, 25])
def test_it_is_never_worse_than_blocks_of_k(name, k):
    table = reference(name)
    for j in range(table.shape[1]):
        x = table[:, [j]]
        partition = univariate(x, k=k)
        assert k <= partition.sizes.min() <= partition.sizes.max() <= 2 * k - 1
        ranked = individual_ranking(x, k=k)
        assert loss(x, partition.labels) <= loss(x, ranked.labels) * (1 + 1e-12)


def test_groups_of_different_values_do_not_overlap():
    x = np.random.default_rng(2).normal(size=(5_000, 1))
    partition = univariate(x, k=4)
    order = np.argsort(x[:, 0])
    changes = np.count_nonzero(np.diff(partition.labels[order]))
    assert changes == len(partition) - 1


def test_the_order_of_the_rows_changes_only_the_labels():
    rng = np.random.default_rng(3)
    x = rng.lognormal(size=(3_000, 1))
    shuffle = rng.permutation(len(x))
    there = univariate(x, k=3).labels
    back = univariate(x[shuffle], k=3).labels
    assert Partition.from_labels(there[shuffle]).labels.tolist() == back.tolist()


@pytest.mark.parametrize("factor", [1.0, 1e-3, 2.0**800, -1.0])
def test_any_scale_has_the_same_groups(factor):
    x = np.random.default_rng(4).normal(size=(400, 1))
    scaled = Partition.from_labels(univariate(x * factor, k=5).labels)
    assert scaled.labels.tolist() == univariate(x, k=5).labels.tolist()


def test_registered():
    entry = methods()["univariate"]
    assert (entry.unit, entry.columnwise, entry.sizes) == ("value", True, "k..2k-1")
    assert entry.options["cost"].choices[0] == entry.options["cost"].default == "sse"
