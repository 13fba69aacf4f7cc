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


STEPS = [
    ("mdav", {}),
    ("lowloss", {"effort": 0.2}),
    pytest.param("lowloss", {"effort": 0}, marks=pytest.mark.deep),
    ("genetic", {"generations": 30}),
    ("genetic", {"generations": 30, "steps": 1}),
    ("fuzzy", {"iterations": 2}),
    ("mhm", {"order": "mdav"}),
]


@pytest.mark.parametrize(("method", "options"), STEPS, ids=str)
def test_what_is_done_grows_to_all_there_is_to_do(told, method, options):
    frame = FRAME[:600] if method == "fuzzy" else FRAME
    plain = mg.mask(frame, ["a", "b"], 3, method=method, **options)
    with telling(told):
        masked = mg.mask(frame, ["a", "b"], 3, method=method, **options)
    assert masked.equals(plain)
    assert {(total, what) for _, total, what in told} == {(told[0][1], method)}
    assert all(before < after for before, after in pairwise(d for d, _, _ in told))
    assert told[-1][0] == told[-1][1]
    assert len(told) <= 101
    # Most of the work is told of on the way, not all at once in the end.
    assert len(told) > 10 or options == {"effort": 0}


PEOPLE = FRAME.with_columns(
    who=pl.Series(np.arange(3000) // 4 % 500), dx=pl.Series(np.arange(3000) % 5)
)
SEARCHES = [
    ("mdav", {"entity": "who", "entity_mode": "rows"}, ["mdav", "privacy models"]),
    ("mdav", {"confidential": "dx", "l": 3}, ["mdav", "privacy models"]),
    ("mdav", {"refine": True}, ["mdav", "refine"]),
    (
        "mdav",
        {"entity": "who", "entity_mode": "rows", "refine": True},
        ["mdav", "privacy models", "refine"],
    ),
    ("lowloss", {"effort": 0.1, "confidential": "dx", "l": 3}, ["lowloss", "privacy models"]),
]


@pytest.mark.parametrize(("method", "options", "stages"), SEARCHES, ids=str)
def test_what_follows_a_method_is_a_stage_that_begins_and_ends(told, method, options, stages):
    plain = mg.mask(PEOPLE, ["a", "b"], 4, method=method, **options)
    with telling(told):
        masked = mg.mask(PEOPLE, ["a", "b"], 4, method=method, **options)
    assert masked.equals(plain)
    assert list(dict.fromkeys(what for *_, what in told)) == stages
    for stage in stages[1:]:
        own = [(done, total) for done, total, what in told if what == stage]
        assert own[0] == (0, 3000)
        assert own[-1] == (3000, 3000)
        assert all(before < after for before, after in pairwise(done for done, _ in own))
    # The method is at its end when the next stage begins, and all is over when the last one ends.
    assert told[-1][0] == told[-1][1]
    assert told[-1][2] == stages[-1]


def test_patches_of_a_long_search_are_told_of_one_by_one(told):
    rows = np.random.default_rng(1).normal(size=(24_000, 2))
    with telling(told):
        mg.zscores(pl.DataFrame(rows, schema=["a", "b"]), ["a", "b"], 5, refine=True)
    assert 3 < len([done for done, _, what in told if what == "refine"]) <= 102


def test_the_generations_are_what_genetic_tells_of(told):
    with telling(told):
        mg.genetic(FRAME[:300], ["a", "b"], 3, generations=99, population=4)
    # 300 for MDAV and 300 for each generation.
    assert {total for _, total, _ in told} == {300 * 100}
    assert len([done for done, _, _ in told if done > 300]) > 50


@pytest.mark.parametrize("callback", [3, "print", [print]], ids=str)
def test_what_cannot_be_called_is_refused_when_it_is_typed(callback):
    with pytest.raises(
        mg.InvalidParameterError, match=r"callback=.* a function to call as callback"
    ):
        mg.progress(callback)


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


def test_every_block_reports_itself(told):
    frame = FRAME.with_columns(s=pl.Series(np.arange(3000) % 2))
    with telling(told):
        mg.mdav(frame, [["a"], ["b"]], 3, strata="s")
    assert [done for done, total, _ in told if done == total] == [3000] * 2


SIZES = [5, *range(100, 400, 20), 8400, 6]
STRATA = {
    "of all sizes": SIZES,
    "the last ones silent": [1500, 1500, *[3] * 50],
    "of 8192 and more": [9000, 8300],
    "small ones": [40] * 60,
}


@pytest.mark.parametrize("strata", STRATA)
@pytest.mark.parametrize(
    ("method", "options"),
    [("mdav", {}), ("mdav", {"workers": 1}), ("lowloss", {"effort": 0}), ("vmdav", {})],
    ids=str,
)
def test_all_strata_are_one_piece_of_work(told, method, options, strata):
    sizes = STRATA[strata] if method == "mdav" else [size % 1000 or 3 for size in STRATA[strata]]
    rows = np.random.default_rng(0).normal(size=(sum(sizes), 2))
    frame = pl.DataFrame(rows, schema=["a", "b"]).with_columns(
        s=pl.Series(np.repeat(np.arange(len(sizes)), sizes))
    )
    plain = mg.mask(frame, ["a", "b"], 3, method=method, strata="s", **options)
    with telling(told):
        masked = mg.mask(frame, ["a", "b"], 3, method=method, strata="s", **options)
    assert masked.equals(plain)
    if not told:  # a method, or strata, that take no time
        assert method == "vmdav" or max(sizes) <= 100
        return
    assert {(total, what) for _, total, what in told} == {(len(frame), method)}
    assert all(before < after for before, after in pairwise(done for done, _, _ in told))
    assert told[-1][0] == len(frame)
    assert len(told) <= 101


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
@pytest.mark.parametrize("method", ["mdav", "lowloss", "genetic", "fuzzy"])
def test_what_the_callback_raises_stops_the_work(error, method):
    calls = []

    def stop(done, total, what):
        calls.append(done)
        if len(calls) == 3:
            raise error

    masked = None
    with pytest.raises(error), mg.progress(stop):
        masked = mg.mask(FRAME[:900], ["a", "b"], 3, method=method)
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
