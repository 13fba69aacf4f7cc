"""What a terminal sees while it waits, and what a signal leaves."""

import io
import subprocess
import sys
import time

import polars as pl
import pytest

from polars_microagg.cli import progress_bar as bars
from polars_microagg.cli.main import main
from polars_microagg.cli.progress_bar import Bar

from .conftest import ROLES


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
        " 38%, 50 s left",
        " 75%, 20 s left",
        " 88%, 10 s left",
        "100%, 0 s left",
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


# --- Signals -------------------------------------------------------------------------------------


def test_nohup_is_obeyed(monkeypatch):
    """What is ignored when the program starts stays ignored."""

    code = "import os, signal; from polars_microagg.cli import main as m\n"
    code += "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
    code += "m.main = lambda: os.kill(os.getpid(), signal.SIGHUP) or 0\nm.run()"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    code = code.replace("SIG_IGN", "SIG_DFL")
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode != 0


@pytest.mark.parametrize(
    "sent", ["SIGINT", "SIGTERM", pytest.param("SIGHUP", marks=pytest.mark.deep)]
)
def test_a_signal_ends_with_130_and_leaves_nothing(sent, people, tmp_path):
    import signal

    pl.concat([people] * 2000).with_columns(age=pl.int_range(pl.len())).write_parquet(
        tmp_path / "in.parquet"
    )
    code = "from polars_microagg.cli.main import run; run()"
    command = [
        sys.executable,
        "-c",
        code,
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
    assert running.returncode == 130
    assert err.strip() == "Interrupted. Nothing was published."
    assert not out
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]
