"""The quick loop leaves out no test but those that are marked deep, and no value of a parameter."""

from itertools import product
from pathlib import Path

import pytest

from tests.loop import covering, share

pytest_plugins = ["pytester"]
CONFTEST = Path(__file__).with_name("conftest.py")
TESTS = """
import pytest
from hypothesis import given, settings, strategies as st
from tests.loop import rounds

@pytest.mark.parametrize("a", "klmn")
@pytest.mark.parametrize("b", [[1], [2], [3]])
def test_product(a, b): ...

@pytest.mark.whole
@pytest.mark.parametrize("a", "kl")
@pytest.mark.parametrize("b", [1, 2])
def test_whole_product(a, b): ...

@pytest.mark.parametrize("a, b", [(1, 1), (1, 2), (2, 1), (2, 2)])
def test_one_axis(a, b): ...

@pytest.mark.deep
def test_deep(): ...

def test_examples():
    print("examples", settings().max_examples, "rounds", rounds(10))
"""
STARTS = """
def pytest_sessionstart(session):
    if len(os.listdir()) > 20:
        os._exit(1)  # workers would start workers without end
    open(f"{os.getpid()}.started", "x")
"""


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4), (2, 3, 7), (1, 1), (6, 1, 2)])
def test_every_value_is_in_a_case_and_no_longer_than_the_longest_axis(shape):
    cases = [dict(enumerate(case)) for case in product(*map(range, shape))]
    taken = [case for case, kept in zip(cases, covering(cases), strict=True) if kept]
    for axis, length in enumerate(shape):
        assert {case[axis] for case in taken} == set(range(length))
    assert len(taken) == max(shape)


def test_a_list_of_cases_is_taken_whole():
    assert covering([{0: 1}, {0: 1}, {0: 2}]) == [True] * 3


def test_tests_that_begin_at_others_share_a_list():
    quick = [
        [case for case in share("abcdefg", 3, first) if isinstance(case, str)] for first in range(3)
    ]
    assert quick == [["a", "d", "g"], ["b", "e"], ["c", "f"]]
    for case in share("abcdefg", 3):
        assert isinstance(case, str) or [mark.name for mark in case.marks] == ["deep"]


@pytest.fixture
def file(pytester):
    """A folder with this conftest, and a file of tests."""
    pytester.makeconftest(CONFTEST.read_text(encoding="utf-8"))
    pytester.makeini(
        f"[pytest]\nmarkers =\n  deep\n  whole\ntestpaths = .\npythonpath = {CONFTEST.parents[1]}\n"
    )
    return pytester.makepyfile(TESTS)


@pytest.mark.parametrize(
    ("asked", "passed", "examples", "rounds"),
    [
        pytest.param([], 4 + 4 + 4 + 1, 5, 3, id="quick"),
        pytest.param(["--deep"], 12 + 4 + 4 + 2, 10, 5, id="deep", marks=pytest.mark.deep),
    ],
)
def test_what_is_run(pytester, file, asked, passed, examples, rounds):
    done = pytester.runpytest_subprocess("-n", "0", "-s", *asked)
    done.assert_outcomes(passed=passed, deselected=22 - passed)
    done.stdout.fnmatch_lines([f"*examples {examples} rounds {rounds}*"])


@pytest.mark.deep
def test_a_case_that_is_asked_for_is_run(pytester, file):
    pytester.runpytest_subprocess(f"{file.name}::test_deep").assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("asked", "workers"),
    [
        pytest.param([], 2, id="whole suite", marks=pytest.mark.deep),
        pytest.param(["."], 0, id="a part", marks=pytest.mark.deep),
        pytest.param(["-p", "no:xdist"], 0, id="no xdist", marks=pytest.mark.deep),
        pytest.param(["--pdb"], 0, id="debugger", marks=pytest.mark.deep),
    ],
)
def test_the_whole_suite_is_run_by_workers_and_these_start_no_more(
    pytester, file, monkeypatch, asked, workers
):
    for name in ("PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT", "PYTEST_XDIST_TESTRUNUID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTEST_XDIST_AUTO_NUM_WORKERS", "2")
    pytester.makeconftest(CONFTEST.read_text(encoding="utf-8") + STARTS)
    pytester.runpytest_subprocess(*asked, timeout=200).assert_outcomes(passed=13)
    assert len(list(pytester.path.glob("*.started"))) == 1 + workers
