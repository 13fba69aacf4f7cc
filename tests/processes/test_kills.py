"""Kills of processes that share work, and of the one that started them, on every path."""

import sys

import pytest

from benchmarks import worker_kills

pytestmark = [
    pytest.mark.deep,
    pytest.mark.skipif(sys.platform != "linux", reason="the table of processes is read from /proc"),
]


def test_nothing_hangs_runs_on_or_is_half():
    assert worker_kills.run(20, seed=2) == {"as it should be": 20}
