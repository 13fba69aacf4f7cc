"""What a terminal sees while it waits, and what a signal leaves."""

import io
import json
import subprocess
import sys
import time

import duckdb
import polars as pl
import pytest

from polars_microagg.cli import progress_bar as bars
from polars_microagg.cli.main import main
from polars_microagg.cli.progress_bar import Bar
from polars_microagg.publishing import memory

from .conftest import PROGRAM, ROLES


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_bar_tells_share_and_time_left(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(bars.time, "monotonic", lambda: now[0])
    screen = Terminal()
    bar = Bar([300, 100], screen)
    for second, done, total in ((30, 150, 300), (60, 300, 300), (70, 50, 100), (80, 100, 100)):
        now[0] = second
        bar(done, total, "mdav")
    lines = [line for line in screen.getvalue().split("\r\x1b[K") if line]
    assert [line.partition("] ")[2] for line in lines] == [
        " 38%, 5 records/s, 50 s left",
        " 75%, 5 records/s, 20 s left",
        " 88%, 5 records/s, 10 s left",
        "100%, 5 records/s, 0 s left",
    ]


def test_no_bar_without_a_terminal(source, tmp_path, microagg):
    assert not Bar([1.0], io.StringIO()).on
    done = microagg("protect", source, "-o", tmp_path / "out.parquet", *ROLES)
    assert "\r" not in done.err


def test_a_terminal_sees_the_bar(people, tmp_path, monkeypatch):
    pl.concat([people] * 100).with_columns(age=pl.int_range(pl.len())).write_parquet(
        tmp_path / "in.parquet"
    )
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(bars, "EVERY", 0.0)
    assert (
        main(["protect", str(tmp_path / "in.parquet"), "-o", str(tmp_path / "o.parquet"), *ROLES])
        == 0
    )
    assert "mdav [" in screen.getvalue()
    assert " left" in screen.getvalue()


@pytest.mark.parametrize("large", [False, True])
def test_a_sentence_has_a_line_of_its_own_beside_the_bar(tmp_path, monkeypatch, large):
    # One record makes most of the total of its group, of which a warning tells.
    ages = [*[*range(20, 60)] * 3, 10**6]
    pl.DataFrame({"age": ages, "id": range(len(ages))}).write_csv(tmp_path / "in.csv")
    if large:
        monkeypatch.setattr(memory, "BASE", 10**15)
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(bars, "EVERY", 0.0)
    files = [str(tmp_path / "in.csv"), "-o", str(tmp_path / "o.parquet")]
    options = ["--columns", "age", "--drop", "id", "--k", "5", "--memory", "2GB"]
    assert main(["protect", *files, *options]) == 0
    assert "publishing ..." in screen.getvalue()
    # A terminal shows what follows the last removal of a line.
    seen = [line.rpartition("\r\x1b[K")[2] for line in screen.getvalue().split("\n")]
    starts = ["Warning: ", "Published "] + ["The whole table takes"] * large
    for start in starts:
        assert any(line.startswith(start) for line in seen), seen


# --- Signals -------------------------------------------------------------------------------------


def test_nohup_is_obeyed(monkeypatch):
    """What is ignored when the program starts stays ignored."""

    code = "import os, signal; from polars_microagg.cli import main as m\n"
    code += "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
    code += "m.main = lambda: os.kill(os.getpid(), signal.SIGHUP) or 0\nm.run()"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    code = code.replace("SIG_IGN", "SIG_DFL")
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode != 0


IGNORED = """
import os, signal, time
from polars_microagg.cli import main as m

class Closed:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGHUP)
        for _ in range(1000): pass

def command(_):
    Closed()
    for _ in range(100):
        time.sleep(0.1)

m._answer = command
m.run()
"""


def test_an_interrupt_in_a_destructor_is_not_ignored():
    done = subprocess.run(
        [sys.executable, "-c", IGNORED], check=False, capture_output=True, text=True, timeout=15
    )
    assert (done.returncode, done.stderr.strip()) == (130, "Interrupted. Nothing was published.")


QUERY = """
import os, signal, sys
from threading import Timer

from polars_microagg.cli.main import main

later = Timer(0.5, os.kill, [os.getpid(), signal.SIGINT])
later.daemon = True
later.start()
sys.exit(main(sys.argv[1:]))
"""


def test_an_interrupt_in_the_middle_of_a_query_is_no_bug(tmp_path):
    place = str(tmp_path / "slow.duckdb")
    with duckdb.connect(place) as con:
        # Minutes.
        pairs = "range(1000000) a, range(100000) b"
        con.execute(f"CREATE VIEW slow AS SELECT sum(a.range * b.range) AS age FROM {pairs}")
    call = [
        "protect",
        f"{place}::slow",
        "-o",
        str(tmp_path / "o.parquet"),
        "--columns=age",
        "--k=3",
    ]
    done = subprocess.run(
        [sys.executable, "-c", QUERY, *call],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr.strip()) == (130, "Interrupted. Nothing was published.")


@pytest.mark.parametrize(
    "sent", ["SIGINT", *(pytest.param(s, marks=pytest.mark.deep) for s in ("SIGTERM", "SIGHUP"))]
)
def test_a_signal_ends_with_130_and_leaves_nothing(sent, people, tmp_path):
    import signal

    pl.concat([people] * 2000).with_columns(age=pl.int_range(pl.len())).write_parquet(
        tmp_path / "in.parquet"
    )
    command = [
        *PROGRAM,
        "protect",
        str(tmp_path / "in.parquet"),
        "-o",
        str(tmp_path / "o.parquet"),
        *ROLES,
        "--method=lowloss",
        "--effort=20",  # takes many seconds, of which the signal needs some hundredths
    ]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as running:
        while len(list(tmp_path.iterdir())) < 2 and running.poll() is None:
            time.sleep(0.05)
        running.send_signal(getattr(signal, sent))
        out, err = running.communicate(timeout=60)
    assert running.returncode == 130, err
    assert err.strip() == "Interrupted. Nothing was published."
    assert not out
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


# --- Ways to show it -----------------------------------------------------------------------------


def test_lines_of_json_now_and_then(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(bars.time, "monotonic", lambda: now[0])
    stream = io.StringIO()
    bar = Bar([300, 100], stream, "json")
    bar.stage("Masking")
    for second, done, total in ((0.5, 30, 300), (30, 150, 300), (70, 50, 100), (80, 100, 100)):
        now[0] = second
        bar(done, total, "mdav")
    bar.clear()
    keys = {"stage", "done", "total", "per_second", "seconds_left"}
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert all(set(line) == keys for line in lines)
    assert [tuple(line[name] for name in ("stage", "done", "total")) for line in lines] == [
        ("Masking", None, None),
        ("mdav", 150, 400),
        ("mdav", 350, 400),
        ("mdav", 400, 400),
    ]
    assert [line["per_second"] for line in lines] == [None, 5.0, 5.0, 5.0]
    assert [line["seconds_left"] for line in lines] == [None, 50.0, 10.0, 0.0]


def test_a_search_after_a_method_is_a_stage_of_its_own_at_once(monkeypatch):
    monkeypatch.setattr(bars.time, "monotonic", lambda: 0.0)
    calls = ((100, 100, "mdav"), (0, 100, "privacy models"), (9, 100, "privacy models"))
    stream, screen = io.StringIO(), Terminal()
    for bar in (Bar([100], stream, "json"), Bar([100], screen, "bar")):
        bar.stage("Masking")
        for call in calls:
            bar(*call)
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [(line["stage"], line["done"]) for line in lines] == [
        ("Masking", None),
        ("mdav", 100),
        ("privacy models", 0),
    ]
    assert screen.getvalue().endswith(f"privacy models [{' ' * 30}]   0%")


def test_json_is_a_line_each_on_standard_error(people, tmp_path, microagg):
    many = pl.concat([people] * 100).with_columns(age=pl.int_range(pl.len()))
    many.write_parquet(tmp_path / "in.parquet")
    words = [tmp_path / "in.parquet", "-o", tmp_path / "o.parquet", *ROLES, "--progress", "json"]
    done = microagg("protect", *words)
    assert done.code == 0
    lines = [line for line in done.err.splitlines() if line.startswith("{")]
    told = [json.loads(line) for line in lines]
    assert told[-1]["stage"]
    assert any(line["done"] == line["total"] is not None for line in told)
    assert "\r" not in done.err


def test_none_is_silent_on_a_terminal_and_a_bar_shows_anywhere_if_asked():
    assert not Bar([1.0], Terminal(), "none").on
    screen = io.StringIO()
    bar = Bar([1.0], screen, "bar")
    bar.stage("Reading")
    assert screen.getvalue() == "\r\x1b[KReading ..."


def test_another_way_is_refused(source, tmp_path, microagg):
    done = microagg("protect", source, "-o", tmp_path / "o.parquet", *ROLES, "--progress", "xml")
    assert done.code == 2
    assert "--progress" in done.err
    assert "json" in done.err
    assert not list(tmp_path.glob("o.parquet*"))
