"""Multi-DSort: the example of the paper, a plain version, and what is printed."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg.core.partition import Labels, Matrix
from polars_microagg.core.registry import methods
from polars_microagg.methods.mdav import mdav
from polars_microagg.methods.multi_dsort import multi_dsort
from tests.methods.plain import Plain, labelled
from tests.methods.test_mdav import DRAWS
from tests.papers import source
from tests.reference import loss, reference

EXAMPLE = np.array([(5, 6), (3, 10), (1, 3), (2, 1), (4, 2)], dtype=np.float64)
"""Table 1 of the paper."""


def ranked(x: Matrix, rows: list[int], constant: bool) -> list[int]:
    """Sort rows by the sum of their ranks, then by the ranks themselves."""
    ranks: dict[int, list[int]] = {row: [] for row in rows}
    for column in x.T.tolist():
        if min(column) == max(column) and not constant:
            continue
        for place, row in enumerate(sorted(rows, key=lambda row: (column[row], row))):
            ranks[row].append(place)
    return sorted(rows, key=lambda row: (sum(ranks[row]), ranks[row], row))


def plain(x: Matrix, k: int, resort: bool, constant: bool) -> Labels:
    left = Plain(x, k)
    order = ranked(x, left.left, constant)

    def grow(row: int, spared: int | None) -> None:
        group = [row]
        left.remove([row])
        while len(group) < k:
            mean = left.centroid(sorted(group))
            group.append(left.nearest(mean, [other for other in left.left if other != spared]))
            left.remove(group[-1:])
        left.groups.append(group)

    while len(left.left) >= 2 * k:
        order = ranked(x, left.left, constant) if resort else [r for r in order if r in left.left]
        enough = len(left.left) >= 3 * k
        grow(order[0], order[-1])
        if enough:
            grow(order[-1], None)
    return labelled([*left.groups, left.left], len(x))


def test_the_order_of_the_paper():
    # Rank sums 9, 8, 4, 3, 6: the rows 4, 3, 5, 2, 1 of table 3.
    assert ranked(EXAMPLE, list(range(5)), constant=False) == [3, 2, 4, 1, 0]


def test_by_hand():
    # k = 2, five records: one group round the first record, (2, 1), and all others. Rows 2 and 4
    # are both 5 away from it; the lower row joins.
    assert multi_dsort(EXAMPLE, k=2).labels.tolist() == [0, 0, 1, 1, 0]


def test_the_last_record_is_spared_for_its_own_group():
    # Ranks 0 to 5 in one column. The first group starts from 0 and takes what is nearest to its
    # mean, but not 3, the last record, nearest though it may be in the other column.
    x = np.array([(0, 0), (1, 9), (2, 9), (3, 0), (2.5, -9), (2.6, -9)], dtype=np.float64)
    found = multi_dsort(x, k=2)
    assert found.labels[0] != found.labels[ranked(x, list(range(6)), False)[-1]]


@pytest.mark.parametrize("resort", [False, True])
@pytest.mark.parametrize("kind", DRAWS)
def test_records_are_grouped_as_by_the_plain_version(kind, resort):
    rng = np.random.default_rng(len(kind))
    for _ in range(25):
        n, d, k = (int(rng.integers(*bounds)) for bounds in ((1, 40), (1, 5), (2, 6)))
        x, constant = DRAWS[kind](rng, n, d), bool(rng.integers(2))
        found = multi_dsort(x, k=k, resort=resort, constant=constant)
        expected = plain(x, k, resort, constant)
        np.testing.assert_array_equal(found.labels, expected, err_msg=f"{x.shape}, k={k}")


@pytest.mark.parametrize("name", ["tarragona", "census", "eia"])
@pytest.mark.parametrize("k", [3, 5, 10])
@pytest.mark.parametrize("resort", [False, True])
def test_on_standardised_data_it_loses_more_than_mdav(name, k, resort):
    x = reference(name)
    assert loss(x, multi_dsort(x, k=k, resort=resort).labels) > loss(x, mdav(x, k=k).labels)


def illegal(x: Matrix, k: int, constant: bool, left_out: bool) -> float:
    """100 SSE / SST of two groups a round while 2k records remain, and the rest a group or left out."""
    z = x - x.mean(axis=0)
    varies = np.ptp(x, axis=0) > 0
    ranks = x[:, varies | constant].argsort(axis=0, kind="stable").argsort(axis=0)
    # Equal sums by row.
    left = ranks.sum(axis=1).argsort(kind="stable")
    total = 0.0
    while len(left) >= 2 * k:
        for end, spared in ((0, 1), (-1, 0)):
            group, left = [left[end]], np.delete(left, end)
            while len(group) < k:
                # The last record is kept for its own group.
                others = left[: len(left) - spared]
                squares = ((z[others] - z[group].mean(axis=0)) ** 2).sum(axis=1)
                group.append(others[squares.argmin()])
                left = left[left != group[-1]]
            total += ((z[group] - z[group].mean(axis=0)) ** 2).sum()
    if not left_out:
        total += ((z[left] - z[left].mean(axis=0)) ** 2).sum()
    return float(100 * total / (z**2).sum())


@pytest.mark.parametrize(
    ("data", "k", "left_out", "printed"),
    [
        ("tarragona", 4, False, "11.9989"),
        ("tarragona", 5, True, "18.17"),
        ("tarragona", 10, True, "32.1338"),
        ("eia 13", 5, False, "0.7956"),
        ("eia 13", 10, True, "1.7709"),
    ],
)
def test_printed_losses_of_groups_below_k_and_of_records_left_out(data, k, left_out, printed):
    x = source(data)[0].to_numpy().astype(np.float64)
    digits = len(printed.partition(".")[2])
    assert f"{illegal(x, k, data != 'tarragona', left_out):.{digits}f}" == printed


def test_a_constant_column_ranks_when_asked_also_on_frames():
    x = np.random.default_rng(0).normal(size=(60, 3))
    x[:, 1] = 7.0
    frame = pl.DataFrame(x, schema=["a", "b", "c"])
    losses = []
    for constant in (False, True):
        options = {"resort": False, "constant": constant}
        masked = mg.mask(frame, frame.columns, 3, method="multi_dsort", scale="none", **options)
        labels = multi_dsort(np.asfortranarray(x), k=3, **options).labels
        means = np.array([x[labels == label].mean(axis=0) for label in labels])
        np.testing.assert_allclose(masked.to_numpy(), means)
        losses.append(loss(x, labels))
    assert losses[0] != losses[1]


def test_registered():
    entry = methods()["multi_dsort"]
    assert (entry.sizes, entry.options["resort"].default) == ("k..2k-1", True)
