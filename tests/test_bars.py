"""The bar of a notebook: plain text, when work takes long or somebody asks for it."""

import io
import pickle
import sys
import types

import polars as pl
import pytest

import polars_microagg as mg
from polars_microagg import bars
from polars_microagg.bars import Bar, Meter
from polars_microagg.progress import current, ticker


@pytest.fixture
def now(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(bars.time, "monotonic", lambda: clock[0])
    return clock


def test_pieces_are_read_as_one(now):
    meter = Meter([300, 100])
    found = []
    for now[0], done, total in ((0.0, 0, 14), (30.0, 7, 14), (60.0, 14, 14), (70.0, 1, 2)):
        reading = meter.read(done, total, "mdav")
        found.append((reading.done, reading.per_second, reading.seconds_left))
    assert found == [(0, None, None), (150, 5, 50), (300, 5, 20), (350, 5, 10)]
    assert Meter([]).read(1, 2, "x").share == 0.5


def test_another_stage_is_read_by_itself(now):
    meter = Meter([300, 100])
    now[0] = 10.0
    meter.read(14, 14, "mdav")
    reading = meter.read(0, 40, "refine")
    assert (reading.stage, reading.share, reading.seconds_left) == ("refine", 0.0, None)
    assert meter.read(30, 40, "refine").share == 0.75
    # The pieces of the first go on where they were.
    assert meter.read(1, 2, "mdav").done == 350


def test_a_bar_waits_and_clears_itself(now):
    stream = io.StringIO()
    bar = Bar(5.0, stream)
    for second, done in ((0, 1), (1, 10), (4, 40), (6, 60), (6.01, 61), (8, 80), (10, 100)):
        now[0] = float(second)
        bar(done, 100, "mdav")
    shown = stream.getvalue().split("\r")
    assert shown[0] == ""
    assert [line.split("] ")[1].strip() for line in shown if "mdav" in line] == [
        "60%, 4 s left",
        "80%, 2 s left",
    ]
    assert shown[-1] == ""
    assert shown[-2].strip() == ""
    assert len(shown[-2]) >= len(shown[-3].rstrip())
    assert "\x1b" not in stream.getvalue()


def test_short_work_shows_nothing(now):
    stream = io.StringIO()
    bar = Bar(5.0, stream)
    for done in (10, 50, 100):
        bar(done, 100, "mdav")
    assert stream.getvalue() == ""


def test_each_piece_has_its_own_time(now):
    stream = io.StringIO()
    bar = Bar(5.0, stream)
    for now[0], done in ((0.0, 50), (4.0, 100), (4.5, 50), (9.0, 99)):
        bar(done, 100, "mdav")
    assert stream.getvalue() == ""


def test_a_bar_that_is_asked_for_shows(now, capsys):
    with mg.progress("bar"):
        tick = ticker("mdav", 100)
        for now[0], done in ((0.0, 1), (1.0, 50), (2.0, 100)):
            tick(done)
    assert "mdav [###" in capsys.readouterr().err


@pytest.fixture
def notebook(monkeypatch):
    of_jupyter = type("ZMQInteractiveShell", (), {"execution_count": 1})
    shell = type("ShellOfAnotherHouse", (of_jupyter,), {})()
    shown = []
    display = lambda forms, *, raw, display_id, update: shown.append((display_id, update, forms))  # noqa: E731
    monkeypatch.setitem(sys.modules, "IPython.display", types.SimpleNamespace(display=display))
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    return types.SimpleNamespace(shell=shell, shown=shown)


def test_a_bar_in_a_notebook_is_one_output_of_each_cell(now, notebook, capsys):
    bar = Bar()
    for now[0], done in (
        (0.0, 1),
        (1.0, 50),
        (2.0, 100),
        (2.0, 1),
        (2.0, 100),
        (3.0, 1),
        (4.0, 60),
    ):
        bar(done, 100, "<mdav>")
    notebook.shell.execution_count += 1
    for now[0], done in ((5.0, 100), (5.0, 1), (6.0, 70), (7.0, 100)):
        bar(done, 100, "<mdav>")
    first, *others = notebook.shown
    assert first[2]["text/plain"].startswith("<mdav> [####")
    assert first[2]["text/html"].startswith("<pre>&lt;mdav&gt; [####")
    said = [(update, forms["text/plain"][-18:-10]) for _, update, forms in notebook.shown]
    assert [update for update, _ in said] == [False, True, True, False, True, True]
    assert [ids for ids, *_ in others] == [first[0]] * 2 + [others[2][0]] * 3
    assert first[0] != others[2][0]
    assert notebook.shown[-1][2] == {"text/plain": "", "text/html": ""}
    assert capsys.readouterr().err == ""


def test_a_notebook_shows_one_by_itself_unless_told_otherwise(notebook):
    assert isinstance(current(), Bar)
    assert current().after == bars.LONG
    with mg.progress(None):
        assert current() is None
    with mg.progress(print):
        assert current() is print


@pytest.mark.parametrize("shell", ["TerminalInteractiveShell", None])
def test_a_terminal_and_a_script_show_none(monkeypatch, shell):
    made = shell and type(shell, (), {})()
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: made))
    assert current() is None


def test_a_notebook_masks_as_a_script_does_and_its_plans_can_be_stored(notebook, monkeypatch):
    monkeypatch.setattr(bars, "EVERY", 0.0)
    frame = pl.DataFrame({"a": range(2000), "b": [i * i % 97 for i in range(2000)]})
    masked = mg.mdav(frame, ["a", "b"], 5)
    with mg.progress(None):
        assert mg.mdav(frame, ["a", "b"], 5).equals(masked)
    assert mg.mdav(frame.lazy(), ["a", "b"], 5).collect().equals(masked)
    assert isinstance(pickle.loads(pickle.dumps(current())), Bar)


def test_a_bar_of_work_that_does_not_end_leaves_no_line_before_an_error(now, capsys):
    with mg.progress("bar"):
        tick = ticker("mdav", 100)
        for now[0], done in ((0.0, 1), (1.0, 50)):
            tick(done)
    blank = capsys.readouterr().err.rpartition("%")[2]
    assert blank.split("\r")[1:] == [" " * len(blank.split("\r")[1]), ""]
    with mg.progress("bar"):
        ticker("mdav", 100)(50)
    assert capsys.readouterr().err == ""
