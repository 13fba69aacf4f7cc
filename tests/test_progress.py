"""Progress: told in order, to whom the call was typed for, and able to stop the work."""

import threading
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

import polars_microagg as mg

FRAME = pl.DataFrame(np.random.default_rng(0).normal(size=(3000, 3)), schema=["a", "b", "c"])


@pytest.fixture
def told():
    return []


def telling(told):
    return mg.progress(lambda done, total, what: told.append((done, total, what)))


@pytest.mark.parametrize(
    ("method", "options"), [("mdav", {}), ("lowloss", {"effort": 0.2}), ("lowloss", {"effort": 0})]
)
def test_what_is_done_grows_to_all_there_is_to_do(told, method, options):
    plain = mg.mask(FRAME, ["a", "b"], 3, method=method, **options)
    with telling(told):
        masked = mg.mask(FRAME, ["a", "b"], 3, method=method, **options)
    assert masked.equals(plain)
    assert {(total, what) for _, total, what in told} == {(told[0][1], method)}
    assert all(before < after for before, after in pairwise(d for d, _, _ in told))
    assert told[-1][0] == told[-1][1]
    assert len(told) <= 101


def test_nobody_is_told_outside_the_block(told):
    with telling(told):
        pass
    mg.mdav(FRAME, ["a", "b"], 3)
    assert told == []


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_the_callback_is_that_of_the_block_where_the_call_was_typed(told, engine):
    with telling(told):
        lazy = mg.mdav(FRAME.lazy(), ["a", "b"], 3)
    assert told == []
    others = []
    with telling(others):
        lazy.collect(engine=engine)
    assert others == []
    assert told[-1] == (3000, 3000, "mdav")


def test_another_thread_is_told_too(told):
    with telling(told):
        lazy = mg.mdav(FRAME.lazy(), ["a", "b"], 3)
    thread = threading.Thread(target=lazy.collect)
    thread.start()
    thread.join()
    assert told[-1] == (3000, 3000, "mdav")


def test_every_stratum_and_block_reports_itself(told):
    frame = FRAME.with_columns(s=pl.Series(np.arange(3000) % 2))
    with telling(told):
        mg.mdav(frame, [["a"], ["b"]], 3, strata="s")
    assert [done for done, total, _ in told if done == total] == [1500] * 4


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
@pytest.mark.parametrize("method", ["mdav", "lowloss"])
def test_what_the_callback_raises_stops_the_work(error, method):
    calls = []

    def stop(done, total, what):
        calls.append(done)
        if len(calls) == 3:
            raise error

    masked = None
    with pytest.raises(error), mg.progress(stop):
        masked = mg.mask(FRAME, ["a", "b"], 3, method=method)
    assert masked is None
    assert len(calls) == 3
    with telling(again := []):
        mg.mdav(FRAME, ["a", "b"], 3)
    assert again


def test_an_error_stops_a_lazy_plan():
    def stop(done, total, what):
        raise ZeroDivisionError("stopped")

    with mg.progress(stop):
        lazy = mg.mdav(FRAME.lazy(), ["a", "b"], 3)
    with pytest.raises((ZeroDivisionError, pl.exceptions.ComputeError), match="stopped"):
        lazy.collect()


def test_blocks_may_be_nested(told):
    inner = []
    with telling(told):
        with telling(inner):
            mg.mdav(FRAME, ["a"], 3)
        assert told == []
        with mg.progress(None):
            mg.mdav(FRAME, ["a"], 3)
        assert told == []
        mg.mdav(FRAME, ["a"], 3)
    assert inner == told
