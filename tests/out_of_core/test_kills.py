"""Kills of releases larger than memory, at random instants, on every path."""

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import large_ways

ROOT = Path(__file__).parents[2]

pytestmark = [
    pytest.mark.deep,
    pytest.mark.skipif(sys.platform != "linux", reason="the table of processes is read from /proc"),
]


@pytest.mark.parametrize("path", large_ways.WAYS)
def test_nothing_is_half_lost_or_left_behind(path):
    # A process of its own, as it forks, which threads do not survive.
    command = [sys.executable, "-m", "benchmarks.large_kills", "--kills", "2", "--seed", "1"]
    command += ["--rows", "2500"]
    done = subprocess.run(
        [*command, "--path", path],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    assert {"landed: 2", "as it should be: 2"} <= set(done.stdout.splitlines()), done.stdout
