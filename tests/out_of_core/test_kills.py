"""Kills at random instants, of releases of all sizes and of processes that share work."""

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import kills

ROOT = Path(__file__).parents[2]

pytestmark = [
    pytest.mark.deep,
    pytest.mark.skipif(sys.platform != "linux", reason="the table of processes is read from /proc"),
]


def killed(writer, count):
    # A process of its own, as it forks, which threads do not survive.
    command = [sys.executable, "-m", "benchmarks.kills", "--kills", str(count), "--seed", "1"]
    command += ["--rows", "2500", "--writer", writer]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert f"landed: {count}" in done.stdout, done.stdout + done.stderr
    return done


@pytest.mark.parametrize("writer", [name for name in kills.WRITERS if name != "plain"])
def test_nothing_is_half_lost_or_left_behind(writer):
    count = 2 if kills.WRITERS[writer].parts else 4
    done = killed(writer, count)
    assert done.returncode == 0, done.stdout
    assert f"as it should be: {count}" in done.stdout


def test_a_writer_that_puts_nothing_in_place_at_once_is_caught():
    done = killed("plain", 12)
    assert done.returncode == 1
    assert "the manifest is of another release, or lost" in done.stdout
