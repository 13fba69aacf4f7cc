"""Kills of releases larger than memory, at random instants, on every path."""

import sys

import pytest

from benchmarks import large_kills, large_ways

pytestmark = [
    pytest.mark.deep,
    pytest.mark.skipif(sys.platform != "linux", reason="the table of processes is read from /proc"),
]


@pytest.mark.parametrize("path", large_ways.WAYS)
def test_nothing_is_half_lost_or_left_behind(path):
    counts = large_kills.run(9, seed=1, rows=4000, only=path)
    assert counts["landed"] == counts["as it should be"] == 9
