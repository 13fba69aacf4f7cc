"""Individual ranking: blocks of k along the sorted column."""

from __future__ import annotations

import numpy as np
import pytest

from polars_microagg.core.registry import methods
from polars_microagg.methods.individual_ranking import individual_ranking
from tests.reference import reference


@pytest.mark.parametrize(
    ("values", "k", "groups"),
    [
        # 1 2 | 4 5 9: the fifth value joins the last group.
        ([5, 1, 4, 2, 9], 2, [0, 1, 0, 1, 0]),
        # Equal values by row: rows 0 1 | 2 3 of the fours, then 9 9.
        ([4, 4, 4, 4, 9, 9], 2, [0, 0, 1, 1, 2, 2]),
        # 7 = 3 + 4.
        ([1, 2, 3, 4, 5, 6, 7], 3, [0, 0, 0, 1, 1, 1, 1]),
        # 8 = 3 + 5, negative numbers first.
        ([0, -1, 7, -8, 3, 2, 1, 5], 3, [0, 0, 1, 0, 1, 1, 1, 1]),
        ([3, 1, 2], 2, [0, 0, 0]),
    ],
)
def test_by_hand(values, k, groups):
    x = np.array(values, dtype=np.float64)[:, None]
    assert individual_ranking(x, k=k).labels.tolist() == groups


@pytest.mark.parametrize("name", ["tarragona", "census", "eia"])
@pytest.mark.parametrize("k", [2, 3, 10])
def test_groups_are_blocks_of_ranks(name, k):
    x = reference(name)
    n = len(x)
    for j in range(x.shape[1]):
        labels = individual_ranking(x[:, [j]], k=k).labels
        ranks = np.empty(n, dtype=np.intp)
        ranks[np.argsort(x[:, j], kind="stable")] = np.arange(n)
        block = np.minimum(ranks // k, n // k - 1)
        # The same groups: each label goes with one block and each block with one label.
        pairs = set(zip(labels.tolist(), block.tolist(), strict=True))
        assert len(pairs) == len(set(labels.tolist())) == n // k


def test_registered():
    entry = methods()["individual_ranking"]
    assert (entry.unit, entry.columnwise, entry.options) == ("value", True, {})
