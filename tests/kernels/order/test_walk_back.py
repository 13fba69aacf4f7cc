"""The walk back through the lengths of last runs, stretch by stretch, against a plain one."""

import numpy as np
import pytest

from polars_microagg.kernels.order import dynamic_programme
from polars_microagg.kernels.order.dynamic_programme import DynamicProgramme


def plain(last):
    """Lengths of the runs, walked one by one from the end."""
    lengths, at = [], len(last)
    while at:
        lengths.append(int(last[at - 1]))
        at -= lengths[-1]
    return lengths[::-1]


@pytest.mark.parametrize("stretch", [1, 2, 7, 64, 1 << 15])
@pytest.mark.parametrize("levels", [0, 1, 3, 6])
def test_the_walk_is_that_of_single_steps(stretch, levels, monkeypatch):
    monkeypatch.setattr(dynamic_programme, "STRETCH", stretch)
    monkeypatch.setattr(dynamic_programme, "LEVELS", levels)
    rng = np.random.default_rng(stretch + levels)
    for _ in range(40):
        k, n = int(rng.integers(2, 9)), int(rng.integers(18, 300))
        programme = DynamicProgramme([np.arange(n, dtype=float)], k)
        # No run reaches back beyond the start.
        last = np.minimum(rng.integers(k, 2 * k, n), np.arange(1, n + 1))
        programme.last[0, :n] = last
        assert programme._trace().tolist() == plain(last)
